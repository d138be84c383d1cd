"""A taxonomy: what the values of a column belong to, level by level.

    level 0        level 1         level 2        one row a value:
    Tech-support   Technical       *              Tech-support;Technical;*
    Craft-repair   Technical       *              Craft-repair;Technical;*
    Sales          Nontechnical    *              Sales;Nontechnical;*

All values are equally deep, and the last level is one label for everything (it is added if it is
not there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dask_anon.errors import DataError, PolicyError, Problem
from dask_anon.hierarchy._text import text_of
from dask_anon.hierarchy._value_counts import ValueCounts

# Rows that a sentence names.
_SHOWN = 5


@dataclass(frozen=True)
class Taxonomy:
    """The levels of a column's values.

    Attributes
    ----------
    column : str
    levels : tuple of tuple of str
        The labels of each level, in the order of the rows; level 0 are the values.
    parents : tuple of tuple of int
        ``parents[i][j]`` is the position in level i + 1 of what ``levels[i][j]`` belongs to.
    """

    column: str
    levels: tuple[tuple[str, ...], ...] = field(repr=False)
    parents: tuple[tuple[int, ...], ...] = field(repr=False)

    @property
    def height(self) -> int:
        """Levels above the values."""
        return len(self.parents)

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]], *, column: str) -> Taxonomy:
        """The taxonomy of rows: each a value, what it belongs to, and so on up to everything.

        Raises
        ------
        PolicyError
            With every fault at once: rows of different lengths, empty labels, a value with two
            rows, a label that belongs to two others or stands on two levels.

        Examples
        --------
        >>> rows = [["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["angina", "heart", "*"]]
        >>> taxonomy = Taxonomy.from_rows(rows, column="illness")
        >>> taxonomy.levels[1], taxonomy.parents[0]
        (('lungs', 'heart'), (0, 0, 1))
        """
        faults = _faults(rows)
        if faults:
            where = f"columns.{column}.hierarchy"
            raise PolicyError([Problem(where, fault) for fault in faults])
        columns = list(zip(*rows, strict=True))
        if len(set(columns[-1])) > 1:
            columns.append(("*",) * len(rows))
        levels = tuple(tuple(dict.fromkeys(labels)) for labels in columns)
        parents = []
        for i in range(len(levels) - 1):
            place = {label: j for j, label in enumerate(levels[i + 1])}
            above = dict(zip(columns[i], columns[i + 1], strict=True))
            parents.append(tuple(place[above[label]] for label in levels[i]))
        return cls(column, levels, tuple(parents))

    def positions_of(self, values: ValueCounts) -> NDArray[np.int64]:
        """Where each of the values stands in level 0.

        Raises
        ------
        DataError
            When values are not in the taxonomy.
        """
        leaves = pa.array(self.levels[0], pa.string())
        found = pc.index_in(text_of(values.values), value_set=leaves)
        if found.null_count:
            unknown = np.asarray(found.is_null())
            raise DataError(
                f"column {self.column!r} has {found.null_count:,} of {len(found):,} distinct "
                f"values, in {int(values.counts[unknown].sum()):,} records, that its taxonomy does "
                "not have. Give each a row.",
                column=self.column,
                n_unknown=found.null_count,
            )
        return np.asarray(found, np.int64)


def _faults(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return ["the taxonomy has no rows. Give every value one."]
    n_levels = len(rows[0])
    if n_levels < 2:
        return [
            "the rows of the taxonomy have one cell. Write value;group;…;everything, "
            "cut by ; or , in every row."
        ]
    faults = []
    ragged = [i for i, row in enumerate(rows, 1) if len(row) != n_levels]
    if ragged:
        faults.append(
            f"{_listed(ragged)} of the taxonomy {_have(ragged)} another number of cells than the "
            f"first, which has {n_levels}. Repeat no label, but give every value as many levels."
        )
    whole = [(i, row) for i, row in enumerate(rows, 1) if len(row) == n_levels]
    empty = [i for i, row in whole if "" in row]
    if empty:
        faults.append(
            f"{_listed(empty)} of the taxonomy {_have(empty)} an empty label. Name it, or leave "
            "the row out: a missing value needs none."
        )
    seen: set[str] = set()
    twice = [i for i, row in whole if row[0] in seen or seen.add(row[0])]  # type: ignore[func-returns-value]
    if twice:
        faults.append(
            f"{_listed(twice)} of the taxonomy {_have(twice)} a value that has a row before. "
            "Keep one."
        )
    above: dict[tuple[int, str], str] = {}
    level_of: dict[str, int] = {}
    two_parents, two_levels = [], []
    for i, row in whole:
        pairs = list(enumerate(row))
        if any(
            above.setdefault((level, label), row[level + 1]) != row[level + 1]
            for level, label in pairs[1:-1]
        ):
            two_parents.append(i)
        if any(level_of.setdefault(label, level) != level for level, label in pairs):
            two_levels.append(i)
    if two_parents:
        faults.append(
            f"{_listed(two_parents)} of the taxonomy {_have(two_parents)} a label that belongs to "
            "something else in a row before. Give it one place."
        )
    if two_levels:
        faults.append(
            f"{_listed(two_levels)} of the taxonomy {_have(two_levels)} a label that stands on "
            "another level as well. Give each level labels of its own."
        )
    return faults


def _listed(rows: Sequence[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"rows {', '.join(map(str, rows[:_SHOWN]))}{more}"


def _have(rows: Sequence[int]) -> str:
    return "has" if len(rows) == 1 else "have"
