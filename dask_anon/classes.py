"""Equivalence classes as a table: one row a class, and what is counted from it.

    released ──released_columns──▶ quasi-identifiers ──equivalence_classes──▶ ClassTable (…, size)

pandas in, pandas out; a Dask frame gives a lazy Dask frame. A null is a value of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from dask_anon.errors import DataError, nearest

if TYPE_CHECKING:
    from dask_anon.policy import Policy

# One row an equivalence class: its released values and `size`. pandas or Dask.
ClassTable: TypeAlias = Any


@dataclass(frozen=True)
class ClassCounts:
    """How many equivalence classes there are of each size.

    Examples
    --------
    >>> counts = ClassCounts({2: 1, 4: 1})  # a, a, a, a, b, b
    >>> counts.n_records, counts.n_classes, counts.smallest, counts.sum_of_squares
    (6, 2, 2, 20)
    """

    sizes: Mapping[int, int]

    @property
    def n_records(self) -> int:
        """Records in all classes."""
        return sum(size * n for size, n in self.sizes.items())

    @property
    def n_classes(self) -> int:
        """Equivalence classes."""
        return sum(self.sizes.values())

    @property
    def smallest(self) -> int:
        """Records in the smallest class; 0 without records."""
        return min(self.sizes, default=0)

    @property
    def largest(self) -> int:
        """Records in the largest class; 0 without records."""
        return max(self.sizes, default=0)

    @property
    def sum_of_squares(self) -> int:
        """Sum of the squared class sizes, the discernibility if nothing is suppressed."""
        return sum(size * size * n for size, n in self.sizes.items())

    def n_classes_below(self, k: int) -> int:
        """Classes with fewer than `k` records."""
        return sum(n for size, n in self.sizes.items() if size < k)

    def n_records_below(self, k: int) -> int:
        """Count the records in classes with fewer than `k` records."""
        return sum(size * n for size, n in self.sizes.items() if size < k)

    def share_of_records_up_to(self, size: int) -> float:
        """Share of records in classes of at most `size` records; 0 without records."""
        return self.n_records_below(size + 1) / self.n_records if self.sizes else 0.0

    def figures(self) -> dict[str, int]:
        """Figures that a manifest records."""
        return {
            "n_classes": self.n_classes,
            "smallest": self.smallest,
            "largest": self.largest,
            "sum_of_squares": self.sum_of_squares,
        }

    def __str__(self) -> str:
        if not self.sizes:
            return "0 records"
        return (
            f"{self.n_records:,} records in {self.n_classes:,} equivalence classes, "
            f"of {self.smallest:,} to {self.largest:,} records"
        )


def released_columns(names: Sequence[str], quasi_identifiers: Sequence[str]) -> list[str]:
    """Find under which names the quasi-identifiers were released.

    Examples
    --------
    >>> released_columns(["age_min", "age_max", "zip", "disease"], ["age", "zip"])
    ['age_min', 'age_max', 'zip']

    Raises
    ------
    DataError
        If a quasi-identifier is not there, under no name.
    """
    known = set(names)
    found = []
    for name in quasi_identifiers:
        bounds = [f"{name}_min", f"{name}_max"]
        shown = [part for part in (name, *bounds, f"{name}_missing") if part in known]
        if name not in known and not known.issuperset(bounds):
            close = nearest(name, names)
            hint = f" Did you mean '{close}'?" if close else ""
            raise DataError(
                f"quasi-identifier '{name}' is not in the table, neither as '{name}' nor as "
                f"'{bounds[0]}' and '{bounds[1]}'.{hint} Columns: {list(names)}."
            )
        found += shown
    return found


def equivalence_classes(
    released: Any, policy: Policy | Sequence[str], *, split_out: int = 1
) -> ClassTable:
    """Count the records of every equivalence class.

    Parameters
    ----------
    released : pandas or Dask DataFrame
        The published table.
    policy : Policy or sequence of str
        Whose quasi-identifiers make the classes; `age` is found as ``age`` or as ``age_min``,
        ``age_max`` and ``age_missing``. Or the released columns themselves.
    split_out : int, default 1
        Partitions of the result for a Dask frame; more for millions of classes.

    Returns
    -------
    pandas or lazy Dask DataFrame
        The quasi-identifiers as released and ``size``; one row a class, in no given order.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": ["021", "021", None]})
    >>> sorted(equivalence_classes(released, ["zip"])["size"])
    [1, 2]
    """
    names = [str(name) for name in released.columns]
    if isinstance(policy, Sequence):
        columns = list(policy)
        for column in columns:
            if column not in names:
                close = nearest(column, names)
                hint = f" Did you mean '{close}'?" if close else ""
                raise DataError(f"column '{column}' is not in the table.{hint} Columns: {names}.")
    else:
        columns = released_columns(names, policy.quasi_identifiers)
    if "size" in columns:
        raise DataError(
            "a column named 'size' cannot be a quasi-identifier of a class table, "
            "which says there how many records a class has. Rename it."
        )
    groups = released[columns].groupby(columns, dropna=False, observed=True, sort=False)
    if isinstance(released, pd.DataFrame):
        return groups.size().rename("size").reset_index().astype({"size": "int64"})
    sizes = groups.size(split_out=split_out).rename("size")
    return sizes.reset_index().astype({"size": "int64"})
