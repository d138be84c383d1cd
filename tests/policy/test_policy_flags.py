"""A policy from options, alone or on top of a file."""

from __future__ import annotations

import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import KAnonymity, Policy, Role


def problems(*args, **flags) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        Policy.from_flags(*args, **flags)
    return [str(problem) for problem in caught.value.problems]


def test_options_alone_make_a_policy():
    policy = Policy.from_flags(
        quasi_identifiers=["zip", "age"],
        sensitive=["disease"],
        identifiers=["name"],
        k=5,
        ties="left",
        span_ties="region",
        format="bounds",
        order="keep",
        seed=7,
        default_role="insensitive",
        input="people.csv",
        output="release",
        output_format="csv",
        delimiter=";",
        encoding="cp1252",
    )
    assert policy == Policy(
        columns={
            "zip": "quasi-identifier",
            "age": "quasi-identifier",
            "disease": "sensitive",
            "name": "identifier",
        },
        privacy=[{"model": "k-anonymity", "k": 5}],
        algorithm={"ties": "left", "span_ties": "region"},
        recoding={"format": "bounds"},
        order="keep",
        seed=7,
        default_role="insensitive",
        input={"path": "people.csv", "delimiter": ";", "encoding": "cp1252"},
        output={"path": "release", "format": "csv"},
    )


def test_options_win_over_the_policy_and_leave_the_rest():
    base = Policy(
        columns={
            "zip": {"role": "quasi-identifier", "type": "text", "format": "set"},
            "id": {"role": "identifier", "action": "pseudonymize", "key_env": "K"},
            "age": {"role": "insensitive", "type": "integer"},
        },
        privacy=[KAnonymity(k=5)],
        algorithm={"ties": "left"},
        missing={"quasi-identifiers": "error"},
        seed=3,
        input="a.csv",
    )
    policy = Policy.from_flags(base, quasi_identifiers=["age", "zip"], k=9, span_ties="region")
    assert policy.k == 9
    assert (policy.algorithm.ties, policy.algorithm.span_ties) == ("left", "region")
    assert policy.columns["zip"] == base.columns["zip"]
    assert policy.columns["id"] == base.columns["id"]
    assert policy.columns["age"].role is Role.QUASI_IDENTIFIER
    assert policy.columns["age"].type == "integer"
    assert (policy.seed, policy.input, policy.missing) == (3, base.input, base.missing)
    assert Policy.from_flags(base) == base


def test_a_column_with_two_roles_is_refused():
    found = problems(quasi_identifiers=["age"], sensitive=["age"], k=5)
    assert found == [
        "columns.age: column 'age' has two roles (--quasi-identifier and --sensitive). Keep one."
    ]
    found = problems(quasi_identifiers=["age", "age"], k=5)
    assert found == ["columns.age: column 'age' is given twice with --quasi-identifier. Keep one."]


def test_mistakes_name_the_option():
    found = problems(sensitive=["a"], k=1, ties="lft", seed=-1, input="x", delimiter="abc")
    assert [line.split(":")[0] for line in found] == [
        "--quasi-identifier",
        "-k",
        "--ties",
        "--seed",
        "--delimiter",
    ]


def test_k_is_needed():
    assert problems(quasi_identifiers=["a"]) == [
        "-k: is missing. Say how many records must look alike at least, such as -k 5."
    ]
