"""What one pass over a column has to remember so that its domain is known.

    partition ─ summarize ─▶ Summary ┐
    partition ─ summarize ─▶ Summary ┼─ merge_summaries ─▶ Summary ─ domain_of ─▶ Domain
    footer  ── from_bounds ▶ Summary ┘

Ordered kinds remember their extremes, nominal ones their distinct labels; the order of merging
changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from dask_anon.errors import DataError
from dask_anon.hierarchy._arrow import chunks_of, nulls, words
from dask_anon.hierarchy._text import text_of
from dask_anon.hierarchy._types import (
    Kind,
    common_type,
    family,
    is_decimal,
    is_unsigned,
    kind_of,
    unit_ratio,
)


@dataclass(frozen=True)
class Summary:
    """The facts of one column in some of its rows.

    Attributes
    ----------
    minimum, maximum : int, float or None
        The extremes of an ordered kind, integers in units of the type (days, microseconds,
        10**-scale); None without values.
    n_missing : int or None
        Nulls and NaNs; None when a footer does not say.
    labels : pyarrow.Array or None
        Of nominal and ordinal kinds: the distinct labels, sorted by code point.
    orders : tuple of tuple of str
        Of the ordinal kind: the category orders seen, without those contained in another one.
    n_partitions : int
        How many summaries went into this one.
    """

    column: str
    kind: Kind
    type: pa.DataType
    n_missing: int | None
    minimum: Any = None
    maximum: Any = None
    n_infinite: int = 0
    labels: pa.Array | None = field(default=None, hash=False)
    orders: tuple[tuple[str, ...], ...] = ()
    n_partitions: int = 1

    @classmethod
    def from_bounds(
        cls,
        type: pa.DataType,
        minimum: Any,
        maximum: Any,
        n_missing: int | None,
        *,
        column: str = "",
    ) -> Summary:
        """A summary from the statistics of a Parquet footer, without reading a row.

        Only for integer kinds, whose statistics are exact; the bounds are Python values as pyarrow
        gives them (None for a row group that holds nulls only).
        """
        if kind_of(type) != "integer":
            raise TypeError(f"bounds describe integers, dates, times and decimals, not {type}")
        low, high = (None if end is None else _as_units(end, type) for end in (minimum, maximum))
        return cls(column, "integer", type, n_missing, low, high)


def summarize(array: pa.Array | pa.ChunkedArray, *, column: str) -> Summary:
    """The summary of a column in one partition."""
    kind = kind_of(array.type)
    if kind is None:
        raise DataError(
            f"column {column!r} is of type {array.type}, which has neither an order nor labels. "
            "Convert it to text, numbers or dates, or give it another role.",
            column=column,
        )
    chunks = [chunk for chunk in chunks_of(array) if len(chunk)]
    base = Summary(column, kind, array.type, array.null_count)
    if kind == "integer":
        return _with_extremes(base, [integer_extremes(chunk) for chunk in chunks])
    if kind == "float":
        return _float_summary(base, chunks)
    return _label_summary(base, chunks)


def merge_summaries(summaries: Sequence[Summary]) -> Summary:
    """One summary of the rows of all.

    Types are widened where every value stays what it is (int8 and int64, float32 and float64,
    seconds and microseconds, encoded and plain text, an all-null partition and anything).

    Raises
    ------
    DataError
        When a column is, say, integer in some partitions and text in others.
    """
    summaries = list(summaries)
    first = summaries[0]
    column = next((one.column for one in summaries if one.column), "")
    type_ = first.type
    for one in summaries[1:]:
        merged = common_type(type_, one.type)
        if merged is None:
            raise _mixed(column, summaries, type_, one.type)
        type_ = merged
    kind = kind_of(type_)
    assert kind is not None
    n_missing = [one.n_missing for one in summaries]
    base = Summary(
        column,
        kind,
        type_,
        None if None in n_missing else sum(n for n in n_missing if n is not None),
        n_infinite=sum(one.n_infinite for one in summaries),
        n_partitions=sum(one.n_partitions for one in summaries),
    )
    if kind in ("nominal", "ordinal"):
        labels = [one.labels for one in summaries if one.labels is not None and len(one.labels)]
        orders = maximal([order for one in summaries for order in one.orders])
        return replace(base, labels=_sorted_union(labels), orders=orders)
    return _with_extremes(base, [_rescaled(one, type_) for one in summaries])


def _mixed(column: str, summaries: Sequence[Summary], a: pa.DataType, b: pa.DataType) -> DataError:
    words_of = [family(a), family(b)]
    if words_of[0] == words_of[1]:  # one family, yet no common type: say the types themselves
        words_of = [str(a), str(b)]
    counts = [
        sum(one.n_partitions for one in summaries if word in (family(one.type), str(one.type)))
        for word in words_of
    ]
    return DataError(
        f"column {column!r} is {words_of[0]} in some partitions and {words_of[1]} in others "
        f"({counts[0]} and {counts[1]} partitions). Convert it to one type before, "
        "or name its type in the policy.",
        column=column,
    )


def _with_extremes(base: Summary, ends: Sequence[tuple[Any, Any]]) -> Summary:
    ends = [pair for pair in ends if pair[0] is not None]
    if not ends:
        return base
    return replace(base, minimum=min(low for low, _ in ends), maximum=max(h for _, h in ends))


def _rescaled(one: Summary, type_: pa.DataType) -> tuple[Any, Any]:
    if one.minimum is None or one.kind == "float":
        return one.minimum, one.maximum
    ratio = unit_ratio(one.type, type_)
    return one.minimum * ratio, one.maximum * ratio


def integer_extremes(chunk: pa.Array) -> tuple[int | None, int | None]:
    if chunk.type.bit_width > 64:
        ends = pc.min_max(chunk)
        if not ends["min"].is_valid:
            return None, None
        return _as_units(ends["min"].as_py(), chunk.type), _as_units(
            ends["max"].as_py(), chunk.type
        )
    sign = "uint" if is_unsigned(chunk.type) else "int"
    raw_type = pa.type_for_alias(f"{sign}{chunk.type.bit_width}")
    raw = pa.Array.from_buffers(raw_type, len(chunk), chunk.buffers(), offset=chunk.offset)
    ends = pc.min_max(raw)
    return ends["min"].as_py(), ends["max"].as_py()


def _as_units(value: Any, type_: pa.DataType) -> int:
    """A Python value as the integer that Arrow stores for it."""
    if is_decimal(type_):
        # By digits: arithmetic of decimals rounds to 28 of them.
        sign, digits, exponent = Decimal(value).as_tuple()
        size = int("".join(map(str, digits))) * 10 ** (int(exponent) + type_.scale)
        return -int(size) if sign else int(size)
    if isinstance(value, int) and not pt.is_integer(type_):
        return value  # a timestamp that Python's calendar does not hold
    word = words(pa.array([value], type_))
    return int(word[0] if is_unsigned(type_) else word.view(f"i{word.itemsize}")[0])


def _float_summary(base: Summary, chunks: Sequence[pa.Array]) -> Summary:
    ends: list[tuple[Any, Any]] = []
    n_nan = n_infinite = 0
    for chunk in chunks:
        values = words(chunk).view(f"f{chunk.type.bit_width // 8}")
        null = nulls(chunk)
        if null is not None:
            values = values[~null]
        finite = np.isfinite(values)
        if not finite.all():
            nan = int(np.count_nonzero(np.isnan(values)))
            n_nan += nan
            n_infinite += int(len(values) - np.count_nonzero(finite)) - nan
            values = values[finite]
        if len(values):
            # Adding zero turns -0.0 into 0.0: they are one value.
            ends.append((float(values.min()) + 0.0, float(values.max()) + 0.0))
    missing = (base.n_missing or 0) + n_nan
    return replace(_with_extremes(base, ends), n_missing=missing, n_infinite=n_infinite)


def _label_summary(base: Summary, chunks: Sequence[pa.Array]) -> Summary:
    labels: list[pa.Array] = []
    orders: list[tuple[str, ...]] = []
    n_missing = 0
    for chunk in chunks:
        if pt.is_dictionary(chunk.type):
            texts = text_of(chunk.dictionary)
            counts = use_counts(chunk)
            labels.append(texts.filter(pa.array(counts > 0)).drop_null())
            # A null (or NaN) may also stand in the dictionary.
            unused = nulls(texts)
            n_missing += len(chunk) - int(counts.sum())
            n_missing += 0 if unused is None else int(counts[unused].sum())
            if base.kind == "ordinal":
                orders.append(tuple(texts.drop_null().to_pylist()))
        elif not pt.is_null(chunk.type):
            n_missing += chunk.null_count
            labels.append(text_of(_distinct(chunk).drop_null()))
        else:
            n_missing += len(chunk)
    return replace(base, n_missing=n_missing, labels=_sorted_union(labels), orders=maximal(orders))


def _distinct(chunk: pa.Array) -> pa.Array:
    if str(chunk.type) == "string_view":  # few functions know it yet
        chunk = chunk.cast(pa.string())
    return pc.unique(chunk)


def use_counts(chunk: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How often each entry of a dictionary is used: -> (n_entries,)."""
    index = words(chunk.indices)
    null = nulls(chunk.indices)
    if null is not None:
        index = index[~null]
    return np.bincount(index.astype(np.intp), minlength=len(chunk.dictionary))


def _sorted_union(labels: Sequence[pa.Array]) -> pa.Array:
    if not labels:
        return pa.array([], pa.string())
    distinct = pc.unique(pa.chunked_array(labels, pa.string()))
    # Arrow sorts text by its UTF-8 bytes, which is the order of code points and of Python's str.
    return distinct.take(pc.sort_indices(distinct))


def maximal(orders: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The orders that are no subsequence of another one, in a fixed sequence."""
    kept: list[tuple[str, ...]] = []
    for order in sorted(set(orders), key=lambda order: (-len(order), order)):
        if not any(_is_subsequence(order, longer) for longer in kept):
            kept.append(order)
    return tuple(kept)


def _is_subsequence(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    rest = iter(whole)
    return all(label in rest for label in part)
