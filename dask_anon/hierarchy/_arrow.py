"""Arrow buffers as numpy arrays and back, without a copy.

Codes are made straight from the buffers: a column of 64-bit integers is already the array that we
need. A fixed width type is seen as its unsigned words, ``(n,)`` up to 64 bits and ``(n, 2)`` or
``(n, 4)`` (low word first) for wide decimals; arithmetic on unsigned words wraps around, which is
exactly subtraction of signed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[Any]
Mask = NDArray[np.bool_]

# Rows worked on at a time: 8 bytes x 32Ki stays in the second level cache (1M int64: 1.2 ms, whole
# array 3 ms).
BLOCK = 1 << 15


def chunks_of(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The contiguous pieces of a column."""
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``range(n)``."""
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def words(array: pa.Array) -> Words:
    """The values of a fixed width array as unsigned words, arbitrary under a null."""
    bits = array.type.bit_width
    dtype, lanes = (np.dtype("u8"), bits // 64) if bits > 64 else (np.dtype(f"u{bits // 8}"), 1)
    n = len(array)
    if n == 0:
        flat = np.empty(0, dtype)
    else:
        flat = np.frombuffer(
            array.buffers()[1], dtype, count=n * lanes, offset=array.offset * bits // 8
        )
    return flat.reshape(n, lanes) if lanes > 1 else flat


def bits_of(buffer: pa.Buffer, offset: int, n: int) -> Mask:
    """`n` bits of a bitmap as booleans."""
    first = offset // 8
    packed = np.frombuffer(buffer, np.uint8, count=(offset % 8 + n + 7) // 8, offset=first)
    unpacked = np.unpackbits(packed, bitorder="little")[offset % 8 : offset % 8 + n]
    return unpacked.view(np.bool_)


def nulls(array: pa.Array) -> Mask | None:
    """True where the array is null, or None when it has no nulls."""
    if array.null_count == 0:
        return None
    if pa.types.is_null(array.type):
        return np.ones(len(array), np.bool_)
    return ~bits_of(array.buffers()[0], array.offset, len(array))


def from_words(type_: pa.DataType, data: Words, valid: Mask | None = None) -> pa.Array:
    """An array of `type_` over `data` (as :func:`words` gives it), null where not `valid`."""
    n = len(data)
    bitmap, n_null = None, 0
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
        n_null = n - int(np.count_nonzero(valid))
    buffer = pa.py_buffer(np.ascontiguousarray(data))
    return pa.Array.from_buffers(type_, n, [bitmap, buffer], null_count=n_null)


def split_words(value: int, lanes: int) -> list[int]:
    """A signed integer as `lanes` unsigned 64-bit words, low word first."""
    return [(value >> (64 * lane)) & 0xFFFF_FFFF_FFFF_FFFF for lane in range(lanes)]


def add_wide(base: int, codes: Words, lanes: int) -> Words:
    """``base + codes`` as wide words: (n,) uint64 -> (n, lanes)."""
    total = np.empty((len(codes), lanes), np.uint64)
    carry: Any = codes
    for lane, word in enumerate(split_words(base, lanes)):
        np.add(carry, np.uint64(word), out=total[:, lane])
        carry = (total[:, lane] < np.uint64(word)).astype(np.uint64)
    return total


def subtract_wide(data: Words, base: int) -> tuple[Words, Mask]:
    """``data - base`` of wide words, and where the difference does not fit in ``0 … 2**64-1``."""
    lanes = data.shape[1]
    parts = split_words(base, lanes)
    low = data[:, 0] - np.uint64(parts[0])
    borrow = data[:, 0] < np.uint64(parts[0])
    outside = np.zeros(len(data), np.bool_)
    for lane in range(1, lanes):
        word = np.uint64(parts[lane])
        high = data[:, lane] - word
        next_borrow = (data[:, lane] < word) | ((high == 0) & borrow)
        outside |= (high - borrow.astype(np.uint64)) != 0
        borrow = next_borrow
    return low, outside


def signed(word_row: Words) -> int:
    """One row of unsigned wide words as the signed integer that it means."""
    value = sum(int(word) << (64 * lane) for lane, word in enumerate(word_row))
    return value - (1 << (64 * len(word_row))) if int(word_row[-1]) >> 63 else value
