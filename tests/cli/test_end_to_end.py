"""The command line as people use it: whole runs, in this process and as commands of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dask_anon.cli import main

STAGE = re.compile(r"[a-z]+(-[a-z]+)* \d+/\d+")


@pytest.fixture
def here(tmp_path, monkeypatch, people):
    """A folder to work in, with twelve people and a policy."""
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    people.to_parquet("people.parquet")
    Path("policy.yaml").write_text(
        "version: 1\n"
        "columns:\n"
        "  name: identifier\n"
        "  age: quasi-identifier\n"
        "  zip: {role: quasi-identifier, type: text}\n"
        "  diagnosis: sensitive\n"
        "privacy: [{model: k-anonymity, k: 3}]\n"
        "input: people.csv\n"
        "output: release\n"
    )
    return tmp_path


def call(*args: str):
    result = CliRunner().invoke(main, list(args), prog_name="dask-anon")
    assert "Traceback" not in result.stderr
    return result


def command(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command of its own, with the interpreter that runs the tests."""
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        env=os.environ | env,
        timeout=120,
        check=False,
    )


def test_a_policy_becomes_a_verified_release(here):
    result = call("run", "policy.yaml")
    assert result.exit_code == 0
    assert result.stdout.startswith("12 records in ")
    assert f"release   {here}/release  (1 file, " in result.stdout
    assert (here / "release.recoding").is_dir()
    checked = call("verify", "release")
    assert checked.exit_code == 0
    assert checked.stdout.startswith("release holds: 12 records in ")


def test_progress_is_on_stderr_alone(here):
    result = call("run", "policy.yaml")
    lines = result.stderr.splitlines()
    assert lines
    assert all(STAGE.fullmatch(line) for line in lines), lines
    named = [line.split()[0] for line in lines]
    for stage in ("domains", "encode", "finish", "write", "count"):
        assert stage in named
    assert not any(STAGE.fullmatch(line) for line in result.stdout.splitlines())


@pytest.mark.parametrize("words", [["run", "policy.yaml"], ["plan", "policy.yaml"]])
def test_json_is_all_that_is_on_stdout(here, words):
    result = call(*words, "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    if words[0] == "run":
        assert told["records"] == 12
        assert told["evaluation"]["holds"] is True
        assert json.loads(call("verify", "release", "--json").stdout)["holds"] is True
    else:
        assert told["n_records"] == 12
        assert told["quasi_identifiers"] == ["age", "zip"]
        assert [stage["name"] for stage in told["stages"]][-1] == "verify"


def test_plan_says_what_a_run_would_do_and_does_nothing(here):
    before = sorted(here.rglob("*"))
    result = call("plan", "policy.yaml")
    assert result.exit_code == 0
    first, *_ = result.stdout.splitlines()
    assert first.split() == ["rows", "12", "in", "1", "partition"]
    assert "2 quasi-identifiers, 3 read, 1 dropped" in result.stdout
    for word in ("encode", "finish", "write", "verify", "memory"):
        assert word in result.stdout
    assert sorted(here.rglob("*")) == before


def test_plan_needs_no_output(here):
    words = "plan --input people.csv -q age -k 3 --default-role insensitive"
    result = call(*words.split())
    assert result.exit_code == 0
    assert "1 quasi-identifier, 4 read, 0 dropped" in result.stdout


def test_options_do_without_a_policy_file(here):
    words = (
        "run --input people.parquet --output out -q age -q zip -i name -s diagnosis -k 3 "
        "--format bounds --order keep"
    )
    result = call(*words.split())
    assert result.exit_code == 0
    table = pq.read_table(next((here / "out" / "data").iterdir()))
    assert table.column_names == ["age_min", "age_max", "zip", "diagnosis"]
    assert table["diagnosis"].to_pylist() == ["flu", "asthma", "flu", "angina"] * 3
    assert all(low <= 23 for low in table["age_min"].to_pylist()[:1])


def test_a_second_run_needs_overwrite(here):
    assert call("run", "policy.yaml").exit_code == 0
    again = call("run", "policy.yaml")
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert call("run", "policy.yaml", "--overwrite", "--seed", "4").exit_code == 0
    assert json.loads((here / "release" / "manifest.json").read_text())["seed"] == 4


def test_a_requirement_that_fails_exits_1_and_publishes_nothing(here):
    with open("policy.yaml", "a") as policy:
        policy.write("require: {global_certainty_penalty: {max: 0.0}}\n")
    result = call("run", "policy.yaml")
    assert result.exit_code == 1
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith(
        "Error: 1 of 2 requirements do not hold: global_certainty_penalty <= 0: found 0."
    )
    assert sorted(path.name for path in here.iterdir()) == [
        "people.csv",
        "people.parquet",
        "policy.yaml",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing(here, monkeypatch, number):
    from dask_anon.engine import execute

    before, run = sorted(here.rglob("*")), execute._run

    def stop(stage, *args, **kwargs):
        if stage == "finish":
            assert list(here.glob(".release.scratch-*"))
            os.kill(os.getpid(), number)
        return run(stage, *args, **kwargs)

    monkeypatch.setattr(execute, "_run", stop)
    handler = signal.getsignal(number)
    result = call("run", "policy.yaml")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "Error: interrupted before the work was complete."
    assert sorted(here.rglob("*")) == before
    assert signal.getsignal(number) is handler


def test_a_changed_release_exits_1(here):
    assert call("run", "policy.yaml").exit_code == 0
    file = next((here / "release" / "data").iterdir())
    table = pq.read_table(file)
    pq.write_table(table.slice(1), file)
    result = call("verify", "release")
    assert result.exit_code == 1
    assert "release does not hold" in result.stdout
    assert call("verify", "nowhere").exit_code == 1


def test_the_demo_gives_the_numbers_of_the_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("demo")
    assert result.exit_code == 0
    assert "30,162 records in " in result.stdout
    assert "k-anonymity  k >= 5" in result.stdout
    assert "dask-anon verify adult-release" in result.stdout
    assert call("verify", "adult-release").exit_code == 0
    assert call("demo").exit_code == 2
    assert call("demo", "--overwrite").exit_code == 0


def test_the_package_is_a_command(here):
    result = command("-m", "dask_anon.cli", "run", "policy.yaml", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["records"] == 12
    assert all(STAGE.fullmatch(line) for line in result.stderr.splitlines()), result.stderr


def test_dask_has_it_as_a_command_of_its_own(here):
    result = command("-m", "dask", "anon", "run", "policy.yaml")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("12 records in ")
    result = command("-m", "dask", "anon", "run", "policy.yaml")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("Error: the output '")
    result = command("-m", "dask", "anon", "verify", "release")
    assert result.returncode == 0


def test_processes_of_its_own_give_the_same_release(here):
    assert call("run", "policy.yaml").exit_code == 0
    words = "-m dask_anon.cli run policy.yaml --output other --workers 1 --memory-limit 1GiB"
    result = command(*words.split())
    assert result.returncode == 0, result.stderr
    files = [next((here / name / "data").iterdir()).read_bytes() for name in ("release", "other")]
    assert files[0] == files[1]
    assert all(STAGE.fullmatch(line) for line in result.stderr.splitlines()), result.stderr
    words = "-m dask_anon.cli plan policy.yaml --workers 1 --memory-limit 200MiB"
    small = command(*words.split())
    assert small.returncode == 2
    assert "--memory-limit" in small.stderr.splitlines()[-1]


# -- measure --------------------------------------------------------------------------------------

MEASURED = ["-q", "age", "-q", "zip", "-s", "diagnosis"]


def lines_of(result) -> dict[str, list[str]]:
    """The printed table by the names of its rows."""
    return {line.split("  ")[0]: line.split() for line in result.stdout.splitlines()}


def test_measure_shows_a_table_that_is_not_ours(here):
    result = call("measure", "--input", "people.parquet", *MEASURED, "-k", "1000", "-l", "2")
    assert result.exit_code == 1
    rows = lines_of(result)
    assert rows["n_records"][1] == "12"
    assert rows["smallest_class"][1] == "1"
    assert rows["distinct_l_diversity of 'diagnosis'"][3] == "1"
    assert rows["k-anonymity"][-2:] == ["1", "NO"]
    assert all(STAGE.fullmatch(line) for line in result.stderr.splitlines())


def test_measure_compares_before_and_after(here):
    assert call("run", "policy.yaml").exit_code == 0
    result = call("measure", "people.csv", "policy.yaml", "--released", "release")
    assert result.exit_code == 0, result.stderr
    rows = lines_of(result)
    assert rows["measure"] == ["measure", "before", "after"]
    assert rows["smallest_class"][1:3] == ["1", "3"]
    assert rows["k-anonymity"] == ["k-anonymity", "k", ">=", "3", "3", "yes"]
    assert "global_certainty_penalty" in rows
    same = call("measure", "policy.yaml", "--released", "release")
    assert same.stdout == result.stdout


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_release_brings_the_policy_that_it_is_measured_by(here, format):
    run = ["run", "policy.yaml", "--output-format", format, "-l", "2"]
    assert call(*run).exit_code == 0
    alone = call("measure", "release")
    assert alone.exit_code == 0, alone.stderr
    rows = lines_of(alone)
    assert rows["measure"] == ["measure", "found"]
    assert rows["distinct-l-diversity of 'diagnosis'"][-1] == "yes"
    both = call("measure", "people.csv", "--released", "release", "--json")
    assert both.exit_code == 0, both.stderr
    told = json.loads(both.stdout)
    assert [row["name"] for row in told["requirements"]] == [
        "k-anonymity",
        "distinct-l-diversity of 'diagnosis'",
    ]
    assert call("measure", "release", "-k", "50").exit_code == 1


def test_measure_says_what_it_needs(here):
    for words, code, sentence in [
        (["measure"], 2, "--quasi-identifier"),
        (["measure", *MEASURED, "-k", "2"], 2, "there is no table to measure. Give DATA"),
        (["measure", "people.csv", *MEASURED], 2, "-k: is missing."),
        (["measure", "people.csv", "--input", "x", *MEASURED, "-k", "2"], 2, "are the same."),
        (["measure", "nothing.csv", *MEASURED, "-k", "2"], 2, "no file or directory"),
        (["measure", "people.csv", "-q", "agee", "-k", "2"], 2, "Did you mean 'age'?"),
    ]:
        result = call(*words)
        assert result.exit_code == code, result.stderr
        assert result.stdout == ""
        assert sentence in result.stderr


def test_a_manifest_that_leads_to_a_file_is_not_followed(here):
    assert call("run", "policy.yaml").exit_code == 0
    path = here / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    section = manifest["policy"]["columns"]["diagnosis"]
    section["hierarchy"] = {"kind": "taxonomy", "file": "/etc/hostname"}
    path.write_text(json.dumps(manifest))
    result = call("measure", "release")
    assert result.exit_code == 1
    assert "names a file for column 'diagnosis'; a manifest never does." in result.stderr


def test_models_of_options_are_kept_and_verified(here):
    files = ["--input", "people.parquet", "--output", "out"]
    words = ["run", *files, "-i", "name", "-k", "3", "-l", "2", "-t", "0.6"]
    result = call(*words, *MEASURED)
    assert result.exit_code == 0, result.stderr
    rows = lines_of(result)
    assert rows["distinct-l-diversity of 'diagnosis'"][-1] == "yes"
    assert rows["t-closeness of 'diagnosis' (equal)"][-1] == "yes"
    checked = call("verify", "out")
    assert checked.exit_code == 0
    assert "  distinct-l-diversity of 'diagnosis' l >= 2: found 2, holds." in checked.stdout
