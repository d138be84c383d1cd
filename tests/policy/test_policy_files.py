"""Policy files: YAML without its traps, TOML, lines in sentences, paths from the file's folder."""

from __future__ import annotations

import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import Policy

YAML = """
version: 1
columns:
  age: {role: quasi-identifier}
  NO: sensitive
  2020: {role: insensitive}
  true: insensitive
privacy:
  - {model: k-anonymity, k: 5}
input: {path: data/*.parquet, null_values: [NO, off, "-99"]}
output: {path: release}
"""

TOML = """
version = 1
[columns]
age = {role = "quasi-identifier"}
name = {role = "identifier", action = "pseudonymize", key_file = "secret/key"}
[[privacy]]
model = "k-anonymity"
k = 5
[input]
path = "s3://bucket/data.parquet"
[output]
path = "/abs/release"
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="policy.yaml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_yaml_keeps_no_and_numbers_as_names(write):
    policy = Policy.load(write(YAML))
    assert list(policy.columns) == ["age", "NO", "2020", "true"]
    assert policy.input.null_values == ("NO", "off", "-99")
    assert policy.k == 5


@pytest.mark.parametrize("word", ["NO", "yes", "on", "Off", "True"])
def test_only_true_and_false_are_booleans(write, word):
    with pytest.raises(PolicyError, match=f"order: '{word}' is not known"):
        Policy.load(write(YAML + f"order: {word}\n"))


@pytest.mark.parametrize("number", ["0o7", "1_000", "1:30", "2020-01-01", "0x10"])
def test_numbers_are_written_plainly(write, number):
    with pytest.raises(PolicyError, match=r"privacy\[0\].k: must be a whole number .*found text"):
        Policy.load(write(YAML.replace("k: 5", f"k: {number}")))


def test_a_leading_zero_does_not_make_a_number_octal(write):
    assert Policy.load(write(YAML.replace("k: 5", "k: 010"))).k == 10


def test_toml_is_read_as_well(write):
    policy = Policy.load(write(TOML, "policy.toml"))
    assert (policy.k, policy.quasi_identifiers) == (5, ["age"])


def test_relative_paths_start_at_the_file(write, tmp_path, monkeypatch):
    write(TOML, "policy.toml")
    write(YAML)
    monkeypatch.chdir(tmp_path)
    policy = Policy.load("policy.toml")
    monkeypatch.chdir("/")
    assert policy.columns["name"].key_file == str(tmp_path / "secret/key")
    assert policy.input.path == "s3://bucket/data.parquet"
    assert policy.output.path == "/abs/release"
    monkeypatch.chdir(tmp_path)
    assert Policy.load("policy.yaml").input.path == str(tmp_path / "data/*.parquet")


def test_a_column_with_two_roles_names_both_lines(write):
    text = YAML.replace("  NO: sensitive", "  NO: sensitive\n  age: identifier")
    with pytest.raises(
        PolicyError, match=r"columns.age: column 'age' has two entries \(lines 4 and 6\)"
    ):
        Policy.load(write(text))


def test_a_key_that_stands_twice_comes_with_all_other_mistakes(write):
    with pytest.raises(PolicyError) as caught:
        Policy.load(write(YAML.replace("k: 5", "k: 5, k: 7") + "seed: 1\nseed: 2\norder: x\n"))
    assert [str(problem) for problem in caught.value.problems] == [
        "privacy[0].k: stands twice (line 9). Keep one.",
        "seed: stands twice (lines 12 and 13). Keep one.",
        "order: 'x' is not known. Known: shuffle, keep.",
    ]


@pytest.mark.parametrize(
    "text, name, message",
    [
        ("a: [1", "p.yaml", r"line 1 is not valid YAML: expected ',' or ']'"),
        ("a: 1\n b: 2", "p.yaml", r"line 2 is not valid YAML: mapping values are not allowed"),
        ("a: &x 1\nb: *x", "p.yaml", r"line 2 is not valid YAML: aliases \(\*name\) are not allo"),
        ("a: !!python/object:os.system 1", "p.yaml", r"line 1 .* this tag \(!\) is not allowed"),
        ("a: !!int x", "p.yaml", r"line 1 is not valid YAML: this is not a number"),
        ("seed: " + "9" * 5000, "p.yaml", r"line 1 is not valid YAML: this is not a number"),
        ("? [a]\n: 1", "p.yaml", r"line 1 is not valid YAML: a key must be text"),
        ("a: 1\n---\nb: 1", "p.yaml", r"line 2 is not valid YAML: but found another document"),
        ("a: \x01", "p.yaml", r"line 1: a character that YAML forbids"),
        (b"a: 1\nb: \xff", "p.yaml", r"line 2: not UTF-8"),
        ("[" * 20_000, "p.yaml", r"is nested too deeply"),
        ("", "p.yaml", r"is empty\. It needs at least columns and privacy"),
        ("# only a comment", "p.yaml", r"is empty"),
        ("- a", "p.yaml", r"must be a mapping with keys"),
        ("a = \nb = 1", "p.toml", r"is not valid TOML: .*line 1"),
        ("a = 1\na = 2\nb = 3", "p.toml", r"is not valid TOML: .*line 2"),
        ("", "p.json", r"must end in \.yaml, \.yml or \.toml"),
        (" " * (2**20 + 1), "p.yaml", r"is larger than 1 MiB"),
    ],
)
def test_an_unreadable_file_gets_a_sentence(write, text, name, message):
    with pytest.raises(PolicyError, match=message):
        Policy.load(write(text, name))


def test_no_file_and_a_folder_get_a_sentence(tmp_path):
    with pytest.raises(PolicyError, match=r"no\.yaml' does not exist"):
        Policy.load(tmp_path / "no.yaml")
    (tmp_path / "dir.yaml").mkdir()
    with pytest.raises(PolicyError, match=r"dir\.yaml' is a directory"):
        Policy.load(tmp_path / "dir.yaml")


def test_a_byte_order_mark_is_no_mistake(write):
    assert Policy.load(write(b"\xef\xbb\xbf" + YAML.lstrip().encode())).k == 5


@pytest.mark.parametrize(
    "source, target, overlap",
    [
        ("data", "data", True),
        ("data/people.csv", "data", True),
        ("data", "data/release", True),
        ("data/**/*.csv", "data/release", True),
        ("data/*.csv", "data/release", False),
        ("data/people.csv", "data/release", False),
        ("data", "data-release", False),
        ("s3://b/data", "s3://b/data/out", True),
        ("s3://b/data", "s3://b/out", False),
    ],
)
def test_input_and_output_do_not_lie_in_each_other(source, target, overlap):
    policy = Policy.from_flags(quasi_identifiers=["a"], k=2, input=source, output=target)
    if overlap:
        with pytest.raises(PolicyError, match=r"output.path: input and output lie in each other"):
            policy.check_files()
    else:
        policy.check_files()


def test_a_run_needs_both_files():
    with pytest.raises(PolicyError) as caught:
        Policy.from_flags(quasi_identifiers=["a"], k=2).check_files()
    assert [problem.path for problem in caught.value.problems] == ["input.path", "output.path"]
