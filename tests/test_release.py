"""The main job: any files in, a release out that is verified from what was written, or nothing."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import dask
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dask_anon as anon
from dask_anon.engine import execute

PEOPLE = pa.table(
    {
        "name": [f"Zq{i:03d}" for i in range(120)],
        "age": pa.array([17 + (37 * i) % 70 for i in range(120)]),
        "town": [["Bath", "Cork", "Oslo"][i % 3] for i in range(120)],
        "nr": pa.array(range(120)),
    }
)
ROLES = {
    "name": "identifier",
    "age": "quasi-identifier",
    "town": "quasi-identifier",
    "nr": {"role": "insensitive", "type": "integer"},
}


def policy(folder: Path, source: str = "in.parquet", **sections) -> anon.Policy:
    asked = {
        "columns": ROLES,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "input": {"path": source if "://" in source else str(folder / source)},
        "output": {"path": str(folder / "release")},
    }
    return anon.Policy(**asked | sections)


@pytest.fixture
def folder(tmp_path):
    """One table as all the inputs that it can be."""
    pq.write_table(PEOPLE, tmp_path / "in.parquet", row_group_size=50)
    pyarrow.csv.write_csv(PEOPLE, tmp_path / "in.csv")
    for kind in ("parquet", "csv"):
        (tmp_path / f"{kind}s").mkdir()
        for i in range(3):
            part = PEOPLE.slice(40 * i, 40)
            path = tmp_path / f"{kind}s" / f"part.{i}.{kind}"
            pq.write_table(part, path) if kind == "parquet" else pyarrow.csv.write_csv(part, path)
    return tmp_path


def rows(release: Path | str) -> pa.Table:
    """The released rows, sorted."""
    files = sorted(Path(release, "data").iterdir())
    read = pq.read_table if files[0].suffix == ".parquet" else pyarrow.csv.read_csv
    return pa.concat_tables([read(file) for file in files]).sort_by("nr")


def listing(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "source", ["parquets", "parquets/*.parquet", "in.csv", "csvs", "csvs/part.*.csv"]
)
def test_every_input_of_one_table_gives_one_release(folder, source):
    made = anon.run(policy(folder))
    other = anon.run(policy(folder, source, output={"path": str(folder / "other")}))
    assert rows(other.path) == rows(made.path)
    assert other.counts == made.counts
    assert made.holds
    assert made.counts.smallest >= 5
    assert anon.verify(other.path).holds


@pytest.mark.parametrize("sections", [{}, {"recoding": {"format": "bounds"}}])
def test_parquet_and_csv_releases_say_the_same(folder, sections):
    anon.run(policy(folder, **sections))
    text = anon.run(
        policy(folder, output={"path": str(folder / "text"), "format": "csv"}, **sections)
    )
    assert rows(text.path) == rows(folder / "release")
    assert anon.verify(text.path).holds


def test_a_run_says_what_anonymize_says(folder):
    anon.run(policy(folder, order="keep"))
    frame = anon.anonymize(PEOPLE.to_pandas(), policy(folder))
    released = rows(folder / "release").to_pandas()
    assert released.astype(str).to_dict("list") == frame.astype(str).to_dict("list")


def test_the_recoding_beside_a_release_can_be_applied_again(folder):
    made = anon.run(policy(folder))
    recoding = anon.Recoding.load(made.recoding_path)
    again = recoding.apply(PEOPLE.to_pandas())
    released = rows(made.path).to_pandas()
    assert released.astype(str).to_dict("list") == again.astype(str).to_dict("list")
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert len(manifest["recoding_sha256"]) == 64


def test_the_release_says_what_it_is(folder):
    made = anon.run(policy(folder))
    text = str(made)
    assert text.startswith(f"120 records in {made.counts.n_classes:,} equivalence classes")
    assert "k-anonymity  k >= 5" in text
    assert f"{made.recoding_path}  (keep it to yourself)" in text
    told = json.loads(json.dumps(made.to_json()))
    assert told["records"] == 120
    assert told["evaluation"]["holds"] is True


def test_scratch_and_staging_are_private_and_go_away(folder, monkeypatch):
    seen = {}
    compute = execute._run

    def look(stage, *args, **kwargs):
        for path in folder.glob(".release.*"):
            seen[path.name.rpartition("-")[0]] = path.stat().st_mode & 0o777
        return compute(stage, *args, **kwargs)

    monkeypatch.setattr(execute, "_run", look)
    anon.run(policy(folder))
    assert seen == {".release.scratch": 0o700, ".release.staging": 0o700}
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_scratch_goes_where_the_setting_says(folder, tmp_path_factory, monkeypatch):
    scratch = tmp_path_factory.mktemp("scratch")
    with dask.config.set({"anon.scratch-directory": str(scratch)}):
        made = anon.run(policy(folder))
    assert list(scratch.iterdir()) == []
    assert Path(made.recoding_path, "recoding.json").exists()


def test_an_empty_table_gives_an_empty_valid_release(folder):
    for format in ("parquet", "csv"):
        pq.write_table(PEOPLE.slice(0, 0), folder / "none.parquet")
        output = {"path": str(folder / f"empty-{format}"), "format": format}
        made = anon.run(policy(folder, "none.parquet", output=output))
        assert (made.n_records, made.counts.n_classes, made.holds) == (0, 0, True)
        assert anon.verify(made.path).holds
        assert rows(made.path).column_names == ["age", "town", "nr"]
    (folder / "none.csv").write_text("name,age,town,nr\n")
    made = anon.run(policy(folder, "none.csv", output={"path": str(folder / "empty-3")}))
    assert made.n_records == 0


# ------------------------------------------------------------------ all or nothing


def test_a_requirement_that_fails_publishes_nothing(folder):
    before = listing(folder)
    asked = policy(folder, require={"global_certainty_penalty": {"max": 0.0}})
    with pytest.raises(anon.VerificationError, match="global_certainty_penalty <= 0: found 0") as e:
        anon.run(asked)
    assert e.value.exit_code == 1
    assert "1 of 2 requirements do not hold" in str(e.value)
    assert str(e.value).endswith("Nothing is published.")
    assert len(e.value.problems) == 1
    assert listing(folder) == before


def test_a_requirement_that_holds_is_in_the_evaluation(folder):
    asked = {
        "prosecutor_risk": {"max": "20%"},
        "global_certainty_penalty": {"max": 0.5},
        "average_class_size": {"max": 12},
    }
    made = anon.run(policy(folder, require=asked))
    told = json.loads((folder / "release" / "evaluation.json").read_text())
    assert [row["name"] for row in told["requirements"]] == ["k-anonymity", *asked]
    assert all(row["holds"] for row in told["requirements"])
    assert told == made.evaluation.to_json()


def test_overwrite_keeps_the_old_release_until_the_new_one_holds(folder):
    anon.run(policy(folder))
    before = listing(folder)
    with pytest.raises(anon.OutputError, match="exists already"):
        anon.run(policy(folder, seed=1))
    failing = policy(folder, require={"global_certainty_penalty": {"max": 0.0}})
    with pytest.raises(anon.VerificationError):
        anon.run(failing, overwrite=True)
    assert listing(folder) == before
    anon.run(policy(folder, seed=1), overwrite=True)
    assert json.loads((folder / "release" / "manifest.json").read_text())["seed"] == 1
    assert anon.verify(folder / "release").holds
    assert set(listing(folder)) == set(before)


def test_overwrite_replaces_nothing_but_a_release(folder):
    anon.run(policy(folder))
    for name in ("release", "release.recoding"):
        other = folder / f"kept-{name}"
        shutil.move(folder / name, other)
        (folder / name).mkdir()
        (folder / name / "thesis.txt").write_text("years of work")
        with pytest.raises(anon.OutputError, match="is not the work of an earlier run"):
            anon.run(policy(folder), overwrite=True)
        assert (folder / name / "thesis.txt").exists()
        shutil.rmtree(folder / name)
        shutil.move(other, folder / name)


@pytest.mark.parametrize("broken", ["replaced", "release.recoding", "release"])
def test_a_release_that_cannot_be_put_in_place_leaves_the_old_one(folder, monkeypatch, broken):
    anon.run(policy(folder))
    before = listing(folder)
    rename = os.rename

    def rename_or_fail(source, target):
        aimed_at = str(target).endswith(broken) or f".{broken}-" in str(target)
        # What is put back comes from aside and goes to the same place.
        if aimed_at and ".replaced-" not in str(source):
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", rename_or_fail)
    with pytest.raises(anon.OutputError, match=r"cannot put the release at .*: Input/output error"):
        anon.run(policy(folder, seed=1), overwrite=True)
    assert listing(folder) == before
    assert anon.verify(folder / "release").holds


def test_the_second_of_two_runs_into_one_output_is_refused(folder, monkeypatch):
    compute, inner = execute._run, threading.Lock()

    def run_another_first(stage, *args, **kwargs):
        if stage == "write" and inner.acquire(blocking=False):
            anon.run(policy(folder, seed=2))
        return compute(stage, *args, **kwargs)

    monkeypatch.setattr(execute, "_run", run_another_first)
    with pytest.raises(anon.OutputError, match="exists already"):
        anon.run(policy(folder, seed=1))
    assert json.loads((folder / "release" / "manifest.json").read_text())["seed"] == 2
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


STAGES = ["domains", "encode", "tree", "regroup", "finish", "write", "count"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_run_that_is_stopped_leaves_nothing(folder, monkeypatch, stage, error):
    before, reached, compute = listing(folder), [], execute._run

    def stop(at, *args, **kwargs):
        result = compute(at, *args, **kwargs)
        if at.startswith(stage):
            reached.append(at)
            raise error
        return result

    monkeypatch.setattr(execute, "_run", stop)
    with (
        dask.config.set({"anon.rows.partition": 40, "anon.rows.region": 40}),
        pytest.raises(error),
    ):
        anon.run(policy(folder, "parquets", output={"path": str(folder / "new" / "er" / "out")}))
    assert reached
    assert listing(folder) == before


# ------------------------------------------------------------------ privacy models

ILL = PEOPLE.append_column("illness", [[["flu", "hiv", "none"][i % 3] for i in range(120)]])
SECRET = ROLES | {"illness": "sensitive"}
MODELS = [
    {"model": "k-anonymity", "k": 5},
    {"model": "distinct-l-diversity", "column": "illness", "l": 2},
    {"model": "t-closeness", "column": "illness", "t": 0.5},
    {"model": "average-risk", "max": 0.2},
]


@pytest.fixture
def ill(folder):
    pq.write_table(ILL, folder / "ill.parquet")
    return folder


def ill_policy(folder: Path, **sections) -> anon.Policy:
    return policy(folder, "ill.parquet", columns=SECRET, privacy=MODELS, **sections)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_every_model_is_judged_from_what_was_written_and_verified(ill, format):
    output = {"path": str(ill / "release"), "format": format}
    made = anon.run(ill_policy(ill, output=output))
    names = [
        "k-anonymity",
        "average-risk",
        "distinct-l-diversity of 'illness'",
        "t-closeness of 'illness' (equal)",
    ]
    assert [row.name for row in made.evaluation.rows] == names
    assert made.holds
    found = anon.verify(made.path)
    assert found.holds
    assert found.notes == ()
    assert found.models == made.evaluation.rows
    told = json.loads((ill / "release" / "manifest.json").read_text())
    # Which distance was meant is written out: types may be lost on the way.
    assert told["policy"]["privacy"][2]["distance"] == "equal"


def test_a_release_that_breaks_a_model_is_not_published(ill, monkeypatch):
    """Whatever the engine did wrong: here, somebody exchanges values behind its back."""
    from dask_anon import release

    write = release.write_parts

    def write_and_exchange(writing, *args):
        files = write(writing, *args)
        for file in files:
            path = os.path.join(writing.target, file.name)
            table = pq.read_table(path)
            column = table.column_names.index("illness")
            flu = pa.array(["flu"] * (len(table) - 1) + ["hiv"])
            pq.write_table(table.set_column(column, "illness", flu), path)
        return files

    monkeypatch.setattr(release, "write_parts", write_and_exchange)
    before = listing(ill)
    with pytest.raises(anon.VerificationError, match="Nothing is published") as e:
        anon.run(ill_policy(ill))
    assert "distinct-l-diversity of 'illness' l >= 2: found 1, FAILS" in str(e.value)
    assert listing(ill) == before


def test_a_model_of_sensitive_values_costs_two_more_reads_and_no_more(ill):
    from running import Stages

    from dask_anon.engine.execute import reporting_to

    stages = Stages()
    with reporting_to(stages):
        anon.run(policy(ill))
    plain = [stage for stage, *_ in stages.seen]
    assert not {"values", "count-values"} & set(plain)
    stages = Stages()
    with reporting_to(stages):
        anon.run(ill_policy(ill), overwrite=True)
    assert {"values", "count-values"} <= {stage for stage, *_ in stages.seen}


# ------------------------------------------------------------------ tampering


def tamper_row(release: Path) -> None:
    file = sorted((release / "data").iterdir())[0]
    pq.write_table(pq.read_table(file).slice(1), file)


def tamper_label(release: Path) -> None:
    file = sorted((release / "data").iterdir())[0]
    table = pq.read_table(file)
    labels = ["[0, 1]", *table["age"].to_pylist()[1:]]
    pq.write_table(table.set_column(table.column_names.index("age"), "age", [labels]), file)


def tamper_swap(release: Path) -> None:
    first, second, *_ = sorted((release / "data").iterdir())
    first.rename(release / "data" / "x")
    second.rename(first)
    (release / "data" / "x").rename(second)


def tamper_missing(release: Path) -> None:
    sorted((release / "data").iterdir())[0].unlink()


def tamper_extra(release: Path) -> None:
    shutil.copy(sorted((release / "data").iterdir())[0], release / "data" / "part-99999.parquet")


def tamper_byte(release: Path) -> None:
    file = sorted((release / "data").iterdir())[0]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    "tamper, sentence",
    [
        (tamper_row, "the manifest says"),
        (tamper_label, "the manifest says"),
        (tamper_swap, "part-00000.parquet"),
        (tamper_missing, "part-00000.parquet is missing."),
        (tamper_extra, "part-99999.parquet is not in the manifest."),
        (tamper_byte, "was changed: its SHA-256 is not the one in the manifest."),
    ],
)
def test_a_release_that_was_tampered_with_does_not_verify(folder, tamper, sentence):
    with dask.config.set({"anon.rows.partition": 40}):
        anon.run(policy(folder, "parquets"))
    assert anon.verify(folder / "release").holds
    tamper(folder / "release")
    found = anon.verify(folder / "release")
    assert not found.holds
    assert sentence in str(found)
    with pytest.raises(anon.VerificationError) as e:
        found.raise_if_failed()
    assert e.value.exit_code == 1


# ------------------------------------------------------------------ plan


def test_plan_looks_at_files_and_computes_no_row(folder, monkeypatch):
    monkeypatch.setattr(execute, "_run", lambda *_: pytest.fail("a row was read"))
    planned = anon.plan(policy(folder))
    assert planned.n_records == 120
    assert planned.quasi_identifiers == ("age", "town")
    assert planned.columns_used == ("age", "town", "nr")
    assert planned.columns_dropped == ("name",)
    assert planned.passes >= 2
    assert 0 < planned.peak_memory <= planned.task_memory
    assert {"domains", "encode", "regroup", "finish", "write", "verify"} <= {
        stage.name for stage in planned.stages
    }
    lines = str(planned).splitlines()
    assert lines[0].split() == ["rows", "120", "in", "1", "partition"]
    assert json.loads(json.dumps(planned.to_json()))["n_tasks"] == planned.n_tasks


def test_what_cannot_fit_is_refused_with_the_knob_that_helps(folder):
    before = listing(folder)
    with dask.config.set({"anon.memory.limit": "100MiB"}):
        for attempt in (anon.plan, anon.run):
            with pytest.raises(anon.PlanError, match=r"anon\.memory\.limit") as e:
                attempt(policy(folder))
            assert e.value.exit_code == 2
    # What the sentence asks for is enough.
    least = re.search(r"at least ([\d.]+ MiB) a thread", str(e.value))[1]
    with dask.config.set({"anon.memory.limit": least}):
        anon.plan(policy(folder))
    assert listing(folder) == before


def test_a_huge_row_group_is_refused_with_the_size_that_fits(tmp_path):
    n = 3_000_000
    table = pa.table({"age": pa.array([1] * n, pa.int8())} | {f"c{i}": pa.nulls(n, pa.int64())
                                                              for i in range(8)})  # fmt: skip
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=n)
    asked = policy(tmp_path, columns={"age": "quasi-identifier"}, default_role="insensitive")
    with (
        dask.config.set({"anon.memory.limit": "768MiB"}),
        pytest.raises(anon.PlanError, match=r"the largest partition has 3,000,000 rows\. Use row "
                      r"groups of at most [\d,]+ rows"),
    ):  # fmt: skip
        anon.plan(asked)


# ------------------------------------------------------------------ URLs


def test_inputs_and_outputs_may_be_urls(folder):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.rm("/anon-test", recursive=True) if memory.exists("/anon-test") else None
    memory.put(str(folder / "parquets"), "/anon-test/in", recursive=True)
    with dask.config.set(scheduler="threads"):
        output = {"path": "memory://anon-test/release"}
        made = anon.run(policy(folder, "memory://anon-test/in/*.parquet", output=output))
        local = anon.run(policy(folder))
        assert anon.verify("memory://anon-test/release").holds
        found = memory.find("/anon-test/release")
        assert {Path(name).name for name in found} >= {"manifest.json", "evaluation.json"}
        memory.get("/anon-test/release", str(folder / "copy"), recursive=True)
        assert rows(folder / "copy") == rows(local.path)
        with pytest.raises(anon.OutputError, match="exists already"):
            anon.run(policy(folder, output=output))
        anon.run(policy(folder, output=output, seed=1), overwrite=True)
        assert anon.verify(made.path).holds
    assert memory.exists(f"{made.recoding_path}/recoding.json")
    assert not [name for name in memory.ls("/anon-test", detail=False) if "/." in name]
    memory.rm("/anon-test", recursive=True)


def test_a_file_url_is_a_path(folder):
    source, output = f"file://{folder}/in.parquet", {"path": f"file://{folder}/release"}
    made = anon.run(policy(folder, source, output=output))
    assert made.path == str(folder / "release")
    assert anon.verify(folder / "release").holds


@pytest.mark.parametrize("broken", ["part-00000.parquet", "manifest.json", "recoding.json"])
def test_an_upload_that_fails_leaves_nothing(folder, monkeypatch, broken):
    import fsspec

    memory = fsspec.filesystem("memory")

    def failing(real):
        def copy(source, target, *args, **options):
            inside = str(target).partition("/release")[2]
            if inside.endswith(f"/{broken}"):
                raise ConnectionError("gone")
            return real(source, target, *args, **options)

        return copy

    for name in ("cp_file", "put_file"):  # within the store, and into it
        monkeypatch.setattr(memory, name, failing(getattr(memory, name)))
    asked = policy(folder, output={"path": "memory://anon-test/release"})
    with dask.config.set(scheduler="threads"), pytest.raises(ConnectionError):
        anon.run(asked)
    assert memory.find("/anon-test") == []


def mounted(path: Path, size: str) -> bool:
    """Mount a file system of that size, where this user may."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path):
    disk = tmp_path / "disk"
    if not mounted(disk, "600k"):
        return  # the same with a disk that only claims to be full is in test_bad_input
    try:
        table = pd.DataFrame({"age": range(60_000), "nr": range(60_000)})
        table.to_parquet(tmp_path / "in.parquet")
        asked = policy(
            tmp_path,
            columns={"age": "quasi-identifier", "nr": "insensitive"},
            output={"path": str(disk / "release")},
        )
        with pytest.raises(anon.OutputError, match="No space left on device"):
            anon.run(asked)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
