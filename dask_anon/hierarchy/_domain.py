"""A column's domain: the values it takes, as small integers that keep their order.

    integer   code = value - minimum, in units of the type (days, microseconds, 10**-scale)
    float     code = the bits of the float64, turned so that unsigned integers sort as numbers do

A missing value is one code past the last. Codes are exact: decoding gives the values back, bit for
bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dask_anon.errors import DataError
from dask_anon.hierarchy._arrow import (
    BLOCK,
    add_wide,
    blocks,
    chunks_of,
    from_words,
    nulls,
    subtract_wide,
    words,
)
from dask_anon.hierarchy._types import Kind, common_type

Codes = NDArray[Any]
SpanKind = Literal["difference", "float", "distinct"]

LARGEST_CODE = 2**64 - 1
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Domain(ABC):
    """The values of one column and their codes.

    Attributes
    ----------
    column : str
    type : pyarrow.DataType
        Of the source, widened where partitions differ.
    has_missing : bool
        Whether the column holds missing values (True when nobody knows).
    """

    column: str
    type: pa.DataType
    has_missing: bool

    kind: ClassVar[Kind]
    span_kind: ClassVar[SpanKind]

    @property
    @abstractmethod
    def n_codes(self) -> int | None:
        """How many codes values may have, without the missing one; None for floats."""

    @property
    def missing_code(self) -> int:
        """The code of a missing value: past every other."""
        return LARGEST_CODE if self.n_codes is None else self.n_codes

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every code: two, four or eight bytes."""
        for dtype in (np.uint16, np.uint32):
            if self.missing_code <= np.iinfo(dtype).max:
                return np.dtype(dtype)
        return np.dtype(np.uint64)

    @property
    def min_code(self) -> int:
        """The smallest code of a value."""
        return 0

    @property
    def max_code(self) -> int:
        """The largest code of a value; below `min_code` when the column holds no values."""
        return (self.n_codes or 0) - 1

    @property
    def labels(self) -> pa.Array | None:
        """The labels in code order, of nominal and ordinal kinds."""
        return None

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Codes:
        """The code of every row; nulls and NaN get `missing_code`: -> (n,).

        Raises
        ------
        DataError
            When a value lies outside the domain: the data has changed since the domain was taken.
        """
        codes = np.empty(len(array), self.code_dtype)
        n_outside = start = 0
        for chunk in chunks_of(self._conformed(array)):
            n_outside += self._encode_chunk(chunk, codes[start : start + len(chunk)])
            start += len(chunk)
        self._refuse_outside(n_outside)
        return codes

    def _refuse_outside(self, n_outside: int) -> None:
        if n_outside:
            raise DataError(
                f"column {self.column!r} has {n_outside} values outside the domain that was found "
                "before. Leave the data unchanged while it is read, or begin again.",
                column=self.column,
                n_outside=n_outside,
            )

    @abstractmethod
    def values(self, codes: Codes) -> pa.Array:
        """The values that `codes` stand for (labels for nominal and ordinal kinds)."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Everything but the labels as plain JSON; :func:`restore_domain` is the inverse."""

    @abstractmethod
    def _encode_chunk(self, chunk: pa.Array, out: Codes) -> int:
        """Write the codes of a chunk into `out`; return how many values are outside the domain."""

    def _conformed(self, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """The array in the type of the domain, if that is only a widening."""
        if array.type == self.type:
            return array
        if common_type(array.type, self.type) != self.type:
            raise DataError(
                f"column {self.column!r} is of type {array.type} here and of type {self.type} in "
                "its domain. Convert it to one type.",
                column=self.column,
            )
        return array.cast(self.type)

    def _described(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "type": str(self.type),
            "has_missing": self.has_missing,
        }


@dataclass(frozen=True)
class IntegerDomain(Domain):
    """Whole numbers, decimals, dates and times: ``code = value - minimum``.

    `minimum` and `maximum` are integers in units of the type; None when the column holds no values.
    """

    minimum: int | None
    maximum: int | None

    kind = "integer"
    span_kind = "difference"

    def __post_init__(self) -> None:
        if self.n_codes > LARGEST_CODE:
            raise DataError(
                f"column {self.column!r} spans more than 2**64 - 2 units of its type {self.type}. "
                "Round it, or convert it to a floating-point number.",
                column=self.column,
            )

    @property
    def n_codes(self) -> int:
        if self.minimum is None or self.maximum is None:
            return 0
        return self.maximum - self.minimum + 1

    def _encode_chunk(self, chunk: pa.Array, out: Codes) -> int:
        null = nulls(chunk)
        if self.n_codes == 0:
            out[:] = self.missing_code
            return len(chunk) - int(chunk.null_count)
        data = words(chunk)
        if data.ndim == 2:
            return self._encode_wide(data, null, out)
        return self._encode_words(data, null, out)

    def _encode_words(self, data: Codes, null: NDArray[np.bool_] | None, out: Codes) -> int:
        assert self.minimum is not None
        # Unsigned subtraction wraps, so that what lies below the minimum comes out large.
        base = data.dtype.type(self.minimum % (1 << (8 * data.itemsize)))
        last = min(self.max_code, int(np.iinfo(data.dtype).max))
        room = np.empty(min(BLOCK, len(data)), data.dtype)
        n_outside = 0
        for part in blocks(len(data)):
            code = room[: part.stop - part.start]
            np.subtract(data[part], base, out=code)
            if null is not None:
                np.multiply(code, ~null[part], out=code)  # faster than an assignment by mask
            if code.max() > last:
                n_outside += int(np.count_nonzero(code > last))
            out[part] = code
            if null is not None:
                np.putmask(out[part], null[part], self.missing_code)
        return n_outside

    def _encode_wide(self, data: Codes, null: NDArray[np.bool_] | None, out: Codes) -> int:
        assert self.minimum is not None
        n_outside = 0
        for part in blocks(len(data)):
            code, outside = subtract_wide(data[part], self.minimum)
            outside |= code > np.uint64(self.max_code)
            if null is not None:
                outside &= ~null[part]
            n_outside += int(np.count_nonzero(outside))
            out[part] = code
        if null is not None:
            out[null] = self.missing_code
        return n_outside

    def values(self, codes: Codes) -> pa.Array:
        return from_words(self.type, self.words_of(codes))

    def words_of(self, codes: Codes) -> Codes:
        """The Arrow words of the values (see :func:`dask_anon.hierarchy._arrow.words`)."""
        base = self.minimum or 0
        bits = self.type.bit_width
        if bits > 64:
            return add_wide(base, codes.astype(np.uint64), bits // 64)
        data = codes.astype(f"u{bits // 8}")
        data += data.dtype.type(base % (1 << bits))
        return data

    def describe(self) -> dict[str, Any]:
        return self._described() | {"minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True)
class FloatDomain(Domain):
    """Floating-point numbers of 16, 32 or 64 bits, coded by their order among all float64.

    The sign bit of a float64 is its highest, and the rest grows with the magnitude: turning all
    bits of a negative number and the sign bit of a positive one gives an unsigned integer in the
    order of the numbers, subnormal ones included. -0.0 is 0.0, and NaN is missing.
    """

    minimum: float | None
    maximum: float | None

    kind = "float"
    span_kind = "float"

    @classmethod
    def unbounded(cls, column: str, type_: pa.DataType) -> FloatDomain:
        """Every finite number: codes need no bounds, so that nothing has to be read for them."""
        largest = float(np.finfo(np.float64).max)
        return cls(column, type_, True, -largest, largest)

    def bounded(self, low: int, high: int, *, has_missing: bool) -> FloatDomain:
        """The domain with the extents that encoding found, as codes; none where low > high."""
        if low > high:
            return FloatDomain(self.column, self.type, has_missing, None, None)
        minimum, maximum = self.numbers(np.array([low, high], np.uint64)).tolist()
        return FloatDomain(self.column, self.type, has_missing, minimum, maximum)

    def _refuse_outside(self, n_outside: int) -> None:
        if self.maximum == float(np.finfo(np.float64).max) and n_outside:
            raise infinities(self.column, n_outside)
        super()._refuse_outside(n_outside)

    @property
    def n_codes(self) -> None:
        return None

    @property
    def min_code(self) -> int:
        return LARGEST_CODE if self.minimum is None else _image(self.minimum)

    @property
    def max_code(self) -> int:
        return -1 if self.maximum is None else _image(self.maximum)

    def _encode_chunk(self, chunk: pa.Array, out: Codes) -> int:
        null = nulls(chunk)
        if self.minimum is None:
            out[:] = self.missing_code
            values = words(chunk).view(f"f{chunk.type.bit_width // 8}")
            missing = np.isnan(values) if null is None else np.isnan(values) | null
            return len(chunk) - int(np.count_nonzero(missing))
        data = words(chunk).view(f"f{chunk.type.bit_width // 8}")
        room = np.empty(min(BLOCK, len(data)), np.float64)
        n_outside = 0
        first, last = np.uint64(self.min_code), np.uint64(self.max_code)
        for part in blocks(len(data)):
            number, code = room[: part.stop - part.start], out[part]
            np.add(data[part], 0.0, out=number)  # widens, and turns -0.0 into 0.0
            missing = np.isnan(number)
            if null is not None:
                missing |= null[part]
            float_image(number, code)
            if missing.any():
                code[missing] = first
                n_outside += _count_outside(code, first, last)
                code[missing] = self.missing_code
            else:
                n_outside += _count_outside(code, first, last)
        return n_outside

    def values(self, codes: Codes) -> pa.Array:
        width = self.type.bit_width // 8
        numbers = self.numbers(codes).astype(f"f{width}", copy=False)
        return from_words(self.type, numbers.view(f"u{width}"))

    def numbers(self, codes: Codes) -> NDArray[np.float64]:
        """The float64 that `codes` stand for."""
        codes = codes.astype(np.uint64, copy=False)
        positive = (codes.view(np.int64) >> 63).view(np.uint64)  # all ones or zero
        bits: NDArray[np.uint64] = codes ^ (~positive | _SIGN)
        return bits.view(np.float64)

    def describe(self) -> dict[str, Any]:
        return self._described() | {"minimum": self.minimum, "maximum": self.maximum}


def infinities(column: str, n: int) -> DataError:
    """The error for infinite values."""
    return DataError(
        f"column {column!r} has {n} infinite values. Replace them by missing values or by a "
        "largest number.",
        column=column,
        n_infinite=n,
    )


def float_image(numbers: NDArray[np.float64], out: Codes) -> None:
    """The order-preserving code of float64 numbers (no NaN, no -0.0)."""
    np.right_shift(numbers.view(np.int64), 63, out=out.view(np.int64))  # all ones if negative
    np.bitwise_or(out, _SIGN, out=out)
    np.bitwise_xor(out, numbers.view(np.uint64), out=out)


def _image(number: float) -> int:
    code = np.empty(1, np.uint64)
    float_image(np.array([number + 0.0]), code)
    return int(code[0])


def _count_outside(code: Codes, first: np.uint64, last: np.uint64) -> int:
    if code.min() >= first and code.max() <= last:
        return 0
    return int(np.count_nonzero((code < first) | (code > last)))
