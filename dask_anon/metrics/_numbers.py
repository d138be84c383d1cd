"""Two functions of numerical mathematics that Python's own library does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Coefficients of the asymptotic series of the digamma function, Abramowitz and Stegun 6.3.18.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_SHIFT = 10


def digamma(x: Any) -> Any:
    """Derivative of log Γ, of a positive number or of each of an array.

    Examples
    --------
    >>> round(float(digamma(1.0)), 12)  # minus Euler's constant
    -0.577215664902
    """
    # The series is good to the last digit from 10 on; smaller arguments are shifted up there.
    below = sum(1 / (x + i) for i in range(_SHIFT))
    x = x + _SHIFT
    inverse = 1 / (x * x)
    tail = 0.0
    for coefficient in reversed(_SERIES):
        tail = (tail + coefficient) * inverse
    return np.log(x) - 0.5 / x - tail - below


def root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where `f` falls through zero between `low` and `high`, by halving, to the last digit.

    Slower than Newton's method and never astray. An end is the answer if `f` does not fall
    through zero; the ends themselves are not tried, and may be where `f` loses all its digits.

    Examples
    --------
    >>> root(lambda x: 2 - x * x, 0, 2)
    1.414213562373095
    """
    while low < (middle := low + (high - low) / 2) < high:
        if f(middle) > 0:
            low = middle
        else:
            high = middle
    return middle
