"""Values of a sensitive column are counted exactly, merged in any order, and coded in their own."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import pickle
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import DataError
from dask_anon.hierarchy import count_values, merge_value_counts

LAW = settings(max_examples=40, deadline=None)
DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)

KINDS = {
    "int8": (pa.int8(), [3, -4]),
    "uint64": (pa.uint64(), [2**64 - 1, 0]),
    "float16": (pa.float16(), [np.float16(1.5), np.float16(-2)]),
    "float32": (pa.float32(), [2.5, -1.0]),
    "float64": (pa.float64(), [math.inf, -0.5]),
    "boolean": (pa.bool_(), [True, False]),
    "date32": (pa.date32(), [DAY, dt.date(1, 1, 1)]),
    "date64": (pa.date64(), [DAY, dt.date(1969, 1, 1)]),
    "time32": (pa.time32("s"), [dt.time(9), dt.time(8)]),
    "time64": (pa.time64("us"), [dt.time(9), dt.time(8)]),
    "timestamp": (pa.timestamp("us"), [NOON, dt.datetime(1900, 1, 1)]),
    "duration": (pa.duration("ms"), [dt.timedelta(days=1), dt.timedelta(0)]),
    "decimal128": (pa.decimal128(20, 2), [Decimal("9.25"), Decimal("-3")]),
    "decimal256": (pa.decimal256(60, 2), [Decimal("9.25"), Decimal("-3")]),
    "string": (pa.string(), ["b", "a"]),
    "large_string": (pa.large_string(), ["ü", "z"]),
}


def counted(array, cap=100):
    return count_values(array, column="illness", cap=cap)


def as_dict(counts):
    return dict(zip(counts.values.to_pylist(), counts.counts.tolist(), strict=True))


def scale(*values):
    """Ordered categories low < middle < high."""
    places = {"low": 0, "middle": 1, "high": 2, None: None}
    codes = pa.array([places[v] for v in values], pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(["low", "middle", "high"]), ordered=True)


@pytest.mark.parametrize("type_, values", KINDS.values(), ids=KINDS)
def test_every_type_is_counted_and_coded_by_value(type_, values):
    larger, smaller = values
    array = pa.array([larger, smaller, None, larger], type_)
    found = counted(array)
    assert as_dict(found) == {smaller: 1, larger: 2}
    assert found.values.to_pylist() == [smaller, larger]
    assert (found.n_missing, found.n_records, found.type) == (1, 4, type_)
    assert found.encode(array).tolist() == [1, 0, 2, 1]
    assert found.encode(array).dtype == np.uint32
    sliced = pa.chunked_array([array.slice(1), array.slice(0, 1)])
    assert found.encode(sliced).tolist() == [0, 2, 1, 1]
    assert as_dict(merge_value_counts([found, found], cap=2)) == {smaller: 2, larger: 4}
    assert as_dict(pickle.loads(pickle.dumps(found))) == as_dict(found)


def test_a_nan_is_missing_and_zero_is_one_value():
    array = pa.array([math.nan, -0.0, 0.0, None, 1.0])
    found = counted(array)
    assert as_dict(found) == {0.0: 2, 1.0: 1}
    assert math.copysign(1, found.values[0].as_py()) == 1
    assert found.n_missing == 2
    assert found.encode(array).tolist() == [2, 0, 0, 2, 1]


def test_categories_are_their_texts_and_ordered_ones_keep_their_order():
    plain = pa.array(["flu", None, "angina", "flu"]).dictionary_encode()
    found = counted(plain)
    assert found.values.to_pylist() == ["angina", "flu"]
    assert found.encode(plain).tolist() == [1, 2, 0, 1]
    assert found.encode(pa.array(["flu", "angina"])).tolist() == [1, 0]
    ordered = counted(scale("high", "low", None, "low"))
    assert ordered.values.to_pylist() == ["low", "high"]
    assert ordered.counts.tolist() == [2, 1]
    assert ordered.is_ordered
    assert not found.is_ordered


def test_each_chunk_may_have_a_dictionary_of_its_own():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", "c"]).dictionary_encode()]
    array = pa.chunked_array(chunks)
    found = counted(array)
    assert as_dict(found) == {"a": 2, "b": 1, "c": 1}
    assert found.encode(array).tolist() == [1, 0, 0, 2]


def test_a_column_of_nothing_takes_any_type():
    nothing = counted(pa.nulls(3))
    assert (as_dict(nothing), nothing.n_missing) == ({}, 3)
    assert nothing.encode(pa.nulls(2)).tolist() == [0, 0]
    merged = merge_value_counts([nothing, counted(pa.array([5, 5]))], cap=9)
    assert (as_dict(merged), merged.n_missing) == ({5: 2}, 3)
    assert as_dict(counted(pa.array([], pa.string()))) == {}


def test_types_are_widened_where_values_stay_what_they_are():
    parts = [pa.array([1], pa.int8()), pa.array([2**40, 1], pa.int64())]
    merged = merge_value_counts([counted(part) for part in parts], cap=9)
    assert as_dict(merged) == {1: 2, 2**40: 1}
    assert merged.type == pa.int64()
    assert [merged.encode(part).tolist() for part in parts] == [[0], [1, 0]]
    narrow = counted(parts[0])
    assert narrow.encode(pa.array([1], pa.int64())).tolist() == [0]
    with pytest.raises(DataError, match="'illness' is integer in some partitions and text in oth"):
        merge_value_counts([narrow, counted(pa.array(["1"]))], cap=9)
    with pytest.raises(DataError, match="'illness' is text here and integer where its values"):
        narrow.encode(pa.array(["1"]))


def test_a_value_that_was_not_counted_is_refused_without_repeating_it():
    found = counted(pa.array(["flu", "angina"]))
    for array in (
        pa.array(["flu", "gout", "gout"]),
        pa.array(["gout", "gout"]).dictionary_encode(),
    ):
        with pytest.raises(DataError, match="'illness' has 2 values that did not occur") as caught:
            found.encode(array)
        assert "gout" not in str(caught.value)
        assert caught.value.n_unseen == 2


def test_more_distinct_values_than_the_cap_say_what_to_do():
    with pytest.raises(DataError, match=r"has more than 2 distinct values, .*\. Round or gro"):
        counted(pa.array([1, 2, 3]), cap=2)
    parts = [counted(pa.array(values), cap=2) for values in ([1, 2], [2, 3])]
    with pytest.raises(DataError, match="more than 2 distinct values"):
        merge_value_counts(parts, cap=2)
    assert len(merge_value_counts(parts, cap=3).values) == 3


def test_a_column_without_values_to_count_is_refused():
    with pytest.raises(DataError, match="is of type list<item: int64>, whose values cannot be"):
        counted(pa.array([[1]]))


@LAW
@given(st.lists(st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=9), min_size=1,
                max_size=5), st.randoms())  # fmt: skip
def test_merging_is_exact_in_any_order_and_grouping(partitions, random):
    counts = [counted(pa.array(rows, pa.int64())) for rows in partitions]
    rows = list(itertools.chain(*partitions))
    merged = merge_value_counts(counts, cap=7)
    expected = Counter(v for v in rows if v is not None)
    assert as_dict(merged) == expected
    assert merged.values.to_pylist() == sorted(expected)
    assert merged.n_missing == rows.count(None)
    random.shuffle(counts)
    while len(counts) > 1:
        counts.append(merge_value_counts([counts.pop(0), counts.pop(0)], cap=7))
    assert counts[0].values.equals(merged.values)
    assert counts[0].counts.tolist() == merged.counts.tolist()


# -- how far values lie apart ---------------------------------------------------------------------


def test_steps_by_rank_are_equal_and_by_value_as_the_values_are():
    found = counted(pa.array([1, 2, 4, 11]))
    assert found.steps(by_rank=True).tolist() == pytest.approx([1 / 3] * 3)
    assert found.steps(by_rank=False).tolist() == pytest.approx([0.1, 0.2, 0.7])
    dates = counted(pa.array([DAY, DAY + dt.timedelta(1), DAY + dt.timedelta(4)]))
    assert dates.steps(by_rank=False).tolist() == [0.25, 0.75]
    wide = counted(pa.array([-(2**63), 0, 2**63 - 2]))
    assert wide.steps(by_rank=False).tolist() == pytest.approx([0.5, 0.5])
    floats = counted(pa.array([-1.7e308, 0.0, 1.7e308]))
    assert floats.steps(by_rank=False).tolist() == [0.5, 0.5]
    assert counted(pa.array([7])).steps(by_rank=False).tolist() == []


def test_what_has_no_order_or_no_differences_says_so():
    text = counted(pa.array(["a", "b"]))
    with pytest.raises(DataError, match="'illness' is text, which has no order"):
        text.steps(by_rank=True)
    with pytest.raises(DataError, match="ordered categories, and its values have no differences"):
        counted(scale("low", "high")).steps(by_rank=False)
    with pytest.raises(DataError, match="has 1 infinite value, which lie no measurable"):
        counted(pa.array([1.0, math.inf])).steps(by_rank=False)
    assert counted(pa.array([True, False])).steps(by_rank=True).tolist() == [1]
    with pytest.raises(DataError, match="is text, and numbers are needed"):
        text.numbers()


def test_orders_that_contradict_each_other_matter_where_the_order_does():
    other = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array(["high", "low"]), ordered=True
    )
    for parts in ([scale("low", "high"), other], [other, scale("low", "high")]):
        merged = merge_value_counts([counted(part) for part in parts], cap=9)
        assert as_dict(merged) == {"high": 2, "low": 2}
        with pytest.raises(DataError, match="whose order differs between partitions"):
            merged.steps(by_rank=True)
    fewer = pa.DictionaryArray.from_arrays(
        pa.array([1, 0], pa.int8()), pa.array(["low", "high"]), ordered=True
    )
    merged = merge_value_counts([counted(fewer), counted(scale("middle"))], cap=9)
    assert merged.values.to_pylist() == ["low", "middle", "high"]


def test_texts_are_ordered_by_the_numbers_that_they_spell():
    array = pa.array(["10", "9", " 2.5", "1e1", None, "-3", "9"])
    found = counted(array).by_number()
    assert found.values.to_pylist() == ["-3", " 2.5", "9", "10", "1e1"]
    assert found.counts.tolist() == [1, 1, 2, 1, 1]
    assert found.numbers().tolist() == [-3, 2.5, 9, 10, 10]
    assert found.encode(array).tolist() == [3, 2, 1, 4, 5, 0, 2]
    assert found.steps(by_rank=False).tolist() == pytest.approx([5.5 / 13, 0.5, 1 / 13, 0])
    assert found.by_number() is found
    with pytest.raises(DataError, match="is text, and 3 of its 4 distinct values are no numbers"):
        counted(pa.array(["1", "n/a", "1_0", "1e999"])).by_number()
    numbers = counted(pa.array([2, 1]))
    assert numbers.by_number() is numbers


def test_numbers_of_any_type_are_numbers():
    assert counted(pa.array([True, False])).numbers().tolist() == [0, 1]
    assert counted(pa.array([Decimal("1.5")])).numbers().tolist() == [1.5]
    assert counted(pa.array([2.5], pa.float32())).numbers().tolist() == [2.5]
