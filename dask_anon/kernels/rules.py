"""What every equivalence class must satisfy beside its size, checked on both sides of a cut.

    region's records ──one scan──▶ counts of sensitive codes, left and right ──▶ sparse, ascending
                                                                             ──▶ every rule holds?

The counts of a side are brought into one canonical form, ascending by code and without zeros,
before a figure is taken from them. So it makes no difference whether they were counted in one task
or added up over many: the last bit of the figure is the same, and with it the decision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64, uintp

from dask_anon.kernels.common import EVERY_KEY, Array, compiled
from dask_anon.kernels.measures import holds, value_of

# So few codes are sorted faster by insertion than by a call.
_FEW = 40


class Rules(NamedTuple):
    """The privacy models of a policy as arrays, one entry a rule; and the sensitive columns.

    Attributes
    ----------
    n_codes : int64 array, one a sensitive column
        Codes below it are counted; what is not counted (missing values, mostly) has a higher one.
    first : int64 array, columns + 1
        Where each column's codes begin among those of all columns.
    kind, column : int64 arrays
        The figure of `kernels.measures`, and of which sensitive column.
    parameter, low, high : float64 arrays
        The figure's parameter, and the limits between which it must lie.
    """

    n_codes: Array
    first: Array
    kind: Array
    column: Array
    parameter: Array
    low: Array
    high: Array

    @property
    def n_columns(self) -> int:
        """Sensitive columns that are counted."""
        return len(self.n_codes)


class Tally(NamedTuple):
    """Room to count the two sides of a cut; `counts` is all zero between two uses."""

    counts: Array  # the left side's codes of all columns, then the right side's
    touched: Array  # codes of one column and side that were counted, where they are few
    codes: Array
    n: Array
    ends: Array  # (columns + 1,)


@compiled
def new_tally(rules):
    """Room for the codes of all columns, and for one that is not counted of each."""
    n_codes, n_columns = rules.first[-1], rules.n_codes.size
    return Tally(
        np.zeros(2 * (n_codes + n_columns), np.int64),
        np.empty(n_codes, np.int64),
        np.empty(n_codes, np.int64),
        np.empty(n_codes, np.int64),
        np.zeros(n_columns + 1, np.int64),
    )


@compiled
def class_holds(size, codes, n, ends, rules, facts):
    """Whether a class keeps every rule; codes[ends[c]:ends[c+1]] are those of column c, ascending.

    Rule r reads track r of `facts`.
    """
    for r in range(rules.kind.size):
        c = rules.column[r]
        value = value_of(
            rules.kind[r], rules.parameter[r], size, codes, n, ends[c], ends[c + 1], r, facts
        )
        if not holds(value, rules.low[r], rules.high[r]):
            return False
    return True


@compiled
def counts_hold(size, counts, rules, facts):
    """Whether a class keeps every rule, by the counts of all codes (the driver's form)."""
    codes, n = np.empty(counts.size, np.int64), np.empty(counts.size, np.int64)
    ends = np.zeros(rules.n_codes.size + 1, np.int64)
    at = 0
    for c in range(rules.n_codes.size):
        for code in range(rules.n_codes[c]):
            if counts[rules.first[c] + code]:
                codes[at], n[at] = code, counts[rules.first[c] + code]
                at += 1
        ends[c + 1] = at
    return class_holds(size, codes, n, ends, rules, facts)


@compiled
def sides_hold(
    table, numbers, keys, start, stop, n_left, n_attributes, j, threshold, key, rules, facts, tally
):
    """Whether both sides of a cut of the region table[start:stop] keep every rule.

    The sensitive codes of a record follow those of its quasi-identifiers in the table.
    """
    half = tally.counts.size >> 1
    for c in range(rules.n_codes.size):
        lane, first = n_attributes + c, rules.first[c] + c
        if key == EVERY_KEY:
            _count(table, start, stop, lane, j, threshold, rules.n_codes[c], first, tally.counts)
        else:
            _count_keyed(
                table, numbers, keys, start, stop, lane, j, threshold, key,
                rules.n_codes[c], first, tally.counts,
            )  # fmt: skip
    found = True
    for side in range(2):
        size = n_left if side == 0 else stop - start - n_left
        tally.ends[0] = 0
        for c in range(rules.n_codes.size):
            first, m = side * half + rules.first[c] + c, rules.n_codes[c]
            if m <= stop - start:
                _settle(tally, c, first, m)
            else:
                _settle_few(tally, c, first, m, table, start, stop, n_attributes + c)
        found = found and class_holds(size, tally.codes, tally.n, tally.ends, rules, facts)
    return found


@compiled
def _count(table, start, stop, lane, j, threshold, m, first, counts):
    """Count the codes of a column on both sides; from `m` on, all together."""
    half, last = uintp(counts.size >> 1), uintp(m)
    for i in range(uintp(start), uintp(stop)):
        own = min(uintp(table[i, uintp(lane)]), last)
        goes_right = uintp(table[i, uintp(j)] > threshold)
        counts[goes_right * half + uintp(first) + own] += 1


@compiled
def _count_keyed(table, numbers, keys, start, stop, lane, j, threshold, key, m, first, counts):
    half, last = uintp(counts.size >> 1), uintp(m)
    for i in range(uintp(start), uintp(stop)):
        own, code = min(uintp(table[i, uintp(lane)]), last), table[i, uintp(j)]
        goes_left = code < threshold or (code == threshold and keys[uintp(numbers[i])] <= key)
        counts[(uintp(0) if goes_left else half) + uintp(first) + own] += 1


@compiled
def _settle(tally, c, first, m):
    """Bring the counts of a column and side into the canonical form, and clear them."""
    at = tally.ends[c]
    for code in range(m):
        n = tally.counts[first + code]
        if n:
            tally.codes[at], tally.n[at] = code, n
            tally.counts[first + code] = 0
            at += 1
    tally.counts[first + m] = 0
    tally.ends[c + 1] = at


@compiled
def _settle_few(tally, c, first, m, table, start, stop, lane):
    """The same where there are far more codes than records: by the records' own codes, sorted."""
    touched, begin, t = tally.touched, tally.ends[c], 0
    for i in range(uintp(start), uintp(stop)):
        own = int64(table[i, uintp(lane)])
        if own < m and tally.counts[first + own] > 0:
            touched[t] = own
            tally.counts[first + own] = -tally.counts[first + own]  # found already
            t += 1
    if t > _FEW:
        touched[:t].sort()
    else:
        for i in range(1, t):
            own, at = touched[i], i
            while at > 0 and touched[at - 1] > own:
                touched[at] = touched[at - 1]
                at -= 1
            touched[at] = own
    for i in range(t):
        tally.codes[begin + i], tally.n[begin + i] = touched[i], -tally.counts[first + touched[i]]
        tally.counts[first + touched[i]] = 0
    tally.counts[first + m] = 0
    tally.ends[c + 1] = begin + t
