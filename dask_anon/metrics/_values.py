"""Sensitive values of a class table in the form in which figures of classes are taken.

    class table       illness                            sparse, for compiled figures
    2 records         [{flu, 1}, {hiv, 1}]      ──▶      codes   0 1 | 0     of class c:
    1 record          [{flu, 1}]                         counts  1 1 | 1     offsets[c] to [c + 1]

The codes are positions among the values of the whole table, which are counted first: one pass over
the class table for them, one for the figures, none over the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from dask_anon.errors import DataError, counted
from dask_anon.hierarchy import ValueCounts, count_values, merge_value_counts

Integers = npt.NDArray[np.int64]
SensitiveNulls = Literal["ignore", "value", "error"]

# A class table holds all values anyway.
_NO_CAP = 1 << 40


@dataclass(frozen=True, eq=False)
class Sparse:
    """Distinct codes of some classes: ascending in a class, every count above 0.

    Attributes
    ----------
    sizes : int64 array, (class,)
        Records, counted values or not.
    offsets : int64 array, (class + 1,)
        Where the codes of each class begin.
    codes, counts : int64 arrays
    """

    sizes: Integers
    offsets: Integers
    codes: Integers
    counts: Integers

    @property
    def classes(self) -> Integers:
        """The class of each code."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.offsets))

    @property
    def n_counted(self) -> Integers:
        """Records of each class whose values are counted."""
        running = np.concatenate([[0], np.cumsum(self.counts)])
        return np.asarray(np.diff(running[self.offsets]), np.int64)


@dataclass(frozen=True, eq=False)
class Whole:
    """The values of a sensitive column in the whole table.

    Attributes
    ----------
    values : ValueCounts
        In the order of the codes.
    counts : int64 array
        Records with each code that is counted; that of a missing value is the last, if it is one.
    """

    values: ValueCounts
    counts: Integers

    @classmethod
    def of(cls, values: ValueCounts, sensitive_nulls: SensitiveNulls) -> Whole:
        """Count a missing value as a value, leave it out, or refuse it."""
        if sensitive_nulls not in ("ignore", "value", "error"):
            raise DataError(
                f"sensitive_nulls is ignore, value or error, found {sensitive_nulls!r}."
            )
        if sensitive_nulls == "error" and values.n_missing:
            raise DataError(
                f"column {values.column!r} has "
                f"{counted(values.n_missing, 'missing value', 'missing values')}. Fill them, or "
                "choose ignore (they add nothing) or value (they are one).",
                column=values.column,
            )
        missing = [values.n_missing] if sensitive_nulls == "value" and values.n_missing else []
        return cls(values, np.append(values.counts, np.array(missing, np.int64)))

    @property
    def n_records(self) -> int:
        """Records whose values are counted."""
        return int(self.counts.sum())


def require_values(classes: Any, column: str) -> None:
    """Refuse a class table that does not have the values of a column."""
    if column not in classes.columns:
        raise DataError(
            f"the class table has no values of column '{column}'. Make it with "
            f"equivalence_classes(released, policy, sensitive=['{column}']). "
            f"Columns: {[str(name) for name in classes.columns]}."
        )
    dtype = classes[column].dtype
    type_ = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else None
    if type_ is None or not pt.is_list(type_) or not pt.is_struct(type_.value_type):
        raise DataError(
            f"column '{column}' of the class table is of type {dtype}, and lists of values with "
            "their counts are needed. Make it with equivalence_classes(released, policy, "
            f"sensitive=['{column}'])."
        )


def count_lists(part: pd.DataFrame, column: str) -> ValueCounts:
    """The values in some rows of a class table, and how many records have each."""
    _, values, n = _flat(part[column])
    found = count_values(values, column=column, cap=_NO_CAP)
    totals = np.bincount(found.encode(values), n, minlength=len(found.values) + 1).astype(np.int64)
    return replace(found, counts=totals[:-1], n_missing=int(totals[-1]))


def merge_counts(several: Sequence[ValueCounts]) -> ValueCounts:
    """The values of all."""
    return merge_value_counts(several, cap=_NO_CAP)


def sparse_of(part: pd.DataFrame, column: str, whole: Whole) -> Sparse:
    """Some rows of a class table with codes for values, those that are not counted left out."""
    lengths, values, n = _flat(part[column])
    codes = whole.values.encode(values).astype(np.int64)
    classes = np.repeat(np.arange(len(lengths)), lengths)
    kept = codes < len(whole.counts)
    if not kept.all():
        codes, classes, n = codes[kept], classes[kept], n[kept]
    begins_class = np.diff(classes) > 0
    if not (begins_class | (np.diff(codes) > 0)).all():
        # Texts in the order of the numbers that they spell.
        order = np.lexsort((codes, classes))
        codes, n = codes[order], n[order]
    offsets = np.searchsorted(classes, np.arange(len(lengths) + 1))
    return Sparse(part["size"].to_numpy(np.int64), offsets.astype(np.int64), codes, n)


def _flat(lists: pd.Series) -> tuple[Integers, pa.ChunkedArray, Integers]:
    """How many values each class has, all values, and all their counts."""
    array: Any = pa.Array.from_pandas(lists)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in chunks]
    pairs = [chunk.flatten() for chunk in chunks]
    counts = [pair.field("n").to_numpy() for pair in pairs]
    return (
        np.concatenate([np.empty(0, np.int64), *lengths]).astype(np.int64),
        pa.chunked_array(
            [pair.field("value") for pair in pairs], array.type.value_type.field("value").type
        ),
        np.concatenate([np.empty(0, np.int64), *counts]),
    )
