"""The risk of a record whose class has f members in a sample and about F in the population.

The attacker picks one of the persons of the population who are like the record, so the risk is the
expected value of 1 / persons, given that f were sampled. With p = f/F, the rate at which the class
was sampled, the number of persons is negative binomial [1]_, and

    r(f, p) = ∫₀¹ p v^(f-1) / (p + q v) dv,    q = 1 - p
            = p/f · (1 + q/(f+1) + 2! q²/((f+1)(f+2)) + 3! q³/((f+1)(f+2)(f+3)) + …)

.. [1] Benedetti and Franconi, Statistical and technological solutions for controlled data
   dissemination, NTTS 1998; Polettini and Seri, Guidelines for the protection of social micro-data
   using individual risk methodology, CASC 2004, equations 10 to 14.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dask_anon.metrics._combinations import Floats


def exact_risk(size: Floats, weight: Floats) -> Floats:
    """r(f, f/F) to the last digits, for any f of at least 1, whole or not."""
    p = np.minimum(size / weight, 1.0)
    risk = np.empty(len(p))
    # The series needs a hundred terms at most, unless p is small and f as well.
    slow = (p < 1 / 3) & (size < 50)
    risk[~slow] = _series(size[~slow], p[~slow])
    risk[slow] = _climb(size[slow], p[slow])
    return risk


def approximate_risk(size: Floats, weight: Floats) -> Floats:
    """The same for f of 1 and 2; else p / (f - q), the leading terms of the series."""
    p = np.minimum(size / weight, 1.0)
    few = (size == 1) | (size == 2)
    risk = np.asarray(p / (size - (1 - p)))
    risk[few] = exact_risk(size[few], weight[few])
    return risk


def _series(f: Floats, p: Floats) -> Floats:
    q, term, sum_ = 1 - p, np.ones(len(f)), np.ones(len(f))
    for k in range(1, 101):
        term = term * q * k / (f + k)
        sum_ += term
    return np.asarray(p / f * sum_)


def _climb(f: Floats, p: Floats) -> Floats:
    """From f of at most 1 upwards by r(f+1) = p/q · (1/f - r(f)), which errors do not survive."""
    odds = p / (1 - p)
    at = f - np.ceil(f) + 1
    risk = np.where(at == 1, -odds * np.log(p), _of_a_part(np.where(at == 1, 0.5, at), odds))
    for _ in range(int(f.max(initial=1))):
        below = at < f
        risk = np.where(below, odds * (1 / at - risk), risk)
        at = np.where(below, at + 1, at)
    return np.asarray(risk)


def _of_a_part(f: Floats, odds: Floats) -> Floats:
    """r(f, p) of f between 0 and 1: the integral to infinity less its tail in powers of p/q."""
    tail: Any = sum((-odds) ** k / (k + 1 - f) for k in range(60))
    return np.asarray(odds * (odds ** (f - 1) * np.pi / np.sin(np.pi * f) - tail))
