"""The distinct values of a sensitive column, and how many records have each.

    partition ─ count_values ─▶ ValueCounts ┐
    partition ─ count_values ─▶ ValueCounts ┼─ merge_value_counts ─▶ ValueCounts ─ encode ─▶ codes
                                            ┘

Numbers, dates and true/false are ordered by value, ordered categories by category, text and other
categories by code point. A NaN is missing, and -0.0 is 0.0. The order of merging changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.errors import DataError, counted
from dask_anon.hierarchy._arrow import chunks_of, nulls, words
from dask_anon.hierarchy._domain import IntegerDomain
from dask_anon.hierarchy._summary import integer_extremes, maximal, use_counts
from dask_anon.hierarchy._text import text_of
from dask_anon.hierarchy._types import Kind, common_type, family, is_decimal, kind_of

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Distinct values of one column in some of its rows.

    Attributes
    ----------
    column : str
    type : pyarrow.DataType
        Of the source, widened where partitions differ.
    values : pyarrow.Array
        The distinct values, ascending, none missing; the texts of categories.
    counts : int64 array
        Records that have each value.
    n_missing : int
        Records without a value.
    orders : tuple of tuple of str
        Of ordered categories: the orders seen, without those contained in another one.
    spelled : float64 array, optional
        The numbers that the texts spell, after :meth:`by_number`.
    """

    column: str
    type: pa.DataType
    values: pa.Array = field(repr=False)
    counts: Counts = field(repr=False)
    n_missing: int
    orders: tuple[tuple[str, ...], ...] = ()
    spelled: Floats | None = field(default=None, repr=False)

    @property
    def n_records(self) -> int:
        """Records counted, with and without a value."""
        return int(self.counts.sum()) + self.n_missing

    @property
    def kind(self) -> Kind:
        """How the column is coded."""
        kind = kind_of(self.type)
        assert kind is not None
        return kind

    @property
    def is_ordered(self) -> bool:
        """Whether the values have an order of their own, as numbers, dates and scales have."""
        return self.kind != "nominal"

    def encode(self, array: pa.Array | pa.ChunkedArray) -> NDArray[np.uint32]:
        """The position of every row's value; ``len(values)`` for a missing one: -> (n,).

        Raises
        ------
        DataError
            When values occur that were not counted: the data has changed since.
        """
        shared = common_type(array.type, self.type)
        if shared is None:
            raise DataError(
                f"column {self.column!r} is {family(array.type)} here and {family(self.type)} "
                "where its values were counted. Convert it to one type.",
                column=self.column,
            )
        known = self.values.cast(_plain_type(shared))
        codes = np.empty(len(array), np.uint32)
        start = n_unseen = 0
        for chunk in chunks_of(array):
            n_unseen += _encode_chunk(chunk, known, codes[start : start + len(chunk)])
            start += len(chunk)
        if n_unseen:
            raise DataError(
                f"column {self.column!r} has {counted(n_unseen, 'value', 'values')} that did not "
                "occur when its values were counted. Leave the data unchanged while it is read, or "
                "begin again.",
                column=self.column,
                n_unseen=n_unseen,
            )
        return codes

    def by_number(self) -> ValueCounts:
        """The same counts with texts in the order of the numbers that they spell.

        Raises
        ------
        DataError
            When some texts are no numbers.
        """
        if self.kind != "nominal" or pt.is_boolean(self.type) or self.spelled is not None:
            return self
        texts = [text.strip() for text in self.values.cast(pa.string()).to_pylist()]
        exact = [Decimal(text) if _NUMBER.fullmatch(text) else None for text in texts]
        n_other = sum(number is None or not np.isfinite(float(number)) for number in exact)
        if n_other:
            raise DataError(
                f"column {self.column!r} is text, and {n_other:,} of its {len(texts):,} distinct "
                "values are no numbers. Convert it to numbers, or choose `distance: equal`.",
                column=self.column,
                n_other=n_other,
            )
        known = [number for number in exact if number is not None]
        order = np.array(sorted(range(len(known)), key=known.__getitem__), np.int64)
        return replace(
            self,
            values=self.values.take(pa.array(order)),
            counts=self.counts[order],
            spelled=np.array([float(known[i]) for i in order], np.float64),
        )

    def numbers(self) -> Floats:
        """The values as floating-point numbers, true as 1.

        Raises
        ------
        DataError
            When the values are no numbers.
        """
        if self.spelled is not None:
            return self.spelled
        type_ = self.values.type
        if pt.is_integer(type_) or pt.is_floating(type_) or pt.is_boolean(type_):
            return np.array(self.values.to_numpy(zero_copy_only=False), np.float64)
        if is_decimal(type_):
            return np.array([float(value) for value in self.values.to_pylist()], np.float64)
        raise DataError(
            f"column {self.column!r} is {family(self.type)}, and numbers are needed. "
            "Name a column of numbers.",
            column=self.column,
        )

    def steps(self, *, by_rank: bool) -> Floats:
        """How far each value lies from the next one, as a share of the whole range: (m - 1,).

        All the same `by_rank`, else by the difference of the values (numbers, dates, times).

        Raises
        ------
        DataError
            When the values have no order, or no differences.
        """
        n_steps = max(0, len(self.values) - 1)
        if by_rank:
            self._require_order()
            return np.full(n_steps, 1 / max(1, n_steps))
        places = self._places()
        if n_steps == 0:
            return np.empty(0)
        steps: Floats = np.diff(places) / (places[-1] - places[0])
        return steps

    def _require_order(self) -> None:
        if not self.is_ordered and self.spelled is None and not pt.is_boolean(self.type):
            raise DataError(
                f"column {self.column!r} is {family(self.type)}, which has no order. Convert it to "
                "numbers or ordered categories, or choose `distance: equal`.",
                column=self.column,
            )
        if len(self.orders) > 1:
            raise DataError(
                f"column {self.column!r} has ordered categories whose order differs between "
                f"partitions ({len(self.orders)} orders, none of which contains the others). "
                "Give every partition the same categories.",
                column=self.column,
            )

    def _places(self) -> Floats:
        """Where the values lie on a line, up to a factor."""
        if self.spelled is not None:
            return self.spelled * 0.5
        if self.kind == "float":
            # Halves, because the difference of two floats may overflow where theirs does not.
            halves = self.numbers() * 0.5
            n_infinite = int(np.count_nonzero(np.isinf(halves)))
            if n_infinite:
                raise DataError(
                    f"column {self.column!r} has {n_infinite} infinite "
                    f"{'value' if n_infinite == 1 else 'values'}, which lie no measurable distance "
                    "from others. Replace them, or choose `distance: ordered`.",
                    column=self.column,
                )
            return halves
        if self.kind != "integer":
            raise DataError(
                f"column {self.column!r} is {family(self.type)}, and its values have no "
                "differences. Convert it to numbers, or choose `distance: ordered` or `equal`.",
                column=self.column,
            )
        low, high = integer_extremes(self.values)
        domain = IntegerDomain(self.column, self.values.type, False, low, high)
        return domain.encode(self.values).astype(np.float64)


def count_values(array: pa.Array | pa.ChunkedArray, *, column: str, cap: int) -> ValueCounts:
    """Count the values of a column in one partition.

    Parameters
    ----------
    array : pyarrow.Array or ChunkedArray
    column : str
        Its name, for messages.
    cap : int
        Distinct values that are allowed.

    Raises
    ------
    DataError
        When there are more, or when the type has neither an order nor labels.

    Examples
    --------
    >>> counted = count_values(pa.array(["flu", "hiv", None, "flu"]), column="illness", cap=10)
    >>> counted.values.to_pylist(), counted.counts.tolist(), counted.n_missing
    (['flu', 'hiv'], [2, 1], 1)
    """
    if kind_of(array.type) is None:
        raise DataError(
            f"column {column!r} is of type {array.type}, whose values cannot be counted. "
            "Convert it to text, numbers or dates.",
            column=column,
        )
    dictionary = pt.is_dictionary(array.type)
    pieces: list[tuple[pa.Array, Counts]] = []
    orders: list[tuple[str, ...]] = []
    for chunk in chunks_of(array):
        if dictionary:
            texts = text_of(chunk.dictionary)
            pieces.append((texts, use_counts(chunk)))
            if array.type.ordered:
                orders.append(tuple(texts.drop_null().to_pylist()))
        else:
            found = pc.value_counts(_plain(chunk))
            pieces.append((found.field(0), np.asarray(found.field(1), np.int64)))
    return _settled(column, array.type, pieces, len(array), maximal(orders), cap)


def merge_value_counts(several: Sequence[ValueCounts], *, cap: int) -> ValueCounts:
    """The counts of the rows of all; types are widened where every value stays what it is.

    Raises
    ------
    DataError
        When there are more than `cap` distinct values, or when a column is, say, integer in some
        partitions and text in others.
    """
    several = list(several)
    column, type_ = several[0].column, several[0].type
    for one in several[1:]:
        merged = common_type(type_, one.type)
        if merged is None:
            raise DataError(
                f"column {column!r} is {family(type_)} in some partitions and {family(one.type)} "
                "in others. Convert it to one type before, or name its type in the policy.",
                column=column,
            )
        type_ = merged
    orders = maximal([order for one in several for order in one.orders])
    pieces = [(one.values, one.counts) for one in several]
    return _settled(column, type_, pieces, sum(one.n_records for one in several), orders, cap)


def _encode_chunk(chunk: pa.Array, known: pa.Array, out: NDArray[np.uint32]) -> int:
    """Write positions in `known`; returns how many values are not in it."""
    missing, unseen = len(known), len(known) + 1
    dictionary = pt.is_dictionary(chunk.type)
    plain = _plain(chunk.dictionary if dictionary else chunk, text=dictionary).cast(known.type)
    positions = pc.index_in(plain, value_set=known)
    found = np.array(words(positions), np.uint32)
    not_found, null = nulls(positions), nulls(plain)
    if not_found is not None:
        found[not_found] = unseen
    if null is not None:
        found[null] = missing
    if dictionary:
        index, null = words(chunk.indices), nulls(chunk.indices)
        if null is not None:
            index = np.where(null, len(found), index.astype(np.intp))
        np.take(np.append(found, np.uint32(missing)), index, out=out, mode="clip")
    else:
        out[:] = found
    return int(np.count_nonzero(out == unseen)) if not_found is not None else 0


def _settled(
    column: str,
    type_: pa.DataType,
    pieces: Sequence[tuple[pa.Array, Counts]],
    n_records: int,
    orders: tuple[tuple[str, ...], ...],
    cap: int,
) -> ValueCounts:
    """Add up pieces of values and counts, sort them, and refuse too many."""
    plain = _plain_type(type_)
    values = pa.chunked_array([piece.cast(plain) for piece, _ in pieces], plain)
    coded = values.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    distinct = coded.dictionary
    counts = np.zeros(len(distinct) + 1, np.int64)  # one more, for what is null
    index = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    np.add.at(counts, index, np.concatenate([np.empty(0, np.int64), *(n for _, n in pieces)]))
    known = counts[:-1]
    if pt.is_null(plain):
        distinct, known = pa.array([], plain), counts[:0]
    keep = np.flatnonzero(known)
    order = keep[_ascending(distinct.take(pa.array(keep)), orders)]
    if len(order) > cap:
        raise DataError(
            f"column {column!r} has more than {cap:,} distinct values, too many to count for a "
            "privacy model. Round or group its values, or raise the setting anon.sensitive-cap.",
            column=column,
            cap=cap,
        )
    return ValueCounts(
        column,
        type_,
        distinct.take(pa.array(order)),
        known[order],
        n_records - int(known.sum()),
        orders,
    )


def _ascending(values: pa.Array, orders: tuple[tuple[str, ...], ...]) -> NDArray[np.int64]:
    if pt.is_null(values.type):
        return np.empty(0, np.int64)
    if len(orders) == 1:
        values = pc.index_in(values, value_set=pa.array(orders[0], values.type))
    return np.asarray(pc.sort_indices(values), np.int64)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """The type in which values are counted: functions know it, and categories are texts."""
    if pt.is_dictionary(type_) or str(type_) == "string_view":
        return pa.string()
    if pt.is_float16(type_):
        return pa.float32()
    if is_decimal(type_) and type_.bit_width < 128:
        return pa.decimal128(type_.precision, type_.scale)
    return type_


def _plain(array: pa.Array, *, text: bool = False) -> pa.Array:
    """The values as they are counted: NaN null, and one zero."""
    if text:
        return text_of(array)
    type_ = _plain_type(array.type)
    if pt.is_float16(array.type):  # Arrow casts no half before pyarrow 19
        numbers = array.to_numpy(zero_copy_only=False).astype(np.float32)
        array = pa.array(numbers, type_, mask=nulls(array))
    elif array.type != type_:
        array = array.cast(type_)
    if pt.is_floating(type_):
        nan = pc.is_nan(array)
        if pc.any(nan, min_count=0).as_py():
            array = pc.if_else(nan, pa.scalar(None, type_), array)
        array = pc.add(array, pa.scalar(0.0, type_))
    return array
