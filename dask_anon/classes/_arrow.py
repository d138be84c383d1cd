"""Columns of pandas frames as Arrow arrays in which a missing value is null, and nothing else is.

NaN, None, NaT and NA are one missing value, and -0.0 is 0.0. What Arrow has no type for (intervals,
periods, complex numbers, objects of several kinds) stands there as a category by its spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from dask_anon.errors import DataError

Spell = Callable[[Any], str | bytes]

_UNKNOWN_TO_ARROW = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


def key_type(column: pd.Series) -> pa.DataType | None:
    """The type in which keys of a column are compared; None for objects, which are spelled."""
    return None if column.dtype == object else _keys(column).type


def keys_of(
    frame: pd.DataFrame, columns: Sequence[str], types: Sequence[pa.DataType | None]
) -> pa.Table:
    """Columns of which equal values are found equal, and so are missing ones."""
    arrays = [_key_array(frame[c], type_) for c, type_ in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])


def _key_array(column: pd.Series, type_: pa.DataType | None) -> pa.ChunkedArray:
    array = _keys(column)
    found = array.type
    if type_ is None and not _is_text(found) and not pt.is_dictionary(found):
        # Objects that are numbers in this partition may be of several kinds in the next.
        return _spelled(column, _key_word)
    if type_ is None or found == type_ or _is_labels(found) or _is_labels(type_):
        return array
    try:
        return array.cast(type_)  # the bits of numbers and times are compared
    except _UNKNOWN_TO_ARROW:
        raise DataError(
            f"column '{column.name}' is of type {type_} by the table's description, and {found} "
            "in a partition. Convert it with astype before.",
            column=column.name,
        ) from None


def _keys(column: pd.Series) -> pa.ChunkedArray:
    array = _plain(column, _key_word)
    return _spelled(column, _key_word) if array is None else array


def values_array(column: pd.Series, type_: pa.DataType) -> pa.DictionaryArray:
    """Sensitive values as codes and a dictionary of `type_`; categories keep their order."""
    found = _values(column)
    if pt.is_null(found.type):
        found = found.cast(inner_type(type_))
    if not len(found):
        nothing = pa.array([], inner_type(type_))
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), nothing)
    array = found.dictionary_encode().unify_dictionaries().combine_chunks()
    try:
        dictionary = array.dictionary.cast(inner_type(type_))
    except _UNKNOWN_TO_ARROW:
        raise DataError(
            f"sensitive column '{column.name}' is of type {type_} by the table's description, and "
            f"{array.dictionary.type} in a partition. Convert it with astype before, or make its "
            "categories known.",
            column=column.name,
        ) from None
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), dictionary)


def inner_type(type_: pa.DataType) -> pa.DataType:
    """The type of the values themselves, categories or not."""
    return type_.value_type if pt.is_dictionary(type_) else type_


def value_type(column: pd.Series) -> pa.DataType:
    """The Arrow type in which the values of a sensitive column stand in a class table."""
    found = _values(column).type
    if pt.is_null(found) and column.dtype == object:
        return pa.string()
    if pt.is_dictionary(found):
        inner = found.value_type
        # A description without categories says nothing about their type.
        return pa.dictionary(pa.int32(), pa.string() if pt.is_null(inner) else inner, found.ordered)
    return found


def _values(column: pd.Series) -> pa.ChunkedArray:
    array = _plain(column, str)
    if array is not None:
        return array
    if column.dtype == object:
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        raise DataError(
            f"sensitive column '{column.name}' mixes types or holds no plain values "
            f"({', '.join(kinds)}). Convert it to one type before.",
            column=column.name,
        )
    return _spelled(column, str)


def _plain(column: pd.Series, spell: Spell) -> pa.ChunkedArray | None:
    """A column as Arrow has it; None where Arrow has nothing that can be compared."""
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column), name=column.name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _categories(column, spell)
    if isinstance(column.dtype, pd.PeriodDtype | pd.IntervalDtype) or column.dtype.kind == "c":
        return None
    try:
        array: Any = pa.Array.from_pandas(column)
    except _UNKNOWN_TO_ARROW:
        return None
    if isinstance(array, pa.Array):
        array = pa.chunked_array([array])
    if pt.is_nested(array.type) or isinstance(array.type, pa.BaseExtensionType):
        return None
    return _one_missing(array)


def _categories(column: pd.Series, spell: Spell) -> pa.ChunkedArray:
    labels = column.cat.categories.to_series()
    plain = _plain(labels, spell)
    known = _spellings(labels, spell) if plain is None else plain.combine_chunks()
    codes = np.asarray(column.cat.codes, np.int32)
    array = pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), known, ordered=bool(column.cat.ordered)
    )
    return pa.chunked_array([array])


def _one_missing(array: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = array.type
    if pt.is_dictionary(type_) or not pt.is_floating(type_):
        if str(type_) == "string_view":  # few functions know it yet
            return array.cast(pa.large_string())
        return array
    if pt.is_float16(type_):  # Arrow casts no half before pyarrow 19
        halves = [np.asarray(chunk.to_numpy(zero_copy_only=False)) for chunk in array.chunks]
        array = pa.chunked_array(
            [pa.array(half.astype(np.float32), from_pandas=True) for half in halves], pa.float32()
        )
    nan = pc.is_nan(array)
    if pc.any(nan, min_count=0).as_py():
        array = pc.if_else(nan, pa.scalar(None, array.type), array)
    return pc.add(array, pa.scalar(0.0, array.type))  # -0.0 + 0.0 is 0.0


def _spelled(column: pd.Series, spell: Spell) -> pa.ChunkedArray:
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:
        raise DataError(
            f"column '{column.name}' holds values that cannot be compared, such as lists. "
            "Convert it to text.",
            column=column.name,
        ) from None
    index = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(index, _spellings(distinct, spell))])


def _spellings(labels: Iterable[Any], spell: Spell) -> pa.Array:
    return pa.array(
        [spell(label) for label in labels], pa.string() if spell is str else pa.binary()
    )


def _key_word(value: Any) -> bytes:
    """Bytes that are equal for equal values; text as it is, all else begins as no text can."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating | Decimal):
        number = value.item() if isinstance(value, np.generic) else value
        try:
            return f"\xff{Fraction(number)}".encode("latin-1")
        except (OverflowError, ValueError):  # infinite
            return f"\xff{float(number)}".encode("latin-1")
    if isinstance(value, frozenset | tuple):
        words = [_key_word(one) for one in value]
        ordered = words if isinstance(value, tuple) else sorted(words)
        kind = b"\xfe" if isinstance(value, tuple) else b"\xfd"
        return kind + b"".join(len(word).to_bytes(8, "little") + word for word in ordered)
    return b"\xfc" + f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")


def _is_text(type_: pa.DataType) -> bool:
    return bool(pt.is_string(type_) or pt.is_large_string(type_))


def _is_labels(type_: pa.DataType) -> bool:
    return _is_text(type_) or bool(pt.is_dictionary(type_) or pt.is_null(type_))
