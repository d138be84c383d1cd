"""What was measured: a row a figure, before and after, and what the policy asks of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dask_anon.errors import AnonError, nearest
from dask_anon.evaluation import Evaluation, shown


@dataclass(frozen=True)
class Measure:
    """One figure.

    Attributes
    ----------
    name : str
        The function of ``dask_anon.metrics`` that gives it.
    words : str
        What it counts, and in which unit.
    before, after : number or None
        Of the table and, if there are two, of the released one; None where there is nothing to
        measure it by.
    column : str, optional
        The column that it is a figure of.
    """

    name: str
    words: str
    before: float | None
    after: float | None = None
    column: str | None = None

    @property
    def title(self) -> str:
        """The name, with the column."""
        return self.name if self.column is None else f"{self.name} of '{self.column}'"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; what is infinite is said in words."""
        numbers = {"before": _plain(self.before), "after": _plain(self.after)}
        return {**vars(self), **numbers}


@dataclass(frozen=True)
class Measures:
    """A table measured, or one before and after.

    Attributes
    ----------
    rows : tuple of Measure
    evaluation : Evaluation
        What the policy asks of the released table, or of the only one.
    has_after : bool
        Whether there are two tables.
    notes : tuple of str
        What could not be measured, and why.
    """

    rows: tuple[Measure, ...]
    evaluation: Evaluation
    has_after: bool
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all holds that the policy asks."""
        return self.evaluation.holds

    def __getitem__(self, title: str) -> Measure:
        """The figure of this title, such as ``t_closeness of 'income'``."""
        for row in self.rows:
            if row.title == title:
                return row
        titles = [row.title for row in self.rows]
        close = nearest(title, titles)
        hint = f" Did you mean {close!r}?" if close else ""
        raise AnonError(f"there is no figure {title!r}.{hint} Known: {', '.join(titles)}.")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "holds": self.holds,
            "requirements": self.evaluation.to_json()["requirements"],
            "measures": [row.to_json() for row in self.rows],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        heads = ("before", "after") if self.has_after else ("found",)
        lines = [["measure", *heads, ""]]
        for row in self.rows:
            numbers = [_shown(value) for value in (row.before, row.after)[: len(heads)]]
            lines.append([row.title, *numbers, row.words])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        table = []
        for name, *cells, words in lines:
            right = [cell.rjust(w) for cell, w in zip(cells, widths[1:-1], strict=True)]
            table.append("  ".join([name.ljust(widths[0]), *right, words]).rstrip())
        return "\n".join([*table, "", str(self.evaluation), *self.notes])


def _shown(value: float | None) -> str:
    return "-" if value is None else shown(value)


def _plain(value: float | None) -> Any:
    if value is None or math.isfinite(value):
        return value
    return None if math.isnan(value) else shown(value)
