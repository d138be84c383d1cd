"""The lower median of one attribute of a region, with how many records lie below it and up to it.

Three sizes, three ways, one answer: counting ranks for a few records, quickselect on a copied
column for a thousand, and a histogram of the region's range for more (one pass, and a second over
the median's bin where the range is wide).
"""

from __future__ import annotations

from numba import int64, uintp

from dask_anon.kernels.common import compiled

BINS = 1024
_FEW = 32
_SMALL = 1024


@compiled
def lower_median(table, start, stop, j, low, high, scratch, histogram):
    """Lower median of lane `j` over records start..stop, and the numbers of records < and <= it.

    `low` and `high` are the extents of the lane. `scratch` holds at least stop - start codes,
    `histogram` 2 * BINS counters.
    """
    n = stop - start
    rank = (n - 1) >> 1
    if n <= _SMALL:
        for i in range(n):
            scratch[i] = table[uintp(start + i), uintp(j)]
        if n <= _FEW:
            for i in range(n):
                value = scratch[i]
                below, up_to = _ranks(scratch, 0, n, value)
                if below <= rank < up_to:
                    return value, below, up_to
        median = select(scratch, n, rank)
        below, up_to = _ranks(scratch, 0, n, median)
        return median, below, up_to
    return _by_histogram(table, start, stop, j, low, high, scratch, histogram, rank)


@compiled
def _ranks(values, start, n, value):
    below, up_to = 0, 0
    for i in range(start, start + n):
        below += int64(values[i] < value)
        up_to += int64(values[i] <= value)
    return below, up_to


@compiled
def select(values, n, rank):
    """The value of rank `rank` among values[:n], which it reorders: quickselect, branchless."""
    low, high = 0, n - 1
    while high - low > 24:
        a, b, c = values[low], values[(low + high) >> 1], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        less = _gather_below(values, low, high, pivot, False)
        if rank < less:
            high = less - 1
            continue
        equal = _gather_below(values, less, high, pivot, True)
        if rank < equal:
            return pivot
        low = equal
    for i in range(low, high + 1):
        below, up_to = _ranks(values, low, high - low + 1, values[i])
        if below <= rank - low < up_to:
            return values[i]
    return values[low]


@compiled
def _gather_below(values, low, high, pivot, or_equal):
    """Move values < pivot (or <= it) of values[low..high] to the front; where the rest begins."""
    edge = low
    for i in range(low, high + 1):
        value = values[i]
        values[i] = values[edge]
        values[edge] = value
        edge += int64(value <= pivot) if or_equal else int64(value < pivot)
    return edge


@compiled
def _by_histogram(table, start, stop, j, low, high, scratch, histogram, rank):
    lane, base = uintp(j), uintp(low)
    width, shift = uintp(high) - base, uintp(0)
    while (width >> shift) >= uintp(BINS):
        shift += uintp(1)
    n_bins = int64(width >> shift) + 1
    for b in range(2 * n_bins):
        histogram[b] = 0
    # Two histograms, filled in turn: runs of equal codes would otherwise wait for their own
    # counter.
    other = uintp(n_bins)
    i, end = uintp(start), uintp(stop)
    while i + uintp(1) < end:
        histogram[(uintp(table[i, lane]) - base) >> shift] += 1
        histogram[other + ((uintp(table[i + uintp(1), lane]) - base) >> shift)] += 1
        i += uintp(2)
    if i < end:
        histogram[(uintp(table[i, lane]) - base) >> shift] += 1
    below, b = 0, 0
    while below + histogram[b] + histogram[n_bins + b] <= rank:
        below += histogram[b] + histogram[n_bins + b]
        b += 1
    if shift == uintp(0):
        return (
            table.dtype.type(base + uintp(b)),
            below,
            below + histogram[b] + histogram[n_bins + b],
        )
    n_inside, wanted = 0, uintp(b)
    for i in range(uintp(start), uintp(stop)):
        value = table[i, lane]
        scratch[n_inside] = value
        n_inside += int64(((uintp(value) - base) >> shift) == wanted)
    median = select(scratch, n_inside, rank - below)
    less, up_to = _ranks(scratch, 0, n_inside, median)
    return median, below + less, below + up_to
