"""Binding a policy to a table finds every contradiction between the two."""

from __future__ import annotations

import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import KAnonymity, Policy


def policy(columns, **sections) -> Policy:
    return Policy(columns=columns, privacy=[KAnonymity(k=2)], **sections)


PEOPLE = {
    "zip": "quasi-identifier",
    "name": "identifier",
    "id": {"role": "identifier", "action": "pseudonymize", "key_env": "K"},
    "age": "quasi-identifier",
    "disease": "sensitive",
    "note": "insensitive",
}


def test_columns_keep_the_order_of_the_data_and_attributes_that_of_the_policy():
    bound = policy(PEOPLE).bind(["note", "disease", "id", "age", "zip", "name"])
    assert bound.quasi_identifiers == ("zip", "age")
    assert bound.sensitive == ("disease",)
    assert bound.insensitive == ("note",)
    assert bound.identifiers_dropped == ("name",)
    assert bound.identifiers_pseudonymized == ("id",)
    assert bound.released == ("note", "disease", "id", "age", "zip")
    assert bound.payload == ("note", "disease", "id")
    assert "dropped: 'name'" in str(bound)


def problems(policy, names, **options) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        policy.bind(names, **options)
    return [str(problem) for problem in caught.value.problems]


def test_a_column_that_is_not_there_gets_the_nearest_name():
    found = problems(
        policy({"zipcode": "quasi-identifier", "qqq": "sensitive"}), ["age", "zip_code"]
    )
    assert found[0] == (
        "columns.zipcode: column 'zipcode' is not in the data. Did you mean 'zip_code'? "
        "Columns: 'age', 'zip_code'."
    )
    assert found[1] == "columns.qqq: column 'qqq' is not in the data. Columns: 'age', 'zip_code'."
    assert found[2].startswith("columns: 'age', 'zip_code' have no role.")


def test_a_wide_table_is_not_listed_in_full():
    (found,) = problems(
        policy({"a": "quasi-identifier"}), [f"c{i}" for i in range(500)], default_role="insensitive"
    )
    assert found.endswith("'c19' and 480 more.")


@pytest.mark.parametrize(
    "own, callers, outcome",
    [
        (None, None, "error"),
        (None, "error", "error"),
        (None, "insensitive", "insensitive"),
        ("error", "insensitive", "error"),
        ("insensitive", "error", "insensitive"),
        ("identifier", "error", "identifier"),
    ],
)
def test_the_policy_decides_about_unnamed_columns_then_the_caller(own, callers, outcome):
    asked = policy({"age": "quasi-identifier"}, default_role=own)
    if outcome == "error":
        (found,) = problems(asked, ["age", "extra"], default_role=callers)
        assert found.startswith("columns: column 'extra' has no role. Give every column")
        return
    bound = asked.bind(["age", "extra"], default_role=callers)
    assert ("extra" in bound.insensitive) == (outcome == "insensitive")
    assert ("extra" in bound.identifiers_dropped) == (outcome == "identifier")


def test_names_that_stand_twice_or_are_not_text_are_refused():
    found = problems(
        policy({"age": "quasi-identifier"}), ["age", "age", 5], default_role="insensitive"
    )
    assert found == [
        "column 3 of the data has a name that is not text. Rename it.",
        "the data has 2 columns named 'age'. Rename all but one.",
    ]


@pytest.mark.parametrize(
    "format, clashes",
    [
        ("bounds", ["age_min", "age_max", "age_missing"]),
        ("midpoint", ["age_missing"]),
        ("interval", []),
        ("set", []),
    ],
)
def test_released_names_do_not_collide(format, clashes):
    asked = policy({"age": "quasi-identifier"}, recoding={"format": format})
    for name in ["age_min", "age_max", "age_missing"]:
        if name in clashes:
            (found,) = problems(asked, ["age", name], default_role="insensitive")
            assert f"the release would have two columns '{name}', from 'age', '{name}'." in found
        else:
            asked.bind(["age", name], default_role="insensitive")


def test_a_dropped_column_and_a_text_column_cannot_collide():
    bounds = {"recoding": {"format": "bounds"}}
    policy({"age": "quasi-identifier", "age_min": "identifier"}, **bounds).bind(["age", "age_min"])
    text = {"role": "quasi-identifier", "type": "text"}
    policy({"age": text, "age_min": "sensitive"}, **bounds).bind(["age", "age_min"])
