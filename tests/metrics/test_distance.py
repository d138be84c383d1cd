"""By-element distance: values, ranges and sets; real, ordered and nominal; what is missing."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.distance import between_ranges, by_element_distance, changed_cells

PAIRS = ["[1, 3]", "[1, 3]", "[5, 9]", "[5, 9]"]


def distance(original, released, kind=None, **options):
    types = {"types": {"x": kind}} if kind else {}
    return by_element_distance(
        pd.DataFrame({"x": original}), pd.DataFrame({"x": released}), **types, **options
    )


# -- known values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "original, released, kind, expected",
    [
        # A range, by the average distance to its values: (2 + 2 + 4 + 4) / 2 / 8 / 4.
        ([1, 3, 5, 9], PAIRS, "real", 0.1875),
        ([1, 3, 5, 9], [2, 2, 7, 7], "real", 0.1875),
        ([1, 3, 5, 9], [None, 3, 5, 9], "real", 0.25),
        # By rank: each is half a rank of three away on average.
        ([1, 3, 5, 9], PAIRS, "ordered", 1 / 6),
        ([1, 3, 5, 9], [3, 3, 9, 9], "ordered", 1 / 6),
        (list("abcd"), ["{a, b}", "{a, b}", "{c, d}", "{c, d}"], "nominal", 0.5),
        (list("abcd"), ["{a, b}", "{a, b}", "{c, d}", "{c, d}"], "unordered", 0.5),
        (list("abcd"), list("abce"), "nominal", 0.25),
    ],
)
def test_tables_have_their_known_distance(original, released, kind, expected):
    assert distance(original, released, kind) == pytest.approx(expected, rel=1e-12)


def test_the_example_of_the_measure():
    """Four columns of which the last is shown as means, by rank: 2.5 lies half-way from 2 to 3."""
    original = pd.DataFrame([[1, 1, 1, 1], [1, 1, 1, 1], [2, 2, 2, 2], [2, 2, 2, 3]])
    original.columns = list("abcd")
    released = original.astype({"d": float}).assign(d=[1, 1, 2.5, 2.5])
    by_column = by_element_distance(
        original, released, types=dict.fromkeys("abcd", "ordered"), by_column=True
    )
    assert by_column == {"a": 0, "b": 0, "c": 0, "d": pytest.approx((0.5 + 0.5) / 3 / 4)}


# -- where the usual way of writing it down goes wrong -------------------------------------------


def test_a_value_outside_a_range_is_not_farther_than_the_range():
    """The mean distance to the values of [9, 10]; the formula for a value inside gives 9.05."""
    assert distance([0, 10], ["[9, 10]", "10"]) == pytest.approx(0.95 / 2)


def test_a_range_of_one_value_is_that_value():
    assert distance([1, 3, 9], ["[3, 3]", "3", "9"]) == pytest.approx(2 / 8 / 3)


def test_ordered_ranges_are_divided_by_ranks_not_by_values():
    assert distance([1, 2, 1000], ["[1, 2]", "2", "1000"], "ordered") == pytest.approx(0.5 / 2 / 3)


def test_sets_give_a_distance_not_a_similarity():
    # a in {a, b, c}; b not in {x, y}; c is c.
    assert distance(list("abc"), ["{a, b, c}", "{x, y}", "c"]) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_two_sets_are_compared_by_what_they_share():
    found = distance(
        ["{a, b}", "c", "d", "e"], ["{b, c}", "c", "d", "e"], original_is_released=True
    )
    assert found == pytest.approx((1 - 1 / 3) / 4)


def test_two_ranges_are_compared_value_by_value_in_order():
    original = ["[0, 4]", "[0, 4]", "[0, 4]", "10"]
    released = ["[0, 4]", "[2, 6]", "[1, 3]", "10"]
    # Shifted by 2; shrunk from both sides, by 1 at the ends and not at all in the middle.
    found = distance(original, released, "real", original_is_released=True)
    assert found == pytest.approx((0 + 2 / 10 + 0.5 / 10 + 0) / 4)


@pytest.mark.parametrize("kind", ["real", "ordered", "nominal"])
def test_one_record_is_at_no_distance_from_itself(kind):
    assert distance([5], [5], kind) == 0
    assert distance([5], [6], kind) == 1


@pytest.mark.parametrize("kind", ["real", "ordered", "nominal"])
@pytest.mark.parametrize("other, expected", [(None, 0.5), (4, 0), (5, 0.5), (3, 0.5)])
def test_in_a_column_of_equal_values_another_is_as_far_as_can_be(kind, other, expected):
    assert distance([4, 4], [other, 4], kind) == expected


def test_a_value_that_does_not_occur_has_a_rank_between_its_neighbours():
    assert distance([1, 3, 5, 9], [2, 3, 5, 9], "ordered") == pytest.approx(0.5 / 3 / 4)
    assert distance([1, 3, 5, 9], [7, 3, 5, 9], "ordered") == pytest.approx(2.5 / 3 / 4)


def test_equal_elements_share_the_rank_of_the_first():
    # Ranks 0, 1, 1, 1, 4.
    assert distance([1, 2, 2, 2, 3], [1, 2, 2, 2, 2], "ordered") == pytest.approx(3 / 4 / 5)


def test_extremes_are_those_of_the_original_without_what_is_missing():
    assert distance([None, 0, 10], [None, 5, 99]) == pytest.approx((0 + 0.5 + 1) / 3)


# -- missing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[1, 2, None], ["a", "b", None]])
def test_missing_is_far_from_every_value_and_near_to_itself(values):
    assert distance(values, values) == 0
    assert distance(values, [None, *values[1:]]) == pytest.approx(1 / 3)
    assert distance(values, [*values[:2], values[0]]) == pytest.approx(1 / 3)


def test_a_cell_that_also_shows_missing_values_is_half_missing():
    found = distance([0, 10, None], ["[0, 10] | missing", "10", "[0, 10] | missing"])
    assert found == pytest.approx(((0.5 + 0.5 * 0.5) + 0 + 0.5) / 3)
    found = distance(["a", "b", None], ["{a, b} | missing", "b", "a | missing"])
    assert found == pytest.approx((2 / 3 + 0 + 1 / 2) / 3)


# -- types ---------------------------------------------------------------------------------------


def test_types_follow_from_the_columns():
    scale = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    original = pd.DataFrame(
        {
            "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 5), dt.date(2024, 1, 11)],
            "grade": pd.Series(["low", "middle", "high"], dtype=scale),
            "flag": [True, False, True],
        }
    )
    released = pd.DataFrame(
        {
            "day": ["[2024-01-01, 2024-01-05]", "2024-01-05", "2024-01-11"],
            "grade": ["[low, middle]", "middle", "high"],
            "flag": ["True", "{False, True}", "True"],
        }
    )
    found = by_element_distance(original, released, by_column=True)
    assert found == pytest.approx({"day": 0.2 / 3, "grade": 0.25 / 3, "flag": 0.5 / 3})


def test_texts_that_are_said_to_be_numbers_are_read_as_numbers():
    assert distance(["9", "10", "20"], ["9", "20", "20"], "real") == pytest.approx(10 / 11 / 3)
    assert distance(["9", "10", "20"], ["9", "20", "20"], "nominal") == pytest.approx(1 / 3)


def test_numbers_may_be_labels():
    assert distance([1, 2, 3], [1, 2, 30], "nominal") == pytest.approx(1 / 3)


def test_nodes_of_a_hierarchy_are_the_set_of_their_leaves():
    rows = {"x": [["Linz", "Austria", "*"], ["Graz", "Austria", "*"], ["Rome", "Italy", "*"]]}
    found = distance(["Linz", "Rome"], ["Austria", "*"], hierarchies=rows)
    assert found == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_bounds_are_ranges():
    original = pd.DataFrame({"x": [1, 3, 5, 9]})
    released = pd.DataFrame({"x_min": [1, 1, 5, 5], "x_max": [3, 3, 9, 9]})
    assert by_element_distance(original, released) == pytest.approx(0.1875)


def test_mistakes_get_a_sentence():
    original = pd.DataFrame({"x": ["a", "b"], "y": [1, 2]})
    with pytest.raises(AnonError, match=r"'x' cannot be of type 'number'\. Choose 'real'"):
        by_element_distance(original, original, types={"x": "number"})
    with pytest.raises(AnonError, match="type is given for column 'z', which is not compared"):
        by_element_distance(original, original, types={"z": "real"})
    with pytest.raises(DataError, match="'x' has 2 records whose text is neither a number"):
        by_element_distance(original, original, types={"x": "real"})
    with pytest.raises(DataError, match=r"'y' is not in the table, neither as 'y' nor as 'y_min'"):
        by_element_distance(original, original[["x"]])
    with pytest.raises(DataError, match="compared one by one"):
        changed_cells(original, original[:1])


# -- changed cells -------------------------------------------------------------------------------


def test_a_range_never_equals_a_value_and_missing_is_no_change():
    original = pd.DataFrame({"n": [23, 25, None, 31], "q": ["a", "b", None, "c"]})
    released = pd.DataFrame({"n": ["[23, 25]", "25", None, None], "q": ["a", "{a, b}", "a", "x"]})
    assert changed_cells(original, released) == 5 / 8
    assert changed_cells(original, released, by_column=True) == {"n": 0.5, "q": 0.75}
    assert changed_cells(original, original) == 0


def test_changed_cells_of_the_known_example():
    original = pd.DataFrame([[1, 1], [1, 2], [2, 1], [2, 2]], columns=["a", "b"])
    assert changed_cells(original, original.assign(b=1)) == 0.25


# -- laws ----------------------------------------------------------------------------------------

VALUES = st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=10)


@settings(max_examples=30, deadline=None)
@given(VALUES, st.randoms(use_true_random=False), st.sampled_from(["real", "ordered", "nominal"]))
def test_a_distance_lies_between_0_and_1_and_is_0_for_equal_tables(values, random, kind):
    original = pd.Series(values, dtype="Int64")
    moved = pd.Series(random.sample(values, len(values)), dtype="Int64")
    assert distance(original, original, kind) == 0
    assert 0 <= distance(original, moved, kind) <= 1
    nothing = distance(original, [None] * len(values), kind)
    assert nothing == pytest.approx(np.mean([value is not None for value in values]))


@settings(max_examples=50, deadline=None)
@given(*(st.floats(-10, 10) for _ in range(4)))
def test_ranges_are_as_far_apart_as_evenly_spread_values_moved_in_order(a1, a2, b1, b2):
    (a1, a2), (b1, b2) = sorted((a1, a2)), sorted((b1, b2))
    found = between_ranges(*(np.array([end]) for end in (a1, a2, b1, b2)))[0]
    at = (np.arange(2000) + 0.5) / 2000
    moved = np.abs(a1 + at * (a2 - a1) - b1 - at * (b2 - b1)).mean()
    assert found == pytest.approx(moved, abs=1e-5)


def test_a_release_is_nearer_than_nothing():
    people = pd.DataFrame({"age": [23, 25, 31, 52, 58], "zip": ["a", "a", "b", "c", "b"]})
    classes = ["[23, 31]"] * 3 + ["[52, 58]"] * 2, ["{a, b}"] * 3 + ["{b, c}"] * 2
    released = pd.DataFrame(dict(zip(people, classes, strict=True)))
    nothing = pd.DataFrame("*", people.index, people.columns)
    assert 0 < by_element_distance(people, released) < by_element_distance(people, nothing) < 1
