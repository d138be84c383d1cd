"""The figure of a class that each privacy model sets a limit to, defined once.

A class comes as its distinct sensitive codes, ascending, and how many records have each:

    codes    1  3  7           counts   4  1  2          what is not counted is not there

Sums run over the codes in this order. So everybody who brings a class into this form (the kernel
that cuts, the driver, `measure`, `verify`) gets the same figure to the last bit, however the table
was partitioned.

A class of which no value is counted tells nothing about anybody's: distances, shares and gains are
0. It protects by diversity no more than that: it has 0 values, and a recursive ratio and a
disclosure of infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsInt

import numpy as np

from dask_anon.kernels.common import Array, compiled
from dask_anon.kernels.facts import (
    FIELDS,
    HEIGHT,
    LEAF,
    LINE,
    MOVED,
    N_CODES,
    N_NODES,
    N_VALUES,
    NODE,
    NUMBER,
    PARENT,
    SHARE,
    STEPS,
    UP_TO,
    WITHIN,
    Branches,
    Facts,
    Track,
    facts_of,
    no_facts,
)

__all__ = [
    "BASIC_BETA",
    "COMMONEST",
    "DISCLOSURE",
    "DISTINCT_VALUES",
    "ENHANCED_BETA",
    "ENTROPY_VALUES",
    "EQUAL_DISTANCE",
    "LARGEST_SHARE",
    "ORDERED_DISTANCE",
    "PRESENCE",
    "RECURSIVE_RATIO",
    "SIZE",
    "SLACK",
    "TREE_DISTANCE",
    "VARIATION",
    "WEIGHT",
    "Branches",
    "Facts",
    "Track",
    "facts_of",
    "figure",
    "holds",
    "no_facts",
    "strictly_below",
    "value_of",
    "values_of",
]

# Below, q is the share of a value in the class and p its share in the whole table.
SIZE = 0  # records of the class
DISTINCT_VALUES = 1  # distinct values
ENTROPY_VALUES = 2  # exp(entropy): as many values as equally frequent ones would be
RECURSIVE_RATIO = 3  # r1 / (r_l + ... + r_m), counts descending, l = parameter
LARGEST_SHARE = 4  # max q
EQUAL_DISTANCE = 5  # 1/2 sum |p - q|
ORDERED_DISTANCE = 6  # sum of step * |P - Q|, P and Q cumulative
TREE_DISTANCE = 7  # earth mover's distance in a tree
BASIC_BETA = 8  # max (q - p) / p
ENHANCED_BETA = 9  # the same; infinite where a value gains more than -ln p
DISCLOSURE = 10  # max |ln(q / p)| over the values of the table
PRESENCE = 11  # mean of the codes' numbers
WEIGHT = 12  # sum of the codes' numbers
COMMONEST = 13  # max count
VARIATION = EQUAL_DISTANCE  # total variation distance

# Figures are sums of up to a million rounded terms; what differs by less is equal.
SLACK = 1e-12


@compiled
def holds(value, low, high):
    """Whether ``low <= value <= high``, up to SLACK (of the limit, where that is beyond 1)."""
    return value >= low - SLACK * max(1.0, abs(low)) and value <= high + SLACK * max(1.0, abs(high))


def strictly_below(limit: float) -> float:
    """The `high` for which :func:`holds` means ``value < limit``: what equals the limit fails.

    Examples
    --------
    >>> bool(holds(2.0, 0.0, strictly_below(2.0))), bool(holds(1.999, 0.0, strictly_below(2.0)))
    (False, True)
    """
    return min(limit - 2 * SLACK * max(1.0, abs(limit)), math.nextafter(limit, -math.inf))


# Called for both sides of every cut: inlined, a call costs half (30 instead of 80 ns).
@compiled(forceinline=True)
def value_of(kind, parameter, size, codes, counts, start, stop, track, facts):
    """One figure of one class.

    Parameters
    ----------
    kind : int
        Which figure.
    parameter : float
        The l of RECURSIVE_RATIO.
    size : int
        Records of the class in all, counted values or not.
    codes, counts : int64 arrays
        Those of the class are ``[start:stop]``: ascending, every count above 0.
    track : int
        Which track of `facts`.
    facts : Facts

    Returns
    -------
    float

    Notes
    -----
    With d distinct values in the class and m in the table: O(d); ORDERED_DISTANCE O(d log m);
    RECURSIVE_RATIO O(d l); TREE_DISTANCE O(d + nodes).
    """
    if kind == SIZE:
        return float(size)
    if kind == DISTINCT_VALUES:
        return float(stop - start)
    if kind == COMMONEST:
        return float(_commonest(counts, start, stop))
    if kind == WEIGHT:
        return _weight(codes, counts, start, stop, track, facts)
    n = 0
    for i in range(start, stop):
        n += counts[i]
    if kind == RECURSIVE_RATIO:
        return _recursive_ratio(counts, start, stop, n, int(parameter))
    if kind == ENTROPY_VALUES:
        return _entropy_values(counts, start, stop, n)
    if kind == DISCLOSURE:
        return _disclosure(codes, counts, start, stop, n, track, facts)
    if n == 0:
        return 0.0
    if kind == LARGEST_SHARE:
        return _commonest(counts, start, stop) / n
    if kind == EQUAL_DISTANCE:
        return _equal_distance(codes, counts, start, stop, n, track, facts)
    if kind == ORDERED_DISTANCE:
        return _ordered_distance(codes, counts, start, stop, n, track, facts)
    if kind == TREE_DISTANCE:
        return _tree_distance(codes, counts, start, stop, n, track, facts)
    if kind in (BASIC_BETA, ENHANCED_BETA):
        return _beta(codes, counts, start, stop, n, track, facts, kind == ENHANCED_BETA)
    if kind == PRESENCE:
        return _weight(codes, counts, start, stop, track, facts) / n
    return np.nan


@compiled
def values_of(kind, parameter, sizes, offsets, codes, counts, track, facts):
    """One figure of many classes: those of class c are ``codes[offsets[c]:offsets[c + 1]]``."""
    values = np.empty(sizes.size, np.float64)
    for c in range(sizes.size):
        values[c] = value_of(
            kind, parameter, sizes[c], codes, counts, offsets[c], offsets[c + 1], track, facts
        )
    return values


def figure(
    kind: int,
    counts: Sequence[SupportsInt] | Array,
    track: Track | None = None,
    *,
    parameter: float = 0.0,
) -> float:
    """One figure of one class, from how many of its records have each code.

    Parameters
    ----------
    kind : int
        Which figure.
    counts : sequence of int
        Records of the class with code 0, 1, …; zeros are fine.
    track : Track, optional
        What the whole table tells, for figures that compare with it.
    parameter : float, optional
        The l of RECURSIVE_RATIO.

    Examples
    --------
    >>> figure(DISTINCT_VALUES, [3, 2, 1])
    3.0
    >>> figure(RECURSIVE_RATIO, [3, 2, 1], parameter=2)  # 3 / (2 + 1)
    1.0
    >>> round(figure(ENTROPY_VALUES, [3, 2, 1]), 10)
    2.749459274
    >>> table = Track(np.array([3, 2, 1]))
    >>> round(figure(EQUAL_DISTANCE, [2, 1, 1], table), 10)  # only the last: 1/4 - 1/6
    0.0833333333
    """
    dense = np.array([int(n) for n in counts], np.int64)
    codes = np.flatnonzero(dense).astype(np.int64)
    facts = facts_of([track or Track(dense)])
    value = value_of(
        kind, float(parameter), int(dense.sum()), codes, dense[codes], 0, len(codes), 0, facts
    )
    return float(value)


@compiled
def _commonest(counts, start, stop):
    most = 0
    for i in range(start, stop):
        most = max(most, counts[i])
    return most


@compiled
def _weight(codes, counts, start, stop, track, facts):
    first = facts.whole[track * FIELDS + NUMBER]
    total = 0.0
    for i in range(start, stop):
        total += counts[i] * facts.real[first + codes[i]]
    return total


@compiled
def _recursive_ratio(counts, start, stop, n, l):
    if stop - start < max(1, l):
        return np.inf
    if l <= 2:
        most = _commonest(counts, start, stop)
        return most / (n - most if l == 2 else n)
    # The l - 1 largest counts, ascending: the rest is what the rarer values have.
    largest = np.zeros(l - 1, np.int64)
    for i in range(start, stop):
        if counts[i] > largest[0]:
            at = 1
            while at < l - 1 and counts[i] > largest[at]:
                largest[at - 1] = largest[at]
                at += 1
            largest[at - 1] = counts[i]
    for i in range(l - 1):
        n -= largest[i]
    return largest[l - 2] / n


@compiled
def _entropy_values(counts, start, stop, n):
    if n == 0:
        return 0.0
    # H = ln n - 1/n sum of c ln c
    total = 0.0
    for i in range(start, stop):
        if counts[i] > 1:
            total += counts[i] * math.log(counts[i])
    return math.exp(math.log(n) - total / n)


@compiled
def _equal_distance(codes, counts, start, stop, n, track, facts):
    # What the class has too much of is what it lacks elsewhere, so its own values suffice.
    first = facts.whole[track * FIELDS + SHARE]
    total = 0.0
    for i in range(start, stop):
        excess = counts[i] / n - facts.real[first + codes[i]]
        if excess > 0.0:
            total += excess
    return total


@compiled
def _ordered_distance(codes, counts, start, stop, n, track, facts):
    line, first = facts.real, facts.whole[track * FIELDS + LINE]
    # Before its first value Q is 0, after its last one 1: there |P - Q| has one sign.
    total = line[first + 3 * codes[start] + MOVED]
    below = 0
    for i in range(start, stop - 1):
        below += counts[i]
        total += _gap(line, first, codes[i], codes[i + 1], below / n)
    at = first + 3 * codes[stop - 1]
    end = first + 3 * (facts.whole[track * FIELDS + N_CODES] - 1)
    total += (line[end + STEPS] - line[at + STEPS]) - (line[end + MOVED] - line[at + MOVED])
    return max(0.0, total)


@compiled
def _gap(line, first, begin, end, q):
    """Sum of step * |P - q| over the codes begin to end - 1; P ascends, so it crosses q once."""
    a, b = first + 3 * begin, first + 3 * end
    if end == begin + 1:
        return (line[b + STEPS] - line[a + STEPS]) * abs(line[a + UP_TO] - q)
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if line[first + 3 * middle + UP_TO] > q:
            high = middle
        else:
            low = middle + 1
    m = first + 3 * low
    below = q * (line[m + STEPS] - line[a + STEPS]) - (line[m + MOVED] - line[a + MOVED])
    above = (line[b + MOVED] - line[m + MOVED]) - q * (line[b + STEPS] - line[m + STEPS])
    return max(0.0, below) + max(0.0, above)


@compiled
def _tree_distance(codes, counts, start, stop, n, track, facts):
    """Li, Li and Venkatasubramanian (ICDE 2007), section IV.B: what each node moves among its own.

    A node receives the surplus and the lack of those below; the smaller of the two is settled
    there, at the price of its height, and the rest goes up.
    """
    place = track * FIELDS
    share, node = facts.whole[place + SHARE], facts.whole[place + NODE]
    leaf, parent = facts.whole[place + LEAF], facts.whole[place + PARENT]
    n_nodes = facts.whole[place + N_NODES]
    within, surplus = np.zeros(n_nodes), np.zeros(n_nodes)
    for i in range(start, stop):
        q = counts[i] / n
        above = facts.whole[leaf + codes[i]]
        within[above] += q
        surplus[above] += max(0.0, q - facts.real[share + codes[i]])
    total = 0.0
    for j in range(n_nodes):
        net = within[j] - facts.real[node + 2 * j + WITHIN]
        lack = surplus[j] - net
        total += facts.real[node + 2 * j + HEIGHT] * max(0.0, min(surplus[j], lack))
        above = facts.whole[parent + j]
        if above >= 0:
            within[above] += within[j]
            surplus[above] += max(0.0, net)
    return total


@compiled
def _beta(codes, counts, start, stop, n, track, facts, enhanced):
    first = facts.whole[track * FIELDS + SHARE]
    most = 0.0
    for i in range(start, stop):
        p = facts.real[first + codes[i]]
        gain = (counts[i] / n - p) / p
        if enhanced and not holds(gain, -np.inf, -math.log(p)):
            return np.inf
        most = max(most, gain)
    return most


@compiled
def _disclosure(codes, counts, start, stop, n, track, facts):
    # A value that the class lacks is known not to be anybody's: ln 0.
    if stop - start < facts.whole[track * FIELDS + N_VALUES]:
        return np.inf
    first = facts.whole[track * FIELDS + SHARE]
    most = 0.0
    for i in range(start, stop):
        most = max(most, abs(math.log(counts[i] / n / facts.real[first + codes[i]])))
    return most
