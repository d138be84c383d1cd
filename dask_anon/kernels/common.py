"""What every kernel shares: how they are compiled, the code table, and the span of an attribute.

Codes are unsigned integers that keep the order of the values (``dask_anon.hierarchy``). How far two
codes lie apart depends on the kind of the attribute:

    DIFFERENCE  numbers, dates, ordered categories: the difference of the codes; a missing value
                lies one step past the maximum
    FLOAT       floats: the difference of the values whose order-preserving image the codes are;
                a missing value lies at the maximum
    DISTINCT    nominal values: the distinct labels covered
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types, uint64, uintp
from numba.extending import intrinsic

from dask_anon.kernels.vector import LANES

Array = npt.NDArray[Any]

compiled = partial(
    njit, nogil=True, cache=True, boundscheck=False, error_model="numpy", no_cfunc_wrapper=True
)

DIFFERENCE, FLOAT, DISTINCT = 0, 1, 2
LEFT, EITHER, DIVIDE = 0, 1, 2
EVERY_KEY = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Scale:
    """How spans are measured: one entry an attribute, in policy order.

    Attributes
    ----------
    kind : int64 array
        DIFFERENCE, FLOAT or DISTINCT.
    width : float64 array
        The span of the whole table, by which spans are divided. 0 for a constant attribute.
    offset : float64 array
        Subtracted from a count of distinct labels before the division: (distinct - offset) / width.
    missing : uint64 array
        The code of a missing value.
    top : float64 array
        For FLOAT: where a missing value lies, the largest value of the table, halved.
    priority : int64 array
        The attributes in the order in which equal spans are tried.
    n_codes : int64 array
        For DISTINCT: labels, the missing one included; 0 otherwise.
    """

    kind: Array
    width: Array
    offset: Array
    missing: Array
    top: Array
    priority: Array
    n_codes: Array

    @property
    def n_attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.kind)


@intrinsic
def _float_of_bits(typingctx, bits):
    signature = types.float64(types.uint64)

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return signature, emit


@compiled
def half_of_float(code):
    """Half of the float whose order-preserving image is `code`.

    Halves, because the difference of two floats may overflow where that of their halves does not.
    """
    high = uint64(1) << uint64(63)
    bits = code ^ high if code & high else ~code
    return _float_of_bits(uint64(bits)) * 0.5


@compiled
def span(kind, low, high, distinct, width, offset, missing, top):
    """Span of an attribute that covers the codes `low` to `high`, `distinct` of them; 0 to 1."""
    if width == 0.0:
        return 0.0
    if kind == DISTINCT:
        return (distinct - offset) / width
    if kind == FLOAT:
        above = top if uint64(high) == missing else half_of_float(uint64(high))
        below = top if uint64(low) == missing else half_of_float(uint64(low))
        return (above - below) / width
    return np.float64(uint64(high) - uint64(low)) / width


@compiled
def total_span(kind, low, high, size, width, offset, missing, top):
    """Spans of many classes of an ordered attribute, each counted `size` times, summed."""
    total = 0.0
    for c in range(size.size):
        total += size[c] * span(kind, low[c], high[c], 0, width, offset, missing, top)
    return total


def n_lanes(n_columns: int, dtype: np.dtype[Any]) -> int:
    """Lanes of a record in a code table: the codes, the record's number, padded to whole blocks."""
    number = 2 if dtype.itemsize == 2 else 1
    return -(-(n_columns + number) // LANES) * LANES


def code_table(n_records: int, n_columns: int, dtype: np.dtype[Any]) -> Array:
    """An empty code table of shape (records, lanes), its first byte on a cache line."""
    return _aligned(n_records, n_lanes(n_columns, dtype), dtype)


def table_like(table: Array) -> Array:
    """An empty code table of the same shape."""
    n_records, lanes = table.shape
    return _aligned(n_records, lanes, table.dtype)


def _aligned(n_records: int, lanes: int, dtype: np.dtype[Any]) -> Array:
    n_bytes = n_records * lanes * dtype.itemsize
    raw = np.empty(n_bytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n_bytes].view(dtype).reshape(n_records, lanes)


def record_numbers(table: Array) -> Array:
    """The lane with the record's number, as a strided view."""
    if table.dtype.itemsize == 2:
        return table.view(np.uint32)[:, -1]
    return table[:, -1]


@compiled
def fill_table(rows, n_attributes, table, first):
    """Copy compact codes (records, attributes) into `table` from record `first` on."""
    lanes = uintp(table.shape[1])
    for i in range(rows.shape[0]):
        at = uintp(first + i)
        for j in range(n_attributes):
            table[at, uintp(j)] = rows[uintp(i), uintp(j)]
        for j in range(uintp(n_attributes), lanes):
            table[at, j] = 0


@compiled
def number_records(numbers):
    """Number the records of a code table from 0."""
    for i in range(numbers.size):
        numbers[i] = i
