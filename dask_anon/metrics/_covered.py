"""What cells cover of the original's domain, summed over the records of a release.

    part ─ read ─▶ cells ─ measure ─▶ sum a column ─ add up ─▶ ÷ records ─▶ mean a column

Every loss is a measure of one distinct cell, times the records that have it. A record of the
original that the release lacks counts as one that shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dask_anon.errors import AnonError
from dask_anon.metrics._attributes import Attribute, attributes_of
from dask_anon.metrics._cells import Cells, columns_shown, read_cells
from dask_anon.metrics._steps import Steps

Floats = NDArray[np.float64]

# What is known of the original: its records, and its columns.
Known = tuple[int, dict[str, Attribute]]
# Sums over some records: how many there are, and one sum a column.
Sums = tuple[int, dict[str, float]]
# A figure of each distinct cell.
Measure = Callable[[Cells, Attribute], Floats]


# -- of one cell ---------------------------------------------------------------------------------


def penalties(cells: Cells, attribute: Attribute) -> Floats:
    """Normalized certainty penalty of each cell."""
    if cells.offsets is not None:
        n_values = attribute.n_values or 0
        covered = cells.n_labels + cells.has_missing
        return np.maximum(covered - 1, 0) / max(1, n_values - 1)
    return _clipped(cells, attribute)


def _clipped(cells: Cells, attribute: Attribute) -> Floats:
    """Share of the line from the smallest value of the original to the largest, or to missing."""
    top = attribute.top
    end = top + attribute.step * attribute.has_missing
    if end == 0 or attribute.is_empty:
        return np.zeros(len(cells.only_missing))
    low, high = (np.clip(place, 0, top) for place in cells.ends)
    low = np.where(cells.only_missing, end, low)
    high = np.where(cells.has_missing, end, high)
    return np.asarray(np.clip((high - low) / end, 0, 1))


def values_covered(cells: Cells, attribute: Attribute) -> Floats:
    """How many values each cell covers, a missing one included."""
    if attribute.n_values is None:
        raise AnonError(
            f"column '{attribute.name}' has floating-point numbers, and how many of them an "
            "interval covers says nothing. Round them to integers or decimals, or give a hierarchy."
        )
    if cells.offsets is not None:
        return np.asarray(cells.n_labels + cells.has_missing, np.float64)
    low, high = (np.clip(end, 0, attribute.top) for end in cells.ends)
    values = np.where(cells.only_missing, 0, np.rint((high - low) / attribute.step) + 1)
    return np.asarray(values + cells.has_missing, np.float64)


# -- of a table ------------------------------------------------------------------------------------


def columns_of(quasi_identifiers: Sequence[str]) -> list[str]:
    """The columns that are named, each once."""
    columns = [quasi_identifiers] if isinstance(quasi_identifiers, str) else list(quasi_identifiers)
    if not columns:
        raise AnonError("there is no column to measure. Name the quasi-identifiers.")
    return list(dict.fromkeys(columns))


def read(
    released: Any,
    original: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None,
) -> tuple[Steps, Any, list[Any]]:
    """Facts of the original, and the cells of each partition of the release."""
    columns = columns_of(quasi_identifiers)
    steps = Steps(released, original)
    known = attributes_of(steps, original, columns, hierarchies)
    parts = steps.parts(released, columns_shown(released, columns), after=known)
    return steps, known, [steps(cells_of, part, known) for part in parts]


def cells_of(part: pd.DataFrame, known: Known) -> dict[str, Cells]:
    """The cells of every column in a partition."""
    return {name: read_cells(part, attribute) for name, attribute in known[1].items()}


def summed(
    measure: Measure,
    released: Any,
    original: Any,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None,
) -> tuple[Steps, Any, Any]:
    """Sum a measure of cells over all records, column by column."""
    steps, known, cells = read(released, original, quasi_identifiers, hierarchies)
    sums = [steps(_sum, measure, own, known) for own in cells]
    return steps, known, steps.merged(add, sums)


def _sum(measure: Measure, cells: dict[str, Cells], known: Known) -> Sums:
    sums = {name: float(own.counts @ measure(own, known[1][name])) for name, own in cells.items()}
    return len(next(iter(cells.values())).of_record), sums


def add(several: list[Sums]) -> Sums:
    """Sums over the records of all."""
    names = several[0][1]
    return sum(n for n, _ in several), {c: sum(sums[c] for _, sums in several) for c in names}


def means(sums: Sums, known: Known) -> dict[str, float]:
    """Means over the records, those left out counted as 1."""
    (n_released, by_name), (n_original, _) = sums, known
    n_left_out = max(0, n_original - n_released)
    n_records = n_released + n_left_out
    return {
        c: (total + n_left_out) / n_records if n_records else 0.0 for c, total in by_name.items()
    }


def mean(by_name: dict[str, float]) -> float:
    """The mean over columns, each weighing the same."""
    return sum(by_name.values()) / len(by_name) if by_name else 0.0
