"""What every metric of class sizes needs, for pandas as a number and for Dask as a lazy scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dask_anon.classes import ClassTable, equivalence_classes, released_columns
from dask_anon.errors import DataError

# Stands for the smallest size of no classes; divides every size with the rest of it.
_NONE = 1 << 62


def class_table(
    table: Any,
    quasi_identifiers: Sequence[str] | None,
    *,
    sensitive: Sequence[str] = (),
    weight: str | None = None,
    labels: bool = False,
) -> ClassTable:
    """The class table itself, or that of a released frame whose quasi-identifiers are named."""
    if quasi_identifiers is not None:
        names = [str(name) for name in table.columns]
        columns = released_columns(names, quasi_identifiers)
        return equivalence_classes(
            table, columns, sensitive=sensitive, weight=weight, labels=labels
        )
    if "size" not in table.columns:
        raise DataError(
            "a class table has a column 'size', this one has none. "
            "Make it with equivalence_classes(released, policy), or name the quasi_identifiers."
        )
    return table


def sizes_of(classes: ClassTable, quasi_identifiers: Sequence[str] | None = None) -> Any:
    """Sizes of the classes, as a pandas or Dask series."""
    return class_table(classes, quasi_identifiers)["size"].astype("int64")


def number(value: Any) -> Any:
    """Make a plain Python number; a lazy scalar stays as it is."""
    return value.item() if hasattr(value, "item") else value


def count(sizes: Any) -> Any:
    """How many classes."""
    return number(sizes.count())


def total(sizes: Any) -> Any:
    """How many records."""
    return number(sizes.sum())


def least(sizes: Any) -> Any:
    """Size of the smallest class, 0 without classes."""
    if isinstance(sizes, pd.Series):
        return number(_least(sizes).min() % _NONE)
    # Partitions may be empty, and their minimum would be NaN and make all sizes floats.
    return sizes.map_partitions(_least, meta=("size", "int64")).min() % _NONE


def _least(sizes: pd.Series) -> pd.Series:
    return pd.Series([sizes.min() if len(sizes) else _NONE], name="size", dtype="int64")


def ratio(part: Any, whole: Any) -> Any:
    """`part` / `whole`, and 0 when both are 0, as for a table without records."""
    return part / (whole + (whole == 0))
