"""Bring the codes of a region together, and the answers back, by stable counting sorts.

partition p   r0 r1 r2 r3 r4 ...     segment file p   | region 0: r1 r4 | region 1: r0 r2 | ...
region of     1  0  1  2  0  ...     a record's place follows from the records before it, so
that no record id ever moves
"""

from __future__ import annotations

import numpy as np
from numba import uint64, uintp

from dask_anon.kernels.common import Array, compiled


@compiled
def offsets_of(regions, offsets):
    """offsets[r] = records in regions before `r`; offsets[-1] = all of them."""
    offsets[:] = 0
    for i in range(regions.size):
        if regions[i] >= 0:
            offsets[regions[i] + 1] += 1
    for r in range(1, offsets.size):
        offsets[r] += offsets[r - 1]


@compiled
def places_of(regions, offsets, places):
    """places[i] = where record `i` stands when records are sorted by region, stably."""
    upcoming = offsets.copy()
    for i in range(regions.size):
        if regions[i] >= 0:
            places[i] = upcoming[regions[i]]
            upcoming[regions[i]] += 1
        else:
            places[i] = 0


@compiled
def scatter_rows(rows, regions, places, out):
    """out[places[i]] = rows[i] for every record that has a region."""
    for i in range(uintp(regions.size)):
        if regions[i] >= 0:
            for j in range(uintp(rows.shape[1])):
                out[uintp(places[i]), j] = rows[i, j]


@compiled
def take_words(words, places, out):
    """out[i] = words[places[i]] for records of whole 64-bit words, (records, words)."""
    for i in range(uintp(places.size)):
        place = uintp(places[i])
        for w in range(uintp(words.shape[1])):
            out[i, w] = words[place, w]


def take_records(records: Array, places: Array) -> Array:
    """The structured `records` at `places`; their type is a whole number of 64-bit words long.

    Several loads are under way at once, which NumPy's own `take` of odd sizes does not achieve.
    """
    out = np.empty(len(places), records.dtype)
    n_words = records.dtype.itemsize // 8
    if len(out):
        take_words(
            records.view(np.uint64).reshape(-1, n_words),
            places,
            out.view(np.uint64).reshape(-1, n_words),
        )
    return out


@compiled
def checksum(rows, seed):
    """Two sums over hashes of the records: their order does not matter."""
    first, second = uint64(0), uint64(0)
    for i in range(rows.shape[0]):
        h = uint64(seed)
        for j in range(rows.shape[1]):
            h = mix(h ^ uint64(rows[i, j]))
        first += h
        second += mix(h)
    return first, second


@compiled
def mix(x):
    """Spread the bits of an integer: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    x = uint64(x) + uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@compiled
def distinct_up_to(codes, cap, table, taken, found):
    """The distinct codes into `found`; how many, or cap + 1 if more than `cap`.

    `table` and `taken` are a hash table of 2**b places, at least 2 * cap.
    """
    mask = uint64(table.size - 1)
    taken[:] = 0
    n = 0
    for i in range(codes.size):
        code = codes[i]
        at = mix(uint64(code)) & mask
        while taken[at] and table[at] != code:
            at = (at + uint64(1)) & mask
        if not taken[at]:
            if n == cap:
                return cap + 1
            taken[at] = 1
            table[at] = code
            found[n] = code
            n += 1
    return n


@compiled
def label_sets(rows, of_record, start, records, j, seen, offsets, codes):
    """The distinct codes of attribute `j` in every class, ascending; how many in all.

    `records` lists the records class by class, class `c` from start[c] to start[c + 1]; set `c` is
    codes[offsets[c] : offsets[c + 1]].
    """
    n = 0
    for c in range(start.size - 1):
        offsets[c] = n
        for r in range(start[c], start[c + 1]):
            code = rows[records[r], j]
            if seen[code] != c:
                seen[code] = c
                at = n
                while at > offsets[c] and codes[at - 1] > code:
                    codes[at] = codes[at - 1]
                    at -= 1
                codes[at] = code
                n += 1
    offsets[start.size - 1] = n
    return n
