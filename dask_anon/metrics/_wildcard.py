"""Counting records that fit each other when a missing value may stand for any.

    a b      fits    a b, a ·, · b, · ·
    a ·      fits    a b, a c, a ·, · b, · c, · ·

A record with m missing values is not spelled out into all that it may stand for: records with the
same columns missing are counted together on the columns that they share with others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dask_anon.metrics._combinations import Combinations, Floats, Integers, number_rows, sums


def fitting(codes: Integers, amounts: Floats, *, alpha: float = 1.0) -> Floats:
    """Amount that fits each combination, its own included; -1 is a missing value.

    A combination with a missing value counts for others `alpha` times its amount, one without
    counts in full [1]_.

    .. [1] Templ, Statistical disclosure control for microdata, Springer, 2017, section 3.3
       (frequency counts with missing values, parameter α).
    """
    missing = codes < 0
    pattern = number_rows(missing.astype(np.int64))
    patterns = [np.flatnonzero(pattern == i) for i in range(pattern.max(initial=-1) + 1)]
    found = np.where(missing.any(axis=1), (1 - alpha) * amounts, 0.0)
    for mine in patterns:
        for theirs in patterns:
            known = ~(missing[mine[0]] | missing[theirs[0]])
            both = number_rows(codes[np.concatenate([mine, theirs])][:, known])
            added = np.zeros(both.max() + 1)
            there = sums(both[len(mine) :], amounts[theirs])
            added[: len(there)] = there
            factor = alpha if missing[theirs[0]].any() else 1.0
            found[mine] += factor * added[both[: len(mine)]]
    return found


def fewest_fitting(combinations: Combinations, columns: Sequence[int]) -> float:
    """How many records fit the record that fits fewest, in some of the columns."""
    numbers = combinations.numbers(columns)
    first = np.unique(numbers, return_index=True)[1]
    codes = combinations.codes[first][:, list(columns)]
    return float(fitting(codes, sums(numbers, combinations.sizes)).min(initial=np.inf))
