"""SUDA: Adult's scores as sdcMicro has them, the definition by brute force, and pandas = Dask."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb, factorial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.suda import suda2, suda2_contributions

# Unique are: the third by age, and by sex with zip; the fourth and the fifth by zip; the fifth by
# sex with age.
PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "f", "m", "f", "m"],
        "age": [30, 30, 40, 30, 30],
        "zip": ["1", "1", "1", "2", "3"],
    },
    index=[5, 5, 5, 6, 0],
)
COLUMNS = list(PEOPLE.columns)


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def test_a_table_that_can_be_counted():
    found = suda2(PEOPLE, COLUMNS)
    assert found.index.tolist() == PEOPLE.index.tolist()
    assert found["score"].tolist() == [0, 0, 2 + 1, 2, 2 + 1]
    shares = found[[f"{name}_contribution" for name in COLUMNS]].to_numpy()
    assert shares == pytest.approx(
        np.array([[0, 0, 0], [0, 0, 0], [1 / 3, 2 / 3, 1 / 3], [0, 0, 1], [1 / 3, 1 / 3, 2 / 3]])
    )
    # Of 8 in all: sex 1 + 1, age 2 + 1, zip 1 + 2 + 2.
    assert suda2_contributions(PEOPLE, COLUMNS).to_dict() == {
        "sex": 2 / 8,
        "age": 3 / 8,
        "zip": 5 / 8,
    }


# Columns, then sum of scores, sum of DIS and largest DIS: sdcMicro 5.8.1 on Adult, which computes
# DIS with single precision.
Q8 = [
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
    "occupation",
]
ADULT = [
    (["sex", "age", "race", "education"], 1406, 16.5499822762, 0.0895431142216),
    (Q8[:6], 57_497, 391.473156862, 0.54198898054),
    (Q8, 3_087_614, 2633.05324019, 0.891719887407),
]


@pytest.mark.parametrize("columns, score, dis, largest", ADULT)
def test_adult_has_the_scores_of_sdcmicro(adult, columns, score, dis, largest):
    found = suda2(adult, columns)
    assert found["score"].sum() == score
    assert found["dis"].sum() == pytest.approx(dis, rel=1e-7)
    assert found["dis"].max() == pytest.approx(largest, rel=1e-7)


def by_brute_force(rows, m, scores="elliot", largest=None, d=0.01):
    """Score, DIS and contributions of each row as they are defined, subset by subset."""
    largest = largest or m
    found = []
    for row in rows:
        minimal = []
        for size in range(1, largest + 1):
            for chosen in combinations(range(m), size):
                alike = sum(all(row[i] == other[i] for i in chosen) for other in rows)
                if alike == 1 and not any(set(part) <= set(chosen) for part in minimal):
                    minimal.append(chosen)
        weights = [
            (2 ** (m - len(s)) - 1) / comb(m, len(s))
            if scores == "ihsn"
            else factorial(m - len(s)) / factorial(max(m - largest - 1, 0))
            for s in minimal
        ]
        parts = [sum(w for s, w in zip(minimal, weights, strict=True) if i in s) for i in range(m)]
        found.append((sum(weights), parts))
    counts = [rows.count(row) for row in rows]
    unique, paired = counts.count(1), counts.count(2)
    q = 1 + (8 - m) / 20
    adjust = sum(score**-q for score, _ in found if score)
    dis = []
    for score, _ in found:
        theta = unique * d / (unique * d + paired * (1 - d)) if unique else 1
        odds = unique / theta - unique
        dis.append(1 / (1 + odds / (score**q * adjust)) if score else 0)
    shares = [[part / score if score else 0 for part in parts] for score, parts in found]
    return [score for score, _ in found], dis, shares


@given(
    st.lists(st.tuples(*[st.sampled_from([None, "x", "y", "z"])] * 4), min_size=1, max_size=12),
    st.sampled_from(["elliot", "ihsn"]),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([0.01, 0.3]),
)
@settings(max_examples=30, deadline=None)
def test_scores_are_those_of_the_definition(rows, scores, largest, fraction):
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"], dtype=object)
    found = suda2(
        frame,
        ["a", "b", "c", "d"],
        scores=scores,
        max_size=largest,
        sampling_fraction=fraction,
    )
    score, dis, shares = by_brute_force(rows, 4, scores, largest, fraction)
    assert found["score"].tolist() == pytest.approx(score, rel=1e-12)
    assert found["dis"].tolist() == pytest.approx(dis, rel=1e-12)
    assert found.iloc[:, 2:].to_numpy() == pytest.approx(np.array(shares), rel=1e-12)


@pytest.mark.parametrize("npartitions, split_out", [(1, 1), (2, 3), (7, 1)])
def test_dask_scores_the_same_lazily(npartitions, split_out):
    cuts = np.linspace(0, len(PEOPLE), npartitions + 1).astype(int)
    parts = [PEOPLE.iloc[a:b] for a, b in pairwise(cuts)]
    lazy = dd.from_map(lambda part: part, parts, meta=PEOPLE[:0])
    with dask.config.set(scheduler=refuse):
        scored = suda2(lazy, COLUMNS, split_out=split_out)
        shares = suda2_contributions(lazy, COLUMNS, split_out=split_out)
    assert scored.npartitions == npartitions
    expected = suda2(PEOPLE, COLUMNS)
    pd.testing.assert_frame_equal(scored.compute(), expected)
    assert scored._meta.dtypes.equals(expected.dtypes)
    pd.testing.assert_series_equal(
        shares.compute(), suda2_contributions(PEOPLE, COLUMNS), check_index_type=False
    )


def test_nobody_is_unique_among_doubles():
    doubles = pd.concat([PEOPLE, PEOPLE])
    assert (suda2(doubles, COLUMNS) == 0).all(axis=None)
    assert suda2_contributions(doubles, COLUMNS).tolist() == [0, 0, 0]
    assert len(suda2(PEOPLE[:0], COLUMNS)) == 0


def test_without_pairs_every_match_is_a_true_one():
    found = suda2(pd.DataFrame({"q": [1, 2, 3]}), ["q"])
    assert found["score"].tolist() == [1, 1, 1]
    assert found["dis"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_size": 0}, "max_size is a number of columns, at least 1, found 0"),
        ({"sampling_fraction": 1}, "sampling_fraction must be above 0 and below 1, found 1"),
        ({"scores": "original"}, "scores must be 'elliot' or 'ihsn'"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(options, message):
    with pytest.raises(AnonError, match=message):
        suda2(PEOPLE, COLUMNS, **options)


def test_an_unknown_column_gets_a_hint():
    with pytest.raises(DataError, match="Did you mean 'age'"):
        suda2(PEOPLE, ["agee"])
