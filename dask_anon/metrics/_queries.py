"""COUNT queries, and what a table answers to them.

    query      age in [25, 30] and zip in {02134, 02139}
    record     age "[23, 32]", zip "{02134, 02215}"        counts 6/10 x 1/2 of a record

Within a cell, values are taken to be equally likely and columns independent, which is all that a
release says; a record of the original counts 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dask_anon.metrics._attributes import Attribute
from dask_anon.metrics._cells import Cells, Codes, Floats, read_cells

# Records are added up in units of 2**-48, in two halves of 24 bits: sums of whole numbers below
# 2**53 are exact as floats, so that no order of adding and no partition changes the last digit.
_HALF = 2.0**24

# Shares that are looked at together, in two megabytes: larger arrays leave the processor's cache.
_BLOCK = 1 << 18
# Entries of a matrix that says which cells have which labels.
_MATRIX = 1 << 20


@dataclass(frozen=True, eq=False)
class Range:
    """For each query, the places from where to where an ordered column is asked for."""

    low: Floats
    high: Floats

    def share(self, cells: Cells, of: Codes, attribute: Attribute) -> Floats:
        """How much of each of the cells `of` each query asks for: (cell, query)."""
        assert cells.low is not None
        assert cells.high is not None
        low, high = cells.low[of][:, None], cells.high[of][:, None]
        missing = cells.has_missing[of][:, None]
        # A cell of missing values only is nowhere: comparisons with NaN are false.
        share = ((self.low <= low) & (high <= self.high)) / (1.0 + missing)
        wide = np.flatnonzero(low < high)
        if attribute.step:
            # In whole units, where a range of one value has the width 1 and nothing is rounded.
            unit = attribute.width
            first, last = np.rint(low[wide] * unit), np.rint(high[wide] * unit)
            overlap = np.minimum(last, np.rint(self.high * unit)) + 1.0
            overlap -= np.maximum(first, np.rint(self.low * unit))
            n_values = last - first + 1.0 + missing[wide]
        else:
            overlap = np.minimum(high[wide], self.high) - np.maximum(low[wide], self.low)
            n_values = high[wide] - low[wide]
        share[wide] = np.maximum(overlap, 0.0) / n_values
        return share


@dataclass(frozen=True, eq=False)
class Choice:
    """For each query, the labels that are asked for: (label, query)."""

    wanted: Floats

    def share(self, cells: Cells, of: Codes, _attribute: Attribute) -> Floats:
        """How much of each of the cells `of` each query asks for: (cell, query)."""
        assert cells.offsets is not None
        assert cells.codes is not None
        sizes = cells.n_labels[of]
        found = np.zeros((len(of), self.wanted.shape[1]))
        one, several = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
        found[one] = self.wanted[cells.codes[cells.offsets[of[one]]]]
        if len(several):
            found[several] = self._of_sets(cells, of[several])
        return np.asarray(found / np.maximum(1, sizes + cells.has_missing[of])[:, None])

    def _of_sets(self, cells: Cells, of: Codes) -> Floats:
        """How many of each cell's labels each query asks for.

        As a product of matrices, which is ten times faster than adding up row by row; some labels
        at a time, so that the matrix of who has which stays small.
        """
        assert cells.offsets is not None
        assert cells.codes is not None
        sizes = cells.n_labels[of]
        starts = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        labels = cells.codes[np.repeat(cells.offsets[of], sizes) + places]
        in_cell = np.repeat(np.arange(len(of)), sizes)
        found = np.zeros((len(of), self.wanted.shape[1]))
        width = max(1, _MATRIX // len(of))
        for first in range(0, len(self.wanted), width):
            some = (first <= labels) & (labels < first + width)
            has = np.zeros((len(of), min(width, len(self.wanted) - first)))
            has[in_cell[some], labels[some] - first] = 1.0
            found += has @ self.wanted[first : first + width]
        return found


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries over the same columns: their numbers, and a predicate for each column."""

    numbers: Codes
    predicates: Mapping[str, Range | Choice]


@dataclass(frozen=True, eq=False)
class Workload:
    """All queries, by the columns that they ask for."""

    attributes: Mapping[str, Attribute]
    groups: tuple[Queries, ...]
    n_queries: int


def write_queries(
    sample: pd.DataFrame,
    attributes: Mapping[str, Attribute],
    *,
    n_queries: int,
    n_columns: int,
    always: Sequence[str],
    selectivity: float,
    seed: int,
) -> Workload:
    """Draw COUNT queries: each over `n_columns` of the columns and those that are in `always`.

    Each predicate alone holds for about the same share of the sample; together, were the columns
    independent, for `selectivity` of it. An ordered column is asked for a range of ranks, another
    for labels in random order until there are enough.
    """
    random = np.random.default_rng([seed, 2])
    names = [name for name in attributes if name not in always]
    share = selectivity ** (1 / (n_columns + len(always)))
    values = {name: read_cells(sample, one, values=True) for name, one in attributes.items()}
    asked: dict[tuple[str, ...], list[int]] = {}
    drawn: list[dict[str, Any]] = []
    for number in range(n_queries):
        chosen = sorted(random.choice(len(names), n_columns, replace=False).tolist())
        columns = (*(names[i] for i in chosen), *always)
        asked.setdefault(columns, []).append(number)
        drawn.append({c: _predicate(values[c], share, random) for c in columns})
    groups = tuple(
        Queries(
            np.array(numbers, np.int64),
            {c: _together([drawn[n][c] for n in numbers], attributes[c]) for c in columns},
        )
        for columns, numbers in asked.items()
    )
    return Workload(attributes, groups, n_queries)


def _predicate(cells: Cells, share: float, random: np.random.Generator) -> Any:
    """The ends of a range, or the codes of labels, that hold for about `share` of the records."""
    if cells.codes is None:
        assert cells.low is not None
        ascending = np.sort(cells.low[cells.of_record[~cells.only_missing[cells.of_record]]])
        n_inside = max(1, round(share * len(ascending)))
        if not len(ascending):
            return 1.0, 0.0  # no value, no range
        start = random.integers(0, len(ascending) - n_inside + 1)
        return ascending[start], ascending[start + n_inside - 1]
    assert cells.offsets is not None
    counts = np.zeros(int(cells.codes.max(initial=-1)) + 1, np.int64)
    np.add.at(counts, cells.codes, np.repeat(cells.counts, cells.n_labels))
    labels = random.permutation(np.flatnonzero(counts))
    running = np.cumsum(counts[labels])
    n_labels = int(np.searchsorted(running, share * counts.sum())) + 1
    return labels[:n_labels]


def _together(predicates: list[Any], attribute: Attribute) -> Range | Choice:
    if attribute.labels is None:
        low, high = np.array(predicates, np.float64).T
        return Range(low, high)
    wanted = np.zeros((len(attribute.labels), len(predicates)))
    for query, labels in enumerate(predicates):
        wanted[labels, query] = 1.0
    return Choice(wanted)


def answer(workload: Workload, part: pd.DataFrame, *, values: bool) -> tuple[int, Codes]:
    """How many records of a partition each query counts: (records, (query, 2) in 2**-24, 2**-48).

    Equal combinations of cells are looked at once.
    """
    cells = {
        name: read_cells(part, attribute, values=values)
        for name, attribute in workload.attributes.items()
    }
    found = np.zeros((workload.n_queries, 2), np.int64)
    for group in workload.groups:
        combined = pd.DataFrame({c: cells[c].of_record for c in group.predicates})
        sizes = combined.groupby(list(combined.columns), sort=False).size()
        keys = sizes.index.to_frame(index=False).to_numpy(np.int64)
        weights: Floats = np.asarray(sizes, np.float64)
        step = max(1, _BLOCK // len(group.numbers))
        for start in range(0, len(keys), step):
            block = slice(start, start + step)
            share: Any = 1.0
            for j, (column, predicate) in enumerate(group.predicates.items()):
                of, row = np.unique(keys[block, j], return_inverse=True)
                each = predicate.share(cells[column], of, workload.attributes[column])
                share = share * each[row]
            found[group.numbers] += _added(weights[block], share, whole=values)
    return len(part), found


def _added(weights: Floats, share: Floats, *, whole: bool) -> Codes:
    """Sum the shares, which are 0 or 1 if `whole`, in units of 2**-24 and of 2**-48."""
    if whole:
        counts = weights @ share
        return np.column_stack([counts * _HALF, np.zeros_like(counts)]).astype(np.int64)
    units = np.rint(share * (_HALF * _HALF))
    upper = np.floor(units / _HALF)
    units -= upper * _HALF
    return np.column_stack([weights @ upper, weights @ units]).astype(np.int64)


def merged(answers: list[tuple[int, Codes]]) -> tuple[int, Codes]:
    """The answers of several partitions as one."""
    return sum(n for n, _ in answers), np.sum([found for _, found in answers], axis=0)


def counts_of(found: Codes) -> Floats:
    """Records that each query counts, from whole numbers of units."""
    return np.asarray(found[:, 0] / _HALF + found[:, 1] / _HALF / _HALF)
