"""What can be linked, and with how many persons: the class table as the three attackers see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import pandas as pd
import pyarrow as pa

from dask_anon.classes import ClassTable, released_columns
from dask_anon.errors import AnonError, DataError, counted
from dask_anon.metrics._sizes import class_table, number, sizes_of

Suppressed: TypeAlias = Literal["apart", "record"]

# What a suppressed value is shown as.
_SUPPRESSED = "*"

# Where a class table says how many persons of the population are like its records.
_POPULATION_COLUMNS = ("population", "weight")


def linkable(
    table: Any,
    suppressed: Suppressed,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
) -> ClassTable:
    """The classes that can be linked: all, or those with a value to link."""
    if suppressed not in ("apart", "record"):
        raise AnonError(
            f"suppressed must be 'apart' or 'record', found {suppressed!r}. 'apart' leaves records "
            "without any value out of a risk, 'record' treats them as any other."
        )
    if quasi_identifiers is None:
        classes = class_table(table, None)
        reserved = {"size", population, *_POPULATION_COLUMNS}
        shown = [name for name in classes.columns if name not in reserved]
        shown = [name for name in shown if not _is_nested(classes[name].dtype)]
    else:
        shown = released_columns([str(name) for name in table.columns], quasi_identifiers)
    # A number is a value: where a quasi-identifier is numeric, no record is without any.
    apart = suppressed == "apart" and all(_may_be_text(table[name].dtype) for name in shown)
    if quasi_identifiers is not None:
        classes = class_table(table, quasi_identifiers, weight=population, labels=apart)
        if population is not None:
            classes = classes.rename(columns={"weight": population})
    if not apart or not shown:
        return classes
    if isinstance(classes, pd.DataFrame):
        return _with_a_value(classes, shown)
    return classes.map_partitions(_with_a_value, shown, meta=classes._meta)


def _is_nested(dtype: Any) -> bool:
    """Whether a column counts sensitive values, a list in each class."""
    return isinstance(dtype, pd.ArrowDtype) and dtype.pyarrow_dtype.num_fields > 0


def _may_be_text(dtype: Any) -> bool:
    if isinstance(dtype, pd.ArrowDtype):
        encoded = dtype.pyarrow_dtype
        text = encoded.value_type if pa.types.is_dictionary(encoded) else encoded
        return bool(pa.types.is_string(text) or pa.types.is_large_string(text))
    return pd.api.types.is_string_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype)


def _with_a_value(classes: pd.DataFrame, columns: list[Any]) -> pd.DataFrame:
    hidden = pd.Series(True, index=classes.index)
    for name in columns:
        hidden &= (classes[name] == _SUPPRESSED).fillna(False).astype(bool)
    return classes[~hidden]


def population_column(classes: ClassTable) -> str | None:
    """The column that says how many persons are like the records of a class."""
    return next((name for name in _POPULATION_COLUMNS if name in classes.columns), None)


def persons_like(
    classes: ClassTable, population: str | None, sampling_fraction: float | None
) -> Any:
    """How many persons of the population have the values of each class."""
    if population is not None and sampling_fraction is not None:
        raise AnonError(
            "the population is told twice, by a column and by sampling_fraction. Give one of them."
        )
    if sampling_fraction is not None:
        if not 0 < sampling_fraction <= 1:
            raise AnonError(
                f"sampling_fraction must be above 0 and at most 1, found {sampling_fraction:g}. "
                "It is records of the table / persons of the population."
            )
        return sizes_of(classes) / sampling_fraction
    column = population or population_column(classes)
    if column is None:
        raise AnonError(
            "this attacker looks in the population, and nothing tells how large that is. Give "
            "sampling_fraction, or a class table with the persons of each class in a column "
            "'population'."
        )
    if column not in classes.columns:
        raise DataError(
            f"column '{column}' with the persons of each class is not in the class table. "
            f"Columns: {[str(name) for name in classes.columns]}."
        )
    pairs = classes[[column]].assign(size=sizes_of(classes))
    if isinstance(pairs, pd.DataFrame):
        return _checked_persons(pairs, column)
    return pairs.map_partitions(_checked_persons, column, meta=(column, "float64"))


def _checked_persons(pairs: pd.DataFrame, column: str) -> pd.Series:
    persons = pairs[column].astype("float64")
    # Weights are summed, so a whole number may be missed by the last digits.
    wrong = int((~(persons >= pairs["size"] * (1 - 1e-9))).sum())
    if wrong:
        raise DataError(
            f"column '{column}' has fewer persons than records in "
            f"{counted(wrong, 'class', 'classes')}, or no number. A table is a sample of its "
            "population: count the population with the table's own people in it.",
            n_classes=wrong,
        )
    return persons


def highest(risks: Any) -> Any:
    """The highest of risks, 0 without any."""
    if isinstance(risks, pd.Series):
        return number(_largest(risks).max())
    # Partitions may be empty, and have no largest.
    return risks.map_partitions(_largest, meta=("risk", "float64")).max()


def _largest(risks: pd.Series) -> pd.Series:
    return pd.Series([risks.max() if len(risks) else 0.0], name="risk", dtype="float64")
