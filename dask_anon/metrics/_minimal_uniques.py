"""Minimal sample uniques: the smallest sets of columns in which a record is unique.

    level 1   {age}          alone: r7                            r7 is unique in {age}
    level 2   {age, zip}     r7 is covered; alone of the rest: r2, r9
    level 3   {age, zip, …}  r2, r7 and r9 are covered; …

Sets of columns are visited from small to large. Whoever is alone in a part of a set is alone in the
set, and meets nobody there: it is covered, and only the rest is grouped again. Who is alone of the
rest is unique in the set and in no part of it, which is the definition; nothing is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations as subsets_of
from typing import Any

import numpy as np
import numpy.typing as npt

from dask_anon.metrics._combinations import Combinations, Integers

Columns = tuple[int, ...]


def minimal_sample_uniques(
    combinations: Combinations, largest: int
) -> Iterator[tuple[Columns, Integers]]:
    """Every set of up to `largest` columns with the combinations that are minimal uniques in it.

    A set in which there are none is left out. For each set of the last level and of this one, a bit
    a combination is kept.
    """
    n_combinations, n_columns = combinations.codes.shape
    single = combinations.sizes == 1
    everybody = np.packbits(np.ones(n_combinations, bool))
    below: dict[Columns, npt.NDArray[np.uint8]] = {(): np.packbits(np.zeros(n_combinations, bool))}
    for size in range(1, largest + 1):
        level: dict[Columns, npt.NDArray[np.uint8]] = {}
        for chosen in subsets_of(range(n_columns), size):
            covered = _any_of(
                [below[part] for part in subsets_of(chosen, size - 1)], n_combinations
            )
            rest = np.flatnonzero(~covered)
            # Where all who are unique at all are covered, they are so in all larger sets.
            if not single[rest].any():
                level[chosen] = everybody
                continue
            numbers = combinations.numbers(chosen, rest)
            alone = rest[np.bincount(numbers)[numbers] == 1]
            found = alone[single[alone]]
            if len(found):
                yield chosen, found
            covered[alone] = True
            level[chosen] = np.packbits(covered)
        below = level


def _any_of(bits: list[npt.NDArray[np.uint8]], n: int) -> npt.NDArray[Any]:
    either = np.bitwise_or.reduce(bits)
    return np.unpackbits(either, count=n).astype(bool)
