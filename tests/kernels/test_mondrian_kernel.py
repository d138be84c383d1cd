"""The compiled kernel cuts exactly as the plain reference does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Attribute
from reference import mondrian as reference

from dask_anon.algorithms.mondrian import priority_of
from dask_anon.kernels import common
from dask_anon.kernels.mondrian import LEAF, mondrian
from dask_anon.kernels.tree import route_subtree

TIES = {"left": common.LEFT, "either": common.EITHER, "divide": common.DIVIDE}
DTYPES = (np.uint16, np.uint32, np.uint64)
SPAN_TIES = st.sampled_from(["domain", "region"])
LAW = settings(max_examples=50, deadline=None)


class Table:
    """Attributes as the kernel wants them: codes, and how their spans are measured."""

    def __init__(self, attributes, dtype, cap=65_536):
        self.attributes, self.dtype, self.cap = attributes, np.dtype(dtype), cap
        d, n = len(attributes), len(attributes[0].values)
        self.codes = np.zeros((n, d), dtype)
        kind, n_codes = np.zeros(d, np.int64), np.zeros(d, np.int64)
        width, offset, top = np.zeros(d), np.zeros(d), np.zeros(d)
        missing = np.zeros(d, np.uint64)
        for j, a in enumerate(attributes):
            present = sorted({v for v in a.values if v is not None})
            if a.kind == "whole":
                low = present[0] if present else 0
                missing[j] = (present[-1] - low + 1) if present else 0
                codes = [int(missing[j]) if v is None else v - low for v in a.values]
            elif a.kind == "float":
                kind[j], missing[j], top[j] = common.FLOAT, 2**64 - 1, a.top / 2
                codes = [int(missing[j]) if v is None else image(v) for v in a.values]
            else:
                kind[j], missing[j], offset[j] = common.DISTINCT, len(present), 1
                n_codes[j] = len(present) + 1
                codes = [len(present) if v is None else present.index(v) for v in a.values]
            self.codes[:, j] = np.array(codes, np.uint64)
            width[j] = a.width
        order = priority_of([min(a.n_distinct, cap) for a in attributes])
        self.scale = common.Scale(
            kind, width, offset, missing, top, np.array(order, np.int64), n_codes
        )

    def cut(self, k, ties="either", span_ties="domain", keys=None):
        n, d = self.codes.shape
        table = common.code_table(n, d, self.dtype)
        common.fill_table(self.codes, d, table, 0)
        common.number_records(common.record_numbers(table))
        return mondrian(
            table, k=k, scale=self.scale, ties=TIES[ties], region_ties=span_ties == "region",
            distinct_cap=self.cap, keys=keys,
        )  # fmt: skip

    def classes(self, k, **options):
        """Record numbers by class, in the order of the tree."""
        _, found = self.cut(k, **options)
        return [np.flatnonzero(found.of_record == c).tolist() for c in range(len(found.size))]


def image(number):
    """The order-preserving code of a float."""
    bits = int(np.float64(number + 0.0).view(np.uint64))
    return bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63


def by_key(attributes, keys):
    """Records and keys in the order of the keys, as the kernel wants them to divide ties."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    moved = [Attribute(a.kind, [a.values[i] for i in order]) for a in attributes]
    return moved, [keys[i] for i in order]


def columns(n, widest, with_floats):
    """Values of one attribute of `n` records, often equal, often missing."""
    few = st.integers(0, 4)
    many = st.integers(0, widest)
    number = st.sampled_from([few, many, st.just(7), st.none() | few, st.none() | many])
    whole = number.flatmap(lambda values: st.lists(values, min_size=n, max_size=n))
    floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-1.5, 0.0, 2.0])
    label = st.sampled_from(["a", "b", "c", "ä", None])
    kinds = [
        whole.map(lambda v: Attribute("whole", v)),
        st.lists(label, min_size=n, max_size=n).map(lambda v: Attribute("label", v)),
        st.lists(floats | st.none(), min_size=n, max_size=n).map(lambda v: Attribute("float", v)),
    ]
    return st.one_of(kinds if with_floats else kinds[:2])


@st.composite
def tables(draw, dtype, max_records=60):
    n = draw(st.integers(1, max_records))
    widest = np.iinfo(dtype).max - 1
    with_floats = np.dtype(dtype).itemsize == 8  # their images need 64 bits
    return draw(st.lists(columns(n, widest, with_floats), min_size=1, max_size=4))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(LAW, max_examples=80)
@given(data=st.data(), ties=st.sampled_from(["left", "either"]), span_ties=SPAN_TIES)
def test_kernel_equals_reference(dtype, data, ties, span_ties):
    attributes = data.draw(tables(dtype))
    k = data.draw(st.integers(1, 5))
    cap = data.draw(st.sampled_from([1, 2, 3, 65_536]))
    options = {"ties": ties, "span_ties": span_ties}
    found = Table(attributes, dtype, cap).classes(k, **options)
    assert found == reference(attributes, k, distinct_cap=cap, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@LAW
@given(data=st.data(), span_ties=SPAN_TIES)
def test_divided_ties_equal_reference(dtype, data, span_ties):
    attributes = data.draw(tables(dtype))
    n, k = len(attributes[0].values), data.draw(st.integers(1, 5))
    # Few keys, so that identical records (equal keys) occur; the extremes, since keys are hashes.
    key = st.sampled_from([0, 1, 2, 3, 2**63, 2**64 - 2, 2**64 - 1])
    attributes, keys = by_key(attributes, data.draw(st.lists(key, min_size=n, max_size=n)))
    options = {"ties": "divide", "span_ties": span_ties}
    found = Table(attributes, dtype).classes(k, keys=np.array(keys, np.uint64), **options)
    assert found == reference(attributes, k, keys=keys, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 6, 7, 9, 17])
@pytest.mark.parametrize("ties", ["left", "either", "divide"])
def test_many_records_and_attributes_equal_reference(dtype, d, ties):
    """Above 1,024 records a histogram finds the median; 17 attributes fill three blocks."""
    rng = np.random.default_rng(d)
    n, top = 1_500, np.iinfo(dtype).max - 2
    attributes = []
    for j in range(d):
        if j % 4 == 0:
            values = rng.integers(0, top, n, dtype=np.uint64, endpoint=True).tolist()
        elif j % 4 == 1:
            values = np.minimum(rng.geometric(0.3, n), 40).tolist()
        elif j % 4 == 2:
            values = [None if v > 8 else v for v in rng.integers(0, 10, n).tolist()]
        else:
            values = np.array(["u", "v", "w", "x"])[rng.integers(0, 4, n)].tolist()
        attributes.append(Attribute("label" if j % 4 == 3 else "whole", values))
    keys = rng.integers(0, 2**64, n, dtype=np.uint64).tolist()
    attributes, keys = by_key(attributes, keys)
    own = np.array(keys, np.uint64) if ties == "divide" else None
    found = Table(attributes, dtype).classes(5, ties=ties, keys=own)
    assert found == reference(attributes, 5, ties=ties, keys=keys)


@pytest.mark.parametrize("ties", ["left", "either", "divide"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_smallest_tables(n, ties):
    """k = 3: up to 5 = 2k - 1 records are one class, 6 = 2k distinct ones are two."""
    table = Table([Attribute("whole", list(range(n)))], np.uint16)
    keys = np.arange(n, dtype=np.uint64)
    found = table.classes(3, ties=ties, keys=keys)
    assert found == ([list(range(n))] if n < 6 else [[0, 1, 2], list(range(3, n))] if n == 6 else
                     [[0, 1, 2, 3], [4, 5, 6]])  # fmt: skip


def test_records_equal_to_the_median_go_left_either_way_or_are_divided():
    values = [1] * 2 + [2] * 6
    table = Table([Attribute("whole", values)], np.uint16)
    keys = np.arange(8, dtype=np.uint64)
    # Median 2: everybody is <= 2, so the strict cut fails.
    assert table.classes(2, ties="left") == [list(range(8))]
    assert table.classes(2, ties="either") == [[0, 1], [2, 3, 4, 5, 6, 7]]
    # Once all records of a region are equal there is nothing left to generalize.
    assert table.classes(2, ties="divide", keys=keys) == [[0, 1], [2, 3], [4, 5, 6, 7]]


def test_identical_records_stay_together_when_ties_are_divided():
    table = Table([Attribute("whole", [5] * 6)], np.uint16)
    keys = np.array([1, 1, 1, 1, 9, 9], np.uint64)
    assert table.classes(2, ties="divide", keys=keys) == [[0, 1, 2, 3, 4, 5]]  # nothing to cut
    table = Table([Attribute("whole", [4] + [5] * 7)], np.uint16)
    keys = np.array([0, 1, 1, 1, 1, 1, 9, 9], np.uint64)
    assert table.classes(2, ties="divide", keys=keys) == [[0, 1, 2, 3, 4, 5], [6, 7]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_columns_are_one_class(dtype):
    n = 3_000
    attributes = [Attribute("whole", [3] * n), Attribute("label", [None] * n)]
    assert Table(attributes, dtype).classes(2) == [list(range(n))]


def test_deep_trees():
    """Each attribute singles two records out: the stack outgrows its first 256 places."""
    d = 300
    pairs = [[2 * j, 2 * j + 1] for j in range(d)]
    attributes = [Attribute("whole", [int(i in pair) for i in range(2 * d + 4)]) for pair in pairs]
    rest = [2 * d, 2 * d + 1, 2 * d + 2, 2 * d + 3]
    assert Table(attributes, np.uint16).classes(2) == [rest, *reversed(pairs)]


def test_wide_codes_keep_their_last_bits():
    """Codes above 2**53 are no floats: a threshold one off would move a record."""
    base = 2**63
    values = [base] * 3 + [base + 1] * 5 + [base + 2] * 3 + [0, 2**64 - 2]
    attributes = [Attribute("whole", values)]
    for ties in ("left", "either"):
        assert Table(attributes, np.uint64).classes(3, ties=ties) == reference(
            attributes, 3, ties=ties
        )


def test_floats_may_overflow_in_their_difference():
    values = [-1.7e308, 1.7e308, -1.6e308, 1.6e308, 0.0, 5e-324, None, None]
    attributes = [Attribute("float", values), Attribute("whole", [0, 1] * 4)]
    assert Table(attributes, np.uint64).classes(2) == reference(attributes, 2)


@pytest.mark.parametrize("ties", ["either", "divide"])
@LAW
@given(data=st.data())
def test_classes_tell_their_own_extents(ties, data):
    attributes = data.draw(tables(np.uint64))
    n = len(attributes[0].values)
    table = Table(attributes, np.uint64)
    _, found = table.cut(2, ties=ties, keys=np.arange(n, dtype=np.uint64))
    assert found.size.sum() == n
    assert (found.size >= min(2, n)).all()
    for c in range(len(found.size)):
        rows = table.codes[found.of_record == c]
        assert len(rows) == found.size[c]
        assert (rows.min(axis=0) == found.low[c]).all()
        assert (rows.max(axis=0) == found.high[c]).all()
        for j, missing in enumerate(table.scale.missing):
            present = rows[rows[:, j] != missing, j]
            if len(present):
                assert present.max() == found.present_high[c, j]


@pytest.mark.parametrize("ties", ["either", "divide"])
@LAW
@given(data=st.data())
def test_the_cuts_lead_every_record_to_its_class(ties, data):
    attributes = data.draw(tables(np.uint32))
    n = len(attributes[0].values)
    table, keys = Table(attributes, np.uint32), np.arange(n, dtype=np.uint64)
    subtree, found = table.cut(2, ties=ties, keys=keys)
    leaf = subtree.attribute == LEAF
    class_of_node = np.where(leaf, np.cumsum(leaf) - 1, -1)
    classes = np.empty(n, np.int64)
    route_subtree(
        table.codes, keys, subtree.attribute, subtree.threshold, subtree.key, subtree.right,
        class_of_node, np.arange(n), classes,
    )  # fmt: skip
    assert classes.tolist() == found.of_record.tolist()
