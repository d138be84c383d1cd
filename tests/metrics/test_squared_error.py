"""Squared errors of released numbers, by hand and against plain numpy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.squared_error import (
    Moments,
    attribute_squared_error,
    il1s,
    record_squared_error,
    sse_over_sst,
)

AGES = pd.DataFrame({"age": [20, 23, 30]})
ERRORS = (attribute_squared_error, record_squared_error, sse_over_sst, il1s)


def test_the_worst_case_is_the_farther_end_of_the_cell():
    released = pd.DataFrame({"age": ["[20, 23]", "[20, 23]", "30"]})
    found = attribute_squared_error(AGES, released, columns=["age"])
    assert found == pytest.approx((9 + 9 + 0) / (100 + 49 + 100))


def test_records_are_measured_in_standard_deviations():
    original = pd.DataFrame({"a": [0, 10, 20], "b": [0, 1, 5]})
    released = pd.DataFrame({"a": ["[0, 10]", "[0, 10]", "20"], "b": ["0", "[0, 5]", "5"]})
    sd = original.std()
    shown = math.hypot(10 / sd.a) + math.hypot(10 / sd.a, 4 / sd.b) + 0
    worst = sum(
        math.hypot(max(a, 20 - a) / sd.a, max(b, 5 - b) / sd.b) for a, b in original.to_numpy()
    )
    found = record_squared_error(original, released, columns=["a", "b"])
    assert found == pytest.approx(shown / worst)


def test_means_of_classes_leave_the_squares_within_them():
    original = pd.DataFrame({"age": [20, 22, 30, 32], "pay": [1.0, 1.0, 3.0, 7.0]})
    released = pd.DataFrame({"age": [21.0, 21.0, 31.0, 31.0], "pay": [1.0, 1.0, 5.0, 5.0]})
    by_column = sse_over_sst(original, released, columns=["age", "pay"], by_column=True)
    assert by_column == pytest.approx({"age": 4 / (2 * 36 + 2 * 16), "pay": 8 / (4 + 4 + 0 + 16)})
    whole = sse_over_sst(original, released, columns=["age", "pay"])
    assert whole == pytest.approx(np.mean(list(by_column.values())))


def test_il1s_is_a_mean_of_absolute_errors():
    released = pd.DataFrame({"age": ["[20, 23]", "23", "31"]})
    sd = AGES["age"].std()
    found = il1s(AGES, released, columns=["age"])
    assert found == pytest.approx((1.5 + 0 + 1) / (math.sqrt(2) * sd) / 3)


@pytest.mark.parametrize("cell", ["*", None, "[20, 30]"])
def test_a_cell_that_shows_nothing_is_the_whole_range(cell):
    released = pd.DataFrame({"age": [cell] * 3})
    assert attribute_squared_error(AGES, released, columns=["age"]) == 1
    assert record_squared_error(AGES, released, columns=["age"]) == pytest.approx(1)


def test_a_value_that_was_missing_has_no_error():
    original = pd.DataFrame({"age": [20, None, 30]})
    released = pd.DataFrame({"age": ["20", "[20, 30] | missing", "[20, 30] | missing"]})
    assert attribute_squared_error(original, released, columns=["age"]) == 0.5
    hidden = pd.DataFrame({"age": ["20", None, None]})
    assert attribute_squared_error(original, hidden, columns=["age"]) == 0.5


def test_nodes_of_numbers_are_the_range_of_their_leaves():
    rows = {"age": [[20, "20-29", "*"], [23, "20-29", "*"], [29, "20-29", "*"], [30, "30-39", "*"]]}
    released = pd.DataFrame({"age": ["20-29", "23", "30-39"]})
    found = attribute_squared_error(AGES, released, columns=["age"], hierarchies=rows)
    assert found == pytest.approx((81 + 0 + 0) / (100 + 49 + 100))


def test_equal_values_have_an_error_of_all_or_nothing():
    equal = pd.DataFrame({"age": [5, 5]})
    for error in (attribute_squared_error, sse_over_sst, il1s):
        assert error(equal, equal, columns=["age"]) == 0
        assert error(equal, pd.DataFrame({"age": [5, 6]}), columns=["age"]) == 1


@pytest.mark.parametrize("error", ERRORS)
def test_columns_without_an_order_are_refused(error):
    labels = pd.DataFrame({"zip": ["a", "b"]})
    with pytest.raises(AnonError, match="'zip' has labels that lie nowhere on a line"):
        error(labels, labels, columns=["zip"])
    with pytest.raises(DataError, match="compared one by one"):
        error(AGES, AGES[:2], columns=["age"])


NUMBERS = st.lists(st.integers(-50, 50), min_size=2, max_size=12)


@settings(max_examples=25, deadline=None)
@given(NUMBERS, st.integers(1, 4))
def test_errors_are_those_of_numpy(values, n_classes):
    original = pd.DataFrame({"x": np.array(values)})
    x = original["x"].to_numpy(float)
    groups = original["x"].groupby(np.arange(len(values)) % n_classes)
    low, high = groups.transform("min"), groups.transform("max")
    released = pd.DataFrame({"x_min": low, "x_max": high})
    far = np.maximum((x - low) ** 2, (x - high) ** 2).sum()
    most = np.maximum((x - x.min()) ** 2, (x - x.max()) ** 2).sum()
    found = attribute_squared_error(original, released, columns=["x"])
    assert found == pytest.approx(far / most if most else 0)
    assert 0 <= found <= 1
    means = pd.DataFrame({"x": groups.transform("mean")})
    total = ((x - x.mean()) ** 2).sum()
    found = sse_over_sst(original, means, columns=["x"])
    assert found == pytest.approx(((x - means["x"]) ** 2).sum() / total if total else 0, abs=1e-12)
    assert -1e-12 <= found <= 1 + 1e-12
    for error in ERRORS:
        assert error(original, original, columns=["x"]) == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), st.integers(0, 12))
def test_moments_of_parts_add_up(values, cut):
    def moments(part):
        part = np.array(part)
        middle = float(part.mean()) if len(part) else 0.0
        return Moments(len(part), middle, float(((part - middle) ** 2).sum()))

    added = moments(values[:cut]) + moments(values[cut:])
    whole = moments(values)
    assert (added.n, added.mean) == (whole.n, pytest.approx(whole.mean, rel=1e-9, abs=1e-9))
    assert added.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-3)
