"""Combinations of values that occur in some columns, as small integers.

    records ──equivalence_classes──▶ one row a combination, with its records ──▶ codes, sizes
                                                                                 │ some columns
                                                                                 ▼
                                                                      classes of those columns

Records of equal values are one row, so whatever looks at all subsets of the columns works on the
combinations alone, of which there are far fewer than records where values repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dask_anon.classes import ClassTable, equivalence_classes
from dask_anon.errors import AnonError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Combinations:
    """Distinct combinations of values and how many records have each.

    Attributes
    ----------
    codes : int64 array, (combination, column)
        Equal values of a column have equal codes, from 0; a missing value is -1.
    sizes : int64 array, (combination,)
        Records.
    """

    codes: Integers
    sizes: Integers

    @classmethod
    def of(cls, classes: pd.DataFrame, columns: Sequence[str]) -> Combinations:
        """Those of a class table."""
        codes = [pd.factorize(classes[column])[0] for column in columns]
        sizes = classes["size"].to_numpy(dtype=np.int64)
        return cls(np.column_stack(codes).astype(np.int64, copy=False), sizes)

    def numbers(self, columns: Sequence[int], rows: Integers | None = None) -> Integers:
        """Number the classes that `columns` make, of some combinations or all, from 0."""
        codes = (self._by_column[i] if rows is None else self._by_column[i][rows] for i in columns)
        n_rows = len(self.sizes) if rows is None else len(rows)
        return _number(codes, self._n_codes[list(columns)], n_rows)

    def class_sizes(self, columns: Sequence[int]) -> Integers:
        """How many records each class has that `columns` make."""
        return sums(self.numbers(columns), self.sizes).astype(np.int64)

    @cached_property
    def _n_codes(self) -> Integers:
        return _n_codes(self.codes)

    @cached_property
    def _by_column(self) -> Integers:
        # A set of columns takes one value of many rows after the other.
        return np.ascontiguousarray(self.codes.T)


def number_rows(codes: Integers) -> Integers:
    """Number the distinct rows of codes, from 0 in the order in which they are first seen."""
    return _number(codes.T, _n_codes(codes), len(codes))


def _number(columns: Iterable[Integers], n_codes: Integers, n_rows: int) -> Integers:
    key, span = np.zeros(n_rows, np.int64), 1
    for column, n in zip(columns, n_codes.tolist(), strict=True):
        if span * n >= 2**63:
            key = pd.factorize(key)[0].astype(np.int64)
            span = n_rows
        key *= n
        key += column
        key += 1
        span *= n
    return np.asarray(pd.factorize(key)[0], np.int64)


def _n_codes(codes: Integers) -> Integers:
    return np.asarray(codes.max(axis=0, initial=-1) + 2)


def sums(numbers: Integers, amounts: npt.NDArray[Any]) -> Floats:
    """Amounts that have the same number, added. Integers stay exact up to 2**53."""
    return np.bincount(numbers, amounts).astype(np.float64, copy=False)


def combinations_table(
    frame: Any, quasi_identifiers: Sequence[str], *, weight: str | None = None, split_out: int = 1
) -> ClassTable:
    """One row a combination with its ``size`` and ``weight``; of Dask, `split_out` partitions."""
    columns = names_of(quasi_identifiers)
    if not columns:
        raise AnonError("quasi_identifiers is empty. Name the columns that others could know.")
    return equivalence_classes(frame, columns, weight=weight, split_out=split_out)


def names_of(quasi_identifiers: Sequence[str]) -> list[str]:
    """The columns, of which one may be given without a list."""
    return [quasi_identifiers] if isinstance(quasi_identifiers, str) else list(quasi_identifiers)


def look_up(frame: Any, columns: Sequence[str], table: Any, empty: pd.DataFrame) -> Any:
    """Figures of every record, from a table with one row a combination of `columns`.

    Rows, order and index are those of `frame`. Of Dask, every partition of the frame looks through
    every partition of the table, one after the other: a task holds one of each.
    """
    if isinstance(frame, pd.DataFrame):
        return _look_up(frame, table, None, list(columns), empty)
    found = None
    keys = frame[list(columns)]
    for i in range(table.npartitions):
        found = keys.map_partitions(
            _look_up,
            table.partitions[i],
            found,
            list(columns),
            empty,
            meta=empty,
            align_dataframes=False,
        )
    return found


def _look_up(
    frame: pd.DataFrame,
    table: pd.DataFrame,
    found: pd.DataFrame | None,
    columns: list[str],
    empty: pd.DataFrame,
) -> pd.DataFrame:
    figures = list(empty.columns)
    merged = frame[columns].merge(table[columns + figures], on=columns, how="left")
    merged = merged[figures].set_axis(frame.index)
    # What no part of the table has stays missing until the caller fills it.
    return merged if found is None else found.where(found.notna(), merged)
