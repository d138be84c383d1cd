"""Ranks of values: how many elements of a column are smaller.

elements   1   3   3   9        of 2: between those of 1 and 3, in proportion
ranks      0   1   1   3        of 10, of 0: that of 9, that of 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dask_anon.metrics._cells import Cells
from dask_anon.metrics._covered import Known

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of the distinct values of a column, given by their places."""

    places: Floats
    ranks: Floats
    n: float

    @property
    def width(self) -> float:
        """By how much ranks may differ: n − 1; 0 where all elements are equal."""
        return self.n - 1 if len(self.places) > 1 else 0.0

    def of(self, places: Floats) -> Floats:
        """Ranks of values, of those that do not occur as well."""
        if not len(self.places):
            return np.where(np.isnan(places), np.nan, 0.0)
        # Where all elements are equal, a smaller value must not have their rank.
        below = -1.0 if len(self.places) == 1 else 0.0
        return np.asarray(np.interp(places, self.places, self.ranks, left=below, right=self.n))


# Distinct places and how many elements lie there.
Places = tuple[Floats, Floats]


def places_of(cells: dict[str, Cells], _: Known) -> dict[str, Places]:
    """Count the elements at each place; a range is half an element at each of its ends."""
    found = {}
    for name, own in cells.items():
        there = ~own.only_missing
        ends = np.concatenate([end[there] for end in own.ends])
        found[name] = _distinct(ends, np.tile(own.counts[there] / 2, 2))
    return found


def merge_places(several: list[dict[str, Places]]) -> dict[str, Places]:
    """Add up the counts of all."""
    return {
        name: _distinct(*(np.concatenate([one[name][i] for one in several]) for i in (0, 1)))
        for name in several[0]
    }


def _distinct(places: Any, counts: Any) -> Places:
    distinct, at = np.unique(places, return_inverse=True)
    return distinct, np.bincount(at, counts, len(distinct)).astype(np.float64)


def ranks_of(places: dict[str, Places]) -> dict[str, Ranks]:
    """From counts to ranks."""
    return {
        name: Ranks(distinct, np.cumsum(counts) - counts, float(counts.sum()))
        for name, (distinct, counts) in places.items()
    }
