"""A release that was changed after it was made does not hold, and the reason is a sentence."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from dask_anon.audit._digest import HashingFile, sha256_of
from dask_anon.audit.count import count_classes
from dask_anon.audit.manifest import Manifest, ReleasedColumn, ReleasedFile
from dask_anon.audit.verify import check_release, verify
from dask_anon.errors import VerificationError
from dask_anon.policy import Policy

POLICY = Policy(
    columns={"age": "quasi-identifier", "city": "quasi-identifier", "disease": "sensitive"},
    privacy=[{"model": "k-anonymity", "k": 2}],
)
AGE = ["[20, 25]", "[20, 25]", "31 | missing", "31 | missing", "31 | missing", None, None]
CITY = ["{Bonn, Ulm}", "{Bonn, Ulm}", "Köln", "Köln", "Köln", "Ulm", "Ulm"]
DISEASE = list("abcdefg")


def table(age=AGE, city=CITY, disease=DISEASE) -> pa.Table:
    return pa.table(
        {
            "age": pa.array(age, pa.string()),
            "city": pa.array(city, pa.string()).dictionary_encode(),
            "disease": pa.array(disease, pa.string()),
        }
    )


SPECIAL = Policy(columns={"q": "quasi-identifier"}, privacy=[{"model": "k-anonymity", "k": 2}])
COLUMNS = [
    ReleasedColumn(name="age", type="int64", role="quasi-identifier", released=("age",)),
    ReleasedColumn(name="city", type="string", role="quasi-identifier", released=("city",)),
    ReleasedColumn(name="disease", type="string", role="sensitive", released=("disease",)),
]


def make(root: Path, tables, *, ending="parquet", columns=COLUMNS, **parts) -> Path:
    (root / "data").mkdir(parents=True)
    files = []
    for i, part in enumerate(tables):
        name = f"data/part-{i}.{ending}"
        write(root / name, part)
        size = (root / name).stat().st_size
        files.append(
            ReleasedFile(path=name, sha256=sha256_of(root / name), bytes=size, rows=len(part))
        )
    released = [n for c in columns if c.role == "quasi-identifier" for n in c.released]
    counts = count_classes([root / file.path for file in files], released)
    manifest = Manifest.build(
        policy=parts.pop("policy", POLICY.to_manifest()),
        columns=columns,
        files=files,
        counts=counts,
        data_format=ending,
        **parts,
    )
    manifest.write(root)
    return root


def write(path: Path, part: pa.Table) -> None:
    if path.suffix == ".csv":
        plain = pa.table({name: part[name].cast(pa.string()) for name in part.column_names})
        pa_csv.write_csv(plain, path)
    else:
        pq.write_table(part, path)


@pytest.fixture
def release(tmp_path) -> Path:
    whole = table()
    return make(tmp_path / "release", [whole.slice(0, 3), whole.slice(3)])


def edit(release: Path, change) -> None:
    path = release / "manifest.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def sign_again(release: Path, name: str) -> None:
    """Record the changed file, as somebody would who wants to hide the change."""

    def change(data):
        [file] = [file for file in data["files"] if file["path"] == name]
        file["sha256"] = sha256_of(release / name)
        file["bytes"] = (release / name).stat().st_size
        file["rows"] = pq.read_metadata(release / name).num_rows

    edit(release, change)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_untouched_release_holds_and_says_so(tmp_path, ending):
    whole = table()
    root = make(tmp_path / "r", [whole.slice(0, 3), whole.slice(3)], ending=ending)
    found = verify(root)
    assert found.problems == ()
    assert str(found) == (
        f"{root} holds: 7 records in 3 equivalence classes, the smallest has 2 (k=2). "
        "2 files match the manifest."
    )
    assert found.holds
    found.raise_if_failed()
    assert found.to_json()["classes"] == {
        "n_classes": 3,
        "smallest": 2,
        "largest": 3,
        "sum_of_squares": 17,
    }


@pytest.mark.parametrize("tables", [[], [table([], [], [])]])
def test_an_empty_release_holds(tmp_path, tables):
    found = verify(make(tmp_path / "r", tables))
    assert found.holds, found
    assert "holds: 0 records (k=2)" in str(found)


def test_a_removed_row_is_found(release):
    write(release / "data/part-1.parquet", table().slice(4))
    found = verify(release)
    text = str(found)
    assert not found.holds
    assert "data/part-1.parquet has " in text
    assert "3 rows, the manifest says 4" in text
    assert "the files hold 6 records, the manifest says 7" in text
    with pytest.raises(VerificationError, match="does not hold") as caught:
        found.raise_if_failed()
    assert caught.value.problems == found.problems
    assert caught.value.exit_code == 1


def test_a_removed_row_is_found_although_the_file_was_signed_again(release):
    write(release / "data/part-1.parquet", table().slice(3, 3))
    sign_again(release, "data/part-1.parquet")
    text = str(verify(release))
    assert "1 of 3 equivalence classes have fewer than k=2 records (1 records" in text
    assert "size of the smallest class is 1, the manifest says 2" in text


def test_a_changed_label_is_found(release):
    changed = table(["[20, 26]", *AGE[1:]])
    write(release / "data/part-0.parquet", changed.slice(0, 3))
    found = verify(release)
    assert any("SHA-256" in text or "bytes" in text for text in found.problems)
    assert any("2 of 4 equivalence classes" in text for text in found.problems)
    assert "26" not in str(found).replace("SHA-256", "")


def test_a_single_changed_byte_is_found(release):
    path = release / "data/part-0.parquet"
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    assert "data/part-0.parquet was changed" in str(verify(release))


def test_swapped_files_are_found(release):
    one, two = release / "data/part-0.parquet", release / "data/part-1.parquet"
    one.rename(release / "x")
    two.rename(one)
    (release / "x").rename(two)
    found = verify(release)
    assert not found.holds
    assert "data/part-0.parquet" in str(found)
    assert "data/part-1.parquet" in str(found)


def test_a_missing_file_is_found(release):
    (release / "data/part-1.parquet").unlink()
    assert "data/part-1.parquet is missing." in verify(release).problems


@pytest.mark.parametrize("name", ["part-2.parquet", ".hidden", "deeper/part.parquet"])
def test_an_extra_file_is_found(release, name):
    path = release / "data" / name
    path.parent.mkdir(exist_ok=True)
    shutil.copy(release / "data/part-0.parquet", path)
    assert verify(release).problems == (f"data/{name} is not in the manifest.",)


def test_an_unreadable_file_gets_a_sentence(release):
    (release / "data/part-1.parquet").write_bytes(b"PAR1 nonsense PAR1")
    found = verify(release)
    assert any("cannot be read as Parquet" in text for text in found.problems)


def test_k_is_the_one_of_the_policy(release):
    edit(release, lambda data: data["policy"]["privacy"][0].update(k=3))
    text = str(verify(release))
    assert "2 of 3 equivalence classes have fewer than k=3 records (4 records" in text


def test_a_manifest_that_promises_nothing_does_not_hold(release):
    edit(release, lambda data: data["policy"].update(privacy=[]))
    found = verify(release)
    assert "the policy in the manifest is none: privacy: needs at least one" in str(found)
    assert found.counts is not None
    assert found.counts.n_classes == 3


@pytest.mark.parametrize(
    "figure, words",
    [
        ("n_classes", "number of equivalence classes is 3"),
        ("smallest", "size of the smallest class is 2"),
        ("largest", "size of the largest class is 3"),
        ("sum_of_squares", "sum of squared class sizes is 17"),
    ],
)
def test_recorded_figures_must_be_those_of_the_files(release, figure, words):
    edit(release, lambda data: data["classes"].update({figure: 99}))
    assert verify(release).problems == (f"the {words}, the manifest says 99.",)


@pytest.mark.parametrize("label", ["[25, 20]", "20-25", "x", "", "[1, 2", "{1}", "[1, 2] | missin"])
def test_a_label_that_cannot_be_read_is_counted_not_shown(tmp_path, label):
    root = make(tmp_path / "r", [table([label, label, *AGE[2:]])])
    assert verify(root).problems == ("column 'age' has 2 records whose label cannot be read.",)


@pytest.mark.parametrize("label", ["{Bonn, Ulm", "{a}", "a|b", '"a', "a, b"])
def test_a_set_that_cannot_be_read_is_counted_not_shown(tmp_path, label):
    root = make(tmp_path / "r", [table(city=[label, label, *CITY[2:]])])
    assert verify(root).problems == ("column 'city' has 2 records whose label cannot be read.",)


@pytest.mark.parametrize(
    "type_, labels",
    [
        ("float", ["[-1.5, 2e+20] | missing", "3"]),
        ("date32[day]", ["[1999-12-31, 2000-01-01]", "2024-02-29"]),
        ("decimal128(6, 2)", ["[-0.10, 20.00]", "1.25 | missing"]),
        ("timestamp[us]", ["[2020-01-01 00:00:00, 2020-01-01 00:00:00.5]", "2020-01-02 10:00:00"]),
        ("string", ['{"a, b", c}', '"missing" | missing']),
        ("dictionary<values=string, indices=int32, ordered=1>", ["[low, high]", "middle"]),
        ("bool", ["{False, True}", "True"]),
    ],
)
def test_labels_of_every_kind_are_read(tmp_path, type_, labels):
    column = ReleasedColumn(name="q", type=type_, role="quasi-identifier", released=("q",))
    part = pa.table({"q": pa.array([*labels, *labels, None, None], pa.string())})
    found = verify(make(tmp_path / "r", [part], columns=[column], policy=SPECIAL.to_manifest()))
    assert found.problems == ()


BOUNDS = [
    ReleasedColumn(
        name="age",
        type="int32",
        role="quasi-identifier",
        released=("age_min", "age_max", "age_missing"),
        format="bounds",
    )
]


def bounds(low, high, missing) -> pa.Table:
    return pa.table(
        {
            "age_min": pa.array(low, pa.int32()),
            "age_max": pa.array(high, pa.int32()),
            "age_missing": pa.array(missing, pa.bool_()),
        }
    )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    "row, problem",
    [
        ((1, 2, False), None),
        ((None, None, True), None),
        ((2, 1, False), "2 rows whose minimum is above the maximum"),
        ((2, None, True), "2 rows where one bound is missing"),
        ((None, None, False), "2 rows where one bound is missing"),
    ],
)
def test_bounds_must_make_sense(tmp_path, ending, row, problem):
    part = bounds(*([value, value] for value in row))
    policy = Policy(columns={"age": "quasi-identifier"}, privacy=POLICY.privacy).to_manifest()
    found = verify(make(tmp_path / "r", [part], columns=BOUNDS, ending=ending, policy=policy))
    assert found.holds == (problem is None)
    assert problem is None or problem in str(found)


def test_leftovers_beside_the_release_are_a_note_not_a_problem(release):
    (release.parent / ".release.scratch-1").mkdir()
    (release.parent / ".release.staging-1").mkdir()
    (release.parent / ".other.scratch-1").mkdir()
    found = verify(release)
    assert found.holds
    assert len(found.notes) == 2
    assert "interrupted" in str(found)


def test_a_release_elsewhere_is_verified_through_fsspec(release):
    memory = fsspec.filesystem("memory")
    memory.put(str(release), "/verify/release", recursive=True)
    try:
        assert verify("memory://verify/release").holds
        memory.pipe("/verify/release/data/more.parquet", b"")
        found = verify("memory://verify/release")
        assert found.problems == ("data/more.parquet is not in the manifest.",)
    finally:
        memory.rm("/verify", recursive=True)


def test_files_are_counted_before_they_are_put_in_place(release):
    manifest = Manifest.load(release)
    files = [str(release / file.path) for file in manifest.files]
    found = check_release(files, manifest)
    assert found.holds
    found.raise_if_failed()
    assert found.counts is not None
    assert found.counts.n_classes == 3
    with pytest.raises(VerificationError, match="the files hold 3 records"):
        check_release(files[:1], manifest).raise_if_failed()


# The manifest is read as untrusted data.


@pytest.mark.parametrize(
    "path",
    [
        "../data/part.parquet",
        "data/../../part.parquet",
        "/etc/passwd",
        "data//part.parquet",
        "data/./part.parquet",
        "data",
        "data\\part.parquet",
        "C:/data/part.parquet",
        "s3://bucket/part.parquet",
        "evaluation.json",
        "data/\x00",
        "",
    ],
)
def test_paths_that_leave_the_data_directory_are_refused(release, path):
    edit(release, lambda data: data["files"][0].update(path=path))
    with pytest.raises(VerificationError, match="not a manifest of a release"):
        verify(release)


def test_a_link_that_leads_out_of_the_release_is_refused(release):
    path = release / "data/part-0.parquet"
    outside = release.parent / "outside.parquet"
    path.rename(outside)
    os.symlink(outside, path)
    found = verify(release)
    assert found.problems == ("data/part-0.parquet leads out of the release.",)


def test_a_linked_directory_is_an_extra_file(release):
    (release.parent / "elsewhere").mkdir()
    os.symlink(release.parent / "elsewhere", release / "data/more")
    assert verify(release).problems == ("data/more is not in the manifest.",)


def test_a_file_named_twice_is_refused(release):
    edit(release, lambda data: data["files"].append(data["files"][0]))
    with pytest.raises(VerificationError, match="names a file twice"):
        verify(release)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"n": ' + b"9" * 10_000 + b"}",
        b"[]",
        b"{}",
    ],
)
def test_a_manifest_that_is_none_gets_a_sentence(text):
    with pytest.raises(VerificationError, match=r"manifest\.json is not"):
        Manifest.parse(text)


def test_an_oversized_manifest_is_not_read(release, monkeypatch):
    monkeypatch.setattr("dask_anon.audit.manifest.MAX_BYTES", 100)
    with pytest.raises(VerificationError, match="larger than"):
        Manifest.load(release)


def test_no_manifest_gets_a_sentence(tmp_path):
    with pytest.raises(VerificationError, match="Is this the directory of a release"):
        verify(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(surprise=1),
        lambda data: data.pop("policy"),
        lambda data: data.update(format_version=2),
        lambda data: data["files"][0].update(rows=-1),
        lambda data: data["files"][0].update(rows="3"),
        lambda data: data["files"][0].update(sha256="A" * 64),
        lambda data: data["columns"][0].update(released="age"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(release, change):
    edit(release, change)
    with pytest.raises(VerificationError, match="not a manifest of a release"):
        Manifest.load(release)


def test_a_manifest_comes_back_as_it_was_written(release):
    manifest = Manifest.load(release)
    assert Manifest.parse(json.dumps(manifest.to_json()).encode()) == manifest
    assert manifest.k == (2,)
    assert set(manifest.versions) >= {"python", "dask", "pandas", "numpy", "pyarrow", "numba"}


def test_a_file_is_hashed_while_arrow_writes_it(tmp_path):
    path = tmp_path / "part.parquet"
    with HashingFile(open(path, "wb")) as sink:
        pq.write_table(table(), sink)
    assert sink.sha256 == sha256_of(path)
    assert sink.n_bytes == path.stat().st_size
    assert pq.read_table(path).num_rows == 7


def test_a_hashing_file_passes_everything_on():
    inner = io.BytesIO()
    sink = HashingFile(inner)
    assert sink.write(b"abc") == 3
    assert sink.tell() == 3
    assert inner.getvalue() == b"abc"
    sink.close()
    assert inner.closed
