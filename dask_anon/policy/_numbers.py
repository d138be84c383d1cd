"""Numbers of a policy: whole ones, and those between limits; a share may be written as ``10%``."""

from __future__ import annotations

import math
import operator
from typing import Any

from pydantic import BeforeValidator

from dask_anon.policy._base import sentence
from dask_anon.policy._problems import kind_of


def whole(minimum: int) -> BeforeValidator:
    """A whole number of at least `minimum`."""

    def check(value: Any) -> int:
        # bool is an int to Python; numpy's integers are not, but mean one.
        try:
            number = None if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = None
        if number is None or number < minimum:
            found = number if number is not None and abs(number) < 10**9 else kind_of(value)
            raise sentence(f"must be a whole number of at least {minimum}, found {found}.")
        return number

    return BeforeValidator(check)


def number(
    low: float, high: float = math.inf, *, open_low: bool = False, open_high: bool = False
) -> BeforeValidator:
    """A finite number from `low` to `high`; an open end is not allowed itself."""
    words = f"{'above' if open_low else 'at least'} {low:g}"
    if not math.isinf(high):
        words += f" and {'below' if open_high else 'at most'} {high:g}"

    def check(value: Any) -> float:
        value = _share(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise sentence(f"must be a number {words}, found {kind_of(value)}.")
        # A whole number may be too long for a float.
        found = math.inf if abs(value) > 1e300 else float(value)
        inside = low < found if open_low else low <= found
        inside = inside and (found < high if open_high else found <= high)
        if not math.isfinite(found) or not inside:
            raise sentence(f"must be a number {words}, found {found:g}.")
        return found

    return BeforeValidator(check)


def _share(value: Any) -> Any:
    """Read a share as a number, also when it is written as ``10%``."""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        try:
            value = float(value.rstrip()[:-1]) / 100
        except ValueError:
            raise sentence("must be a number or a percentage such as 10%.") from None
    return value
