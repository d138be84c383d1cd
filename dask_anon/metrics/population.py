"""Uniqueness in the population, of which the table is a sample.

Whoever is unique in the table may have doubles outside it. How many have none is estimated from the
sizes of all classes: many pairs and triples tell that singles are often the visible part of more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from dask_anon.classes import ClassCounts, ClassTable
from dask_anon.errors import AnonError, nearest
from dask_anon.metrics._estimators import ESTIMATORS, Sample
from dask_anon.metrics._sizes import sizes_of


def population_uniqueness(
    classes: ClassTable | ClassCounts | Mapping[int, int],
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sampling_fraction: float | None = None,
    population_size: int | None = None,
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar",
) -> Any:
    """Estimated share of the population that is unique in it.

    Parameters
    ----------
    classes : pandas or Dask DataFrame, ClassCounts or mapping
        One row per equivalence class with its ``size``, or a table, or how many classes there are
        of each size. A Dask frame gives a lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a table: the columns that make its classes.
    sampling_fraction : float, optional
        Records of the table / persons of the population, above 0 and at most 1.
    population_size : int, optional
        Persons of the population instead. One of the two must be given.
    estimator : {'dankar', 'zayatz', 'pitman', 'snb'}, default 'dankar'
        - ``zayatz``: the classes of the population have the sizes of those of the sample [1]_;
          too high for small samples.
        - ``pitman``: Pitman's sampling formula, fitted by maximum likelihood [2]_.
        - ``snb``: sizes of the population are 1 + a negative binomial number [3]_. ``nan``, which
          keeps no limit, if there is no such distribution.
        - ``dankar``: the rule of [4]_: ``pitman`` up to a fraction of 0.1, above it the lower of
          ``snb`` and ``zayatz``.

    Returns
    -------
    float or lazy scalar
        0 if nobody is unique in the table; the sample's own uniqueness if it is the population.

    Raises
    ------
    AnonError
        If not exactly one of fraction and population is given, or it is impossible.

    Notes
    -----
    One pass over the classes counts how many there are of each size, at most √(2·records) numbers.
    All else is arithmetic on those. The estimates rest on simple random sampling.

    Examples
    --------
    Half of a population was asked; 2 of 4 records are unique. With Zayatz, of the classes that show
    one record 2·(1/2) are of one person, and 1·(4/7) of two:

    >>> share = population_uniqueness({1: 2, 2: 1}, sampling_fraction=0.5, estimator="zayatz")
    >>> round(share, 4), round(2 / 4 * (2 * 1 / 2) / (2 * 1 / 2 + 1 * 4 / 7), 4)
    (0.3182, 0.3182)

    References
    ----------
    .. [1] Zayatz, Estimation of the percent of unique population elements on a microdata file using
       the sample, US Bureau of the Census, 1991.
    .. [2] Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment,
       Journal of Official Statistics 17(4), 2001.
    .. [3] Chen and Keller-McNulty, Estimation of identification disclosure risk in microdata,
       Journal of Official Statistics 14(1), 1998. Its number of classes is that of Haas and Stokes,
       Estimating the number of classes in a finite population, JASA 93, 1998 (Shlosser, modified).
    .. [4] Dankar, El Emam, Neisa and Roffey, Estimating the re-identification risk of clinical data
       sets, BMC Medical Informatics and Decision Making 12:66, 2012.
    """
    if estimator not in ESTIMATORS:
        close = nearest(str(estimator), ESTIMATORS)
        hint = f" Did you mean '{close}'?" if close else ""
        raise AnonError(f"there is no estimator '{estimator}'.{hint} Known: {list(ESTIMATORS)}.")
    _check_population(sampling_fraction, population_size)
    estimate = partial(
        _estimate,
        sampling_fraction=sampling_fraction,
        population_size=population_size,
        estimator=estimator,
    )
    if isinstance(classes, ClassCounts):
        classes = classes.sizes
    if isinstance(classes, Mapping):
        return estimate(pd.DataFrame({"n": pd.Series(classes, dtype="int64")}))
    sizes = sizes_of(classes, quasi_identifiers)
    if isinstance(sizes, pd.Series):
        return estimate(_count(sizes))
    return sizes.reduction(chunk=_count, combine=_merge, aggregate=estimate, meta=1.0)


def _check_population(fraction: float | None, population: int | None) -> None:
    if (fraction is None) == (population is None):
        raise AnonError(
            "how large the population is must be said once, found "
            f"{'neither' if fraction is None else 'both'}. Give sampling_fraction, the share of "
            "the population that is in the table, or population_size, the number of persons."
        )
    if fraction is not None and not 0 < fraction <= 1:
        raise AnonError(
            f"sampling_fraction must be above 0 and at most 1, found {fraction:g}. "
            "It is records of the table / persons of the population."
        )
    if population is not None and population < 1:
        raise AnonError(f"population_size must be at least 1, found {population}.")


def _count(sizes: pd.Series) -> pd.DataFrame:
    """How many classes there are of each size."""
    return sizes.value_counts(sort=False).rename("n").to_frame()


def _merge(counts: pd.DataFrame) -> pd.DataFrame:
    return counts.groupby(level=0).sum()


def _estimate(
    counts: pd.DataFrame,
    *,
    sampling_fraction: float | None,
    population_size: int | None,
    estimator: str,
) -> float:
    merged = _merge(counts)
    sizes = merged.index.to_numpy(dtype=np.int64)
    n_of_size = merged["n"].to_numpy(dtype=np.int64)
    n_records = int((sizes * n_of_size).sum())
    if population_size is not None:
        if n_records > population_size:
            raise AnonError(
                f"the table is a sample of the population, found {n_records:,} records of "
                f"{population_size:,} persons. Give the larger number as population_size."
            )
        sampling_fraction = n_records / population_size
    assert sampling_fraction is not None
    sample = Sample(sizes, n_of_size, sampling_fraction)
    if sample.classes_of(1) == 0:
        return 0.0
    if sampling_fraction == 1:
        return sample.classes_of(1) / n_records
    value = ESTIMATORS[estimator](sample)
    return value if value != value else min(value, 1.0)
