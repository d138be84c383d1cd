"""What a written value is: one look at each, from its bytes, by rules that lose nothing.

A number counts as one only in the spelling in which it comes back: no leading zeros, no plus sign,
no blanks. A date is a day that exists. Everything else is text.
"""

from __future__ import annotations

from enum import IntEnum

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa


class Kind(IntEnum):
    """What a value looks like."""

    MISSING = 0
    EMPTY = 1  # quotes with nothing between them
    INTEGER = 2  # fits int64
    BIG = 3  # an integer that does not
    DECIMAL = 4
    CODE = 5  # digits with a leading zero
    BOOLEAN = 6
    DATE = 7
    TIMESTAMP = 8
    ZONED = 9  # a timestamp with its distance from UTC
    NONFINITE = 10  # nan, inf, or a number too large for a float
    IMPOSSIBLE = 11  # written as a date or timestamp, but no such day or hour
    TEXT = 12


_MISSING, _EMPTY, _INTEGER, _BIG, _DECIMAL, _CODE, _BOOLEAN = range(7)
_DATE, _TIMESTAMP, _ZONED, _NONFINITE, _IMPOSSIBLE, _TEXT = range(7, 13)

Kinds = npt.NDArray[np.uint8]


def examine(array: pa.StringArray) -> tuple[Kinds, npt.NDArray[np.int64]]:
    """The kind of each value, and what it stands for.

    That is the number itself for integers and codes, 0 or 1 for booleans, days since 1970 for dates
    and microseconds since 1970 (in UTC if zoned) for timestamps; else 0.
    """
    n = len(array)
    kinds = np.zeros(n, dtype=np.uint8)
    values = np.zeros(n, dtype=np.int64)
    if n:
        _, offsets, data = array.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + n + 1]
        text = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8)
        present = array.is_valid().to_numpy(zero_copy_only=False)
        _examine(text, bounds, present, kinds, values)
    return kinds, values


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _examine(
    text: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int32],
    present: npt.NDArray[np.bool_],
    kinds: Kinds,
    values: npt.NDArray[np.int64],
) -> None:
    for i in range(len(kinds)):
        if not present[i]:
            continue
        if bounds[i] == bounds[i + 1]:
            kinds[i] = _EMPTY
            continue
        kind, value = _one(text, bounds[i], bounds[i + 1])
        kinds[i] = kind
        values[i] = value


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _one(text: npt.NDArray[np.uint8], a: int, b: int) -> tuple[int, int]:
    c = text[a]
    kind: int
    value: int
    if 48 <= c <= 57 and b - a >= 10 and text[a + 4] == 45:
        kind, value = _moment(text, a, b)
        return kind, value
    if 48 <= c <= 57 or c == 45 or c == 46:
        kind, value = _number(text, a, b)
        if kind != _TEXT:
            return kind, value
    word = a
    if c == 43 or c == 45:
        word += 1
    if _spells(text, word, b, b"nan") or _spells(text, word, b, b"inf"):
        return _NONFINITE, 0
    if _spells(text, word, b, b"infinity"):
        return _NONFINITE, 0
    # True, true and TRUE, as pandas spells and reads them; tRUE is a word.
    if _spells(text, a, b, b"true") and _cased(text, a, b):
        return _BOOLEAN, 1
    if _spells(text, a, b, b"false") and _cased(text, a, b):
        return _BOOLEAN, 0
    return _TEXT, 0


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _spells(text: npt.NDArray[np.uint8], a: int, b: int, word: bytes) -> bool:
    if b - a != len(word):
        return False
    for i in range(len(word)):
        c = text[a + i]
        if 65 <= c <= 90:
            c += 32
        if c != word[i]:
            return False
    return True


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _cased(text: npt.NDArray[np.uint8], a: int, b: int) -> bool:
    first, second = text[a] <= 90, text[a + 1] <= 90
    for i in range(a + 1, b):
        if (text[i] <= 90) != second:
            return False
    return first or not second


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _number(text: npt.NDArray[np.uint8], a: int, b: int) -> tuple[int, int]:
    negative = text[a] == 45
    i = a + 1 if negative else a
    start = i
    value = np.uint64(0)
    while i < b and 48 <= text[i] <= 57:
        if i - start < 19:  # 19 digits fit uint64
            value = value * np.uint64(10) + np.uint64(text[i] - 48)
        i += 1
    n_whole = i - start
    if i == b:
        if n_whole == 0:
            return _TEXT, 0
        limit = np.uint64(1 << 63) if negative else np.uint64((1 << 63) - 1)
        if n_whole > 19 or value > limit:
            return _BIG, 0
        signed = int(np.int64(-value)) if negative else int(np.int64(value))
        if text[start] == 48 and n_whole > 1:
            return _CODE, signed
        if negative and value == 0:
            return _DECIMAL, 0  # -0 comes back as 0 from an integer
        return _INTEGER, signed
    if n_whole > 1 and text[start] == 48:
        return _TEXT, 0
    # The decimal exponent of the first digit that is not zero tells whether a float can hold it.
    leading = n_whole - 1 if n_whole > 0 and text[start] != 48 else -1
    significant = n_whole > 0 and text[start] != 48
    n_fraction = 0
    if text[i] == 46:
        i += 1
        while i < b and 48 <= text[i] <= 57:
            if not significant:
                if text[i] != 48:
                    significant = True
                else:
                    leading -= 1
            n_fraction += 1
            i += 1
    if n_whole + n_fraction == 0:
        return _TEXT, 0
    exponent = 0
    if i < b and (text[i] == 101 or text[i] == 69):
        i += 1
        sign = 1
        if i < b and (text[i] == 43 or text[i] == 45):
            sign = -1 if text[i] == 45 else 1
            i += 1
        if i == b:
            return _TEXT, 0
        while i < b and 48 <= text[i] <= 57:
            if exponent < 100000:
                exponent = exponent * 10 + (text[i] - 48)
            i += 1
        exponent *= sign
    if i != b:
        return _TEXT, 0
    if significant and leading + exponent > 308:
        return _NONFINITE, 0
    return _DECIMAL, 0


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _digits(text: npt.NDArray[np.uint8], a: int, n: int) -> int:
    """The number of n digits from a on; -1 if they are not digits."""
    value = 0
    for i in range(a, a + n):
        if not 48 <= text[i] <= 57:
            return -1
        value = value * 10 + (text[i] - 48)
    return value


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _moment(text: npt.NDArray[np.uint8], a: int, b: int) -> tuple[int, int]:
    year, month, day = _digits(text, a, 4), _digits(text, a + 5, 2), _digits(text, a + 8, 2)
    if year < 0 or month < 0 or day < 0 or text[a + 7] != 45:
        return _TEXT, 0
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    possible = year >= 1 and 1 <= month <= 12 and day >= 1
    if month == 2:
        possible = possible and day <= (29 if leap else 28)
    elif month == 4 or month == 6 or month == 9 or month == 11:
        possible = possible and day <= 30
    else:
        possible = possible and day <= 31
    # Days since 1970 in the proleptic Gregorian calendar, years counted from March (Hinnant, chrono
    # dates).
    y = year - 1 if month <= 2 else year
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = (
        y // 400 * 146097 + (y % 400) * 365 + (y % 400) // 4 - (y % 400) // 100 + of_year - 719468
    )
    if b - a == 10:
        return (_DATE, days) if possible else (_IMPOSSIBLE, 0)
    if b - a < 16 or (text[a + 10] != 32 and text[a + 10] != 84) or text[a + 13] != 58:
        return _TEXT, 0
    hour, minute, second = _digits(text, a + 11, 2), _digits(text, a + 14, 2), 0
    i = a + 16
    micros = 0
    if i < b and text[i] == 58:
        if b - i < 3:
            return _TEXT, 0
        second = _digits(text, i + 1, 2)
        i += 3
        if i < b and text[i] == 46:
            i += 1
            n = 0
            while i < b and 48 <= text[i] <= 57:
                if n < 6:
                    micros = micros * 10 + (text[i] - 48)
                elif text[i] != 48:
                    return _TEXT, 0  # finer than a microsecond would be cut off
                n += 1
                i += 1
            if n == 0:
                return _TEXT, 0
            while n < 6:
                micros *= 10
                n += 1
    if hour < 0 or minute < 0 or second < 0:
        return _TEXT, 0
    zoned = i < b
    offset = 0
    if zoned:
        if text[i] == 90 and i + 1 == b:
            pass
        elif text[i] == 43 or text[i] == 45:
            n = b - i
            if not (n == 3 or n == 5 or (n == 6 and text[i + 3] == 58)):
                return _TEXT, 0
            hours = _digits(text, i + 1, 2)
            minutes = 0 if n == 3 else _digits(text, b - 2, 2)
            if hours < 0 or minutes < 0:
                return _TEXT, 0
            possible = possible and hours < 24 and minutes < 60
            offset = (hours * 60 + minutes) * (-1 if text[i] == 45 else 1)
        else:
            return _TEXT, 0
    if not (possible and hour < 24 and minute < 60 and second < 60):
        return _IMPOSSIBLE, 0
    value = (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1_000_000 + micros
    return (_ZONED if zoned else _TIMESTAMP), value
