"""Which columns of a released table make its classes, and which ride along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dask_anon.errors import DataError, nearest

if TYPE_CHECKING:
    from dask_anon.policy import Policy


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


def quasi_identifiers_of(names: Sequence[str], policy: Policy | Sequence[str]) -> list[str]:
    """Released columns that make the classes: those of a policy, or those that are named."""
    if not isinstance(policy, Sequence):
        return released_columns(names, policy.quasi_identifiers)
    columns = list(dict.fromkeys([policy] if isinstance(policy, str) else policy))
    for column in columns:
        require_column(names, column)
    return columns


def require_column(names: Sequence[str], column: str) -> None:
    """Refuse a column that the table does not have exactly once."""
    if column not in names:
        close = nearest(column, names)
        hint = f" Did you mean '{close}'?" if close else ""
        raise DataError(f"column '{column}' is not in the table.{hint} Columns: {list(names)}.")
    if list(names).count(column) > 1:
        raise DataError(
            f"column '{column}' is {list(names).count(column)} times in the table. "
            "Give every column a name of its own."
        )


def check_columns(
    names: Sequence[str], columns: Sequence[str], sensitive: Sequence[str], weight: str | None
) -> None:
    """Refuse columns that cannot stand side by side in a class table."""
    if not columns:
        raise DataError("there is no column to tell equivalence classes by. Name one.")
    for column in [*sensitive, *([] if weight is None else [weight])]:
        require_column(names, column)
        if column in columns:
            raise DataError(
                f"column '{column}' is a quasi-identifier, so each class has one value of it, and "
                "nothing to count or to sum. Name a column that is none."
            )
    if "size" in columns:
        raise DataError(
            "a column named 'size' cannot be a quasi-identifier of a class table, "
            "which says there how many records a class has. Rename it."
        )
    if "size" in sensitive:
        raise DataError(
            "a column named 'size' cannot be a sensitive column of a class table, "
            "which says there how many records a class has. Rename it."
        )
    if weight is not None and "weight" in [*columns, *sensitive]:
        raise DataError(
            "a column named 'weight' cannot be in a class table that sums weights, "
            "which says there how much a class weighs. Rename it."
        )
