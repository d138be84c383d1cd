"""Reading a released cell: the exact inverse of what intervals and sets are printed as.

"[23, 25] | missing"   Interval(low=23, high=25, missing=True)
"{a, b}"               LabelSet(labels=("a", "b"), missing=False)
null                   missing values only
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from dask_anon.errors import DataError
from dask_anon.hierarchy._text import MISSING, is_bare
from dask_anon.hierarchy._types import UNITS, is_decimal, kind_of

_TAIL = f" | {MISSING}"
_DURATION = re.compile(r"(-?)P(\d+)DT(\d+)H(\d+)M(\d+)(?:\.(\d+))?S")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-]\d\d:\d\d(?::\d\d)?)?)?"
)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?")


@dataclass(frozen=True)
class Interval:
    """A closed interval of values, maybe with missing ones; without bounds, missing ones only.

    The bounds are the Python values that pyarrow gives for the type, and the integer that Arrow
    stores where Python has none (a date after the year 9999, a time of day with nanoseconds).
    """

    low: Any
    high: Any
    missing: bool = False

    def __contains__(self, value: Any) -> bool:
        if value is None:
            return self.missing
        return self.low is not None and bool(self.low <= value <= self.high)


@dataclass(frozen=True)
class LabelSet:
    """A set of labels, maybe with missing values; without labels, missing ones only."""

    labels: tuple[str, ...]
    missing: bool = False

    def __contains__(self, value: Any) -> bool:
        return self.missing if value is None else value in self.labels


def parse_label(text: str | None, type: pa.DataType) -> Interval | LabelSet:
    """Read the released text of a column whose source was of `type`.

    Examples
    --------
    >>> parse_label("[-3, 5] | missing", pa.int64())
    Interval(low=-3, high=5, missing=True)
    >>> parse_label("{a, b}", pa.string())
    LabelSet(labels=('a', 'b'), missing=False)

    Raises
    ------
    DataError
        When the text is not one that a release prints for this type.
    """
    kind = kind_of(type)
    if text is None:
        return LabelSet((), True) if kind == "nominal" else Interval(None, None, True)
    missing = text.endswith(_TAIL)
    body = text[: -len(_TAIL)] if missing else text
    try:
        if kind == "nominal":
            return LabelSet(tuple(_labels(body, "{", "}")), missing)
        if kind == "ordinal":
            ends: list[Any] = list(_labels(body, "[", "]"))
        else:
            inner = body[1:-1].split(", ") if body[:1] + body[-1:] == "[]" else [body]
            ends = [_value(part, type) for part in inner]
    except (ValueError, ArithmeticError, pa.ArrowInvalid):
        ends = []
    # Two ends in brackets, or a point without them.
    if len(ends) != (2 if body[:1] == "[" else 1):
        raise DataError(
            f"a released label cannot be read as one of a column of type {type}. "
            "Check that the release was not changed, and that the type is that of the source."
        ) from None
    return Interval(ends[0], ends[-1], missing)


def _labels(body: str, opening: str, closing: str) -> Iterator[str]:
    """The labels of a list in brackets, or the only one."""
    if body[:1] == opening:
        if body[-1:] != closing:
            raise ValueError
        body = body[1:-1]
        several = True
    else:
        several = False
    decoder = json.JSONDecoder()
    place, n_labels = 0, 0
    while True:
        if body[place : place + 1] == '"':
            label, place = decoder.raw_decode(body, place)
        else:
            comma = body.find(",", place)
            end = len(body) if comma < 0 else comma
            label, place = body[place:end], end
            if not is_bare(label):
                raise ValueError
        n_labels += 1
        yield label
        if place == len(body):
            break
        if not several or body[place : place + 2] != ", ":
            raise ValueError
        place += 2
    if several != (n_labels > 1):
        raise ValueError


def _value(text: str, type_: pa.DataType) -> Any:
    if pt.is_integer(type_):
        if not re.fullmatch(r"-?\d+", text):
            raise ValueError
        return int(text)
    if pt.is_float64(type_):
        return float(text)
    if pt.is_float32(type_):  # straight to 32 bits: through 64 it would be rounded twice
        return pa.scalar(text).cast(pa.float32()).as_py()
    if pt.is_float16(type_):
        return float(np.float16(text))
    if is_decimal(type_):
        return _decimal(text, type_.scale)
    units = int(text[1:]) if text[:1] == "@" else _units(text, type_)
    return _python_value(units, type_)


def _decimal(text: str, scale: int) -> Decimal:
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        raise ValueError from None
    if not isinstance(exponent, int):
        raise ValueError
    # The exponent of the type, as pyarrow gives it, without rounding to the context's 28 digits.
    digits += (0,) * (exponent + scale)
    return Decimal((sign, digits, -scale))


def _units(text: str, type_: pa.DataType) -> int:
    """The integer that Arrow stores for a date, a time or a duration."""
    unit = 1000 if pt.is_date(type_) else UNITS[type_.unit]
    if pt.is_duration(type_):
        sign, days, hours, minutes, seconds, fraction = _matched(_DURATION, text)
        size = int(days) * 86_400 * unit + _clock(hours, minutes, seconds, fraction, unit)
        return -size if sign else size
    if pt.is_time(type_):
        hours, minutes, seconds, fraction = _matched(_TIME, text)
        return _clock(hours, minutes, seconds, fraction, unit)
    day, hours, minutes, seconds, fraction, offset = _matched(_MOMENT, text)
    days = dt.date.fromisoformat(day).toordinal() - dt.date(1970, 1, 1).toordinal()
    if pt.is_date32(type_):
        return days
    clock = 0 if hours is None else _clock(hours, minutes, seconds, fraction, unit)
    return days * 86_400 * unit + clock - _offset(offset) * unit


def _matched(pattern: re.Pattern[str], text: str) -> tuple[Any, ...]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError
    return match.groups()


def _clock(hours: str, minutes: str, seconds: str, fraction: str | None, unit: int) -> int:
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    part = 0 if fraction is None else int(fraction) * unit // 10 ** len(fraction)
    return whole * unit + part


def _offset(text: str | None) -> int:
    if text is None:
        return 0
    hours, minutes, *seconds = (int(part) for part in text[1:].split(":"))
    size = hours * 3600 + minutes * 60 + sum(seconds)
    return -size if text[0] == "-" else size


def _python_value(units: int, type_: pa.DataType) -> Any:
    raw = pa.array([units], pa.int32() if type_.bit_width == 32 else pa.int64())
    if pt.is_time(type_) and type_.unit == "ns" and units % 1000:
        return units
    try:
        return raw.view(type_)[0].as_py()
    except (ValueError, OverflowError):
        return units
