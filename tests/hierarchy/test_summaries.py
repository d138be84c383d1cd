"""Summaries: small, mergeable in any order, and clear about what cannot be one column."""

import datetime as dt
import pickle
from decimal import Decimal
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import DataError
from dask_anon.hierarchy import Summary, domain_of, merge_summaries, summarize


def ordered(labels, categories):
    codes = [None if label is None else categories.index(label) for label in labels]
    index = pa.array(codes, pa.int8())
    return pa.DictionaryArray.from_arrays(index, pa.array(categories, pa.string()), ordered=True)


def merged(*arrays):
    return merge_summaries([summarize(array, column="x") for array in arrays])


def test_extremes_missing_and_labels_of_a_partition():
    numbers = summarize(pa.chunked_array([[3, None], [], [-5, 7]]), column="x")
    assert (numbers.minimum, numbers.maximum, numbers.n_missing) == (-5, 7, 1)
    reals = summarize(pa.array([0.5, float("nan"), None, -0.0, float("inf")]), column="x")
    assert (reals.minimum, reals.maximum) == (0.0, 0.5)
    assert (reals.n_missing, reals.n_infinite) == (2, 1)
    text = summarize(pa.array(["b", None, "a", "b"]), column="x")
    assert text.labels.to_pylist() == ["a", "b"]
    assert text.n_missing == 1


def test_sliced_arrays_count_only_their_own_rows():
    numbers = pa.array([99, 1, None, 2, -99]).slice(1, 3)
    summary = summarize(numbers, column="x")
    assert (summary.minimum, summary.maximum, summary.n_missing) == (1, 2, 1)
    labels = pa.array(["z", "a", None, "b"]).dictionary_encode().slice(1)
    summary = summarize(labels, column="x")
    assert (summary.labels.to_pylist(), summary.n_missing) == (["a", "b"], 1)


def test_labels_are_sorted_as_python_sorts_text():
    labels = ["é", "z", "Z", "a", "", "😀", "\uffff", "10", "9"]
    assert merged(pa.array(labels)).labels.to_pylist() == sorted(labels)


def test_categories_that_no_row_has_and_nulls_in_the_dictionary_are_no_labels():
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1, None], pa.int32()), pa.array(["a", None, "unused"])
    )
    summary = summarize(array, column="x")
    assert (summary.labels.to_pylist(), summary.n_missing) == (["a"], 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1), st.randoms())
def test_integers_merge_to_the_summary_of_all_rows(parts, random):
    whole = summarize(pa.array(list(chain.from_iterable(parts)), pa.int64()), column="x")
    random.shuffle(parts)
    result = merged(*(pa.array(part, pa.int64()) for part in parts))
    assert (result.minimum, result.maximum) == (whole.minimum, whole.maximum)
    assert result.n_missing == whole.n_missing


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.none() | st.text(max_size=3), max_size=5), min_size=1), st.randoms())
def test_labels_merge_to_the_sorted_distinct_ones(parts, random):
    rows = list(chain.from_iterable(parts))
    random.shuffle(parts)
    arrays = [pa.array(part, pa.string()) for part in parts]
    encoded = [array.dictionary_encode() for array in arrays]
    for result in (merged(*arrays), merged(*encoded), merged(*arrays[:1], *encoded[1:])):
        assert result.labels.to_pylist() == sorted({row for row in rows if row is not None})
        assert result.n_missing == rows.count(None)


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.uint8(), pa.int8(), pa.int16()),
        (pa.uint32(), pa.int16(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.float16(), pa.float32(), pa.float32()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (pa.null(), pa.int32(), pa.int32()),
        (pa.date32(), pa.null(), pa.date32()),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.timestamp("s", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
        (pa.time32("s"), pa.time64("us"), pa.time64("us")),
        (pa.duration("ms"), pa.duration("s"), pa.duration("ms")),
        (pa.decimal128(5, 2), pa.decimal128(10, 1), pa.decimal128(11, 2)),
        (pa.decimal128(38, 0), pa.decimal128(38, 2), pa.decimal256(40, 2)),
    ],
)
def test_types_are_widened_where_every_value_stays_what_it_is(a, b, common):
    empty = [pa.nulls(0, a), pa.nulls(0, b)]
    assert merged(*empty).type == common
    assert merged(*reversed(empty)).type == common


def test_units_are_converted_when_partitions_differ():
    seconds = pa.array([10, 20], pa.timestamp("s"))
    millis = pa.array([15_500], pa.timestamp("ms"))
    summary = merged(seconds, millis)
    assert (summary.minimum, summary.maximum) == (10_000, 20_000)
    domain = domain_of("x", summary)
    assert domain.encode(seconds).tolist() == [0, 10_000]
    assert domain.encode(millis).tolist() == [5_500]


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (pa.int64(), pa.string(), "integer in some partitions and text in others"),
        (pa.int64(), pa.float64(), "integer in some partitions and floating-point in others"),
        (pa.uint64(), pa.int64(), "uint64 in some partitions and int64 in others"),
        (pa.bool_(), pa.string(), "true/false in some partitions and text in others"),
        (pa.date32(), pa.timestamp("s"), "date in some partitions and timestamp without a time"),
        (pa.timestamp("s", "UTC"), pa.timestamp("s"), "timestamp in UTC in some partitions"),
        (pa.string(), pa.dictionary(pa.int8(), pa.string(), True), "text in some .* ordered categ"),
        (pa.dictionary(pa.int8(), pa.int8()), pa.int8(), "categories of integer in some"),
    ],
)
def test_partitions_of_different_types_are_told_with_their_counts(a, b, words):
    parts = [pa.nulls(1, a), pa.nulls(1, a), pa.nulls(1, b), pa.nulls(1, a)]
    with pytest.raises(DataError, match=rf"column 'x' is {words}.*\(3 and 1 partitions\)"):
        merged(*parts)


@pytest.mark.parametrize(
    "type_",
    [pa.binary(), pa.list_(pa.int8()), pa.struct([]), pa.dictionary(pa.int8(), pa.binary())],
)
def test_a_type_without_order_or_labels_is_named(type_):
    with pytest.raises(DataError, match=r"column 'x' is of type .*, which has neither"):
        summarize(pa.nulls(2, type_), column="x")


def test_category_orders_merge_when_one_contains_the_others():
    parts = [
        ordered(["low"], ["low", "high"]),
        ordered(["mid"], ["mid", "high"]),
        ordered(["low", None], ["none", "low", "mid", "high", "top"]),
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        first = merge_summaries([summarize(parts[i], column="x") for i in order[:2]])
        summary = merge_summaries([first, summarize(parts[order[2]], column="x")])
        domain = domain_of("x", summary)
        # From the lowest that occurs to the highest that occurs.
        assert domain.labels.to_pylist() == ["low", "mid"]
        assert [domain.encode(part).tolist() for part in parts] == [[0], [1], [0, 2]]


def test_category_orders_that_contradict_each_other_are_refused():
    parts = [ordered(["a"], ["a", "b"]), ordered(["b"], ["b", "a"])]
    with pytest.raises(DataError, match=r"column 'x' has ordered categories.*\(2 orders"):
        domain_of("x", merged(*parts))


@pytest.mark.parametrize(
    ("type_", "low", "high", "units"),
    [
        (pa.int16(), -3, 5, (-3, 5)),
        (pa.uint64(), 1, 2**64 - 1, (1, 2**64 - 1)),
        (pa.date32(), dt.date(1970, 1, 2), dt.date(1970, 1, 5), (1, 4)),
        (pa.timestamp("ms"), dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 0, 1), (0, 60_000)),
        (pa.time32("s"), dt.time(0, 1), dt.time(1), (60, 3600)),
        (pa.decimal128(38, 3), Decimal("-1.5"), Decimal("9" * 35), (-1500, int("9" * 35) * 1000)),
        (pa.int32(), None, None, (None, None)),
    ],
)
def test_footers_give_the_summary_that_rows_give(type_, low, high, units):
    summary = Summary.from_bounds(type_, low, high, 0, column="x")
    assert (summary.minimum, summary.maximum) == units
    rows = summarize(pa.array([high, low], type_), column="x")
    assert (rows.minimum, rows.maximum) == units


def test_a_footer_that_does_not_count_nulls_leaves_missing_open():
    unknown = Summary.from_bounds(pa.int8(), 1, 2, None)
    assert domain_of("x", unknown).has_missing
    merged_one = merge_summaries([unknown, Summary.from_bounds(pa.int8(), 0, 1, 0)])
    assert merged_one.n_missing is None
    assert not domain_of("x", Summary.from_bounds(pa.int8(), 1, 2, 0)).has_missing


def test_summaries_survive_the_trip_from_a_worker():
    for array in (pa.array([1, None]), pa.array([1.5]), pa.array(["a"]), ordered(["a"], ["a"])):
        summary = summarize(array, column="x")
        assert pickle.loads(pickle.dumps(summary)) == summary


def test_infinities_are_counted_and_refused():
    parts = [pa.array([1.0, np.inf]), pa.array([-np.inf, np.nan])]
    with pytest.raises(DataError, match="column 'x' has 2 infinite values"):
        domain_of("x", merged(*parts))
