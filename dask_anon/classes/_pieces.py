"""The classes of one partition, in pieces that travel to where equal classes meet.

    partition ──hash──▶ its classes ──top bits of the hash──▶ Piece | Piece | Piece, a bucket each

A class occurs once in a partition's pieces, however many records it has: what travels grows with
the classes. Sensitive values travel as the distinct ones of each class with their counts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from dask_anon.classes._arrow import keys_of, values_array
from dask_anon.classes._grouping import Integers, number_equal
from dask_anon.classes._hashing import Keys, Words, hash_rows
from dask_anon.errors import DataError, counted

Floats = npt.NDArray[np.float64]

# Rows hashed at a time: their two lanes stay in the cache of a core.
_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class Layout:
    """What a class table shows: the columns that make it, and what is kept of each class.

    Attributes
    ----------
    columns : tuple of str
        Released columns of the quasi-identifiers.
    types : tuple of pyarrow.DataType, or None for a column of objects
        In which type they are compared.
    sensitive : tuple of str
        Columns whose values are counted.
    value_types : tuple of pyarrow.DataType
        Their types.
    weight : str, optional
        A column that is summed.
    labels : bool
        Whether the quasi-identifiers are kept.
    keys : Keys
        The secret of the hashes: the same for all partitions, or equal classes would not meet.
    """

    columns: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    sensitive: tuple[str, ...]
    value_types: tuple[pa.DataType, ...]
    weight: str | None
    labels: bool
    keys: Keys


@dataclass(frozen=True, eq=False)
class Sized:
    """Says how much memory its arrays hold, which Dask asks before it spills."""

    def __sizeof__(self) -> int:
        return sum(_bytes_of(getattr(self, field.name)) for field in fields(self))


def _bytes_of(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(_bytes_of(one) for one in value)
    if isinstance(value, Sized):
        return value.__sizeof__()
    return int(getattr(value, "nbytes", 0))


@dataclass(frozen=True, eq=False)
class Values(Sized):
    """Distinct values of one sensitive column in the classes of a piece, a row each.

    Attributes
    ----------
    classes : integer array
        Which class of the piece, ascending.
    codes : integer array
        Which value of the dictionary; its length: the missing one.
    counts : integer array
        How many records of the class have it.
    dictionary : pyarrow.Array
    """

    classes: Integers
    codes: Integers
    counts: Integers
    dictionary: pa.Array


@dataclass(frozen=True, eq=False)
class Piece(Sized):
    """Some classes of one partition, in the order in which they are first seen there.

    Attributes
    ----------
    hashes : uint64 array, (class, lane)
    sizes : int64 array, (class,)
        Records.
    weights : float64 array, (class,), optional
        Sum of their weights.
    labels : tuple of arrays
        The quasi-identifiers of one record of each class, if they are kept. No frame: a hundred
        small ones take as long to send as a large one to make.
    values : tuple of Values
        One a sensitive column.
    """

    hashes: Words
    sizes: Integers
    weights: Floats | None
    labels: tuple[Any, ...]
    values: tuple[Values, ...]


def pieces_of(frame: pd.DataFrame, layout: Layout, n_buckets: int) -> list[Piece]:
    """The classes of a partition, one piece a bucket."""
    hashes = _hashes_of(frame, layout)
    numbers, first = number_equal(hashes)
    bucket = buckets_of(hashes[first], n_buckets)
    # Stable: classes of a bucket stay in the order in which they are first seen. Of 16 bits NumPy
    # sorts in linear time.
    order = np.argsort(bucket.astype(np.uint16 if n_buckets < 1 << 16 else np.int64), kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(1, n_buckets + 1))
    first, numbers = first[order], _inverse(order)[numbers]
    sizes = np.bincount(numbers, minlength=len(first))
    weights = _weights_of(frame, layout, numbers, len(first))
    values = [
        _count_values(frame[column], type_, numbers)
        for column, type_ in zip(layout.sensitive, layout.value_types, strict=True)
    ]
    shown = [_array_of(frame[column]) for column in layout.columns] if layout.labels else []
    cuts = [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
    return [
        Piece(
            hashes=hashes[first[cut]],
            sizes=sizes[cut],
            weights=None if weights is None else weights[cut],
            labels=tuple(array.take(first[cut]) for array in shown),
            values=tuple(
                _values_between(one, cut.start, cut.stop, type_)
                for one, type_ in zip(values, layout.value_types, strict=True)
            ),
        )
        for cut in cuts
    ]


def buckets_of(hashes: Words, n_buckets: int) -> Integers:
    """Where each class goes: the top 32 bits of its first lane, as a share of the buckets."""
    top = hashes[:, 0] >> np.uint64(32)
    return (top * np.uint64(n_buckets) >> np.uint64(32)).astype(np.int64)


def _hashes_of(frame: pd.DataFrame, layout: Layout) -> Words:
    table = keys_of(frame, layout.columns, layout.types)
    hashes = np.empty((len(frame), 2), np.uint64)
    at = 0
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        hashes[at : at + len(batch)] = hash_rows(batch.columns, len(batch), layout.keys)
        at += len(batch)
    return hashes


def _array_of(column: pd.Series) -> Any:
    """What a column holds, in the form that travels lightest."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _inverse(order: Integers) -> Integers:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


def _weights_of(
    frame: pd.DataFrame, layout: Layout, numbers: Integers, n_classes: int
) -> Floats | None:
    if layout.weight is None:
        return None
    column = frame[layout.weight]
    n_missing = int(column.isna().sum())
    if n_missing:
        raise DataError(
            f"weight column '{layout.weight}' has no value in "
            f"{counted(n_missing, 'record', 'records')} of a partition. Give each one a weight.",
            column=layout.weight,
        )
    weights = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.bincount(numbers, weights, minlength=n_classes).astype(np.float64, copy=False)


def _count_values(column: pd.Series, type_: pa.DataType, numbers: Integers) -> Values:
    coded = values_array(column, type_)
    n_values = len(coded.dictionary) + 1  # the last one is what is missing
    codes = coded.indices.fill_null(n_values - 1).to_numpy().astype(np.int64)
    pairs = np.sort(numbers * n_values + codes)
    begins = np.flatnonzero(np.diff(pairs, prepend=-1))
    found = pairs[begins]
    counts = np.diff(begins, append=len(pairs))
    return Values(found // n_values, found % n_values, counts, coded.dictionary)


def _values_between(values: Values, start: int, stop: int, type_: pa.DataType) -> Values:
    """Those of the classes `start` to `stop`, numbered from 0."""
    begin, end = np.searchsorted(values.classes, [start, stop])
    classes, codes = values.classes[begin:end] - start, values.codes[begin:end]
    dictionary = values.dictionary
    # Every bucket would get all values, most of which it does not have. But the order of categories
    # is told by all of them.
    if len(dictionary) > len(codes) and not pt.is_dictionary(type_):
        used = np.unique(codes[codes < len(dictionary)])
        dictionary, codes = dictionary.take(pa.array(used)), np.searchsorted(used, codes)
    counts = values.counts[begin:end]
    # Half of what would travel otherwise.
    kind = np.int32 if counts.max(initial=0) < 1 << 31 else np.int64
    return Values(classes.astype(np.int32), codes.astype(np.int32), counts.astype(kind), dictionary)
