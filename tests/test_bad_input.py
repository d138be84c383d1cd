"""Bad input gets a sentence and exit code 2, leaves nothing on disk, and shows no value."""

from __future__ import annotations

import errno
import io
import json
import re
from pathlib import Path

import dask
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dask_anon as anon
from dask_anon.cli import main
from dask_anon.evaluation import check

# Distinctive: whatever is printed or written outside data/ is searched for these.
NAMES = ["Qwyzzle", "Vrakten", "Plimsko", "Ghubbar", "Zanthop", "Wexford"]
TOWNS = ["Jorvikk", "Jorvikk", "Mxyltown", "Mxyltown", "Jorvikk", "Mxyltown"]
AGES = [918273, 918274, 918275, 918276, 918277, 918278]
SECRETS = [*NAMES, *TOWNS, *map(str, AGES), "Kwisatz"]
TABLE = {"name": NAMES, "age": AGES, "town": TOWNS, "diagnosis": ["Kwisatz"] * 6}
CSV = "name,age,town,diagnosis\n" + "".join(
    f"{name},{age},{town},Kwisatz\n" for name, age, town in zip(NAMES, AGES, TOWNS, strict=True)
)
FLAGS = ["-q", "age", "-q", "town", "-i", "name", "-s", "diagnosis"]


class Call:
    """The command line in a folder: what it printed, how it ended, what it left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in self.folder.rglob("*")}

    def run(self, *args: str, source: str = "in.csv", k: int = 2) -> str:
        files = ["--input", str(self.folder / source), "--output", str(self.folder / "out")]
        return self.refused("run", *files, "-k", str(k), *args)

    def refused(self, *args: str, exit_code: int = 2) -> str:
        """Run the command line, which must refuse; give back the sentence."""
        before = self.files()
        result = CliRunner().invoke(main, list(args), prog_name="dask-anon")
        assert result.exit_code == exit_code, result.output
        assert result.stdout == ""
        assert self.files() == before
        told = result.stderr
        assert not [secret for secret in SECRETS if secret in told], told
        assert "Traceback" not in told
        lines = [line for line in told.splitlines() if not re.fullmatch(r"[\w-]+ \d+/\d+", line)]
        sentence = "\n".join(lines)
        assert sentence.startswith(("Error: ", "Usage: ")), told
        return sentence.removeprefix("Error: ")


@pytest.fixture
def call(tmp_path):
    (tmp_path / "in.csv").write_text(CSV)
    pq.write_table(pa.table(TABLE), tmp_path / "in.parquet")
    return Call(tmp_path)


def test_the_table_of_these_tests_is_fine_and_no_value_leaves_it(call):
    files = ["--input", str(call.folder / "in.csv"), "--output", str(call.folder / "out")]
    result = CliRunner().invoke(main, ["run", *files, "-k", "3", *FLAGS])
    assert result.exit_code == 0, result.output
    told = result.stdout + result.stderr
    for path in (call.folder / "out").rglob("*"):
        if path.is_file() and path.parent.name != "data":
            told += path.name + path.read_text()
    assert not [secret for secret in SECRETS if secret in told]


# ------------------------------------------------------------------ columns and roles


@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
def test_an_unknown_column_has_a_nearest_name(call, source):
    assert call.run(*FLAGS[2:], "-q", "agee", source=source).splitlines()[1:] == [
        "  columns.agee: column 'agee' is not in the data. Did you mean 'age'? "
        "Columns: 'name', 'age', 'town', 'diagnosis'.",
        "  columns: column 'age' has no role. Give every column of the data one, or say what the "
        "others are (default_role or --default-role: insensitive publishes them, identifier drops "
        "them).",
    ]


def test_a_column_without_a_role_is_an_error_unless_it_is_waived(call):
    assert call.run("-q", "age", "-i", "name").startswith(
        "columns: 'town', 'diagnosis' have no role. Give every column of the data one"
    )
    files = ["--input", str(call.folder / "in.csv"), "--output", str(call.folder / "out")]
    asked = ["run", *files, "-k", "2", "-q", "age", "--default-role"]
    result = CliRunner().invoke(main, [*asked, "identifier"])
    assert result.exit_code == 0
    (file,) = (call.folder / "out" / "data").iterdir()
    assert pq.read_schema(file).names == ["age"]
    result = CliRunner().invoke(main, [*asked, "insensitive", "--overwrite"])
    assert result.exit_code == 0
    assert pq.read_schema(file).names == ["name", "age", "town", "diagnosis"]


def test_a_column_has_one_role(call):
    assert call.run(*FLAGS, "-s", "age") == (
        "columns.age: column 'age' has two roles (--quasi-identifier and --sensitive). Keep one."
    )
    policy = call.folder / "policy.yaml"
    policy.write_text(
        "columns:\n  age: quasi-identifier\n  town: sensitive\n  age: sensitive\n"
        "privacy: [{model: k-anonymity, k: 2}]\ninput: in.csv\noutput: out\n"
    )
    assert call.refused("run", str(policy)) == (
        "columns.age: column 'age' has two entries (lines 2 and 4). Keep one. "
        "A column has one role."
    )


def test_two_columns_of_one_name(call):
    (call.folder / "in.csv").write_text("age,town,age\n1,a,2\n3,b,4\n")
    assert call.run(*FLAGS) == (
        "the header of 'in.csv' names column 'age' more than once. Rename one of them."
    )
    table = pa.table([[1, 2], [3, 4]], names=["age", "age"])
    pq.write_table(table, call.folder / "in.parquet")
    assert call.run(*FLAGS, source="in.parquet") == (
        "file 'in.parquet' has more than one column named 'age'. Rename one of them."
    )


def test_two_released_columns_of_one_name(call):
    (call.folder / "in.csv").write_text("age,age_min\n1,2\n3,4\n")
    assert call.run("-q", "age", "-s", "age_min", "--format", "bounds") == (
        "columns.age: the release would have two columns 'age_min', from 'age', 'age_min'. "
        "Rename one in the data, or give the quasi-identifier `format: interval`."
    )


@pytest.mark.parametrize(
    "type_, array",
    [
        ("list<element: int64>", pa.array([[1], [2]])),
        ("binary", pa.array([b"a", b"b"])),
        ("struct<a: int64>", pa.array([{"a": 1}] * 2)),
    ],
)
def test_a_type_without_order_and_labels_is_no_quasi_identifier(call, type_, array):
    pq.write_table(pa.table({"age": array}), call.folder / "in.parquet")
    assert call.run("-q", "age", source="in.parquet") == (
        f"column 'age' is of type {type_}, which has neither an order nor labels. "
        "Convert it to text, numbers or dates, or give it another role."
    )


def test_a_type_that_csv_cannot_hold(call):
    pq.write_table(pa.table({"age": [1, 2], "tags": [[1], [2]]}), call.folder / "in.parquet")
    options = ["-q", "age", "-s", "tags", "--output-format", "csv"]
    assert call.run(*options, source="in.parquet") == (
        "column 'tags' is of type list<element: int64>, which CSV cannot hold. Write Parquet "
        "(output format: parquet), convert it to text, or drop it (role: identifier)."
    )


def test_an_ordered_column_is_no_set(call):
    assert call.run(*FLAGS, "--format", "set") == (
        "column 'age' is integer and has an order, so that it cannot be released as 'set'. "
        "Use 'interval', 'bounds' or 'midpoint'."
    )


# ------------------------------------------------------------------ k and rows


def test_k_larger_than_the_table(call):
    assert call.run(*FLAGS, k=7) == (
        "k=7 cannot hold: the table has 6 rows. Lower k to at most 6, or bring more rows."
    )


def test_one_row_cannot_hide(call):
    (call.folder / "in.csv").write_text("".join(CSV.splitlines(keepends=True)[:2]))
    assert call.run(*FLAGS) == (
        "k=2 cannot hold: the table has 1 row, and nobody hides alone. Bring more rows."
    )


@pytest.mark.parametrize("k", [1, 0, -5])
def test_k_below_two(call, k):
    assert call.run(*FLAGS, k=k) == f"-k: must be a whole number of at least 2, found {k}."


# ------------------------------------------------------------------ privacy models


def with_models(call, *models: dict, source: str = "in.csv", **columns) -> str:
    """What is said of a policy with these models and changes of roles; a run and a plan agree."""
    roles = {"name": "identifier", "age": "quasi-identifier", "town": "quasi-identifier"}
    policy = {
        "columns": roles | {"diagnosis": "sensitive"} | columns,
        "privacy": [{"model": "k-anonymity", "k": 2}, *models],
        "input": {"path": str(call.folder / source)},
        "output": {"path": str(call.folder / "out")},
    }
    path = call.folder / "policy.yaml"
    path.write_text(json.dumps(policy))
    return call.refused("run", str(path))


DIVERSE = {"model": "distinct-l-diversity", "column": "diagnosis", "l": 2}
CLOSE = {"model": "t-closeness", "column": "diagnosis", "t": 0.2}


def test_a_sensitive_column_that_is_a_quasi_identifier(call):
    assert with_models(call, DIVERSE | {"column": "age"}) == (
        "privacy[1].column: column 'age' is a quasi-identifier: what others know is no secret to "
        "protect. Name a sensitive column."
    )
    with pytest.raises(anon.PolicyError, match="is a quasi-identifier"):
        check(pd.DataFrame(TABLE), [DIVERSE | {"column": "age"}], ["age"])


@pytest.mark.parametrize(
    "column, sentence",
    [
        (
            "name",
            "column 'name' is an identifier. Give it the role sensitive, or name a column that",
        ),
        ("diagnosi", "column 'diagnosi' has no role. Did you mean 'diagnosis'?"),
    ],
)
def test_a_model_on_a_column_without_such_a_role(call, column, sentence):
    told = with_models(call, DIVERSE | {"column": column})
    assert told.startswith(f"privacy[1].column: {sentence}")


def test_l_larger_than_the_distinct_values(call):
    for told in (with_models(call, DIVERSE), call.run(*FLAGS, "-l", "2")):
        assert told.startswith("privacy[1].l: column 'diagnosis' has only 1 distinct value")
        assert "l=2 cannot hold" in told


@pytest.mark.parametrize("t", [-0.1, 1.5, "far"])
def test_t_outside_0_to_1(call, t):
    told = with_models(call, CLOSE | {"t": t})
    assert told.startswith("privacy[1].t: must be a number at least 0 and at most 1, found ")
    if t != "far":
        assert call.run(*FLAGS, "-t", str(t)) == (
            f"-t: must be a number at least 0 and at most 1, found {t:g}."
        )


def test_a_hierarchical_distance_without_a_hierarchy(call):
    assert with_models(call, CLOSE | {"distance": "hierarchical"}) == (
        "privacy[1].distance: column 'diagnosis' has no hierarchy to measure distances in. Give it "
        "one (hierarchy: {kind: taxonomy, file: …}), or choose another distance."
    )
    (call.folder / "tree.csv").write_text("Plimsko;*\n")
    tree = {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "file": "tree.csv"}}
    told = with_models(call, CLOSE | {"distance": "hierarchical"}, diagnosis=tree)
    assert "diagnosis" in told
    assert "taxonomy" in told


def test_a_distance_on_a_line_of_texts(call):
    told = with_models(call, CLOSE | {"distance": "ordered"})
    assert told == (
        "privacy[1]: column 'diagnosis' is text, and 1 of its 1 distinct values are no numbers. "
        "Convert it to numbers, or choose `distance: equal`."
    )


def test_ordered_categories_that_csv_could_not_show(call):
    grade = pd.Categorical(["low", "high", "low"] * 2, ["low", "high"], ordered=True)
    table = pa.table({**TABLE, "diagnosis": pa.array(grade)})
    pq.write_table(table, call.folder / "in.parquet")
    policy = {
        "columns": {"age": "quasi-identifier", "diagnosis": "sensitive"},
        "default_role": "identifier",
        "privacy": [{"model": "k-anonymity", "k": 2}, CLOSE],
        "input": {"path": str(call.folder / "in.parquet")},
        "output": {"path": str(call.folder / "out"), "format": "csv"},
    }
    (call.folder / "policy.yaml").write_text(json.dumps(policy))
    assert call.refused("run", str(call.folder / "policy.yaml")) == (
        "t-closeness of 'diagnosis' with t=0.2: the categories of 'diagnosis' had an order, which "
        "CSV does not keep, so it cannot be measured again. Write Parquet (output format: "
        "parquet), or ask for `distance: equal`."
    )


@pytest.mark.parametrize("command", ["run", "measure"])
def test_missing_sensitive_values_where_the_policy_forbids_them(call, command):
    (call.folder / "in.csv").write_text(CSV + "Qwyzzle,918273,Jorvikk,\n")
    policy = {
        "columns": {"age": "quasi-identifier", "diagnosis": "sensitive"},
        "default_role": "identifier",
        "privacy": [{"model": "k-anonymity", "k": 2}, CLOSE],
        "sensitive_nulls": "error",
        "input": {"path": str(call.folder / "in.csv")},
        "output": {"path": str(call.folder / "out")},
    }
    (call.folder / "policy.yaml").write_text(json.dumps(policy))
    assert call.refused(command, str(call.folder / "policy.yaml")).startswith(
        "sensitive_nulls: column 'diagnosis' has 1 missing value. Fill them, or choose ignore"
    )


def test_labels_that_cannot_be_read_are_counted(call):
    frame = pd.DataFrame(TABLE)
    released = frame.assign(age=["918273-918275"] * 3 + ["918276-918278"] * 3)
    released.to_parquet(call.folder / "released.parquet")
    asked = {
        "columns": {"age": "quasi-identifier", "diagnosis": "sensitive"},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "require": {"global_certainty_penalty": {"max": 0.5}},
    }
    with pytest.raises(anon.DataError, match=r"'age'.* 6 ") as caught:
        anon.evaluate(frame, released, anon.Policy(**asked))
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    # The command line says it below the figures that do not need them.
    (call.folder / "policy.yaml").write_text(
        json.dumps(asked | {"input": {"path": str(call.folder / "in.parquet")}})
    )
    path = str(call.folder / "released.parquet")
    words = ["measure", str(call.folder / "policy.yaml"), "--released", path]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "global_certainty_penalty  <= 0.5  not measured  NO" in result.stdout
    assert "The information loss was not measured: " in result.stdout
    assert not [secret for secret in SECRETS if secret in result.stdout + result.stderr]


# ------------------------------------------------------------------ values


def test_a_ragged_row_has_a_line_number(call):
    (call.folder / "in.csv").write_text(CSV + "Qwyzzle,918279,Jorvikk\n")
    assert call.run(*FLAGS).startswith(
        "line 8 of 'in.csv' has 3 fields, the header has 4. Repair the line"
    )


def test_bytes_that_cannot_be_decoded_have_an_offset(call):
    (call.folder / "in.csv").write_bytes(CSV.encode() + b"M\xfcller,1,Jorvikk,x\n")
    assert call.run(*FLAGS).startswith(
        f"file 'in.csv' is not utf-8: the byte at offset {len(CSV) + 1} cannot be decoded. "
        "Name the encoding it was written in, such as `encoding: latin-1`"
    )


def test_a_column_that_mixes_numbers_and_text(call):
    (call.folder / "in.csv").write_text(CSV + "Qwyzzle,Jorvikk,Jorvikk,x\n")
    assert call.run(*FLAGS).startswith(
        "column 'age' mixes 6 numbers with 1 text value (first text at "
    )


@pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
def test_infinities(call, source):
    frame = pd.DataFrame({"age": [1.5, float("inf"), float("-inf"), 2.5]})
    frame.to_csv(call.folder / "in.csv", index=False)
    frame.to_parquet(call.folder / "in.parquet")
    told = call.run("-q", "age", source=source)
    if source == "in.csv":
        assert told.startswith("column 'age' mixes 2 numbers with 2 values that are not finite")
    else:
        assert told == (
            "column 'age' has 2 infinite values. Replace them by missing values or by a largest "
            "number."
        )


def test_missing_values_where_the_policy_has_no_place_for_them(call):
    (call.folder / "in.csv").write_text("age,town\n1,a\n,b\n,\n4,b\n")
    (call.folder / "policy.yaml").write_text(
        "columns: {age: quasi-identifier, town: quasi-identifier}\n"
        "privacy: [{model: k-anonymity, k: 2}]\nmissing: {quasi-identifiers: error}\n"
        "input: in.csv\noutput: out\n"
    )
    assert call.refused("run", str(call.folder / "policy.yaml")) == (
        "quasi-identifiers have missing values: 'age' (2), 'town' (1). Fill them, or let the "
        "policy say `missing: {quasi-identifiers: own-value}`."
    )


# ------------------------------------------------------------------ files


@pytest.mark.parametrize(
    "source, sentence",
    [
        ("none.csv", "there is no file or directory '{folder}/none.csv'. Give a file"),
        ("none*.csv", "no file matches '{folder}/none*.csv'. Check the pattern"),
        ("empty", "directory '{folder}/empty' holds no data files"),
        ("notes.md", "the ending of the file says neither Parquet nor CSV (first: 'notes.md')"),
        ("cut.parquet", "file 'cut.parquet' is not a readable Parquet file"),
    ],
)
def test_an_input_that_is_not_there_or_no_table(call, source, sentence):
    (call.folder / "empty").mkdir()
    (call.folder / "notes.md").write_text("Qwyzzle")
    whole = (call.folder / "in.parquet").read_bytes()
    (call.folder / "cut.parquet").write_bytes(whole[:-20])
    assert call.run(*FLAGS, source=source).startswith(sentence.format(folder=call.folder))


@pytest.mark.parametrize("url", ["nosuch://me:Qwyzzle@host/x.csv", "s4://bucket/x.csv"])
def test_a_url_that_nothing_opens(call, url):
    scheme, shown = url.split(":")[0], url.replace("me:Qwyzzle@", "")
    policy = ["run", "-k", "2", *FLAGS, "--input"]
    told = call.refused(*policy, url, "--output", str(call.folder / "out"))
    assert told.startswith(f"the input '{shown}' cannot be reached (ValueError). Check the address")
    assert told.endswith(f"the package that opens {scheme}:// is installed.")
    told = call.refused(*policy, str(call.folder / "in.csv"), "--output", url)
    assert told.startswith(f"the output '{shown}' cannot be reached (ValueError). Check the")


def test_a_name_in_another_case_is_near(call):
    assert "Did you mean 'age'?" in call.run(*FLAGS, "-q", "AGE")


def test_an_output_that_exists(call):
    (call.folder / "out").mkdir()
    assert call.run(*FLAGS) == (
        f"the output '{call.folder}/out' exists already. "
        "Choose another output, or replace it with --overwrite."
    )


def test_an_output_inside_the_input(call):
    assert call.run(*FLAGS, source=".").startswith("output.path: input and output lie in each")


def test_an_output_below_a_file(call):
    told = call.run(*FLAGS, "--output", str(call.folder / "in.parquet" / "x" / "y"))
    assert re.match(r"cannot write beside '.*/in\.parquet/x/y': .*\. Choose another output\.", told)


# ------------------------------------------------------------------ policies


def test_all_mistakes_of_a_policy_at_once(call):
    (call.folder / "policy.yaml").write_text(
        "version: 2\ncolumns:\n  age: quasi-identifer\n  town: {role: sensitive, format: set}\n"
        "privacy: [{model: k-anonymty, k: 5}]\nrecodin: {}\nseed: -1\norder: shufle\n"
    )
    told = call.refused("run", str(call.folder / "policy.yaml"))
    assert told.startswith("the policy has 8 mistakes:\n") or told.startswith("the policy has 7")
    for part in [
        "\n  version: must be 1",
        "\n  columns.age.role: 'quasi-identifer' is not known. Did you mean 'quasi-identifier'?",
        "\n  columns.town.format: is for quasi-identifiers",
        "\n  privacy[0]: 'k-anonymty' is not a known privacy model. Did you mean 'k-anonymity'?",
        "\n  recodin: unknown key. Did you mean 'recoding'?",
        "\n  seed: must be a whole number",
        "\n  order: 'shufle' is not known. Did you mean 'shuffle'?",
    ]:
        assert part in told


@pytest.mark.parametrize(
    "name, text, sentence",
    [
        ("policy.yaml", "columns: {age: [", "policy.yaml"),
        ("policy.yaml", "", "is empty"),
        ("policy.toml", "columns = {", "policy.toml"),
        ("policy.json", "{}", "must end in .yaml, .yml or .toml"),
        ("in.parquet", None, "must end in .yaml, .yml or .toml"),
        ("none.yaml", None, "does not exist"),
    ],
)
def test_a_policy_that_cannot_be_read(call, name, text, sentence):
    if text is not None:
        (call.folder / name).write_text(text)
    assert sentence in call.refused("run", str(call.folder / name))


def test_no_is_a_word_and_not_false(call):
    (call.folder / "in.csv").write_text("NO,land\n1,NO\n2,SE\n3,NO\n4,SE\n")
    (call.folder / "policy.yaml").write_text(
        "columns: {NO: quasi-identifier, land: quasi-identifier}\n"
        "privacy: [{model: k-anonymity, k: 2}]\n"
        "input: {path: in.csv, null_values: [NO]}\noutput: out\norder: keep\n"
    )
    made = anon.run(anon.Policy.load(call.folder / "policy.yaml"))
    (file,) = Path(made.path, "data").iterdir()
    assert pq.read_table(file)["land"].to_pylist() == ["SE | missing"] * 4 or set(
        pq.read_table(file)["land"].to_pylist()
    ) == {None, "SE"}


# ------------------------------------------------------------------ keys


@pytest.mark.parametrize(
    "key, sentence",
    [
        ({"key_file": "none"}, "columns.name.key_file: the key cannot be read: No such file"),
        ({"key_file": "short"}, "columns.name.key_file: the key has 7 bytes, at least 16 are"),
        ({"key_env": "NO_SUCH_KEY"}, "columns.name.key_env: the variable NO_SUCH_KEY is not set."),
        ({}, "columns.name: action pseudonymize needs exactly one of key_file and key_env"),
    ],
)
def test_a_pseudonym_needs_a_key_and_says_so_before_the_data_is_read(call, key, sentence):
    (call.folder / "short").write_text("Qwyzzle")
    policy = {
        "columns": {
            "name": {"role": "identifier", "action": "pseudonymize"} | key,
            "age": "quasi-identifier",
        },
        "default_role": "insensitive",
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "input": {"path": "in.csv"},
        "output": {"path": "out"},
    }
    path = call.folder / "policy.yaml"
    path.write_text(json.dumps(policy))
    for command in ("run", "plan"):
        told = call.refused(command, str(path))
        assert told.startswith(sentence)


def test_an_identifier_without_text_cannot_be_pseudonymized(call):
    pq.write_table(pa.table({"name": [[1], [2]], "age": [1, 2]}), call.folder / "in.parquet")
    (call.folder / "key").write_text("0123456789abcdef")
    policy = anon.Policy(
        columns={
            "name": {
                "role": "identifier",
                "action": "pseudonymize",
                "key_file": str(call.folder / "key"),
            },
            "age": "quasi-identifier",
        },
        privacy=[{"model": "k-anonymity", "k": 2}],
        input={"path": str(call.folder / "in.parquet")},
        output={"path": str(call.folder / "out")},
    )
    with pytest.raises(anon.DataError, match="cannot be pseudonymized"):
        anon.run(policy)


# ------------------------------------------------------------------ machines


class FullDisk(io.FileIO):
    """Takes so many bytes in all, then the disk is full."""

    room = 0

    def write(self, data):
        FullDisk.room -= memoryview(data).nbytes
        if FullDisk.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("module", ["scratch", "target"])
@pytest.mark.parametrize("room", [0, 10])
def test_a_disk_that_fills_up(call, monkeypatch, module, room):
    from dask_anon.engine import scratch, target

    FullDisk.room = room

    def open_on_it(path, mode="r", **options):
        if "w" not in mode:
            return open(path, mode, **options)
        file = FullDisk(path, "wb")
        return file if "b" in mode else io.TextIOWrapper(io.BufferedWriter(file, 1))

    where = {"scratch": scratch, "target": target}[module]
    monkeypatch.setattr(where, "open", open_on_it, raising=False)
    told = call.run(*FLAGS)
    assert re.match(r"cannot write .*: No space left on device\. Free space", told)


def test_a_disk_that_fills_up_under_the_data(call, monkeypatch):
    def full(path, mode):
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    monkeypatch.setattr(pa, "OSFile", full)
    told = call.run(*FLAGS)
    assert re.match(r"cannot write to '.*/data': No space left on device\. Free space", told)


def test_a_plan_that_does_not_fit(call):
    with dask.config.set({"anon.memory.limit": "100MiB"}):
        assert "larger --memory-limit" in call.run(*FLAGS)


def test_a_setting_that_is_no_setting(call):
    with dask.config.set({"anon.memory.limit": "much"}):
        assert call.run(*FLAGS).startswith("the setting anon.memory.limit must be a size such as")


def test_an_input_that_changes_during_the_run(call, monkeypatch):
    from dask_anon.engine import execute

    compute = execute._run

    def change(stage, *args, **kwargs):
        if stage == "write":
            (call.folder / "in.parquet").write_bytes(b"")
        return compute(stage, *args, **kwargs)

    monkeypatch.setattr(execute, "_run", change)
    policy = anon.Policy.from_flags(
        quasi_identifiers=["age"],
        default_role="insensitive",
        k=2,
        input=str(call.folder / "in.parquet"),
        output=str(call.folder / "out"),
    )
    with pytest.raises(anon.DataError, match="not a readable Parquet file"):
        anon.run(policy)
    assert not [p for p in call.folder.iterdir() if "out" in p.name]
