"""The command line without an engine: what it asks for, where it prints, how it ends."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace

import dask
import pytest

from dask_anon.cli import main
from dask_anon.errors import DataError, VerificationError

FLAGS = ["--input", "in.csv", "--output", "out", "-q", "age", "-k", "5"]


class Result:
    """Stands in for a release, a plan or a verification."""

    def __init__(self, holds: bool = True) -> None:
        self.holds = holds

    def __str__(self) -> str:
        return "in words"

    def to_json(self) -> dict:
        return {"holds": self.holds}


@pytest.fixture
def engine(monkeypatch):
    """Replace the engine by functions that note what they were asked."""
    asked = SimpleNamespace(outcome=Result(), calls=[], scheduler=None)

    def answer(*args, **options):
        asked.calls.append((*args, options))
        asked.scheduler = dask.config.get("scheduler", None)
        if isinstance(asked.outcome, BaseException):
            raise asked.outcome
        return asked.outcome

    for module, name in [("release", "run"), ("engine.plan", "plan"), ("audit.verify", "verify")]:
        fake = ModuleType(f"dask_anon.{module}")
        setattr(fake, name, answer)
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    return asked


@pytest.fixture
def call(capsys):
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main.main(list(args), prog_name="dask-anon")
        out, err = capsys.readouterr()
        return left.value.code or 0, out, err

    return call


def test_run_prints_the_release_on_stdout(engine, call):
    assert call("run", *FLAGS) == (0, "in words\n", "")
    (policy, options), *_ = engine.calls
    assert (policy.k, policy.quasi_identifiers, policy.input.path) == (5, ["age"], "in.csv")
    assert options == {"overwrite": False}
    assert engine.scheduler == "threads"


def test_every_option_reaches_the_policy(engine, call):
    words = (
        "run --input in --output out -q a --quasi-identifier b -s c -i d -k 3 -l 2 -t 0.5 "
        "--ties left --span-ties region --format bounds --order keep --seed 9 "
        "--default-role identifier --input-format csv --output-format csv "
        "--delimiter tab --encoding cp1252 --overwrite"
    )
    assert call(*words.split())[0] == 0
    (policy, options), *_ = engine.calls
    assert {name: column.role.value for name, column in policy.columns.items()} == {
        "a": "quasi-identifier",
        "b": "quasi-identifier",
        "c": "sensitive",
        "d": "identifier",
    }
    assert (policy.k, policy.algorithm.ties, policy.algorithm.span_ties) == (3, "left", "region")
    assert [str(model) for model in policy.privacy] == [
        "k-anonymity with k=3",
        "distinct-l-diversity of 'c' with l=2",
        "t-closeness of 'c' with t=0.5",
    ]
    assert (policy.recoding.format, policy.order, policy.seed) == ("bounds", "keep", 9)
    assert (policy.default_role, policy.output.format) == ("identifier", "csv")
    assert (policy.input.format, policy.input.delimiter, policy.input.encoding) == (
        "csv",
        "\t",
        "cp1252",
    )
    assert options == {"overwrite": True}


def test_options_win_over_the_file(engine, call, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(
        "columns: {age: quasi-identifier}\nprivacy: [{model: k-anonymity, k: 5}]\n"
        "input: in.csv\noutput: out\n"
    )
    assert call("run", str(path), "-k", "9", "--output", "other")[0] == 0
    (policy, _), *_ = engine.calls
    assert (policy.k, policy.output.path) == (9, "other")
    assert policy.input.path == str(tmp_path / "in.csv")


@pytest.mark.parametrize("command", [["run", *FLAGS], ["plan", *FLAGS], ["verify", "out"]])
def test_json_is_for_machines(engine, call, command):
    code, out, err = call(*command, "--json")
    assert (code, json.loads(out), err) == (0, {"holds": True}, "")


@pytest.mark.parametrize("command", [["run", *FLAGS], ["verify", "out"]])
def test_what_does_not_hold_exits_1_after_its_result(engine, call, command):
    engine.outcome = Result(holds=False)
    assert call(*command) == (1, "in words\n", "")


@pytest.mark.parametrize(
    "error, code, sentence",
    [
        (DataError("row 3 has 4 fields."), 2, "Error: row 3 has 4 fields."),
        (VerificationError("2 classes are too small."), 1, "Error: 2 classes are too small."),
        (KeyboardInterrupt(), 130, "Error: interrupted before the work was complete."),
        (OSError(28, "No space left on device", "x"), 2, "Error: No space left on device: x."),
        (MemoryError(), 2, "Error: out of memory."),
    ],
)
def test_an_error_is_a_sentence_on_stderr(engine, call, error, code, sentence):
    engine.outcome = error
    found, out, err = call("run", *FLAGS)
    assert (found, out) == (code, "")
    assert err.startswith(sentence)
    assert "Traceback" not in err
    assert "\x1b" not in err


def test_a_bug_exits_3_and_shows_no_value(engine, call, monkeypatch):
    engine.outcome = ValueError("Alice is 23")
    code, out, err = call("run", *FLAGS)
    assert (code, out) == (3, "")
    assert err.startswith("Error: unexpected ValueError in _run.py:")
    assert "Alice" not in err
    monkeypatch.setenv("DASK_ANON_TRACEBACK", "1")
    assert "Alice" in call("run", *FLAGS)[2]


def test_all_that_is_missing_is_said_at_once(call):
    code, out, err = call("run")
    assert (code, out) == (2, "")
    for option in ("--quasi-identifier", "-k", "--input", "--output"):
        assert f"\n  {option}: " in err


def test_a_policy_in_order_but_without_files_is_refused(call):
    code, _, err = call("run", "-q", "age", "-k", "5", "--input", "in.csv")
    assert code == 2
    assert err.startswith("Error: output.path: is missing. Say where the release goes")


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--scheduler", "tcp://x:1", "--workers", "2"], "--scheduler uses the workers that are"),
        (["--memory-limit", "much"], "must be a size such as 2GiB."),
        (["--memory-limit", "0"], "must be a size such as 2GiB."),
        (["--workers", "0"], "--workers"),
        (["--scheduler", "nonsense://x"], "no Dask scheduler answers at 'nonsense://x'"),
        (["--ties", "sideways"], "'left', 'either', 'divide'"),
        (["-k", "1"], "-k: must be a whole number of at least 2, found 1."),
        (["-k", "five"], "-k"),
        (["-l", "2"], "-l: needs a sensitive column. Name one with --sensitive."),
        (["-t", "0.2"], "-t: needs a sensitive column. Name one with --sensitive."),
        (["-s", "job", "-l", "1"], "-l: must be a whole number of at least 2, found 1."),
        (["-s", "job", "-t", "1.5"], "-t: must be a number at least 0 and at most 1, found 1.5."),
        (["-t", "far"], "-t"),
        (["-s", "age"], "column 'age' has two roles"),
    ],
)
def test_misuse_exits_2(engine, call, options, sentence):
    code, out, err = call("run", *FLAGS, *options)
    assert (code, out) == (2, "")
    assert sentence in err
    assert engine.calls == []


def test_workers_make_a_cluster_for_the_command(engine, call):
    from dask.base import get_scheduler

    engine_calls = []

    class Look(Result):
        def __str__(self) -> str:
            return "looked"

    def look(policy, **options):
        client = get_scheduler().__self__
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        engine_calls.append([(w["nthreads"], w["memory_limit"]) for w in workers])
        return Look()

    sys.modules["dask_anon.release"].run = look
    code, out, _ = call("run", *FLAGS, "--workers", "1", "--memory-limit", "512MiB")
    assert (code, out) == (0, "looked\n")
    assert engine_calls == [[(1, 512 * 2**20)]]


@pytest.mark.parametrize("command", ["run", "plan", "measure", "verify", "demo"])
def test_every_command_has_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert f"  dask-anon {command}" in out.split("Examples:")[1]


def test_the_group_is_found_by_dask():
    from importlib.metadata import entry_points

    (found,) = entry_points(group="dask_cli", name="anon")
    assert found.load() is main
    assert main.name == "anon"


@pytest.fixture
def demo_policy(tmp_path):
    from dask_anon.cli._demo import SAMPLES
    from dask_anon.policy import Policy

    return Policy.load(SAMPLES / "adult.yaml")


def test_the_sample_policy_names_every_column(demo_policy):
    with open(demo_policy.input.path, encoding="utf-8") as file:
        header = file.readline().strip().split(";")
    bound = demo_policy.bind(header)
    assert len(header) == 9
    assert len(bound.quasi_identifiers) == 8
    assert bound.sensitive == ("salary-class",)
    assert demo_policy.k == 5


def test_demo_replaces_only_an_earlier_demo(engine, call, tmp_path, demo_policy):
    (tmp_path / "data").mkdir()
    code, _, err = call("demo", "--output", str(tmp_path), "--overwrite")
    assert code == 2
    assert "is not the release of an earlier demo and stays as it is" in err
    assert engine.calls == []


def test_demo_says_what_was_done_and_where(engine, call, tmp_path, demo_policy):
    import pyarrow as pa
    from pyarrow import parquet

    out_dir = tmp_path / "my release"
    (out_dir / "data").mkdir(parents=True)
    parquet.write_table(pa.table({"age": ["[1, 2]"] * 9}), out_dir / "data" / "part.parquet")
    manifest = {"policy": demo_policy.to_manifest()}
    (out_dir / "manifest.json").write_text(json.dumps(manifest))
    code, out, _ = call("demo", "--output", str(out_dir), "--overwrite")
    assert code == 0
    assert f"Release: {out_dir}" in out
    assert out.count("[1, 2]") == 5
    assert f"dask-anon verify '{out_dir}'" in out


def test_an_address_that_does_not_answer_leaves_dask_as_it_was(call):
    before = dask.config.get("scheduler", None)
    code, _, _ = call("run", *FLAGS, "--scheduler", "nonsense://x")
    assert code == 2
    assert dask.config.get("scheduler", None) == before
