"""Bits that a release loses, against plain Python that follows the definitions record by record."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.entropy import (
    entropy_based_information_loss,
    kl_divergence,
    non_uniform_entropy,
    row_entropy,
)

ZIPS = pd.DataFrame({"zip": ["a", "a", "a", "b", "c", "c", "c", "c"]})
CITIES = [["Linz", "Austria", "*"], ["Graz", "Austria", "*"], ["Rome", "Italy", "*"]]


def table(*rows, columns):
    return pd.DataFrame(rows, columns=list(columns))


# -- non-uniform entropy -------------------------------------------------------------------------


def test_a_rare_value_costs_more_than_a_frequent_one():
    released = pd.DataFrame({"zip": ["{a, b}"] * 4 + ["c"] * 4})
    bits = 3 * math.log2(4 / 3) + math.log2(4)
    most = 3 * math.log2(8 / 3) + math.log2(8) + 4 * math.log2(8 / 4)
    asked = {"quasi_identifiers": ["zip"]}
    assert non_uniform_entropy(ZIPS, released, in_bits=True, **asked) == pytest.approx(bits)
    assert non_uniform_entropy(ZIPS, released, **asked) == pytest.approx(bits / most)


def test_intervals_are_priced_by_the_values_within_them():
    original = pd.DataFrame({"age": [20, 20, 21, 30, None]})
    released = pd.DataFrame({"age": ["[20, 21]", "[20, 30]", "21", "30 | missing", "30 | missing"]})
    bits = math.log2(3 / 2) + math.log2(4 / 2) + 0 + math.log2(2) + math.log2(2)
    asked = {"quasi_identifiers": ["age"], "in_bits": True}
    assert non_uniform_entropy(original, released, **asked) == pytest.approx(bits)


def test_columns_add_up_and_can_be_told_apart():
    original = table(("a", 1), ("b", 2), columns="qn")
    released = table(("{a, b}", 1), ("{a, b}", 2), columns="qn")
    asked = {"quasi_identifiers": ["q", "n"]}
    assert non_uniform_entropy(original, released, **asked) == 0.5
    assert non_uniform_entropy(original, released, by_column=True, **asked) == {"q": 1, "n": 0}


@pytest.mark.parametrize("cell", ["*", None, "c", "{b, c}"])
def test_a_cell_that_does_not_cover_its_value_costs_what_a_suppressed_one_costs(cell):
    released = pd.DataFrame({"zip": [cell, *ZIPS["zip"][1:]]})
    found = non_uniform_entropy(ZIPS, released, quasi_identifiers=["zip"], in_bits=True)
    assert found == pytest.approx(math.log2(8 / 3))


def test_by_levels_only_those_count_that_climb_as_far():
    """ARX's way: of the two that are suppressed, each is one of two, not one of all five."""
    original = pd.DataFrame({"city": ["Linz", "Linz", "Graz", "Rome", "Graz"]})
    released = pd.DataFrame({"city": ["Austria", "Austria", "Austria", "*", "*"]})
    asked = {"quasi_identifiers": ["city"], "hierarchies": {"city": CITIES}, "in_bits": True}
    # All five climb to countries: Linz and Graz are 2 of 4 there, Rome is all of Italy. Two climb
    # on, one from each country.
    by_levels = non_uniform_entropy(original, released, frequencies="levels", **asked)
    assert by_levels == pytest.approx(4 * math.log2(4 / 2) + 2 * math.log2(2))
    of_original = non_uniform_entropy(original, released, **asked)
    assert of_original == pytest.approx(3 * math.log2(4 / 2) + math.log2(5) + math.log2(5 / 2))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_both_ways_agree_where_a_column_has_one_level(level):
    original = pd.DataFrame({"city": ["Linz", "Linz", "Graz", "Rome", None]})
    names = {row[0]: row[level] for row in CITIES}
    released = original.replace(names)
    if level == 2:
        released[:] = "*"
    asked = {"quasi_identifiers": ["city"], "hierarchies": {"city": CITIES}}
    by_levels = non_uniform_entropy(original, released, frequencies="levels", **asked)
    assert by_levels == pytest.approx(non_uniform_entropy(original, released, **asked))


def test_tables_that_cannot_be_paired_get_a_sentence():
    asked = {"quasi_identifiers": ["zip"]}
    with pytest.raises(DataError, match=r"compared one by one, .* 8 and 7 records\."):
        non_uniform_entropy(ZIPS, ZIPS[:7], **asked)
    with pytest.raises(AnonError, match=r"\['zip'\] have none"):
        non_uniform_entropy(ZIPS, ZIPS, frequencies="levels", **asked)
    with pytest.raises(AnonError, match="'original' or by 'levels', found 'level'"):
        non_uniform_entropy(ZIPS, ZIPS, frequencies="level", **asked)


# -- records -------------------------------------------------------------------------------------


def test_row_entropy_is_that_of_the_class_sizes():
    assert row_entropy(pd.DataFrame({"size": [4, 2]})) == pytest.approx(0.9182958341)
    assert row_entropy(pd.DataFrame({"size": [7]})) == 0
    assert row_entropy(pd.DataFrame({"size": np.array([], "int64")})) == 0


def test_entropy_based_information_loss_of_the_known_example():
    original = table((1, 1), (1, 2), (2, 1), (2, 2), columns="ab")
    released = table((1, 1), (1, 1), (2, 1), (2, 1), columns="ab")
    asked = {"quasi_identifiers": ["a", "b"]}
    assert entropy_based_information_loss(original, released, **asked) == 0.5
    by_column = entropy_based_information_loss(original, released, by_column=True, **asked)
    assert by_column == {"a": 0, "b": 1}


def test_a_table_of_equal_records_has_nothing_to_lose():
    """Elsewhere 0/0, which is no number."""
    equal = table((1, 1), (1, 1), columns="ab")
    assert entropy_based_information_loss(equal, equal, quasi_identifiers=["a", "b"]) == 0


def test_class_tables_do_as_well_as_the_tables():
    before, after = pd.DataFrame({"size": [1, 1, 1, 1]}), pd.DataFrame({"size": [2, 2]})
    assert entropy_based_information_loss(before, after) == 0.5
    with pytest.raises(AnonError, match="needs the tables themselves"):
        entropy_based_information_loss(before, after, by_column=True)


# -- KL divergence -------------------------------------------------------------------------------


def divergence(original, boxes, n_values):
    """Σ p log2(p/q) with q summed over the classes that cover a record: plain, quadratic."""
    n = len(original)
    q = Counter()
    for record in set(original):
        for box, size in Counter(boxes).items():
            if all(value in part for value, part in zip(record, box, strict=True)):
                q[record] += size / n / math.prod(len(part) for part in box)
    p = Counter(original)
    return sum(c / n * math.log2(c / n / q[record]) for record, c in p.items())


def test_kl_divergence_is_that_of_the_definition():
    original = [("a", 1), ("a", 1), ("b", 3), ("c", 4), ("c", 6)]
    boxes = [("ab", (1, 2, 3))] * 3 + [("c", (4, 5, 6))] * 2
    released = table(*[("{a, b}", "[1, 3]")] * 3, *[("c", "[4, 6]")] * 2, columns="qn")
    asked = {"quasi_identifiers": ["q", "n"]}
    before = table(*original, columns="qn")
    expected = divergence(original, boxes, None)
    assert kl_divergence(released, before, **asked) == pytest.approx(expected)
    by_column = kl_divergence(released, before, by_column=True, **asked)
    one = divergence([(q,) for q, _ in original], [(box,) for box, _ in boxes], None)
    assert by_column["q"] == pytest.approx(one)


def test_records_left_out_are_spread_over_everything():
    original = table(("a", 1), ("b", 2), ("b", 4), columns="qn")
    shown = table(("a", "1"), ("b", "2"), ("*", "*"), columns="qn")
    asked = {"quasi_identifiers": ["q", "n"]}
    left_out = kl_divergence(shown[:2], original, **asked)
    assert left_out == pytest.approx(kl_divergence(shown, original, **asked))
    # Two records are as they were, the third has 1/3 of the weight on 2 * 4 records.
    assert left_out == pytest.approx(math.log2(8) / 3)


def test_floats_have_no_number_of_values_to_spread_over():
    original = pd.DataFrame({"x": [0.5, 1.5]})
    with pytest.raises(AnonError, match="'x' has floating-point numbers"):
        kl_divergence(original, original, quasi_identifiers=["x"])


# -- laws ----------------------------------------------------------------------------------------

NUMBERS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), min_size=1, max_size=10)


@settings(max_examples=25, deadline=None)
@given(NUMBERS)
def test_the_original_loses_nothing_and_no_cells_lose_everything(rows):
    original = table(*rows, columns="qn")
    nothing = pd.DataFrame("*", original.index, original.columns)
    asked = {"quasi_identifiers": ["q", "n"]}
    differs = len(set(rows)) > 1
    assert non_uniform_entropy(original, original, **asked) == 0
    assert non_uniform_entropy(original, nothing, **asked) == pytest.approx(float(differs))
    assert entropy_based_information_loss(original, original, **asked) == 0
    assert entropy_based_information_loss(original, nothing, **asked) == float(differs)
    assert kl_divergence(original, original, **asked) == pytest.approx(0, abs=1e-12)
    assert kl_divergence(nothing, original, **asked) >= -1e-12


@settings(max_examples=25, deadline=None)
@given(NUMBERS, st.integers(0, 5))
def test_values_and_cells_are_counted_as_the_definition_says(rows, cut):
    original = table(*rows, columns="qn")
    sides = {"low": [n for _, n in rows if n <= cut], "high": [n for _, n in rows if n > cut]}
    cells = {side: f"[{min(v)}, {max(v)}]" for side, v in sides.items() if v}
    cells = {side: text if min(sides[side]) < max(sides[side]) else str(sides[side][0])
             for side, text in cells.items()}  # fmt: skip
    released = original.assign(n=["low" if n <= cut else "high" for _, n in rows]).replace(cells)
    counts = Counter(n for _, n in rows)
    expected = sum(
        math.log2(len(sides["low" if n <= cut else "high"]) / counts[n]) for _, n in rows
    )
    found = non_uniform_entropy(original, released, quasi_identifiers=["q", "n"], in_bits=True)
    assert found == pytest.approx(expected, abs=1e-12)
    merged = original.assign(n="*")
    coarse = non_uniform_entropy(original, merged, quasi_identifiers=["q", "n"], in_bits=True)
    assert coarse >= found - 1e-12
