"""Mondrian over one region in memory: depth first, by stable partitions between two tables.

    table A  |  region ............ |      cut      table B  |  <= threshold  |  > threshold  |
                                      ──────────▶               next region      on the stack

A cut moves whole records, so that a child is contiguous; its extents are taken in one pass right
after, and those of a final region are its released bounds for free. The regions come out in the
order of the tree, left before right, so that the number of an equivalence class depends on nothing
but the records.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import int64, uint64, uintp

from dask_anon.kernels import common
from dask_anon.kernels.common import (
    DISTINCT,
    DIVIDE,
    EITHER,
    EVERY_KEY,
    LEFT,
    Array,
    Scale,
    compiled,
    span,
)
from dask_anon.kernels.measures import Facts
from dask_anon.kernels.rules import Rules, new_tally, sides_hold
from dask_anon.kernels.select import BINS, lower_median
from dask_anon.kernels.vector import LANES, copy_block, extents_of_blocks

LEAF = -1


@dataclass(frozen=True)
class Subtree:
    """The cuts of one region in preorder: a node's left child is the next node.

    Attributes
    ----------
    attribute : int16 array
        Attribute that is cut, or LEAF. Leaves are numbered as they come: the equivalence classes.
    threshold : array of codes
        Records with a code <= threshold go left ...
    key : uint64 array
        ... those equal to it only where their key is <= this one (``ties: divide``).
    right : int64 array
        The right child.
    """

    attribute: Array
    threshold: Array
    key: Array
    right: Array


@dataclass(frozen=True)
class Classes:
    """The equivalence classes of one region, in the order of the tree.

    Attributes
    ----------
    of_record : uint32 array
        Class of every record, in the order of the table given.
    size : int64 array
    low, high : arrays of codes, shape (classes, attributes)
        Extents of the codes present; a missing value counts as the code past the maximum.
    present_high : array of codes, shape (classes, attributes)
        The highest code that is not missing; below `low` where every value is missing.
    """

    of_record: Array
    size: Array
    low: Array
    high: Array
    present_high: Array


def mondrian(
    table: Array,
    *,
    k: int,
    scale: Scale,
    ties: int = EITHER,
    region_ties: bool = False,
    distinct_cap: int = 65_536,
    keys: Array | None = None,
    rules: tuple[Rules, Facts] | None = None,
) -> tuple[Subtree, Classes]:
    """Cut a region until no cut is allowed.

    Parameters
    ----------
    table : array of uint16, uint32 or uint64, shape (records, lanes)
        A code table with numbered records (``common.code_table``); used as scratch. The codes of
        the quasi-identifiers come first, then those of the sensitive columns that `rules` count.
    k : int
        Every equivalence class holds at least `k` records.
    scale : Scale
        How spans are measured.
    ties : {LEFT, EITHER, DIVIDE}
        Where records equal to the median go.
    region_ties : bool, default False
        Order equal spans by the distinct values in the region instead of `scale.priority`.
    distinct_cap : int, default 65536
        Distinct values beyond it count as this many.
    keys : uint64 array, required for DIVIDE
        Keys of the records, ascending in the order of the table.
    rules : (Rules, Facts), optional
        What every class must satisfy besides its size, and what the whole table tells for it.

    Returns
    -------
    Subtree, Classes

    Notes
    -----
    O(records x log(records / k)) time; memory is twice the table plus about 24 bytes a record.
    """
    n, d = len(table), scale.n_attributes
    if n == 0:
        raise ValueError("a region has at least one record")
    dtype = table.dtype
    own_rules, facts = rules or (None, None)
    other = common.table_like(table)
    n_classes = max(1, n // k)
    n_nodes = 2 * n_classes - 1
    attribute = np.empty(n_nodes, np.int16)
    threshold = np.empty(n_nodes, dtype)
    divided = ties == DIVIDE
    key = np.empty(n_nodes if divided else 0, np.uint64)
    right = np.empty(n_nodes, np.int64)
    start = np.empty(n_classes, np.int64)
    stop = np.empty(n_classes, np.int64)
    in_other = np.empty(n_classes, np.bool_)
    low = np.empty((n_classes, d), dtype)
    high = np.empty((n_classes, d), dtype)
    nodes, leaves = _cut_all(
        table.reshape(-1, LANES), other.reshape(-1, LANES), table, other,
        common.record_numbers(table), common.record_numbers(other),
        np.empty(0, np.uint64) if keys is None else keys,
        k, ties, region_ties, distinct_cap, own_rules, facts,
        scale.kind, scale.width, scale.offset, scale.missing, scale.top,
        scale.priority, scale.n_codes,
        attribute, threshold, key, right, start, stop, in_other, low, high,
    )  # fmt: skip
    of_record = np.empty(n, np.uint32)
    present_high = high[:leaves].copy()
    _settle(
        table, other, common.record_numbers(table), common.record_numbers(other),
        start[:leaves], stop[:leaves], in_other[:leaves], low, high, scale.missing,
        of_record, present_high,
    )  # fmt: skip
    subtree = Subtree(
        attribute[:nodes].copy(), threshold[:nodes].copy(), key[:nodes].copy(), right[:nodes].copy()
    )
    size = stop[:leaves] - start[:leaves]
    return subtree, Classes(
        of_record, size, low[:leaves].copy(), high[:leaves].copy(), present_high
    )


@compiled
def _cut_all(
    blocks, other_blocks, table, other, numbers, other_numbers, keys,
    k, ties, region_ties, distinct_cap, rules, facts,
    kind, width, offset, missing, top, priority, n_codes,
    attribute, threshold, key, right, leaf_start, leaf_stop, leaf_in_other, leaf_low, leaf_high,
):  # fmt: skip
    d = kind.size
    per_record = uintp(table.shape[1] // LANES)
    depth = 256
    # The stack: where a region lies, in which table, the node whose right child it is, its extents
    # (2 rows a block).
    region = np.empty((depth, 4), np.int64)
    extents = np.empty((depth * 2 * int64(per_record), LANES), table.dtype)
    scratch = np.empty(table.shape[0] + 1, table.dtype)
    histogram = np.empty(2 * BINS, np.int64)
    spans = np.empty(d, np.float64)
    order = np.empty(d, np.int64)
    low = np.empty(d, table.dtype)
    high = np.empty(d, table.dtype)
    label_start = np.zeros(d + 1, np.int64)
    for j in range(d):
        label_start[j + 1] = label_start[j] + n_codes[j]
    seen = np.full(label_start[d], -1, np.int32)
    # Without rules this is a type of its own, for which their code is neither compiled nor run.
    if rules is not None:
        tally = new_tally(rules)

    region[0, 0], region[0, 1], region[0, 2], region[0, 3] = 0, table.shape[0], 0, -1
    _extents(blocks, 0, table.shape[0], per_record, extents, 0)
    n_stacked, node, leaf = 1, 0, 0
    while n_stacked > 0:
        n_stacked -= 1
        start, stop, side, parent = region[n_stacked]
        n = stop - start
        here = other if side else table
        here_blocks = other_blocks if side else blocks
        here_numbers = other_numbers if side else numbers
        row = uintp(2 * n_stacked) * per_record
        for j in range(d):
            at = row + uintp(2) * uintp(j // LANES)
            low[j] = extents[at, uintp(j % LANES)]
            high[j] = extents[at + uintp(1), uintp(j % LANES)]
        if parent >= 0:
            right[parent] = node
        n_left, cut_key, cut_threshold, j = 0, EVERY_KEY, low[0], 0
        if n >= 2 * k:
            n_tried = _widest_first(
                here, start, stop, low, high, seen, label_start, node,
                kind, width, offset, missing, top, priority, spans, order,
                region_ties, distinct_cap, scratch,
            )  # fmt: skip
            for tried in range(n_tried):
                j = order[tried]
                median, below, up_to = lower_median(
                    here, start, stop, j, low[j], high[j], scratch, histogram
                )
                middle, ties_up_to, ties_below = EVERY_KEY, 0, 0
                if ties == DIVIDE:
                    middle, ties_up_to, ties_below = _middle_key(
                        here, here_numbers, keys, start, stop, j, median, below
                    )
                for attempt in range(1 if ties == LEFT else 2):
                    n_left, cut_threshold, cut_key = _candidate(
                        table, attempt, ties, median, below, up_to, middle, ties_up_to, ties_below
                    )
                    allowed = n_left >= k and n - n_left >= k
                    if rules is not None:  # noqa: SIM102 - alone, so that it is decided when compiled
                        if allowed:
                            allowed = sides_hold(
                                here, here_numbers, keys, start, stop, n_left, d, j,
                                cut_threshold, cut_key, rules, facts, tally,
                            )  # fmt: skip
                    if allowed:
                        break
                    n_left = 0
                if n_left > 0:
                    break
        if n_left == 0:
            leaf_start[leaf], leaf_stop[leaf], leaf_in_other[leaf] = start, stop, side == 1
            for i in range(d):
                leaf_low[leaf, i], leaf_high[leaf, i] = low[i], high[i]
            attribute[node], threshold[node], right[node] = LEAF, 0, 0
            if key.size:
                key[node] = EVERY_KEY
            leaf += 1
            node += 1
            continue
        attribute[node], threshold[node] = j, cut_threshold
        if key.size:
            key[node] = cut_key
        there = blocks if side else other_blocks
        if cut_key == EVERY_KEY:
            _partition(here_blocks, here, there, start, stop, n_left, j, cut_threshold, per_record)
        else:
            _partition_keyed(
                here_blocks, here, there, here_numbers, keys,
                start, stop, n_left, j, cut_threshold, cut_key, per_record,
            )  # fmt: skip
        if n_stacked + 2 > depth:
            region, extents = _doubled(region), _doubled(extents)
            depth *= 2
        middle = start + n_left
        region[n_stacked, 0], region[n_stacked, 1] = middle, stop
        region[n_stacked, 2], region[n_stacked, 3] = 1 - side, node
        _extents(there, middle, stop, per_record, extents, n_stacked)
        n_stacked += 1
        region[n_stacked, 0], region[n_stacked, 1] = start, middle
        region[n_stacked, 2], region[n_stacked, 3] = 1 - side, -1
        _extents(there, start, middle, per_record, extents, n_stacked)
        n_stacked += 1
        node += 1
    return node, leaf


@compiled
def _doubled(rows):
    more = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            more[i, j] = rows[i, j]
    return more


@compiled
def _extents(blocks, start, stop, per_record, extents, slot):
    for b in range(per_record):
        extents_of_blocks(
            blocks, uintp(start) * per_record + b, uintp(stop) * per_record, per_record,
            extents, (uintp(slot) * per_record + b) * uintp(2),
        )  # fmt: skip


@compiled
def _widest_first(
    table, start, stop, low, high, seen, label_start, stamp,
    kind, width, offset, missing, top, priority, spans, order,
    region_ties, distinct_cap, scratch,
):  # fmt: skip
    """Attributes that can be cut, widest span first, equal spans by priority; their number."""
    n_tried = 0
    for p in range(priority.size):
        j = priority[p]
        if low[j] == high[j]:
            continue
        distinct = 0
        if kind[j] == DISTINCT:
            distinct = _labels_seen(table, start, stop, j, seen, label_start[j], stamp)
        s = span(kind[j], low[j], high[j], distinct, width[j], offset[j], missing[j], top[j])
        at = n_tried
        while at > 0 and spans[at - 1] < s:
            spans[at], order[at] = spans[at - 1], order[at - 1]
            at -= 1
        spans[at], order[at] = s, j
        n_tried += 1
    if region_ties:
        _order_ties(table, start, stop, spans, order, n_tried, distinct_cap, scratch)
    return n_tried


@compiled
def _labels_seen(table, start, stop, j, seen, first, stamp):
    distinct = 0
    for i in range(uintp(start), uintp(stop)):
        at = uintp(first) + uintp(table[i, uintp(j)])
        if seen[at] != stamp:
            seen[at] = stamp
            distinct += 1
    return distinct


@compiled
def _order_ties(table, start, stop, spans, order, n_tried, distinct_cap, scratch):
    """Among equal spans, attributes with more distinct values in the region first."""
    counts = np.zeros(n_tried, np.int64)
    first = 0
    while first < n_tried:
        last = first
        while last + 1 < n_tried and spans[last + 1] == spans[first]:
            last += 1
        for t in range(first, last + 1):
            if last > first:
                counts[t] = min(_distinct(table, start, stop, order[t], scratch), distinct_cap)
        for t in range(first + 1, last + 1):
            j, count, at = order[t], counts[t], t
            while at > first and (
                counts[at - 1] < count or (counts[at - 1] == count and order[at - 1] > j)
            ):
                order[at], counts[at] = order[at - 1], counts[at - 1]
                at -= 1
            order[at], counts[at] = j, count
        first = last + 1


@compiled
def _distinct(table, start, stop, j, scratch):
    for i in range(stop - start):
        scratch[i] = table[uintp(start + i), uintp(j)]
    values = np.sort(scratch[: stop - start])
    distinct = 1
    for i in range(1, values.size):
        distinct += int64(values[i] != values[i - 1])
    return distinct


@compiled
def _middle_key(table, numbers, keys, start, stop, j, median, below):
    """Of the records equal to the median, the key of the middle one of the pairs (code, key).

    And how many of these records have a key up to it, and below it.
    """
    wanted = ((stop - start - 1) >> 1) + 1 - below
    ties, ties_up_to, ties_below = 0, 0, 0
    middle = keys[0]
    for i in range(uintp(start), uintp(stop)):
        if table[i, uintp(j)] == median:
            own = keys[uintp(numbers[i])]
            ties += 1
            if ties <= wanted:
                if ties == 1 or own != middle:
                    middle, ties_below = own, ties - 1
                ties_up_to = ties
            elif own == middle:
                ties_up_to = ties
            else:
                break
    return middle, ties_up_to, ties_below


@compiled
def _candidate(table, attempt, ties, median, below, up_to, middle, ties_up_to, ties_below):
    """A cut to try at the median: records to the left, threshold, key.

    First up to the median, then below it; where ties are divided, of the pairs (code, key).
    """
    if attempt == 0:
        if ties == DIVIDE and below + ties_up_to < up_to:
            return below + ties_up_to, median, middle
        return up_to, median, EVERY_KEY
    if ties == DIVIDE and ties_below > 0:
        return below + ties_below, median, uint64(middle - uint64(1))
    # Below the lowest code nobody is, and such a cut is not allowed.
    return below, table.dtype.type(median - table.dtype.type(1)), EVERY_KEY


@compiled
def _partition(blocks, table, target, start, stop, n_left, j, threshold, per_record):
    """Move records <= threshold to the front of target[start:stop], the others behind them."""
    left, right, one, lane = uintp(start), uintp(start + n_left), uintp(1), uintp(j)
    if per_record == one:
        for i in range(uintp(start), uintp(stop)):
            goes_left = uintp(table[i, lane] <= threshold)
            at = right ^ ((left ^ right) & (uintp(0) - goes_left))
            copy_block(target, at, blocks, i)
            left += goes_left
            right += one - goes_left
        return
    for i in range(uintp(start), uintp(stop)):
        goes_left = uintp(table[i, lane] <= threshold)
        at = right ^ ((left ^ right) & (uintp(0) - goes_left))
        for b in range(per_record):
            copy_block(target, at * per_record + b, blocks, i * per_record + b)
        left += goes_left
        right += one - goes_left


@compiled
def _partition_keyed(
    blocks, table, target, numbers, keys, start, stop, n_left, j, threshold, key, per_record
):
    left, right, one, lane = uintp(start), uintp(start + n_left), uintp(1), uintp(j)
    for i in range(uintp(start), uintp(stop)):
        code = table[i, lane]
        goes_left = uintp(
            code < threshold or (code == threshold and keys[uintp(numbers[i])] <= key)
        )
        at = right ^ ((left ^ right) & (uintp(0) - goes_left))
        for b in range(per_record):
            copy_block(target, at * per_record + b, blocks, i * per_record + b)
        left += goes_left
        right += one - goes_left


@compiled
def _settle(
    table, other, numbers, other_numbers, start, stop, in_other, low, high, missing,
    of_record, present_high,
):  # fmt: skip
    """Tell every record its class, and every class its highest value that is not missing."""
    for leaf in range(start.size):
        own = other_numbers if in_other[leaf] else numbers
        for i in range(start[leaf], stop[leaf]):
            of_record[uintp(own[uintp(i)])] = leaf
        for j in range(missing.size):
            if uint64(high[leaf, j]) != missing[j]:
                continue
            here = other if in_other[leaf] else table
            best, found = low[leaf, j], False
            for i in range(start[leaf], stop[leaf]):
                code = here[uintp(i), uintp(j)]
                if uint64(code) != missing[j]:
                    best, found = max(best, code), True
            if found:
                present_high[leaf, j] = best
            else:
                present_high[leaf, j] = table.dtype.type(low[leaf, j] - 1)
