"""Asked, found, holds."""

from __future__ import annotations

import json

import dask.dataframe as dd
import pandas as pd
import pytest

from dask_anon.classes import ClassCounts
from dask_anon.errors import VerificationError
from dask_anon.evaluation import Evaluation, evaluate
from dask_anon.policy import Policy


def policy(k=2, **require) -> Policy:
    return Policy(
        columns={"q": "quasi-identifier"},
        privacy=[{"model": "k-anonymity", "k": k}],
        require={name: {"max": value} for name, value in require.items()},
    )


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
    counts = ClassCounts({2: 1})
    unknown = Evaluation.from_counts(asked, counts)
    assert not unknown.holds
    assert "not measured" in str(unknown)
    known = Evaluation.from_counts(asked, counts, {"q": 0.1})
    assert known.holds
    assert known.figures["global_certainty_penalty"] == 0.1


def test_a_table_without_records_holds():
    found = Evaluation.from_counts(policy(prosecutor_risk=0.1), ClassCounts({}), {"q": 0.0})
    assert found.holds
    found.raise_if_failed()


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
