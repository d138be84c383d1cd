"""Which Arrow types we know, what we call them, and which two of them may be one column.

integer   whole numbers, dates, times, timestamps, durations, decimals: an integer with a unit
float     floating-point numbers
nominal   text, true/false, categories without an order
ordinal   ordered categories
"""

from __future__ import annotations

import re
from typing import Literal

import pyarrow as pa
import pyarrow.types as pt

Kind = Literal["integer", "float", "nominal", "ordinal"]

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_decimal(type_: pa.DataType) -> bool:
    """Decimals of any width (the narrow ones came with pyarrow 18)."""
    return bool(pt.is_decimal(type_))


def is_text(type_: pa.DataType) -> bool:
    """UTF-8 text in any of Arrow's layouts."""
    return bool(pt.is_string(type_) or pt.is_large_string(type_)) or str(type_) == "string_view"


def kind_of(type_: pa.DataType) -> Kind | None:
    """How a column of this type is coded; None if we cannot."""
    if pt.is_dictionary(type_):
        if kind_of(type_.value_type) is None or pt.is_dictionary(type_.value_type):
            return None
        return "ordinal" if type_.ordered else "nominal"
    if is_text(type_) or pt.is_boolean(type_) or pt.is_null(type_):
        return "nominal"
    if pt.is_floating(type_):
        return "float"
    if pt.is_integer(type_) or is_decimal(type_) or pt.is_date(type_) or pt.is_time(type_):
        return "integer"
    if pt.is_timestamp(type_) or pt.is_duration(type_):
        return "integer"
    return None


def is_unsigned(type_: pa.DataType) -> bool:
    """True for uint8 to uint64; every other integer kind is signed."""
    return bool(pt.is_unsigned_integer(type_))


def family(type_: pa.DataType) -> str:
    """The type in the words of a sentence; two types of one family may be widened to one."""
    if pt.is_dictionary(type_):
        if type_.ordered:
            return "ordered categories"
        inner = family(type_.value_type)
        return "text" if inner == "text" else f"categories of {inner}"
    if is_text(type_):
        return "text"
    if pt.is_timestamp(type_):
        return "timestamp without a time zone" if type_.tz is None else f"timestamp in {type_.tz}"
    for test, word in (
        (pt.is_boolean, "true/false"),
        (pt.is_integer, "integer"),
        (pt.is_floating, "floating-point"),
        (is_decimal, "decimal"),
        (pt.is_date, "date"),
        (pt.is_time, "time of day"),
        (pt.is_duration, "duration"),
        (pt.is_null, "empty"),
    ):
        if test(type_):
            return word
    return str(type_)


def unit_ratio(narrow: pa.DataType, wide: pa.DataType) -> int:
    """How many units of `wide` one unit of `narrow` is (both of one integer family)."""
    if narrow == wide:
        return 1
    if pt.is_date(narrow):
        return 86_400_000 if pt.is_date32(narrow) and pt.is_date64(wide) else 1
    if is_decimal(narrow):
        return int(10 ** (wide.scale - narrow.scale))
    if hasattr(narrow, "unit"):
        return UNITS[wide.unit] // UNITS[narrow.unit]
    return 1


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that holds every value of both, exactly; None when they must not be one column."""
    if a == b or pt.is_null(b):
        return a
    if pt.is_null(a):
        return b
    if family(a) != family(b):
        return None
    if pt.is_dictionary(a) or pt.is_dictionary(b):
        return _common_categories(a, b)
    if is_text(a):
        return pa.large_string() if pa.large_string() in (a, b) else pa.string()
    if pt.is_floating(a):
        return a if a.bit_width > b.bit_width else b
    if pt.is_integer(a):
        return _common_integer(a, b)
    if is_decimal(a):
        return _common_decimal(a, b)
    if pt.is_date(a):
        return pa.date64()
    unit = max(a.unit, b.unit, key=UNITS.__getitem__)
    if pt.is_timestamp(a):
        return pa.timestamp(unit, a.tz)
    if pt.is_duration(a):
        return pa.duration(unit)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _common_categories(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if not pt.is_dictionary(a) or not pt.is_dictionary(b):  # text, of which some is encoded
        return pa.string()
    value = common_type(a.value_type, b.value_type)
    return None if value is None else pa.dictionary(pa.int32(), value, a.ordered)


def _common_integer(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if is_unsigned(a) == is_unsigned(b):
        return a if a.bit_width > b.bit_width else b
    unsigned, signed = (a, b) if is_unsigned(a) else (b, a)
    width = max(2 * unsigned.bit_width, signed.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(width)


def _common_decimal(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    scale = max(a.scale, b.scale)
    precision = scale + max(a.precision - a.scale, b.precision - b.scale)
    return decimal_type(precision, scale)


def decimal_type(precision: int, scale: int) -> pa.DataType | None:
    """The decimal type of this many digits; None beyond 76."""
    if precision <= 38:
        return pa.decimal128(precision, scale)
    return pa.decimal256(precision, scale) if precision <= 76 else None


def type_from_name(name: str) -> pa.DataType:
    """The inverse of ``str(type)`` for the types that we know."""
    if match := re.fullmatch(r"timestamp\[(\w+)(?:, tz=(.+))?\]", name):
        return pa.timestamp(match[1], match[2])
    if match := re.fullmatch(r"(decimal\d+)\((\d+), (-?\d+)\)", name):
        return getattr(pa, match[1])(int(match[2]), int(match[3]))
    if match := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>", name):
        return pa.dictionary(
            type_from_name(match[2]), type_from_name(match[1]), ordered=match[3] == "1"
        )
    return pa.type_for_alias(name)
