"""How many sensitive values a class leaves possible, and how sure one of them is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.kernels.measures import holds, strictly_below
from dask_anon.metrics._classwise import Figure, Known, figure_of, values_of_model, worst
from dask_anon.metrics._values import SensitiveNulls, Sparse
from dask_anon.policy import (
    AlphaKAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
)


def distinct_l_diversity(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Distinct l-diversity: the largest l that holds.

    Every class has at least l distinct sensitive values [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        A missing value tells nothing and protects nobody, so it is left out; or it is a value like
        others; or it is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    int or lazy int
        0 if a class has no value that is counted, or if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> distinct_l_diversity(released, column="illness", quasi_identifiers=["zip"])  # x, y, z; x, y
    2

    References
    ----------
    .. [1] Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, l-diversity: privacy beyond
       k-anonymity, ICDE 2006, section 4.
    """
    return figure_of(distinct_l(column), classes, column, sensitive_nulls, quasi_identifiers)


def entropy_l_diversity(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Entropy l-diversity: the largest l that holds, a real number.

    exp(H) of the class whose sensitive values have the lowest entropy H: as many equally frequent
    values would be as diverse [1]_. It is not rounded: 1.99 is not 2, and not 1 either.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 if a class has no value that is counted, or if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaaaa"), "illness": list("xxxyyz")})
    >>> l = entropy_l_diversity(released, column="illness", quasi_identifiers=["zip"])
    >>> round(l, 10)  # 6 / (3**3 * 2**2 * 1**1) ** (1/6)
    2.749459274

    References
    ----------
    .. [1] Machanavajjhala et al., ICDE 2006, definition 4.1.
    """
    return figure_of(entropy_l(column), classes, column, sensitive_nulls, quasi_identifiers)


def recursive_cl_diversity(
    classes: ClassTable,
    *,
    column: str,
    c: float,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Recursive (c,l)-diversity: the largest l that holds for a `c`.

    With the counts of a class's m values in descending order, r1 < c (r_l + … + r_m): even without
    the l - 1 commonest values, the rest is not rare [1]_. r1 is the most frequent one.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    c : float
        How many times the rest the commonest value may be, above 0.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    int or lazy int
        0 if not even l = 1 holds, or if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaaaa"), "illness": list("xxxyyz")})
    >>> recursive_cl_diversity(released, column="illness", c=2, quasi_identifiers=["zip"])
    2
    >>> 3 < 2 * (2 + 1), 3 < 2 * 1  # l = 2, l = 3
    (True, False)

    References
    ----------
    .. [1] Machanavajjhala et al., ICDE 2006, definition 4.2.
    """
    if not c > 0:
        raise AnonError(f"c of recursive (c,l)-diversity is above 0, found {c:g}.")
    model = RecursiveCLDiversity(column=column, c=c, l=2)
    figure = Figure(partial(_largest_l, c), min, model=model, nothing=0)
    return figure_of(figure, classes, column, sensitive_nulls, quasi_identifiers)


def recursive_c(
    classes: ClassTable,
    *,
    column: str,
    l: int,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Recursive (c,l)-diversity: the c above which it holds for an `l`.

    The highest r1 / (r_l + … + r_m) of a class [1]_; the model holds for every larger c.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    l : int
        From which value on the rest begins, at least 2.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        Infinite if a class has fewer than l values: no c is large enough.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaaaa"), "illness": list("xxxyyz")})
    >>> recursive_c(released, column="illness", l=2, quasi_identifiers=["zip"])  # 3 / (2 + 1)
    1.0

    References
    ----------
    .. [1] Machanavajjhala et al., ICDE 2006, definition 4.2.
    """
    if l < 2:
        raise AnonError(f"l of recursive (c,l)-diversity is at least 2, found {l}.")
    return figure_of(smallest_c(column, l), classes, column, sensitive_nulls, quasi_identifiers)


def alpha_k_anonymity(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """(α,k)-anonymity: the smallest α that holds.

    The largest share that one sensitive value has of a class [1]_: how sure somebody can be who
    has found the class. (The k is the smallest class, whose size has a function of its own.)

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out of the class, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> alpha_k_anonymity(released, column="illness", quasi_identifiers=["zip"])  # 2/4, 1/2
    0.5

    References
    ----------
    .. [1] Wong, Li, Fu and Wang, (α,k)-anonymity: an enhanced k-anonymity model for privacy
       preserving data publishing, KDD 2006, definition 3.
    """
    return figure_of(alpha(column), classes, column, sensitive_nulls, quasi_identifiers)


def distinct_l(column: str) -> Figure:
    """The largest l of distinct l-diversity."""
    figure = worst(DistinctLDiversity(column=column, l=2), nothing=0)
    return Figure(figure.of_classes, figure.merge, _whole, figure.model, nothing=0)


def entropy_l(column: str) -> Figure:
    """The largest l of entropy l-diversity."""
    return worst(EntropyLDiversity(column=column, l=2))


def smallest_c(column: str, l: int) -> Figure:
    """The c above which recursive (c,l)-diversity holds."""
    return worst(RecursiveCLDiversity(column=column, c=1.0, l=l))


def alpha(column: str) -> Figure:
    """The smallest α of (α,k)-anonymity."""
    return worst(AlphaKAnonymity(column=column, alpha=1.0, k=2))


def _whole(value: float, known: Known) -> int:
    return int(value)


def _largest_l(c: float, sparse: Sparse, known: Known) -> int:
    """The largest l that all of some classes keep; what fails for an l fails for a larger one."""
    limit = strictly_below(c)

    def keep(l: int) -> bool:
        return bool(holds(values_of_model(sparse, known, l).max(), -np.inf, limit))

    high = 1
    while keep(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keep(middle) else (low, middle)
    return low
