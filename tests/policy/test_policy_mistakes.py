"""Every mistake in a policy gets a sentence with its path, and all of them come at once."""

from __future__ import annotations

import re

import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import Policy

GOOD = {
    "columns": {"age": "quasi-identifier", "disease": "sensitive"},
    "privacy": [{"model": "k-anonymity", "k": 5}],
}


def mistakes(**sections) -> dict[str, str]:
    with pytest.raises(PolicyError) as caught:
        Policy(**{**GOOD, **sections})
    return {problem.path: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize(
    "k, found",
    [
        (1, "found 1"),
        (0, "found 0"),
        (-3, "found -3"),
        (True, "found true or false"),
        (5.0, "found a number with a decimal point"),
        ("5", "found text"),
        (None, "found nothing"),
    ],
)
def test_k_is_a_whole_number_of_at_least_2(k, found):
    found_at = mistakes(privacy=[{"model": "k-anonymity", "k": k}])
    assert found_at == {"privacy[0].k": f"must be a whole number of at least 2, {found}."}


COLUMN = {"role": "quasi-identifier"}
HIDDEN = {"role": "identifier", "action": "pseudonymize"}


@pytest.mark.parametrize(
    "sections, path, message",
    [
        ({"version": 2}, "version", "must be 1"),
        ({"version": True}, "version", "must be 1"),
        ({"colums": {}}, "colums", "unknown key. Did you mean 'columns'? Known keys: version, col"),
        ({"columns": {}}, "columns", "no column is a quasi-identifier"),
        ({"columns": {"age": "sensitive"}}, "columns", "no column is a quasi-identifier"),
        ({"columns": ["age"]}, "columns", "must be a mapping, found a list."),
        (
            {"columns": {"age": "quasi-identifer"}},
            "columns.age.role",
            "'quasi-identifer' is not known. Did you mean 'quasi-identifier'? "
            "Known: identifier, quasi-identifier, sensitive, insensitive.",
        ),
        (
            {"columns": {"age": "quasi_identifier"}},
            "columns.age.role",
            "Did you mean 'quasi-identifier'?",
        ),
        ({"columns": {"age": {"type": "integer"}}}, "columns.age.role", "is missing."),
        ({"columns": {"age": 5}}, "columns.age", "must be a mapping (keys: role, action, "),
        (
            {"columns": {"age": {**COLUMN, "typ": "integer"}}},
            "columns.age.typ",
            "Did you mean 'type'?",
        ),
        (
            {"columns": {"age": {**COLUMN, "type": "int"}}},
            "columns.age.type",
            "Known: integer, float, text, boolean, date, timestamp.",
        ),
        (
            {"columns": {"age": {**COLUMN, "format": "bound"}}},
            "columns.age.format",
            "Did you mean 'bounds'? Known: interval, bounds, set, midpoint.",
        ),
        (
            {"columns": {"age": COLUMN, "n": {"role": "sensitive", "format": "set"}}},
            "columns.n.format",
            "is for quasi-identifiers, this column is sensitive.",
        ),
        (
            {"columns": {"age": {**COLUMN, "action": "pseudonymize"}}},
            "columns.age.action",
            "is for identifiers, this column is quasi-identifier.",
        ),
        (
            {"columns": {"age": COLUMN, "n": {"role": "identifier", "key_file": "x"}}},
            "columns.n.key_file",
            "is for identifiers with action pseudonymize.",
        ),
        (
            {"columns": {"age": COLUMN, "n": HIDDEN}},
            "columns.n",
            "needs exactly one of key_file and key_env, none was found.",
        ),
        (
            {"columns": {"age": COLUMN, "n": {**HIDDEN, "key_file": "x", "key_env": "Y"}}},
            "columns.n",
            "needs exactly one of key_file and key_env, both were found.",
        ),
        (
            {"columns": {"age": COLUMN, "n": {**HIDDEN, "key_env": "s3cret/key="}}},
            "columns.n.key_env",
            "must be the name of an environment variable",
        ),
        ({"privacy": []}, "privacy", "needs at least one privacy model, such as {model: k-anon"),
        ({"privacy": GOOD["privacy"] * 2}, "privacy[1]", "repeats privacy[0], k-anonymity. Keep"),
        ({"privacy": {"k": 5}}, "privacy", "must be a list, found a mapping."),
        ({"privacy": ["k-anonymity"]}, "privacy[0]", "must be a mapping such as {model: k-anonym"),
        ({"privacy": [{"k": 5}]}, "privacy[0]", "has no key 'model'. Known models: k-anonymity, "),
        ({"privacy": [{"model": 5}]}, "privacy[0]", "population-uniqueness, found a number."),
        (
            {"privacy": [{"model": "k-anonimity", "k": 5}]},
            "privacy[0]",
            "'k-anonimity' is not a known privacy model. Did you mean 'k-anonymity'?",
        ),
        ({"privacy": [{"model": "k-anonymity"}]}, "privacy[0].k", "is missing."),
        (
            {"privacy": [{"model": "k-anonymity", "k": 5, "l": 3}]},
            "privacy[0].l",
            "unknown key. Known keys: model, k.",
        ),
        ({"algorithm": {"ties": "lft"}}, "algorithm.ties", "'lft' is not known. Did you mean 'le"),
        ({"algorithm": {"ties": 5}}, "algorithm.ties", "must be one of left, either, divide, foun"),
        ({"algorithm": "datafly"}, "algorithm.name", "'datafly' is not known. Known: mondrian."),
        ({"algorithm": {"span_ties": "x"}}, "algorithm.span_ties", "Known: domain, region."),
        ({"recoding": {"method": "sup"}}, "recoding.method", "Known: generalization."),
        ({"recoding": {"format": "points"}}, "recoding.format", "Known: interval, bounds, set, m"),
        (
            {"missing": {"quasi-identifiers": "drop"}},
            "missing.quasi-identifiers",
            "'drop' is not known. Known: own-value, error.",
        ),
        ({"missing": {"qi": 1}}, "missing.qi", "unknown key. Known keys: quasi-identifiers."),
        (
            {"require": {"prosecutor_riks": {"max": 1}}},
            "require.prosecutor_riks",
            "Did you mean 'prosecutor_risk'?",
        ),
        (
            {"require": {"prosecutor_risk": 0.1}},
            "require.prosecutor_risk",
            "must be a mapping (keys: max), found a number",
        ),
        (
            {"require": {"prosecutor_risk": {"max": 0}}},
            "require.prosecutor_risk.max",
            "must be a number above 0 and at most 1, found 0.",
        ),
        (
            {"require": {"global_certainty_penalty": {"max": float("nan")}}},
            "require.global_certainty_penalty.max",
            "must be a number at least 0 and at most 1, found nan.",
        ),
        (
            {"require": {"average_class_size": {"max": "many"}}},
            "require.average_class_size.max",
            "must be a number above 0, found text.",
        ),
        ({"order": "sorted"}, "order", "'sorted' is not known. Known: shuffle, keep."),
        ({"seed": 1.5}, "seed", "must be a whole number from 0 to 2**64 - 1."),
        ({"seed": True}, "seed", "must be a whole number"),
        ({"seed": -1}, "seed", "must be a whole number"),
        ({"default_role": "sensitive"}, "default_role", "Known: error, insensitive, identifier."),
        ({"input": {"path": ""}}, "input.path", "is empty."),
        ({"input": {"path": "a\0b"}}, "input.path", "contains a NUL character"),
        ({"input": {}}, "input.path", "is missing."),
        ({"input": {"path": "x", "format": "xlsx"}}, "input.format", "Known: parquet, csv."),
        ({"input": {"path": "x", "delimiter": ";;"}}, "input.delimiter", "a single ASCII charact"),
        ({"input": {"path": "x", "delimiter": '"'}}, "input.delimiter", "not a quote"),
        ({"input": {"path": "x", "encoding": "utf-99"}}, "input.encoding", "is not a text encod"),
        ({"input": {"path": "x", "encoding": "base64"}}, "input.encoding", "is not a text encod"),
        (
            {"input": {"path": "x", "null_values": ["NA", -99]}},
            "input.null_values[1]",
            "must be text, found a number. Put it in quotes.",
        ),
        ({"output": {"path": "x", "format": "tsv"}}, "output.format", "Known: parquet, csv."),
    ],
)
def test_a_mistake_is_a_sentence_at_its_path(sections, path, message):
    found = mistakes(**sections)
    assert list(found) == [path]
    assert re.search(re.escape(message), found[path])


def test_all_mistakes_come_at_once():
    found = mistakes(
        columns={"age": "quasi", "zip": {"role": "sensitive", "format": "set", "colour": 1}},
        privacy=[{"model": "k-anonymity", "k": 1, "l": 2}],
        order="sorted",
        sead=1,
    )
    assert list(found) == [
        "columns.age.role",
        "columns.zip.colour",
        "privacy[0].k",
        "privacy[0].l",
        "order",
        "sead",
    ]


def test_several_mistakes_are_counted_and_listed():
    with pytest.raises(PolicyError, match=r"(?s)2 mistakes:\n  order: .*\n  seed: "):
        Policy(**GOOD, order="x", seed=-1)


def test_a_pasted_key_is_never_repeated():
    secret = "hunter2/hunter2="
    with pytest.raises(PolicyError) as caught:
        Policy(
            columns={
                "age": COLUMN,
                "a": {**HIDDEN, "key_env": secret},
                "b": {**HIDDEN, "key": secret},
            },
            privacy=GOOD["privacy"],
        )
    assert secret not in str(caught.value)


def test_something_else_than_a_mapping_is_refused():
    with pytest.raises(PolicyError, match=r"a policy must be a mapping, found a list\."):
        Policy.model_validate([1])
