"""Pieces of one bucket, of whatever partitions, become rows of the class table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pandas.api.types import union_categoricals

from dask_anon.classes._arrow import inner_type
from dask_anon.classes._grouping import Integers, counts_by_class, number_equal
from dask_anon.classes._pieces import Layout, Piece, Values
from dask_anon.errors import DataError


def list_type(value_type: pa.DataType) -> pa.DataType:
    """Distinct values of a class with their counts."""
    return pa.list_(pa.struct([("value", value_type), ("n", pa.int64())]))


def empty_table(labels: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """A class table without a class, which tells the columns and types of any."""
    table = labels[list(layout.columns)].iloc[:0].reset_index(drop=True)
    table = table if layout.labels else table[[]]
    return _with_counts(
        table,
        np.empty(0, np.int64),
        None if layout.weight is None else np.empty(0, np.float64),
        [pa.array([], list_type(type_)) for type_ in layout.value_types],
        layout,
    )


def class_table(pieces: Sequence[Piece], layout: Layout) -> pd.DataFrame:
    """The classes of a bucket, in the order in which they are first seen."""
    starts = np.cumsum([0, *(len(piece.sizes) for piece in pieces)])
    numbers, first = number_equal(np.concatenate([piece.hashes for piece in pieces]))
    n_classes = len(first)
    # Sums of integers below 2**53 are exact in floating point.
    sizes = np.bincount(numbers, _joined(pieces, "sizes"), minlength=n_classes).astype(np.int64)
    weights = None
    if layout.weight is not None:
        weights = np.bincount(numbers, _joined(pieces, "weights"), minlength=n_classes)
    lists = []
    for i, (column, type_) in enumerate(zip(layout.sensitive, layout.value_types, strict=True)):
        values = [piece.values[i] for piece in pieces]
        classes = [numbers[start + one.classes] for start, one in zip(starts, values, strict=False)]
        lists.append(_lists_of(values, np.concatenate(classes), n_classes, type_, column))
    return _with_counts(_labels_of(pieces, first, layout), sizes, weights, lists, layout)


def _joined(pieces: Sequence[Piece], name: str) -> Any:
    return np.concatenate([getattr(piece, name) for piece in pieces])


def _labels_of(pieces: Sequence[Piece], first: Integers, layout: Layout) -> pd.DataFrame:
    """The quasi-identifiers of each class, where they are kept."""
    if not layout.labels:
        return pd.DataFrame(index=pd.RangeIndex(len(first)))
    # Empty partitions may have lost the types of their columns.
    full = [piece.labels for piece in pieces if len(piece.sizes)] or [pieces[0].labels]
    columns = [_together(arrays).take(first) for arrays in zip(*full, strict=True)]
    # By their own types: pandas would make text of objects.
    series = [pd.Series(column, dtype=column.dtype) for column in columns]
    return pd.DataFrame(dict(zip(layout.columns, series, strict=True)))


def _together(arrays: Sequence[Any]) -> Any:
    """Arrays of one column laid end to end; categories are united."""
    if len(arrays) == 1:
        return arrays[0]
    if all(isinstance(array.dtype, pd.CategoricalDtype) for array in arrays):
        return union_categoricals(list(arrays))
    # By their own types, here as well: which of them meet in a bucket is a matter of chance.
    return pd.concat([pd.Series(a, dtype=a.dtype, copy=False) for a in arrays]).array


def _with_counts(
    table: pd.DataFrame, sizes: Integers, weights: Any, lists: Sequence[pa.Array], layout: Layout
) -> pd.DataFrame:
    columns: dict[str, Any] = {"size": sizes}
    if weights is not None:
        columns["weight"] = weights
    for column, array in zip(layout.sensitive, lists, strict=True):
        columns[column] = pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))
    return table.assign(**columns)


def _lists_of(
    values: Sequence[Values],
    classes: Integers,
    n_classes: int,
    type_: pa.DataType,
    column: str,
) -> pa.ListArray:
    """The values of each class, ascending, the missing one last."""
    dictionary, translations = _united([one.dictionary for one in values], type_, column)
    codes = np.concatenate(
        [to[one.codes] for to, one in zip(translations, values, strict=True)], dtype=np.int64
    )
    counts = np.concatenate([one.counts for one in values], dtype=np.int64)
    offsets, codes, counts = counts_by_class(classes, codes, counts, n_classes)
    if len(codes) > np.iinfo(np.int32).max:
        raise DataError(
            f"column '{column}' has {len(codes):,} distinct values in the classes of one bucket, "
            f"more than {np.iinfo(np.int32).max:,}. Ask for more buckets with split_out.",
            column=column,
        )
    index = pa.array(codes.astype(np.int32), mask=codes == len(dictionary))
    if pt.is_dictionary(type_):
        shown = pa.DictionaryArray.from_arrays(index, dictionary, ordered=type_.ordered)
    else:
        shown = dictionary.take(index)
    struct = pa.StructArray.from_arrays(
        [shown, pa.array(counts)], fields=list(list_type(type_).value_type)
    )
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), struct, type=list_type(type_)
    )


def _united(
    dictionaries: Sequence[pa.Array], type_: pa.DataType, column: str
) -> tuple[pa.Array, list[Integers]]:
    """One dictionary in ascending order, and what the codes of each are in it."""
    together = pa.concat_arrays([one.cast(inner_type(type_)) for one in dictionaries])
    if pt.is_dictionary(type_) and type_.ordered:
        united = _longest(dictionaries, column)
        places = pc.index_in(together, value_set=united)
    else:
        coded = together.dictionary_encode()  # once: to look up each in the other costs more
        order = pc.sort_indices(coded.dictionary)
        united, places = coded.dictionary.take(order), _inverse(order).take(coded.indices)
    codes = places.fill_null(len(united)).to_numpy(zero_copy_only=False)
    ends = np.cumsum([len(one) for one in dictionaries])[:-1]
    return united, [np.append(part, len(united)) for part in np.split(codes, ends)]


def _inverse(order: pa.Array) -> pa.Array:
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    return pa.array(places)


def _longest(dictionaries: Sequence[pa.Array], column: str) -> pa.Array:
    """The ordered categories that all others are some of, in the same order."""
    longest = max(dictionaries, key=len)
    for dictionary in dictionaries:
        places = pc.index_in(dictionary, value_set=longest)
        if places.null_count or (np.diff(places.to_numpy(zero_copy_only=False)) <= 0).any():
            raise DataError(
                f"sensitive column '{column}' has ordered categories whose order differs between "
                "partitions. Give every partition the same categories.",
                column=column,
            )
    return longest
