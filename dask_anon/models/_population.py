"""k-map by the size of the population: which class size in the sample is enough.

A class of f records in a sample of n out of N people stands for F people, whom nobody has counted.
If F were k, f would be about Poisson with the mean k n / N. A size that is too large for that, but
for a chance of at most alpha, says that F is more (El Emam and Dankar, JAMIA 15(5), 2008).
"""

from __future__ import annotations

import math

from dask_anon.policy import KMap


def class_size_for(
    k: int, *, n_records: int, population: int, alpha: float = 0.01, estimator: str
) -> int:
    """The fewest records that a class needs to stand for k people.

    Parameters
    ----------
    k : int
        People that a class must stand for.
    n_records, population : int
        Size of the sample, at least 1, and of the population that it was drawn from.
    alpha : float
        Accepted chance that a class which passes stands for fewer than k.
    estimator : {"zero-truncated", "poisson"}
        How many records a class of k people has in the sample. ``zero-truncated``: Poisson, given
        that there is one at all, as of every class that is seen. ``poisson``: one, the record that
        somebody is looking for, and Poisson many others.

    Returns
    -------
    int
        At most k: a class of k records stands for k people without any chance.

    Notes
    -----
    With c the least count whose cumulative probability reaches 1 - alpha, the first larger count is
    c + 1 (zero-truncated) or, the looked-for record included, c + 2 (poisson).

    Examples
    --------
    >>> sample = {"n_records": 1_000, "population": 100_000}
    >>> class_size_for(5, **sample, estimator="zero-truncated")
    3
    >>> class_size_for(5, **sample, estimator="poisson")
    3
    """
    mean = k * n_records / population
    truncated = estimator == "zero-truncated"
    seen = -math.expm1(-mean) if truncated else 1.0
    below, count = 0.0, 1 if truncated else 0
    extra = 1 if truncated else 2
    while count + extra < k:
        below += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) / seen
        if below >= 1 - alpha:
            break
        count += 1
    return min(k, count + extra)


def class_size_of(model: KMap, n_records: int) -> int:
    """The fewest records that a class needs for a k-map model of a known population."""
    if not (model.population and model.alpha and model.estimator and n_records):
        return model.k
    return class_size_for(
        model.k,
        n_records=n_records,
        population=model.population,
        alpha=model.alpha,
        estimator=model.estimator,
    )
