"""The text of values: what a label shows, exact enough to be read back.

Whole numbers, decimals and dates as Arrow prints them; floating-point numbers with the fewest
digits that give the same number back in their own width; timestamps in local time with the offset
that makes them unambiguous; durations as ISO 8601 (``P1DT2H3M4.5S``). A date that the calendar of
years 1 to 9999 does not hold is printed as ``@`` and its count of units since 1970.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.hierarchy._arrow import words
from dask_anon.hierarchy._types import UNITS, is_text

MISSING = "missing"

# Seconds since 1970 of the first and the last second of the calendar, 0001-01-01 and 9999-12-31.
# Both days are in use, for "always" and "until further notice".
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_DAY = 86_400
_NEEDS_QUOTES = rf'[,{{}}\[\]|"\x00-\x1f\x7f]|^$|^{MISSING}$'
_FIXED_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def text_of(array: pa.Array) -> pa.Array:
    """The text of every value, null where the value is null (or NaN)."""
    type_ = array.type
    if is_text(type_):
        return array.cast(pa.string())
    if pt.is_boolean(type_):
        return pc.if_else(array, "True", "False")
    if pt.is_floating(type_):
        return _float_text(array)
    if pt.is_timestamp(type_) or pt.is_date(type_):
        return _date_text(array)
    if pt.is_duration(type_):
        return _duration_text(array)
    return array.cast(pa.string())


def _float_text(array: pa.Array) -> pa.Array:
    if pt.is_float16(array.type):  # Arrow prints a half as if it were a float32
        numbers = array.to_numpy(zero_copy_only=False).astype(np.float16)
        text = pa.array(numbers.astype(str).astype(object), pa.string(), mask=np.isnan(numbers))
        return pc.replace_substring_regex(text, r"\.0$", "")
    return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.string()), array.cast(pa.string()))


def _date_text(array: pa.Array) -> pa.Array:
    type_ = array.type
    raw = array.view(pa.int32() if pt.is_date32(type_) else pa.int64())
    per_second = 1000 if pt.is_date64(type_) else UNITS.get(getattr(type_, "unit", ""), 1)
    # Local time in a zone may be on the day before or after.
    margin = 2 * _DAY if getattr(type_, "tz", None) else 0
    first, last = (_FIRST + margin) * per_second, (_LAST - margin) * per_second
    if pt.is_date32(type_):
        first, last = _FIRST // _DAY, _LAST // _DAY
    # Nanoseconds cover the years 1677 to 2262 only; a day of room there as well.
    room = _DAY * per_second
    first, last = max(first, -(2**63) + room), min(last, 2**63 - 1 - room)
    if pt.is_date32(type_):
        first, last = max(first, -(2**31)), min(last, 2**31 - 1)
    far = pc.or_(
        pc.less(raw, pa.scalar(first, raw.type)), pc.greater(raw, pa.scalar(last, raw.type))
    )
    if not pc.any(far, min_count=0).as_py():
        return _calendar_text(array)
    near = pc.if_else(far, pa.scalar(None, raw.type), raw).view(type_)
    return pc.coalesce(_calendar_text(near), join_text("@", raw.cast(pa.string())))


def _calendar_text(array: pa.Array) -> pa.Array:
    type_ = array.type
    if pt.is_date(type_):
        return array.cast(pa.string())
    naive = pa.timestamp(type_.unit)
    if type_.tz is None:
        return _without_zero_fraction(array.cast(pa.string()))
    utc = array.view(pa.int64())
    local = _local(array, type_)
    seconds = pc.divide(pc.subtract(local, utc), UNITS[type_.unit])
    text = _without_zero_fraction(local.view(naive).cast(pa.string()))
    offsets = seconds.dictionary_encode()
    names = pa.array(
        [None if s is None else _offset_name(s) for s in offsets.dictionary.to_pylist()],
        pa.string(),
    )
    return join_text(text, names.take(offsets.indices))


def _local(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Local wall time as integers of the same unit."""
    if match := _FIXED_OFFSET.fullmatch(type_.tz):
        seconds = (int(match[2]) * 60 + int(match[3])) * (-60 if match[1] == "-" else 60)
        return pc.add(array.view(pa.int64()), pa.scalar(seconds * UNITS[type_.unit], pa.int64()))
    try:
        return pc.local_timestamp(array).view(pa.int64())
    except pa.ArrowInvalid:  # a zone that this machine does not know: universal time is still right
        return array.view(pa.int64())


def _offset_name(seconds: int) -> str:
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    # Local mean times of the 19th century have seconds; without them the text would be another
    # instant.
    return f"{sign}{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")


def _without_zero_fraction(text: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(text, r"\.0+$", "")


def _duration_text(array: pa.Array) -> pa.Array:
    per_second = UNITS[array.type.unit]
    raw = words(array).view(np.int64)
    negative = raw < 0
    size = np.where(negative, np.uint64(0) - raw.view(np.uint64), raw.view(np.uint64))
    seconds, fraction = np.divmod(size, np.uint64(per_second))
    minutes, seconds = np.divmod(seconds, np.uint64(60))
    hours, minutes = np.divmod(minutes, np.uint64(60))
    days, hours = np.divmod(hours, np.uint64(24))
    text = join_text(
        pc.if_else(pa.array(negative), "-P", "P"), _digits(days), "DT", _digits(hours), "H",
        _digits(minutes), "M", _digits(seconds),
    )  # fmt: skip
    if per_second > 1:
        width = len(str(per_second)) - 1
        part = pc.utf8_rtrim(pc.utf8_lpad(_digits(fraction), width, "0"), "0")
        text = join_text(text, pc.if_else(pc.equal(part, ""), "", join_text(".", part)))
    return pc.if_else(array.is_valid(), join_text(text, "S"), pa.scalar(None, pa.string()))


def _digits(numbers: NDArray[np.uint64]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def join_text(*parts: pa.Array | str) -> pa.Array:
    """The parts of every row, one after the other; null where one is."""
    return pc.binary_join_element_wise(*parts, "")


def quoted(labels: pa.Array) -> pa.Array:
    """Labels as they stand in a released cell: in double quotes where they could be misread.

    Those are labels with a character that intervals and sets are written with, with outer blanks,
    empty ones and the word ``missing`` itself.
    """
    awkward = pc.or_(
        pc.match_substring_regex(labels, _NEEDS_QUOTES),
        pc.not_equal(pc.utf8_trim_whitespace(labels), labels),
    )
    if not pc.any(awkward, min_count=0).as_py():
        return labels
    texts = [json.dumps(label, ensure_ascii=False) for label in labels.filter(awkward).to_pylist()]
    return pc.replace_with_mask(labels, awkward, pa.array(texts, pa.string()))


def is_bare(label: str) -> bool:
    """Whether nothing inside a label asks for quotes."""
    return re.search(_NEEDS_QUOTES, label) is None
