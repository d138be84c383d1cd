"""The top of the tree over one partition: route records to regions and take the regions' summaries.

Codes are compact and row-major here, (records, columns) in one flat array with a block of padding
behind it: those of the quasi-identifiers, then those of sensitive columns that a rule counts. The
tree is explicit (both children named), its leaves carry the slot of the region they stand for, or
-1 where nobody asks. Counts, extents and histograms of partitions merge
by adding and comparing, so what the driver decides from them is exact however the table is
partitioned.
"""

from __future__ import annotations

from numba import int64, uint64, uintp

from dask_anon.kernels.common import compiled
from dask_anon.kernels.vector import LANES, widen_extents


@compiled
def _leaf_of(codes, first, own_key, attribute, threshold, key, left, right):
    node = uintp(0)
    while attribute[node] >= 0:
        code = codes[first + uintp(attribute[node])]
        if code < threshold[node] or (code == threshold[node] and own_key <= key[node]):
            node = uintp(left[node])
        else:
            node = uintp(right[node])
    return node


@compiled
def route(codes, n_columns, keys, tree, slot_of_node, slots):
    """slots[i] = the slot of the leaf that record i falls into; `keys` may be empty."""
    attribute, threshold, key, left, right = tree
    for i in range(uintp(slots.size)):
        own_key = keys[i] if keys.size else uint64(0)
        node = _leaf_of(
            codes, i * uintp(n_columns), own_key, attribute, threshold, key, left, right
        )
        slots[i] = slot_of_node[node]


@compiled
def survey(
    codes, n_columns, n_attributes, slots, has_missing, missing, label_start,
    base, shift, count, extents, present_high, seen, below, histogram,
):  # fmt: skip
    """Summaries of every region that has a slot, added to what the arrays hold.

    count (slots,) records; extents (slots x blocks x 2, 8) minima and maxima; present_high (slots,
    attributes) the highest code that is not missing, where `has_missing`; seen (slots, labels) the
    labels of nominal attributes; below (slots, attributes) records under the bracket; histogram
    (slots, attributes, bins) records in the bins ``(code - base) >> shift`` of the bracket.
    """
    d = uintp(n_attributes)
    n_blocks = (d + uintp(LANES - 1)) // uintp(LANES)
    n_bins = uintp(histogram.shape[2])
    for i in range(uintp(slots.size)):
        if slots[i] < 0:
            continue
        slot = uintp(slots[i])
        first = i * uintp(n_columns)
        count[slot] += 1
        for b in range(n_blocks):
            widen_extents(
                extents, (slot * n_blocks + b) * uintp(2), codes, first + b * uintp(LANES)
            )
        for j in range(d):
            code = uintp(codes[first + j])
            start = base[slot, j]
            below[slot, j] += int64(code < start)
            at = (code - start) >> shift[slot, j]
            if code >= start and at < n_bins:
                histogram[slot, j, at] += 1
            if label_start[j + uintp(1)] > label_start[j]:
                seen[slot, uintp(label_start[j]) + code] = 1
            if has_missing[j] and code != missing[j] and code > present_high[slot, j]:
                present_high[slot, j] = code


@compiled
def histogram_of(codes, n_columns, slots, keys, attribute, among, by_key, base, shift, histogram):
    """Records of every slot in the bins ``(value - base) >> shift``, added to `histogram`.

    The value is the code of the slot's `attribute` (-1: the slot is left out); where `by_key`, the
    key of those records whose code is `among`.
    """
    n_bins = uintp(histogram.shape[1])
    for i in range(uintp(slots.size)):
        if slots[i] < 0:
            continue
        slot = uintp(slots[i])
        if attribute[slot] < 0:
            continue
        value = uint64(codes[i * uintp(n_columns) + uintp(attribute[slot])])
        if by_key[slot]:
            if value != among[slot]:
                continue
            value = keys[i]
        if value < base[slot]:
            continue
        at = uintp((value - base[slot]) >> shift[slot])
        if at < n_bins:
            histogram[slot, at] += 1


@compiled
def count_sides(
    codes, n_columns, n_attributes, slots, keys, attribute, threshold, key, n_codes, first, counts
):
    """Sensitive codes on both sides of the cut of every slot, added to counts (slots, 2, codes).

    A slot with the attribute -1 is left out. Column c has its codes from first[c] on; codes from
    n_codes[c] on are not counted.
    """
    for i in range(uintp(slots.size)):
        if slots[i] < 0:
            continue
        slot = uintp(slots[i])
        if attribute[slot] < 0:
            continue
        at = i * uintp(n_columns)
        code = uint64(codes[at + uintp(attribute[slot])])
        own_key = keys[i] if keys.size else uint64(0)
        goes_left = code < threshold[slot] or (code == threshold[slot] and own_key <= key[slot])
        side = 0 if goes_left else 1
        for c in range(n_codes.size):
            own = int64(codes[at + uintp(n_attributes + c)])
            if own < n_codes[c]:
                counts[slot, side, first[c] + own] += 1


@compiled
def route_subtree(rows, keys, attribute, threshold, key, right, class_of_node, records, classes):
    """classes[records] = the class that each of `records` falls into, in a subtree in preorder.

    `rows` is (records of the partition, attributes); a node's left child is the next node.
    """
    for r in records:
        node = uintp(0)
        while attribute[node] >= 0:
            code = rows[r, uintp(attribute[node])]
            goes_left = code < threshold[node] or (
                code == threshold[node] and (key.size == 0 or keys[r] <= key[node])
            )
            node = node + uintp(1) if goes_left else uintp(right[node])
        classes[r] = class_of_node[node]
