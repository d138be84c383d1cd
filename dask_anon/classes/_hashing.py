"""Released values to 128-bit keyed hashes: equal rows hash equally, whatever the file or chunk.

    columns ──▶ words (numbers by their bits, text by its bytes) ──mixed in, one by one──▶ two lanes

The two lanes of 64 bits are mixed with independent random keys, drawn anew for every count, so
nobody can prepare rows that collide. Taking the mixer for a random function, two of 10⁹ different
rows meet in both lanes with a probability of (10⁹)² / 2 / 2¹²⁸ ≈ 1.5e-21.

A null is a value of its own: it stands for another random word in each lane. NaN is a value as
well, and not the null, because whoever reads the file can tell the two apart; all NaN are one
value, and -0.0 is 0.0. How text is stored (plain, by dictionary, in which order) makes no
difference.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from dask_anon.errors import DataError

Words = npt.NDArray[np.uint64]

_NO_NULLS = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True)
class Keys:
    """The secret of one count: a pair of words, one a lane, for every use."""

    columns: Words  # (column, lane)
    null: Words  # (lane,)
    text: Words  # (lane,)

    @classmethod
    def draw(cls, n_columns: int) -> Keys:
        """Random keys for rows of `n_columns` values."""
        words = np.frombuffer(secrets.token_bytes(16 * (n_columns + 2)), dtype="<u8")
        pairs = words.astype(np.uint64).reshape(-1, 2)
        return cls(columns=pairs[2:].copy(), null=pairs[0].copy(), text=pairs[1].copy())


def hash_rows(columns: list[pa.Array], n_rows: int, keys: Keys) -> Words:
    """Hashes of the rows of a batch, shape (row, lane)."""
    # Lanes lie apart while they are mixed, which the compiler vectorizes: half the time.
    state = np.zeros((2, n_rows), dtype=np.uint64)
    for column, key in zip(columns, keys.columns, strict=True):
        _absorb(state, column, key, keys)
    return np.ascontiguousarray(state.T)


def _absorb(state: Words, array: pa.Array, key: Words, keys: Keys) -> None:
    kind = array.type
    if pa.types.is_dictionary(kind) and not _is_bytes(kind.value_type):
        return _absorb(state, array.dictionary_decode(), key, keys)
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return _absorb(state, array.cast(pa.binary()), key, keys)
    valid = _valid(array)
    if pa.types.is_dictionary(kind):
        # Each distinct label is hashed once and only then taken by code, so codes cannot reach
        # the hash. A null may hide in the dictionary as well.
        labels = _hash_texts(array.dictionary, keys)
        if array.dictionary.null_count:
            labels[~_valid(array.dictionary)] = keys.null
        _absorb_codes(state, _values(array.indices, np.int64), labels, valid, key, keys.null)
    elif _is_bytes(kind):
        _absorb_texts(state, _hash_texts(array, keys), valid, key, keys.null)
    elif pa.types.is_null(kind):
        none = np.zeros(len(array), dtype=np.bool_)
        _absorb_words(state, np.zeros(len(array), dtype=np.uint64), none, key, keys.null)
    else:
        for words in _words(array):
            _absorb_words(state, words, valid, key, keys.null)
    return None


def _hash_texts(array: pa.Array, keys: Keys) -> Words:
    """Hashes of single texts, shape (text, lane); what stands for a null is undefined."""
    pairs = np.empty((len(array), 2), dtype=np.uint64)
    _hash_bytes(*text_bytes(array), keys.text, pairs)
    return pairs


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Which rows hold a value; an empty array says that all do."""
    if array.null_count == 0:
        return _NO_NULLS
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def _values(array: pa.Array, to: Any) -> npt.NDArray[Any]:
    """Fixed-width values as numbers; what lies under a null is undefined."""
    width = array.type.bit_width // 8
    letter = "u" if str(array.type).startswith("uint") else "i"
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype=to)
    values = np.frombuffer(buffer, dtype=f"<{letter}{width}", count=array.offset + len(array))
    return values[array.offset :].astype(to, copy=False)


def _words(array: pa.Array) -> list[Words]:
    """Words that say which value of its type each row holds."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return [_values(array.cast(pa.uint8()), np.uint64)]
    if pa.types.is_unsigned_integer(kind):
        return [_values(array, np.uint64)]
    if pa.types.is_floating(kind):
        return [_float_words(array)]
    if pa.types.is_decimal(kind) and kind.bit_width > 64:
        return _wide_words(array)
    numbers = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if numbers or (pa.types.is_temporal(kind) and kind.bit_width <= 64):
        return [_values(array, np.int64).view(np.uint64)]
    raise DataError(
        f"equivalence classes cannot be counted by a column of type {kind}; "
        "release it as text, numbers, booleans, dates or decimals."
    )


def _wide_words(array: pa.Array) -> list[Words]:
    n_words = array.type.bit_width // 64
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return [np.zeros(len(array), dtype=np.uint64)] * n_words
    words = np.frombuffer(buffer, dtype="<u8", count=n_words * (array.offset + len(array)))
    table = words.reshape(-1, n_words)[array.offset :]
    return [np.ascontiguousarray(table[:, i]) for i in range(n_words)]


def _float_words(array: pa.Array) -> Words:
    width = array.type.bit_width // 8
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype=np.uint64)
    stored = np.frombuffer(buffer, dtype=f"<f{width}", count=array.offset + len(array))
    values = stored[array.offset :].astype(np.float64)
    values += 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan  # one of the many bit patterns
    return values.view(np.uint64)


def text_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text begins and ends in the bytes of all."""
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return np.zeros(len(array) + 1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    stored = np.frombuffer(offsets, dtype="<i8" if large else "<i4")
    window = stored[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return window, text


@njit(nogil=True, cache=True, inline="always")
def _mix(z: np.uint64) -> np.uint64:  # pragma: no cover - compiled
    """Return the finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _absorb_words(
    state: Words, words: Words, valid: npt.NDArray[np.bool_], key: Words, null: Words
) -> None:  # pragma: no cover - compiled
    for lane in range(2):
        s, k, nothing = state[lane], key[lane], null[lane]
        if valid.size == 0:
            for i in range(words.size):
                s[i] = _mix((s[i] + k) ^ words[i])
        else:
            # A null absorbs a different word in each lane, so no value can stand for it in both.
            for i in range(words.size):
                s[i] = _mix((s[i] + k) ^ (words[i] if valid[i] else nothing))


@njit(nogil=True, cache=True)
def _absorb_texts(
    state: Words, texts: Words, valid: npt.NDArray[np.bool_], key: Words, null: Words
) -> None:  # pragma: no cover - compiled
    for lane in range(2):
        s, k, nothing = state[lane], key[lane], null[lane]
        for i in range(texts.shape[0]):
            word = texts[i, lane] if valid.size == 0 or valid[i] else nothing
            s[i] = _mix((s[i] + k) ^ word)


@njit(nogil=True, cache=True)
def _absorb_codes(
    state: Words,
    codes: npt.NDArray[np.int64],
    labels: Words,
    valid: npt.NDArray[np.bool_],
    key: Words,
    null: Words,
) -> None:  # pragma: no cover - compiled
    for i in range(codes.size):
        kept = valid.size == 0 or valid[i]
        for lane in range(2):
            word = labels[codes[i], lane] if kept else null[lane]
            state[lane, i] = _mix((state[lane, i] + key[lane]) ^ word)


@njit(nogil=True, cache=True)
def _hash_bytes(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], key: Words, out: Words
) -> None:  # pragma: no cover - compiled
    for i in range(offsets.size - 1):
        start, stop = offsets[i], offsets[i + 1]
        # The length goes first: no text is the beginning of another.
        a = _mix(key[0] ^ np.uint64(stop - start))
        b = _mix(key[1] ^ np.uint64(stop - start))
        at = start
        while at < stop:
            word = np.uint64(0)
            for j in range(min(8, stop - at)):
                word |= np.uint64(data[at + j]) << np.uint64(8 * j)
            a = _mix((a + key[0]) ^ word)
            b = _mix((b + key[1]) ^ word)
            at += 8
        out[i, 0] = a
        out[i, 1] = b
