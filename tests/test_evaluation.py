"""Asked, found, holds."""

from __future__ import annotations

import json

import dask.dataframe as dd
import pandas as pd
import pytest

from dask_anon.classes import equivalence_classes
from dask_anon.errors import DataError, VerificationError
from dask_anon.evaluation import Evaluation, Judged, evaluate, judge_classes
from dask_anon.policy import Policy


def policy(k=2, **require) -> Policy:
    return Policy(
        columns={"q": "quasi-identifier"},
        privacy=[{"model": "k-anonymity", "k": k}],
        require={name: {"max": value} for name, value in require.items()},
    )


def judged(released: pd.DataFrame, asked: Policy) -> Judged:
    return judge_classes(equivalence_classes(released, asked), asked)


ORIGINAL = pd.DataFrame({"q": [1, 2, 3, 4, 5, 6]})
RELEASED = pd.DataFrame({"q": list("aaaabb")})


@pytest.mark.parametrize("npartitions", [None, 1, 3])
def test_figures_of_the_worked_example(npartitions):
    released, original = RELEASED, ORIGINAL
    if npartitions:
        released = dd.from_pandas(released, npartitions=npartitions)
        original = dd.from_pandas(original, npartitions=npartitions)
    found = evaluate(original, released, policy(prosecutor_risk=0.5, average_class_size=2))
    assert found.figures == {
        "n_records": 6,
        "n_suppressed": 0,
        "n_classes": 2,
        "smallest_class": 2,
        "largest_class": 4,
        "average_class_size": 3.0,
        "average_equivalence_class_size": 1.5,
        "discernibility": 20,
        "prosecutor_risk": 0.5,
        "average_prosecutor_risk": pytest.approx(1 / 3),
    }
    assert [(row.name, row.asked, row.found, row.holds) for row in found.rows] == [
        ("k-anonymity", "k >= 2", 2, True),
        ("prosecutor_risk", "<= 0.5", 0.5, True),
        ("average_class_size", "<= 2", 3.0, False),
    ]
    assert not found.holds


def test_suppressed_records_cost_the_whole_table():
    found = evaluate(ORIGINAL, RELEASED[:4], policy())
    assert found.figures["n_suppressed"] == 2
    assert found.figures["discernibility"] == 16 + 2 * 6


def test_it_prints_as_a_table():
    found = evaluate(ORIGINAL, RELEASED, policy(k=3, prosecutor_risk=0.5))
    assert str(found).splitlines() == [
        "requirement      asked   found  holds",
        "k-anonymity      k >= 3  2      NO",
        "prosecutor_risk  <= 0.5  0.5    yes",
    ]


def test_what_fails_is_raised_as_a_sentence():
    found = evaluate(ORIGINAL, RELEASED, policy(k=3))
    with pytest.raises(VerificationError, match="1 of 1 requirements do not hold: k-anonymity"):
        found.raise_if_failed()


def test_a_loss_that_was_not_measured_does_not_hold():
    asked = policy(global_certainty_penalty=0.2)
    found = judged(RELEASED, asked)
    unknown = Evaluation.of(found)
    assert not unknown.holds
    assert "not measured" in str(unknown)
    known = Evaluation.of(found, {"q": 0.1})
    assert known.holds
    assert known.figures["global_certainty_penalty"] == 0.1


def test_a_table_without_records_holds():
    asked = policy(prosecutor_risk=0.1)
    found = Evaluation.of(judged(RELEASED[:0], asked), {"q": 0.0})
    assert found.holds
    found.raise_if_failed()
    assert str(found).splitlines()[1] == "k-anonymity      k >= 2  no records  yes"


def test_it_travels_as_json():
    found = evaluate(ORIGINAL, RELEASED, policy(prosecutor_risk=0.4))
    data = json.loads(json.dumps(found.to_json()))
    assert data["holds"] is False
    assert data["requirements"][1] == {
        "name": "prosecutor_risk",
        "asked": "<= 0.4",
        "found": 0.5,
        "holds": False,
    }
    assert data["figures"]["n_records"] == 6


# -- privacy models of sensitive values -----------------------------------------------------------

# Class a: flu twice, hiv, ulcer; class b: flu, hiv.
ILL = RELEASED.assign(s=["flu", "flu", "hiv", "ulcer", "flu", "hiv"], n=[1, 2, 3, 10, 1, 5])
MODELS = [
    {"model": "k-anonymity", "k": 2},
    {"model": "distinct-l-diversity", "column": "s", "l": 2},
    {"model": "entropy-l-diversity", "column": "s", "l": 2},
    {"model": "recursive-cl-diversity", "column": "s", "c": 2, "l": 2},
    {"model": "t-closeness", "column": "s", "t": 0.1},
    {"model": "t-closeness", "column": "n", "t": 0.125},
    {"model": "basic-beta-likeness", "column": "s", "beta": 0.5},
    {"model": "average-risk", "max": 0.3},
]
ROLES = {"q": "quasi-identifier", "s": "sensitive", "n": "sensitive"}


@pytest.mark.parametrize("npartitions", [None, 1, 2, 7])
def test_one_row_a_limit_with_the_figures_of_the_worked_example(npartitions):
    """The figures of six rows in two classes, as computed by independent programs."""
    released = dd.from_pandas(ILL, npartitions=npartitions) if npartitions else ILL
    found = evaluate(ORIGINAL, released, Policy(columns=ROLES, privacy=MODELS))
    assert [(row.name, row.asked, row.found, row.holds) for row in found.rows] == [
        ("k-anonymity", "k >= 2", 2, True),
        ("average-risk", "risk <= 0.3", pytest.approx(1 / 3), False),
        ("distinct-l-diversity of 's'", "l >= 2", 2.0, True),
        ("entropy-l-diversity of 's'", "l >= 2", pytest.approx(2.0), True),
        ("recursive-cl-diversity of 's'", "c < 2 for l = 2", 1.0, True),
        ("t-closeness of 's' (equal)", "t <= 0.1", pytest.approx(1 / 6), False),
        ("t-closeness of 'n' (ordered)", "t <= 0.125", pytest.approx(0.125), True),
        ("basic-beta-likeness of 's'", "beta <= 0.5", pytest.approx(0.5), True),
    ]
    with pytest.raises(VerificationError, match="2 of 8 requirements do not hold") as caught:
        found.raise_if_failed()
    assert "t-closeness of 's' (equal) t <= 0.1: found 0.1667, FAILS" in caught.value.problems


def test_what_is_infinite_is_said_in_words():
    model = {"model": "delta-disclosure", "column": "s", "delta": 1}
    found = evaluate(ORIGINAL, ILL, Policy(columns=ROLES, privacy=[model]))
    assert found.rows[0].found == float("inf")  # class b has no ulcer
    assert "found infinite" in str(found.rows[0])
    told = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(told)["requirements"][0]["found"] == "infinite"


def test_a_sensitive_column_that_is_not_in_the_release_is_an_error():
    with pytest.raises(DataError, match="column 's' is not in the table"):
        evaluate(ORIGINAL, RELEASED, Policy(columns=ROLES, privacy=MODELS))
