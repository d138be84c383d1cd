"""Sets of quasi-identifiers: figures of Adult, safe sets as brute force has them, pandas = Dask."""

from __future__ import annotations

from itertools import combinations, product

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics._combinations import Combinations, number_rows
from dask_anon.metrics._wildcard import fitting
from dask_anon.metrics.separation import (
    attribute_sets,
    distinction,
    safe_combinations,
    separation,
)

# The example of kanonymity's documentation: sex, age and region of five people.
PEOPLE = pd.DataFrame(
    [("F", "20s", "N"), ("F", "20s", "N"), ("M", "20s", "N"), ("M", "30s", "S"), ("F", "30s", "S")],
    columns=["sex", "age", "region"],
)
COLUMNS = list(PEOPLE.columns)


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("npartitions", [0, 1, 2, 7])
def test_distinction_and_separation_of_a_class_table(npartitions):
    # 4 + 2 records: 2 of 6 are distinct, and 15 pairs less 6 and 1 differ.
    classes = pd.DataFrame({"size": [4, 2]})
    if npartitions:
        classes = dd.from_pandas(classes, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        figures = distinction(classes), separation(classes)
    assert dask.compute(*figures) == pytest.approx((2 / 6, 8 / 15), rel=1e-15)


def test_distinction_and_separation_of_a_table():
    # The first two are alike: 4 different people, and 9 of 10 pairs differ.
    columns = {"quasi_identifiers": ["sex", "age"]}
    assert distinction(PEOPLE, **columns) == 4 / 5
    assert separation(PEOPLE, **columns) == 9 / 10


def test_few_records_have_no_pairs():
    assert separation(pd.DataFrame({"size": [1]})) == 0
    assert distinction(pd.DataFrame({"size": [1]})) == 1
    assert distinction(pd.DataFrame({"size": []})) == 0
    assert attribute_sets(PEOPLE[:0], COLUMNS)["distinction"].tolist() == [0] * 7


def test_adult_has_the_figures_of_arx(adult):
    sets = attribute_sets(adult, ["sex", "age", "race", "education"]).set_index("attributes")
    assert len(sets) == 15
    figures = sets[["distinction", "separation"]]
    expected = {
        ("sex",): (0.0000663086, 0.4382843481),
        ("age",): (0.0023871096, 0.9781172561),
        ("sex", "age", "race", "education"): (0.1045023540, 0.9980043136),
    }
    for names, values in expected.items():
        assert tuple(figures.loc[[names]].iloc[0]) == pytest.approx(values, abs=1e-10)
    assert sets["n_classes"].iloc[-1] == 3152
    assert sets["smallest"].tolist()[0] == 9782


@pytest.mark.parametrize("npartitions", [1, 2, 7])
@pytest.mark.parametrize("split_out", [1, 3])
def test_dask_describes_the_same_sets_lazily(npartitions, split_out):
    people = PEOPLE.assign(height=[1.5, np.nan, np.nan, -0.0, 0.0])
    columns = [*COLUMNS, "height"]
    lazy = dd.from_pandas(people, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        sets = attribute_sets(lazy, columns, max_size=3, split_out=split_out)
        safe = safe_combinations(lazy, columns, k=2, min_size=1, split_out=split_out)
    expected = attribute_sets(people, columns, max_size=3)
    pd.testing.assert_frame_equal(sets.compute(), expected)
    pd.testing.assert_frame_equal(sets._meta, expected[:0])
    assert safe.compute() == safe_combinations(people, columns, k=2, min_size=1)
    # NaN is one value, -0.0 is 0.0: three heights.
    assert expected["n_classes"][3] == 3


def test_safe_sets_of_the_documented_example():
    assert safe_combinations(PEOPLE, COLUMNS, k=2) == [["age", "region"]]
    assert safe_combinations(PEOPLE, COLUMNS, k=2, min_size=1) == [
        ["sex"],
        ["age"],
        ["region"],
        ["age", "region"],
    ]
    everything = safe_combinations(PEOPLE, COLUMNS, k=1, min_size=1)
    assert everything == [
        list(names) for size in (1, 2, 3) for names in combinations(COLUMNS, size)
    ]
    assert safe_combinations(PEOPLE, COLUMNS, k=6, min_size=1) == []
    assert safe_combinations(PEOPLE, COLUMNS, k=2, min_size=1, max_size=1) == [
        ["sex"],
        ["age"],
        ["region"],
    ]


def test_one_column_needs_no_list():
    assert safe_combinations(PEOPLE, "age", k=2, min_size=1) == [["age"]]
    assert attribute_sets(PEOPLE, "age")["n_classes"].tolist() == [2]


def test_no_record_is_at_risk_in_an_empty_table():
    assert len(safe_combinations(PEOPLE[:0], COLUMNS, k=5, min_size=1)) == 7


def test_a_wildcard_fits_any_value():
    # Either value fits the row without one, so each counts two. With 'own-value' all three differ.
    rows = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "u", "u"]})
    options = {"k": 2, "min_size": 1}
    assert safe_combinations(rows, ["a", "b"], **options) == [["b"]]
    assert safe_combinations(rows, ["a", "b"], missing="wildcard", **options) == [
        ["a"],
        ["b"],
        ["a", "b"],
    ]
    assert safe_combinations(rows, ["a", "b"], missing="wildcard", k=3) == []


def brute_force(rows, columns, k, missing):
    """All sets in which every row fits k rows, the row itself among them."""

    def fits(one, other):
        return one == other or (missing == "wildcard" and None in (one, other))

    return [
        [columns[i] for i in chosen]
        for size in range(1, len(columns) + 1)
        for chosen in combinations(range(len(columns)), size)
        if all(sum(all(fits(a[i], b[i]) for i in chosen) for b in rows) >= k for a in rows)
    ]


@given(
    st.lists(st.tuples(*[st.sampled_from([None, "x", "y"])] * 4), min_size=1, max_size=14),
    st.integers(1, 5),
    st.sampled_from(["own-value", "wildcard"]),
)
@settings(max_examples=30, deadline=None)
def test_pruning_finds_what_brute_force_finds(rows, k, missing):
    columns = ["a", "b", "c", "d"]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    found = safe_combinations(frame, columns, k=k, min_size=1, missing=missing)
    assert found == brute_force(rows, columns, k, missing)


def test_many_missing_values_are_not_spelled_out():
    # 20 columns of ten values, ten of them missing in each of two kinds of rows: 10^10 rows each.
    left = [[-1] * 10 + [i] * 10 for i in range(10)]
    right = [[i] * 10 + [-1] * 10 for i in range(10)]
    found = fitting(np.array(left + right), np.ones(20))
    assert found.tolist() == [11] * 20


def test_codes_that_overflow_a_word_are_numbered_all_the_same():
    # 2^13 values in each of 9 columns make more than 2^64 combinations.
    values = np.arange(2**13, dtype=np.int64)
    codes = np.column_stack([np.roll(values, i) for i in range(9)])
    codes = np.concatenate([codes, codes])
    numbers = number_rows(codes)
    assert (numbers[: len(values)] == numbers[len(values) :]).all()
    assert len(set(numbers.tolist())) == len(values)


@given(st.lists(st.tuples(*[st.sampled_from([None, 1, 2, 3])] * 3), max_size=30))
@settings(max_examples=30, deadline=None)
def test_more_columns_tell_more_people_apart(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], dtype=object)
    sets = attribute_sets(frame, ["a", "b", "c"]).set_index("attributes")
    for small, large in product(sets.index, sets.index):
        if set(small) <= set(large):
            assert sets["distinction"][small] <= sets["distinction"][large]
            assert sets["separation"][small] <= sets["separation"][large]
            assert sets["smallest"][small] >= sets["smallest"][large]


def test_combinations_come_from_a_class_table():
    classes = pd.DataFrame({"a": ["x", None, "x"], "b": [1, 1, 2], "size": [3, 1, 2]})
    found = Combinations.of(classes, ["a", "b"])
    assert found.codes.tolist() == [[0, 0], [-1, 0], [0, 1]]
    assert found.class_sizes([0]).tolist() == [5, 1]
    assert found.class_sizes([1]).tolist() == [4, 2]


@pytest.mark.parametrize(
    "columns, options, message",
    [
        ([], {"k": 2}, "quasi_identifiers is empty"),
        (["age"], {"k": 0}, "k must be at least 1, found 0"),
        (["age"], {"k": 2, "min_size": 0}, "min_size is a number of columns"),
        (["age"], {"k": 2, "max_size": 0}, "max_size is a number of columns"),
        (["age"], {"k": 2, "missing": "any"}, "missing must be 'own-value' or 'wildcard'"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(columns, options, message):
    with pytest.raises(AnonError, match=message):
        safe_combinations(PEOPLE, columns, **options)


def test_an_unknown_column_gets_a_hint():
    for function in (attribute_sets, lambda *args: safe_combinations(*args, k=2)):
        with pytest.raises(DataError, match="Did you mean 'region'"):
            function(PEOPLE, ["sex", "regoin"])
