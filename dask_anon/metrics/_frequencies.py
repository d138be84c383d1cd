"""How often the values of a column occur, and how often those that a cell covers do.

    place      0.0  0.1  0.5  1.0          a cell that covers 0.0 to 0.5
    records      3    1    4    2          3 + 1 + 4

Frequencies of partitions add up; they are as many as there are distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dask_anon.metrics._cells import Cells
from dask_anon.metrics._covered import Known
from dask_anon.metrics._pairs import Pairs
from dask_anon.metrics._taxonomy import Taxonomy

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Records that have each value of one column, and those that have none.

    `places` are those of the values, ascending; None where values are labels, whose counts stand
    in the order of their numbers.
    """

    places: Floats | None
    counts: Counts
    n_missing: int

    @property
    def n_records(self) -> int:
        """Records with and without a value."""
        return int(self.counts.sum()) + self.n_missing

    @property
    def all(self) -> Counts:
        """The counts, with that of the missing value last."""
        return np.append(self.counts, self.n_missing)

    def covered(self, cells: Cells) -> Floats:
        """How many records of the original have a value that each cell covers."""
        if self.places is None:
            offsets, codes = cells.sets
            # A label that the original does not have adds nothing.
            counts = np.append(self.counts, 0)[np.minimum(codes, len(self.counts))]
            present = np.diff(np.append(0, np.cumsum(counts))[offsets])
        else:
            low, high = cells.ends
            below = np.append(0, np.cumsum(self.counts))
            present = below[np.searchsorted(self.places, high, "right")]
            present = present - below[np.searchsorted(self.places, low, "left")]
            present = np.where(cells.only_missing, 0, present)
        return np.asarray(present + self.n_missing * cells.has_missing, np.float64)


def frequencies_of(cells: dict[str, Cells], known: Known) -> dict[str, Frequencies]:
    """Count the values of every column in a partition of the original."""
    return {name: _counted(own, known[1][name].labels) for name, own in cells.items()}


def _counted(own: Cells, labels: pa.Array | None) -> Frequencies:
    there, n_missing = ~own.only_missing, int(own.counts[own.only_missing].sum())
    if labels is not None:
        _, codes = own.sets
        counts = np.bincount(codes, np.repeat(own.counts, own.n_labels), len(labels))
        return Frequencies(None, counts.astype(np.int64), n_missing)
    low, _ = own.ends
    places, at = np.unique(low[there], return_inverse=True)
    counts = np.bincount(at, own.counts[there], len(places))
    return Frequencies(places, counts.astype(np.int64), n_missing)


def merge_frequencies(several: list[dict[str, Frequencies]]) -> dict[str, Frequencies]:
    """Frequencies of the records of all."""
    return {name: _merged([one[name] for one in several]) for name in several[0]}


def _merged(several: list[Frequencies]) -> Frequencies:
    n_missing = sum(one.n_missing for one in several)
    counts = [one.counts for one in several]
    if several[0].places is None:
        return Frequencies(None, np.sum(counts, axis=0), n_missing)
    places = np.concatenate([one.places for one in several if one.places is not None])
    distinct, at = np.unique(places, return_inverse=True)
    summed = np.bincount(at, np.concatenate(counts), len(distinct)).astype(np.int64)
    return Frequencies(distinct, summed, n_missing)


def bits_lost(pairs: Pairs, counted: Frequencies) -> float:
    """−log2 of the probability of every value among those that its cell covers, summed."""
    value = counted.covered(pairs.own)[pairs.own_cell]
    cell = counted.covered(pairs.shown)[pairs.shown_cell]
    cell = np.where(_is_inside(pairs), cell, counted.n_records)
    return float(pairs.counts @ np.log2(cell / value))


def _is_inside(pairs: Pairs) -> NDArray[np.bool_]:
    """Whether the cell covers the value."""
    own, shown, i, j = pairs.own, pairs.shown, pairs.own_cell, pairs.shown_cell
    if own.offsets is not None:
        present = pairs.labels_in_common() > 0
    else:
        (value, _), (low, high) = own.ends, shown.ends
        present = (low[j] <= value[i]) & (value[i] <= high[j])
    return np.where(own.only_missing[i], shown.has_missing[j], present)


def entropy_bits(counts: Counts) -> float:
    """−log2 of the share of every record's value, summed: what is lost if nothing is shown."""
    known = counts[counts > 0]
    return float(known @ np.log2(known.sum() / known))


# -- level by level ------------------------------------------------------------------------------


def climbs(pairs: Pairs, taxonomy: Taxonomy) -> Counts:
    """How many records of each leaf were generalized to each level: (leaf, level).

    The missing value is the last leaf.
    """
    own, shown = pairs.own, pairs.shown
    assert shown.levels is not None
    n_leaves, n_levels = taxonomy.paths.shape
    leaf = np.full(len(own.only_missing), n_leaves)
    offsets, codes = own.sets
    leaf[~own.only_missing] = codes[offsets[:-1][~own.only_missing]]
    inside = _is_inside(pairs)
    level = np.where(inside, shown.levels[pairs.shown_cell], n_levels - 1)
    at = leaf[pairs.own_cell] * n_levels + level
    counts = np.bincount(at, pairs.counts, (n_leaves + 1) * n_levels)
    return counts.astype(np.int64).reshape(n_leaves + 1, n_levels)


def bits_by_levels(counts: Counts, taxonomy: Taxonomy) -> float:
    """Bits lost on the way up, each level counted among the records that climb as far."""
    nodes = taxonomy.paths
    missing = np.full((1, nodes.shape[1]), nodes.max() + 1)  # a leaf right below the root
    missing[0, -1] = nodes[0, -1]
    nodes = np.vstack([nodes, missing])
    below = np.arange(len(nodes))
    bits = 0.0
    for level in np.flatnonzero(counts.sum(axis=0)):
        climbing = counts[:, level:].sum(axis=1)
        before = np.bincount(below, climbing)[below]
        after = np.bincount(nodes[:, level], climbing)[nodes[:, level]]
        some = climbing > 0
        bits += float(climbing[some] @ np.log2(after[some] / before[some]))
        below = nodes[:, level]
    return bits
