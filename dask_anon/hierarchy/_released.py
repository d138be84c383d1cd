"""What a release shows of an ordered column: intervals, bounds or midpoints.

    lo, hi, missing      interval              bounds                        midpoint
    3   7   False        "[23, 27]"            age_min 23, age_max 27        25.0
    3   3   True         "23 | missing"        23, 23, age_missing True      23.0
    1   0   True         null                  null, null, True              null

A class comes as its smallest and largest code; ``lo > hi`` says that it holds missing values only.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.errors import DataError
from dask_anon.hierarchy._arrow import Mask, add_wide, from_words, split_words
from dask_anon.hierarchy._domain import Codes, Domain, FloatDomain, IntegerDomain
from dask_anon.hierarchy._labelled import OrdinalDomain
from dask_anon.hierarchy._text import MISSING, join_text, text_of
from dask_anon.hierarchy._types import decimal_type, is_decimal

Format = Literal["interval", "bounds", "midpoint", "set"]

# Text is dictionary-encoded: a label is built once for all its rows, and Parquet writes it once.
TEXT = pa.dictionary(pa.int32(), pa.string())


def released_fields(domain: Domain, format: Format) -> list[pa.Field]:
    """The columns that a release has for this domain, in order.

    A nominal column is always a set, whatever the format asked.
    """
    column = domain.column
    if domain.kind == "nominal":
        return [pa.field(column, TEXT)]
    if format == "interval":
        return [pa.field(column, TEXT)]
    missing = [pa.field(f"{column}_missing", pa.bool_())] if domain.has_missing else []
    if format == "bounds":
        type_ = TEXT if domain.kind == "ordinal" else domain.type
        return [pa.field(f"{column}_min", type_), pa.field(f"{column}_max", type_), *missing]
    if format == "midpoint":
        return [pa.field(column, _midpoint_type(domain)), *missing]
    raise DataError(
        f"column {column!r} is {domain.kind} and has an order, so that it cannot be released as "
        f"{format!r}. Use 'interval', 'bounds' or 'midpoint'.",
        column=column,
    )


def released_arrays(
    domain: Domain, format: Format, lo: Codes, hi: Codes, missing: Mask | None
) -> list[pa.Array]:
    """The released columns of an ordered domain, one entry per entry of `lo` and `hi`.

    Parameters
    ----------
    lo, hi : array of codes
        The smallest and the largest code of the class of each row, without the missing code;
        ``lo > hi`` for a class of missing values only.
    missing : array of bool, optional
        Whether the class holds missing values; None for nowhere.

    Returns
    -------
    list of pyarrow.Array
        As :func:`released_fields` names them.
    """
    released_fields(domain, format)  # refuses what cannot be
    if domain.kind == "nominal":
        raise TypeError("a nominal column is released as sets: see set_labels")
    valid: Mask | None = lo <= hi
    if domain.n_codes == 0:  # no code is below the missing one, so that lo > hi cannot say it
        valid = np.zeros(len(lo), np.bool_)
    if valid is not None and valid.all():
        valid = None
    if format == "interval":
        return [_intervals(domain, lo, hi, missing, valid)]
    if valid is not None:  # any code will do under a null
        lo, hi = np.where(valid, lo, lo.dtype.type(0)), np.where(valid, hi, hi.dtype.type(0))
    if format == "bounds":
        arrays = [_values(domain, lo, valid), _values(domain, hi, valid)]
    else:
        arrays = [_midpoints(domain, lo, hi, valid)]
    if domain.has_missing:
        flags = np.zeros(len(lo), np.bool_) if missing is None else missing
        arrays.append(pa.array(flags))
    return arrays


def _values(domain: Domain, codes: Codes, valid: Mask | None) -> pa.Array:
    if isinstance(domain, IntegerDomain):
        return from_words(domain.type, domain.words_of(codes), valid)
    if isinstance(domain, FloatDomain):
        return _floats(domain.numbers(codes), domain.type, valid)
    index = pa.array(codes.astype(np.int32), mask=None if valid is None else ~valid)
    return pa.DictionaryArray.from_arrays(index, domain.labels)


def _floats(numbers: NDArray[np.float64], type_: pa.DataType, valid: Mask | None) -> pa.Array:
    width = type_.bit_width // 8
    return from_words(type_, numbers.astype(f"f{width}", copy=False).view(f"u{width}"), valid)


# ------------------------------------------------------------------ intervals


def _intervals(
    domain: Domain, lo: Codes, hi: Codes, missing: Mask | None, valid: Mask | None
) -> pa.Array:
    ids, first = _distinct(domain, lo, hi, missing, valid)
    labels = _interval_text(
        domain, lo[first], hi[first], None if missing is None else missing[first]
    )
    index = pa.array(ids, pa.int32(), mask=None if valid is None else ~valid)
    return pa.DictionaryArray.from_arrays(index, labels)


def _interval_text(domain: Domain, lo: Codes, hi: Codes, missing: Mask | None) -> pa.Array:
    if isinstance(domain, OrdinalDomain):
        low, high = (domain.quoted_labels.take(pa.array(codes)) for codes in (lo, hi))
    else:
        low, high = (text_of(domain.values(codes)) for codes in (lo, hi))
    text = pc.if_else(pa.array(lo == hi), low, join_text("[", low, ", ", high, "]"))
    if missing is not None and missing.any():
        text = pc.if_else(pa.array(missing), join_text(text, f" | {MISSING}"), text)
    return text


def _distinct(
    domain: Domain, lo: Codes, hi: Codes, missing: Mask | None, valid: Mask | None
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Number the distinct (lo, hi, missing): ids per row, and one row of each id."""
    n = len(lo)
    if n == 0 or (valid is not None and not valid.any()):
        return np.zeros(n, np.int32), np.empty(0, np.intp)
    if missing is not None and not missing.any():
        missing = None
    if domain.n_codes is None or domain.n_codes > 1 << 31:
        return _numbered_by_mixture(lo, hi, missing, valid)
    key = lo.astype(np.uint64)
    key *= np.uint64(domain.n_codes)
    key += hi
    size = domain.n_codes**2
    if missing is not None:
        key += key
        key += missing
        size *= 2
    _borrow_key(key, valid)
    if size <= max(4 * n, 1 << 12):
        return _numbered_by_table(key, size, valid)
    return _numbered_by_hash(key, valid)


def _borrow_key(key: NDArray[np.uint64], valid: Mask | None) -> None:
    """Give a row without values the key of the first one with values, lest it bring its own."""
    if valid is not None:
        np.putmask(key, ~valid, key[int(np.argmax(valid))])


def _numbered_by_table(
    key: NDArray[np.uint64], size: int, valid: Mask | None
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    # Few possible keys: a table of them is faster than hashing (6 against 12 ns a row).
    index = key.view(np.int64)
    row = np.full(size, -1, np.intp)
    if valid is None:
        row[index] = np.arange(len(key))
    else:
        row[index[valid]] = np.flatnonzero(valid)
    used = row >= 0
    number = np.cumsum(used, dtype=np.int32)
    number -= 1
    return np.take(number, index), row[used]


def _numbered_by_hash(
    key: NDArray[np.uint64], valid: Mask | None
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    # The hint spares the hash table its growth: 10 instead of 50 ms for 1M rows of 20,000 keys.
    ids, distinct = pd.factorize(key, size_hint=min(len(key), 1 << 18))
    first = np.empty(len(distinct), np.intp)
    rows = np.arange(len(ids)) if valid is None else np.flatnonzero(valid)
    first[ids[rows]] = rows
    return ids.astype(np.int32), first


def _numbered_by_mixture(
    lo: Codes, hi: Codes, missing: Mask | None, valid: Mask | None
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    # Two numbers of 64 bits do not fit in one: mix them, and look whether any two were mixed up.
    key = lo * np.uint64(0x9E37_79B9_7F4A_7C15)
    key ^= key >> np.uint64(29)
    key += hi * np.uint64(0xD6E8_FEB8_6659_FD93)
    if missing is not None:
        key ^= missing.astype(np.uint64) << np.uint64(63)
    _borrow_key(key, valid)
    ids, first = _numbered_by_hash(key, valid)
    same = (lo[first][ids] == lo) & (hi[first][ids] == hi)
    if missing is not None:
        same &= missing[first][ids] == missing
    if valid is not None:
        same |= ~valid
    if same.all():
        return ids, first
    flag = np.zeros(len(lo), np.uint64) if missing is None else missing.astype(np.uint64)
    (lo_id, _), (hi_id, hi_values) = pd.factorize(lo), pd.factorize(hi)
    key = lo_id.astype(np.uint64) * np.uint64(len(hi_values)) + hi_id.astype(np.uint64)
    key = key * np.uint64(2) + flag
    _borrow_key(key, valid)
    return _numbered_by_hash(key, valid)


# ------------------------------------------------------------------ midpoints


def _midpoint_type(domain: Domain) -> pa.DataType:
    type_ = domain.type
    if domain.kind == "ordinal":
        return TEXT
    if pt.is_integer(type_):
        return pa.float64()
    if is_decimal(type_):
        # Half a unit needs one digit more; where there is none, the midpoint is rounded down.
        return decimal_type(type_.precision + 1, type_.scale + 1) or type_
    return type_


def _midpoints(domain: Domain, lo: Codes, hi: Codes, valid: Mask | None) -> pa.Array:
    type_ = domain.type
    if isinstance(domain, FloatDomain):
        low, high = domain.numbers(lo), domain.numbers(hi)
        with np.errstate(over="ignore", invalid="ignore"):
            middle = (low + high) / 2
        # The sum of two large numbers overflows; halving first would lose subnormal ones.
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        return _floats(middle, type_, valid)
    half = lo + (hi - lo) // lo.dtype.type(2)
    if not isinstance(domain, IntegerDomain):
        return _values(domain, half, valid)
    if pt.is_integer(type_):
        return _integer_midpoints(domain, lo, hi, valid)
    if is_decimal(type_) and _midpoint_type(domain) != type_:
        return _decimal_midpoints(domain, lo, hi, valid)
    if pt.is_date64(type_):  # milliseconds that must stay whole days
        half = half - half % np.asarray(86_400_000, half.dtype) if len(half) else half
    return _values(domain, half, valid)


def _integer_midpoints(domain: IntegerDomain, lo: Codes, hi: Codes, valid: Mask | None) -> pa.Array:
    dtype = domain.type.to_pandas_dtype()
    low, high = (domain.words_of(codes).view(dtype).astype(np.float64) for codes in (lo, hi))
    return _floats((low + high) / 2, pa.float64(), valid)


def _decimal_midpoints(domain: IntegerDomain, lo: Codes, hi: Codes, valid: Mask | None) -> pa.Array:
    # In units of the new scale, ten times finer: (low + high) / 2 = minimum * 10 + (lo + hi) * 5.
    type_ = _midpoint_type(domain)
    base, lanes = 10 * (domain.minimum or 0), type_.bit_width // 64
    if domain.n_codes < 1 << 60:
        fives = (lo.astype(np.uint64) + hi.astype(np.uint64)) * np.uint64(5)
        return from_words(type_, add_wide(base, fives, lanes), valid)
    exact = [base + 5 * (int(a) + int(b)) for a, b in zip(lo, hi, strict=True)]
    data = np.array([split_words(value, lanes) for value in exact], np.uint64)
    return from_words(type_, data.reshape(len(lo), lanes), valid)
