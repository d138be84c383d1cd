"""Labels that are plainly well written, told from their bytes.

    label  =  body [" | missing"]
    body   =  number  |  "[" number ", " number "]"      the second not below the first
           |  word    |  "{" word ", " word … "}"        words without quotes

A release has as many labels as classes, millions, and reading them one by one takes longer than to
make them. What this quick look does not know (quotes, time zones, numbers beyond 15 digits) is not
wrong: it is read by `dask_anon.hierarchy.parse_label`.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return"

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

INTEGER, FLOAT, DATE, WORDS = range(4)

Bytes = npt.NDArray[np.uint8]

_TAIL = np.frombuffer(b" | missing", dtype=np.uint8)
# What asks for quotes inside a word: , [ ] { } | " and what does not print.
_ASKS = np.zeros(256, dtype=np.bool_)
_ASKS[[*b',[]{}|"', *range(32), 127]] = True


@njit(nogil=True, cache=True)
def plainly_good(
    offsets: npt.NDArray[np.int64], data: Bytes, kind: int
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Tell for every text whether it is a label of its kind; False means: ask somebody else."""
    good = np.zeros(offsets.size - 1, dtype=np.bool_)
    for i in range(good.size):
        start, stop = offsets[i], offsets[i + 1]
        if stop - start > 10 and data[stop - 1] == 103 and _ends_with_missing(data, stop):
            stop -= 10
        if stop > start:
            good[i] = (
                _is_set(data, start, stop) if kind == 3 else _is_range(data, start, stop, kind)
            )
    return good


@njit(nogil=True, cache=True)
def _ends_with_missing(data: Bytes, stop: int) -> bool:  # pragma: no cover - compiled
    for j in range(10):  # noqa: SIM110 - the compiler knows no generators
        if data[stop - 10 + j] != _TAIL[j]:
            return False
    return True


@njit(nogil=True, cache=True)
def _is_range(data: Bytes, start: int, stop: int, kind: int) -> bool:  # pragma: no cover - compiled
    if data[start] != 91:  # [
        at, _ = _number(data, start, stop, kind)
        return at == stop
    if data[stop - 1] != 93:  # ]
        return False
    at, low = _number(data, start + 1, stop - 1, kind)
    if at < 0 or at + 2 >= stop or data[at] != 44 or data[at + 1] != 32:
        return False
    at, high = _number(data, at + 2, stop - 1, kind)
    # Floats are read here to within a few units in the last place.
    return at == stop - 1 and (low <= high if kind != 1 else low < high - 1e-12 * abs(high))


@njit(nogil=True, cache=True)
def _number(
    data: Bytes, at: int, stop: int, kind: int
) -> tuple[int, float]:  # pragma: no cover - compiled
    """Where a number ends (-1: it is none) and about its value."""
    if kind == 2:
        return _date(data, at, stop)
    sign = 1.0
    if at < stop and data[at] == 45:
        sign = -1.0
        at += 1
    first, value = at, 0.0
    at, value = _digits(data, at, stop, value)
    n_digits = at - first
    if n_digits == 0 or (n_digits > 1 and data[first] == 48):
        return -1, 0.0
    exponent = 0.0
    if kind == 1 and at < stop and data[at] == 46:
        point = at + 1
        at, value = _digits(data, point, stop, value)
        if at == point:
            return -1, 0.0
        n_digits += at - point
        exponent = np.float64(point - at)
    if n_digits > 15:
        return -1, 0.0
    if kind == 1 and at < stop and data[at] == 101:
        at += 1
        way = -1.0 if at < stop and data[at] == 45 else 1.0
        if at < stop and (data[at] == 45 or data[at] == 43):
            at += 1
        point = at
        at, power = _digits(data, at, stop, 0.0)
        if at == point or at - point > 2:
            return -1, 0.0
        exponent += way * power
    return at, sign * value * 10.0**exponent


@njit(nogil=True, cache=True)
def _digits(
    data: Bytes, at: int, stop: int, value: float
) -> tuple[int, float]:  # pragma: no cover - compiled
    while at < stop and 48 <= data[at] <= 57:
        value = 10.0 * value + (data[at] - 48)
        at += 1
    return at, value


@njit(nogil=True, cache=True)
def _date(data: Bytes, at: int, stop: int) -> tuple[int, float]:  # pragma: no cover - compiled
    if stop - at < 10 or data[at + 4] != 45 or data[at + 7] != 45:
        return -1, 0.0
    a, year = _digits(data, at, at + 4, 0.0)
    b, month = _digits(data, at + 5, at + 7, 0.0)
    c, day = _digits(data, at + 8, at + 10, 0.0)
    # A day that not every month has is left to the calendar.
    if a != at + 4 or b != at + 7 or c != at + 10 or not (1 <= month <= 12 and 1 <= day <= 28):
        return -1, 0.0
    return at + 10, year * 10_000 + month * 100 + day if year > 0 else 0.0


@njit(nogil=True, cache=True)
def _is_set(data: Bytes, start: int, stop: int) -> bool:  # pragma: no cover - compiled
    if data[start] != 123:  # {
        return _word(data, start, stop) == stop and not _is_missing(data, start, stop)
    n_words = 0
    at = start + 1
    while True:
        end = _word(data, at, stop - 1)
        if end < 0 or _is_missing(data, at, end):
            return False
        n_words += 1
        if end == stop - 1:
            return n_words > 1 and data[end] == 125  # }
        if data[end] != 44 or data[end + 1] != 32:
            return False
        at = end + 2


@njit(nogil=True, cache=True)
def _word(data: Bytes, at: int, stop: int) -> int:  # pragma: no cover - compiled
    """Where a word without blanks around it ends; -1 if there is none."""
    start = at
    while at < stop and not _ASKS[data[at]]:
        at += 1
    if at == start or data[start] == 32 or data[at - 1] == 32 or data[start] > 126:
        return -1  # letters beyond ASCII may be blanks as well
    return at


@njit(nogil=True, cache=True)
def _is_missing(data: Bytes, start: int, stop: int) -> bool:  # pragma: no cover - compiled
    if stop - start != 7:
        return False
    for j in range(7):  # noqa: SIM110
        if data[start + j] != _TAIL[3 + j]:
            return False
    return True
