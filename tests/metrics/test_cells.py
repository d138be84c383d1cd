"""Released cells are read back against the original: labels, bounds, midpoints, plain values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import LAW, frames, quasi_identifiers

import dask_anon as anon
from dask_anon.errors import DataError
from dask_anon.metrics._attributes import attributes_of
from dask_anon.metrics._cells import Cells, read_cells
from dask_anon.metrics._steps import Steps
from dask_anon.metrics._taxonomy import Taxonomy

AGES = pd.DataFrame({"age": [20, 25, 30, 40]})
WORK = [
    ["Private", "Non-Government", "*"],
    ["Federal", "Government", "*"],
    ["Local", "Government", "*"],
]


def attribute(original, column, rows=None, **options):
    hierarchies = None if rows is None else {column: rows}
    return attributes_of(Steps(original), original, [column], hierarchies, **options)[1][column]


def shown(cells):
    """What each record's cell shows: (low, high) or labels, and whether missing values too."""
    found = []
    for cell in cells.of_record:
        if cells.offsets is not None:
            values = cells.codes[cells.offsets[cell] : cells.offsets[cell + 1]].tolist()
        else:
            values = (round(cells.low[cell], 12), round(cells.high[cell], 12))
        values = None if cells.only_missing[cell] else values
        found.append((values, bool(cells.has_missing[cell])))
    return found


# -- ordered columns -----------------------------------------------------------------------------


def test_intervals_have_the_places_of_their_ends():
    ages = pd.DataFrame({"age": [20, 25, 40, None]})
    released = pd.DataFrame({"age": ["[20, 25]", "30", "[20, 40] | missing", "25 | missing", None]})
    assert shown(read_cells(released, attribute(ages, "age"))) == [
        ((0.0, 0.25), False),
        ((0.5, 0.5), False),
        ((0.0, 1.0), True),
        ((0.25, 0.25), True),
        (None, True),
    ]


def test_bounds_and_their_missing_column_are_read_together():
    ages = pd.DataFrame({"age": [20, 25, 40, None]})
    released = pd.DataFrame(
        {
            "age_min": pd.array([20, 20, None], "Int64"),
            "age_max": pd.array([25, 40, None], "Int64"),
            "age_missing": [False, True, True],
        }
    )
    assert shown(read_cells(released, attribute(ages, "age"))) == [
        ((0.0, 0.25), False),
        ((0.0, 1.0), True),
        (None, True),
    ]


def test_bounds_from_csv_are_text():
    released = pd.DataFrame({"age_min": ["20", "25"], "age_max": ["30", "25"]})
    assert shown(read_cells(released, attribute(AGES, "age"))) == [
        ((0.0, 0.5), False),
        ((0.25, 0.25), False),
    ]


def test_a_midpoint_lies_between_the_units():
    released = pd.DataFrame({"age": [22.5, 40.0], "age_missing": [True, False]})
    ages = pd.DataFrame({"age": pd.array([20, 40, None], "Int64")})
    assert shown(read_cells(released, attribute(ages, "age"))) == [
        ((0.125, 0.125), True),
        ((1.0, 1.0), False),
    ]


def test_a_null_was_suppressed_where_the_original_has_no_missing_value():
    released = pd.DataFrame({"age": ["20", None, "*"]})
    asked = attribute(AGES, "age")
    assert shown(read_cells(released, asked))[1:] == [((0.0, 1.0), False)] * 2
    assert shown(read_cells(released, asked, suppressed=False))[1] == (None, True)


def test_values_beyond_the_original_keep_their_place():
    released = pd.DataFrame({"age": ["[10, 50]"]})
    assert shown(read_cells(released, attribute(AGES, "age"))) == [((-0.5, 1.5), False)]


def test_integers_past_64_bits_of_difference_keep_their_order():
    original = pd.DataFrame({"n": pd.array([-(2**63) + 1, 0, 2**63 - 1], "Int64")})
    cells = read_cells(original, attribute(original, "n"), values=True)
    assert shown(cells) == [((0.0, 0.0), False), ((0.5, 0.5), False), ((1.0, 1.0), False)]


def test_large_integers_close_together_are_told_apart():
    original = pd.DataFrame({"n": np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], np.uint64)})
    cells = read_cells(original, attribute(original, "n"), values=True)
    assert [low for (low, _), _ in shown(cells)] == [0.0, 0.5, 1.0]


def test_floats_whose_difference_overflows_have_places():
    original = pd.DataFrame({"x": [-1.7e308, 0.0, 1.7e308, np.nan]})
    cells = read_cells(original, attribute(original, "x"), values=True)
    assert [low for (low, _), _ in shown(cells)[:3]] == [0.0, 0.5, 1.0]
    assert shown(cells)[3] == (None, True)


@pytest.mark.parametrize(
    "values, label, place",
    [
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 11)], "[2024-01-01, 2024-01-06]", 0.5),
        ([Decimal("0.10"), Decimal("0.50")], "[0.10, 0.20]", 0.25),
        ([dt.timedelta(0), dt.timedelta(hours=4)], "[P0DT0H0M0S, P0DT1H0M0S]", 0.25),
        ([0.1, 0.5], "[0.1, 0.30000000000000004]", 0.5),
    ],
)
def test_every_ordered_type_has_places(values, label, place):
    array = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values)])))
    original = pd.DataFrame({"x": array})
    ((low, high), missing) = shown(
        read_cells(pd.DataFrame({"x": [label]}), attribute(original, "x"))
    )[0]
    assert (low, high, missing) == (0.0, pytest.approx(place), False)


def test_float32_is_read_in_its_own_width():
    original = pd.DataFrame({"x": np.array([0.1, 0.7, 1.3], np.float32)})
    asked = attribute(original, "x")
    released = pd.DataFrame({"x": ["0.1", "0.7", "1.3"]})
    assert shown(read_cells(released, asked)) == shown(read_cells(original, asked, values=True))


def test_ordered_categories_lie_in_their_order():
    sizes = pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    original = pd.DataFrame({"size": pd.Series(["small", "large"], dtype=sizes)})
    released = pd.DataFrame({"size": ["[small, middle]", "large"]})
    assert shown(read_cells(released, attribute(original, "size"))) == [
        ((0.0, 0.5), False),
        ((1.0, 1.0), False),
    ]


# -- labels --------------------------------------------------------------------------------------


def test_sets_are_numbers_of_labels():
    original = pd.DataFrame({"q": ["b", "a", "c", None]})
    released = pd.DataFrame({"q": ["a", "{a, c}", "{b, c} | missing", "b | missing", None, "*"]})
    assert shown(read_cells(released, attribute(original, "q"))) == [
        ([0], False),
        ([0, 2], False),
        ([1, 2], True),
        ([1], True),
        (None, True),
        ([0, 1, 2], True),
    ]


def test_labels_that_look_like_sets_are_read_with_care():
    labels = ["", "a", "a | missing", "d, e", "missing", "{a, b}", "{c}"]
    original = pd.DataFrame({"q": labels})
    asked = attribute(original, "q")
    quoted = ['""', "a", '"a | missing"', '"d, e"', '"missing"', '"{a, b}"', '"{c}"']
    expected = [([i], False) for i in range(len(labels))]
    assert shown(read_cells(pd.DataFrame({"q": quoted}), asked)) == expected
    assert shown(read_cells(original, asked, values=True)) == expected
    # Unquoted, as another tool writes them, they are themselves where they cannot be a set.
    plain = pd.DataFrame({"q": ["", "a", "d, e", "missing", "{a, b}", "{c}"]})
    assert shown(read_cells(plain, asked)) == [([i], False) for i in (0, 1, 3, 4, 5, 6)]


def test_true_and_false_are_labels():
    original = pd.DataFrame({"q": [True, False]})
    released = pd.DataFrame({"q": ["True", "{False, True}"]})
    assert shown(read_cells(released, attribute(original, "q"))) == [([1], False), ([0, 1], False)]


def test_labels_that_the_original_lacks_are_accepted_where_asked_for():
    original = pd.DataFrame({"q": ["a", "b"]})
    released = pd.DataFrame({"q": ["{a, x}", "y", "x"]})
    cells = read_cells(released, attribute(original, "q"), strangers=True)
    assert shown(cells) == [([0, 2], False), ([3], False), ([2], False)]


# -- hierarchies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [WORK, pd.DataFrame(WORK)])
def test_a_node_covers_its_leaves(rows):
    original = pd.DataFrame({"work": ["Private", "Local"]})
    released = pd.DataFrame({"work": ["Government", "Private", "*", "{Private, Local}"]})
    assert shown(read_cells(released, attribute(original, "work", rows))) == [
        ([1, 2], False),
        ([0], False),
        ([0, 1, 2], False),
        ([0, 2], False),
    ]


def test_a_node_of_numbers_covers_their_places_too():
    rows = [[20, "20-29", "*"], [25, "20-29", "*"], [30, "30-39", "*"], [40, "40-49", "*"]]
    released = pd.DataFrame({"age": ["20-29", "25", "[25, 30]", "*"]})
    cells = read_cells(released, attribute(AGES, "age", rows))
    assert shown(cells) == [([0, 1], False), ([1], False), ([1, 2], False), ([0, 1, 2, 3], False)]
    assert cells.low[cells.of_record].tolist() == [0.0, 0.25, 0.25, 0.0]
    assert cells.high[cells.of_record].tolist() == [0.25, 0.25, 0.5, 1.0]


def test_a_label_on_two_levels_covers_the_leaves_of_the_higher():
    taxonomy = Taxonomy.of("q", [["Other", "Other", "*"], ["x", "Other", "*"], ["y", "Y", "*"]])
    assert taxonomy.leaves_of("Other").tolist() == [0, 1]
    assert taxonomy.levels[taxonomy.node_of["Other"]] == 0


def test_a_hierarchy_without_a_root_gets_one():
    taxonomy = Taxonomy.of("q", [["a", "A"], ["b", "B"]])
    assert taxonomy.n_levels == 3
    assert taxonomy.leaves_of("*").tolist() == [0, 1]


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "has no rows"),
        ([["a", "*"], ["b", "B", "*"], ["c", "*"]], ".* another number in 1 row .*row 2"),
        ([["a", "*"], ["a", "*"]], "has 1 value in two rows"),
        ([["a", None], ["b", "*"]], "has 1 label missing"),
    ],
)
def test_a_hierarchy_with_a_mistake_gets_a_sentence(rows, message):
    with pytest.raises(DataError, match=f"hierarchy of column 'q' {message}"):
        Taxonomy.of("q", rows)


def test_values_that_a_hierarchy_lacks_are_counted():
    original = pd.DataFrame({"work": ["Private", "Farm", "Farm"]})
    with pytest.raises(DataError, match="'work' has 2 records whose value is not in its hierarchy"):
        read_cells(original, attribute(original, "work", WORK), values=True)


# -- what cannot be read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell", ["young", "[30, 20]", "[20, 30", "20-30", "[20, 25, 30]", "", "{20, 30}"]
)
def test_cells_that_are_no_intervals_are_counted_and_not_shown(cell):
    released = pd.DataFrame({"age": [cell, "20", cell]})
    with pytest.raises(DataError, match="'age' has 2 records whose released cell cannot") as error:
        read_cells(released, attribute(AGES, "age"))
    if cell:
        assert cell not in str(error.value)


def test_torn_and_crossed_bounds_are_counted():
    released = pd.DataFrame({"age_min": [20.0, np.nan, 30.0], "age_max": [20.0, 20.0, 20.0]})
    with pytest.raises(DataError, match="'age' has 2 records"):
        read_cells(released, attribute(AGES, "age"))


def test_labels_that_the_original_lacks_are_counted_and_not_shown():
    original = pd.DataFrame({"q": ["a", "b"]})
    released = pd.DataFrame({"q": ["a", "Upper", "{a, Upper}"]})
    with pytest.raises(DataError, match="'q' has 2 records whose released cell shows") as error:
        read_cells(released, attribute(original, "q"))
    assert "Upper" not in str(error.value)


def test_a_column_of_another_kind_gets_a_sentence():
    released = pd.DataFrame({"day": [1, 2]})
    original = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(DataError, match="'day' is integer in the release and timestamp"):
        read_cells(released, attribute(original, "day"))


@pytest.mark.parametrize(
    "released", [pd.DataFrame({"age": []}), pd.DataFrame({"age": [None, None]})]
)
def test_a_partition_may_be_empty_or_hold_nulls_only(released):
    cells = read_cells(released, attribute(AGES, "age"))
    assert isinstance(cells, Cells)
    assert shown(cells) == [((0.0, 1.0), False)] * len(released)


# -- laws ----------------------------------------------------------------------------------------


@settings(LAW, max_examples=10)
@given(frame=frames(objects=True), format=st.sampled_from(["interval", "bounds"]))
def test_what_is_released_covers_what_it_was_made_from(frame, format):
    """Every value lies within the cell of its record, and no cell shows more than its class."""
    names = quasi_identifiers(frame)
    policy = anon.Policy(
        columns=dict.fromkeys(names, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": 2}],
        recoding={"format": format},
    )
    with dask.config.set(scheduler="synchronous"):
        released = anon.anonymize(frame, policy)
    for name in names:
        asked = attribute(frame, name)
        own, cells = (
            read_cells(frame, asked, values=True, suppressed=False),
            read_cells(released, asked),
        )
        cell, value = cells.of_record, own.of_record
        absent = own.only_missing[value]
        assert cells.has_missing[cell][absent].all()
        if own.low is not None:
            there = ~absent
            assert (cells.low[cell] <= own.low[value])[there].all()
            assert (own.high[value] <= cells.high[cell])[there].all()
            ends = {*cells.low[cell].tolist(), *cells.high[cell].tolist()}
            assert {end for end in ends if end == end} <= {*own.low[value][there].tolist()}
        else:
            labels = own.codes[own.offsets[value[~absent]]]
            for i, label in zip(cell[~absent], labels, strict=True):
                assert label in cells.codes[cells.offsets[i] : cells.offsets[i + 1]]
