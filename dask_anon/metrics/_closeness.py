"""How much more the class of somebody tells about a sensitive value than the whole table does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError, nearest
from dask_anon.metrics._classwise import Figure, Known, figure_of, figures, highest, lowest, worst
from dask_anon.metrics._values import SensitiveNulls, Sparse
from dask_anon.policy import (
    BasicBetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    EnhancedBetaLikeness,
    TCloseness,
)

Distance = Literal["equal", "ordered", "numeric", "hierarchical", "jensen-shannon"]
_DISTANCES = ("equal", "ordered", "numeric", "hierarchical", "jensen-shannon")


def t_closeness(
    classes: ClassTable,
    *,
    column: str,
    distance: Distance | None = None,
    hierarchy: Any = None,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """t-closeness: the smallest t that holds.

    The largest distance between the distribution Q of a sensitive column in a class and its
    distribution P in the whole table [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    distance : str, optional
        - ``equal``: half the sum of abs(p - q), the share of records that would have to change.
        - ``ordered``: earth mover's distance, a step from a value to the next larger one costs
          1 / (m - 1) with m values in the table.
        - ``numeric``: the same, a step costs the difference of the values / (largest - smallest):
          the first Wasserstein distance as a share of the range.
        - ``hierarchical``: the same in a tree; moving costs the height of the node above both.
        - ``jensen-shannon``: Jensen-Shannon divergence in nats, 0 to ln 2. A measure only: no
          model of a policy limits it.

        By default ``ordered`` for numbers, dates and ordered categories, else ``equal``.
    hierarchy : DataFrame or sequence of sequences, optional
        For ``hierarchical``: a row a value: itself, what it belongs to, and so on.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out of both distributions, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 to 1; 0 if there is no class.

    Notes
    -----
    Two passes over the class table, O(d log m) for a class of d distinct values out of m.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "n": [1, 2, 3, 10, 1, 5]})
    >>> t_closeness(released, column="n", quasi_identifiers=["zip"])  # ranks 0 to 4: 1, 2, 3, 5, 10
    0.125
    >>> t = t_closeness(released, column="n", distance="numeric", quasi_identifiers=["zip"])
    >>> round(t, 12), round(4 / 27, 12)
    (0.148148148148, 0.148148148148)

    References
    ----------
    .. [1] Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity,
       ICDE 2007; distances in section 4.
    """
    if distance is not None and distance not in _DISTANCES:
        close = nearest(str(distance), _DISTANCES)
        hint = f" Did you mean '{close}'?" if close else ""
        raise AnonError(f"there is no distance {distance!r}.{hint} Known: {list(_DISTANCES)}.")
    if (hierarchy is not None) != (distance == "hierarchical"):
        found = "none was given" if hierarchy is None else f"the distance is {distance or 'open'}"
        raise AnonError(
            f"a hierarchy goes with distance='hierarchical', and {found}. Give both or none."
        )
    figure = Figure(_divergence, max) if distance == "jensen-shannon" else closest(column, distance)
    return figure_of(figure, classes, column, sensitive_nulls, quasi_identifiers, hierarchy)


def basic_beta_likeness(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Basic β-likeness: the smallest β that holds.

    The largest gain (q - p) / p of a value that is commoner in a class (share q) than in the whole
    table (share p) [1]_. Values that a class lacks do not count.

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
        0 if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> beta = basic_beta_likeness(released, column="illness", quasi_identifiers=["zip"])
    >>> round(beta, 10)  # z: (1/4 - 1/6) / (1/6), and y in class b: (1/2 - 1/3) / (1/3)
    0.5

    References
    ----------
    .. [1] Cao and Karras, Publishing microdata with a robust privacy guarantee, VLDB 2012,
       definition 2.
    """
    return figure_of(basic_beta(column), classes, column, sensitive_nulls, quasi_identifiers)


def enhanced_beta_likeness(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Enhanced β-likeness: the smallest β that holds, or infinity.

    As :func:`basic_beta_likeness`, but a value may gain no more than -ln p whatever β is, which
    keeps a frequent value from becoming certain [1]_. If one does, no β holds.

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
        Infinite where no β holds; 0 if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "n": [1, 2, 3, 10, 1, 5]})
    >>> enhanced_beta_likeness(released, column="n", quasi_identifiers=["zip"])
    inf
    >>> (1 / 2 - 1 / 6) / (1 / 6) <= -math.log(1 / 6)  # the gain of 5 in class b is 2
    False

    References
    ----------
    .. [1] Cao and Karras, VLDB 2012, definition 3.
    """
    return figure_of(enhanced_beta(column), classes, column, sensitive_nulls, quasi_identifiers)


def delta_disclosure(
    classes: ClassTable,
    *,
    column: str,
    absent_values: Literal["count", "ignore"] = "count",
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """δ-disclosure privacy: the δ above which it holds.

    The largest abs(ln(q / p)) of a value's share q in a class and p in the whole table [1]_. A
    value that a class lacks is ruled out for everybody in it: q is 0, and no δ holds.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    absent_values : {"count", "ignore"}, default "count"
        ``ignore`` looks only at the values that a class has, as several tools do. It is a lower
        figure than the one that the model limits.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        Infinite where a class lacks a value; 0 if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> asked = {"column": "illness", "quasi_identifiers": ["zip"]}
    >>> delta_disclosure(released, **asked)  # nobody of class b has z
    inf
    >>> round(delta_disclosure(released, absent_values="ignore", **asked), 10)  # ln(1/2 / (1/3))
    0.4054651081

    References
    ----------
    .. [1] Brickell and Shmatikov, The cost of privacy: destruction of data-mining utility in
       anonymized data publishing, KDD 2008, definition 1.
    """
    if absent_values not in ("count", "ignore"):
        raise AnonError(f"absent_values is count or ignore, found {absent_values!r}.")
    figure = disclosure(column) if absent_values == "count" else Figure(_present, max)
    return figure_of(figure, classes, column, sensitive_nulls, quasi_identifiers)


def delta_presence(
    classes: ClassTable, *, column: str, quasi_identifiers: Sequence[str] | None = None
) -> Any:
    """δ-presence: the bounds that hold, lowest and highest.

    Of everybody in a class of the population, the share that is in the study [1]_: so sure can
    somebody be that a person is in it.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table of the population that counts `column`. A Dask frame gives lazy scalars.
    column : str
        A column of true and false: who is in the study.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    tuple of float, or of lazy floats
        Lowest and highest share; 0 and 0 if there is no class.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": list("aaaabb"), "in": [True, *3 * [False], True, True]})
    >>> delta_presence(people, column="in", quasi_identifiers=["zip"])
    (0.25, 1.0)

    References
    ----------
    .. [1] Nergiz, Atzori and Clifton, Hiding the presence of individuals from shared databases,
       SIGMOD 2007, definition 3.
    """
    model = DeltaPresence(column=column, min=0.0, max=1.0)
    found = figures(
        classes,
        column,
        {"lowest": Figure(lowest, min, model=model), "highest": Figure(highest, max, model=model)},
        sensitive_nulls="ignore",
        quasi_identifiers=quasi_identifiers,
    )
    return found["lowest"], found["highest"]


def closest(column: str, distance: Any = None) -> Figure:
    """The smallest t of t-closeness."""
    return worst(TCloseness(column=column, t=1.0, distance=distance))


def basic_beta(column: str) -> Figure:
    """The smallest β of basic β-likeness."""
    return worst(BasicBetaLikeness(column=column, beta=1.0))


def enhanced_beta(column: str) -> Figure:
    """The smallest β of enhanced β-likeness."""
    return worst(EnhancedBetaLikeness(column=column, beta=1.0))


def disclosure(column: str) -> Figure:
    """The δ above which δ-disclosure privacy holds."""
    return worst(DeltaDisclosure(column=column, delta=1.0))


def _shares(sparse: Sparse, known: Known) -> tuple[Any, Any]:
    """The share of each code in its class, and in the whole table."""
    q = sparse.counts / np.repeat(sparse.n_counted, np.diff(sparse.offsets))
    p = known.whole.counts[sparse.codes] / known.whole.n_records
    return q, p


def _present(sparse: Sparse, known: Known) -> float:
    q, p = _shares(sparse, known)
    return float(np.abs(np.log(q / p)).max(initial=0.0))


def _divergence(sparse: Sparse, known: Known) -> float:
    q, p = _shares(sparse, known)
    middle = (p + q) / 2
    terms = (p * np.log(p / middle) + q * np.log(q / middle)) / 2
    # Values that the class lacks: p ln(p / (p / 2)) / 2.
    lacked = 1 - np.bincount(sparse.classes, p, minlength=len(sparse.sizes))
    found = np.bincount(sparse.classes, terms, minlength=len(sparse.sizes)) + lacked * np.log(2) / 2
    return float(np.where(sparse.n_counted > 0, found, 0.0).max(initial=0.0))
