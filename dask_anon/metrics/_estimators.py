"""How many persons are unique in the population, guessed from how many are in a sample of it.

    classes of the sample by size ──model of the classes of the population──▶ share of uniques

Each model says how likely a class of the population shows a given number of members in the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log, nan, sqrt
from typing import Any

import numpy as np

from dask_anon.metrics._numbers import digamma, root


@dataclass(frozen=True)
class Sample:
    """Classes of a sample by size, and how large a share of the population the sample is."""

    sizes: np.ndarray[Any, np.dtype[np.int64]]
    n_of_size: np.ndarray[Any, np.dtype[np.int64]]
    fraction: float

    @property
    def n_records(self) -> int:
        """Records of the sample."""
        return int((self.sizes * self.n_of_size).sum())

    @property
    def n_classes(self) -> int:
        """Classes of the sample."""
        return int(self.n_of_size.sum())

    @property
    def population(self) -> float:
        """Persons in the population."""
        return self.n_records / self.fraction

    def classes_of(self, size: int) -> int:
        """How many classes have `size` records."""
        return int(self.n_of_size[self.sizes == size].sum())


def zayatz(sample: Sample) -> float:
    """Bayes: a class of one record may be one of the population, or one of more by chance.

    Classes of the population are taken to have the sizes of those of the sample; a class of i
    shows one member with the hypergeometric probability h(1; N, i, n).
    """
    shows_one = np.exp(_log_shows_one(sample))
    unique = sample.classes_of(1) * sample.fraction / (sample.n_of_size * shows_one).sum()
    return float(sample.classes_of(1) * unique / sample.n_records)


def _log_shows_one(sample: Sample, exact_below: int = 10_000) -> np.ndarray[Any, Any]:
    """Log h(1; N, i, n) = log(i·f) + Σ_{j < i-1} log((N-n-j) / (N-1-j)), for each class size i."""
    absent = sample.population - sample.n_records
    others = sample.population - 1
    more = sample.sizes - 1
    j = np.arange(min(int(more.max()), exact_below))
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(absent - j, 0) / (others - j))
    products = np.concatenate([[0.0], np.cumsum(steps)])[np.minimum(more, exact_below)]
    # Large classes are not multiplied out. Unless the sample is small they never show just one.
    large = more > exact_below
    if large.any():
        m = more[large].astype(float)
        products[large] = -np.inf
        if sample.fraction < 0.05:
            falling = _log_falling(absent, m) - _log_falling(others, m)
            products[large] = m * log(absent / others) + falling
    return np.asarray(np.log(sample.sizes * sample.fraction) + products)


def _log_falling(x: float, m: Any) -> Any:
    """Log x(x-1)…(x-m+1) less m·log x, by Stirling without the cancellation of log Γ."""
    return -(x - m + 0.5) * np.log1p(-m / x) - m + (1 / x - 1 / (x - m)) / 12


def pitman(sample: Sample) -> float:
    """Pitman's sampling formula with θ and α of the greatest likelihood.

    A population of N then has Γ(θ+1) / Γ(θ+α) · N^α uniques.
    """
    n, u = sample.n_records, sample.n_classes
    if u == n:
        return 1.0

    def theta_of(alpha: float) -> float:
        def slope(logarithm: float) -> float:
            theta = exp(logarithm) - alpha
            joined = digamma(n + theta) - digamma(1 + theta)
            return _sum_over_classes(exp(logarithm), alpha, u) - float(joined)

        # θ is above -α; between these two ends lie all θ that a table of any size can have.
        return exp(root(slope, -40.0, 60.0)) - alpha

    def slope(alpha: float) -> float:
        theta = theta_of(alpha)
        new = (u - 1 - theta * _sum_over_classes(theta + alpha, alpha, u)) / alpha
        joined = digamma(sample.sizes - alpha) - digamma(1 - alpha)
        return float(new - (sample.n_of_size * joined).sum())

    alpha = root(slope, 1e-9, 1 - 1e-9)
    theta = theta_of(alpha)
    uniques = lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(sample.population)
    return exp(uniques) / sample.population


def _sum_over_classes(above: float, alpha: float, n_classes: int) -> float:
    """Σ_{i=1}^{u-1} 1 / (θ + iα), of θ given as θ + α."""
    ends = digamma(n_classes - 1 + above / alpha) - digamma(above / alpha)
    return float(ends) / alpha


def shifted_negative_binomial(sample: Sample) -> float:
    """Class sizes of the population are 1 + a negative binomial number; nan if none fits.

    Its a and b are those for which a sample shows as many classes of one and of two as it does,

        E S₁ = K f b^a (1-(1-a)t) / (1-t)^(a+1)
        E S₂ = K f² b^a a (1-b)/2 · (2-(1-a)t) / (1-t)^(a+2),    t = (1-f)(1-b),

    with Shlosser's estimate of the number K of classes. K b^a of them have one member.
    """
    f = sample.fraction
    singles, pairs = sample.classes_of(1), sample.classes_of(2)
    if not pairs:
        return nan
    n_classes = _shlosser(sample)

    def a_of(b: float) -> float:
        # E S₂ / E S₁ as observed is a quadratic equation in a with one root above 0.
        t = (1 - f) * (1 - b)
        ratio = 2 * pairs * (1 - t) / (f * (1 - b) * singles)
        half, product = 2 - t - ratio * t, ratio * (1 - t)
        square = sqrt(half * half + 4 * t * product)
        return 2 * product / (half + square) if half > 0 else (square - half) / (2 * t)

    def missing(logit: float) -> float:
        b = 1 / (1 + exp(-logit))
        a, t = a_of(b), (1 - f) * (1 - b)
        share = a * log(b) + log(1 - (1 - a) * t) - (a + 1) * log(1 - t)
        return log(singles / (n_classes * f)) - share

    # Where small classes are rare (b near 0), too few singles are expected; then comes the first
    # b with enough.
    enough = next((i / 4 for i in range(-80, 81) if missing(i / 4) <= 0), None)
    if enough is None:
        return nan
    b = 1 / (1 + exp(-root(missing, enough - 0.25, enough)))
    return float(n_classes * b ** a_of(b) / sample.population)


def _shlosser(sample: Sample) -> float:
    """Classes of the population, by Shlosser's estimator as Haas and Stokes modified it."""
    f, i, n = sample.fraction, sample.sizes.astype(float), sample.n_of_size
    missed = 1 - f
    expected = (i * f**2 * (1 - f**2) ** (i - 1) * n).sum()
    # Written without (1+f)^i, which overflows for large classes.
    observed = (((1 - f**2) ** i - missed**i) * n).sum()
    unseen = (missed**i * n).sum() / (i * f * missed ** (i - 1) * n).sum()
    return float(sample.n_classes + sample.classes_of(1) * expected / observed * unseen**2)


def dankar(sample: Sample) -> float:
    """Pitman for samples up to a tenth of the population, else the lower of the other two."""
    if sample.fraction <= 0.1:
        return pitman(sample)
    candidates = [shifted_negative_binomial(sample), zayatz(sample)]
    return min(value for value in candidates if value == value)


ESTIMATORS: dict[str, Callable[[Sample], float]] = {
    "dankar": dankar,
    "zayatz": zayatz,
    "pitman": pitman,
    "snb": shifted_negative_binomial,
}
