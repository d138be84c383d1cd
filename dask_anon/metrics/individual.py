"""Individual risk: how likely each record of a survey is found in the population it was drawn from.

    record ──quasi-identifiers──▶ f records like it, weights add up to F ──▶ r(f, f/F)
                                                                              │
                 global risk (mean), expected re-identifications (sum), household risk ◀──┘

For samples with weights, where a class of one may stand for five hundred persons or for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dask_anon.errors import AnonError
from dask_anon.metrics._combinations import look_up, names_of
from dask_anon.metrics._sizes import number, ratio
from dask_anon.metrics._weighted import Method, Missing, counted_table, risk_table


def frequency_counts(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    weight: str | None = None,
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """How many records are like each record, and how many persons those stand for: f and F.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        The table.
    quasi_identifiers : sequence of str
        Columns in which records are alike.
    weight : str, optional
        Column of sampling weights: how many persons a record stands for, at least 1.
    missing : {'own-value', 'wildcard'}, default 'own-value'
        Whether a missing value is a value of its own, or fits any, on both sides.
    alpha : float, default 1.0
        With wildcards: how much a record with a missing value counts for others than those with
        the very same values, 0 to 1.
    split_out : int, default 1
        Of Dask: partitions of the table of distinct combinations.

    Returns
    -------
    pandas or lazy Dask DataFrame
        Rows and index of `frame`, with ``size`` (f), and ``weight`` (F) if there are weights.

    Notes
    -----
    One pass counts the distinct combinations, another looks them up: a task holds a partition and
    one of `split_out` parts of the table of combinations. With wildcards the whole table is
    matched in one task, once for each two patterns in which values are missing.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", None, "100"], "w": [10, 20, 5, 40]})
    >>> frequency_counts(people, ["zip"], weight="w", missing="wildcard")
       size  weight
    0   3.0    35.0
    1   3.0    35.0
    2   4.0    75.0
    3   2.0    45.0

    References
    ----------
    .. [1] Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using the R
       package sdcMicro, Journal of Statistical Software 67(4), 2015.
    """
    table = counted_table(frame, quasi_identifiers, weight, missing, alpha, split_out)
    figures = pd.DataFrame({"size": np.empty(0), "weight": np.empty(0)})
    figures = figures if weight is not None else figures[["size"]]
    return look_up(frame, names_of(quasi_identifiers), table, figures)


def individual_risk(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    weight: str | None = None,
    sampling_fraction: float | None = None,
    method: Method = "exact",
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """Risk of each record: the expected value of 1 / persons in the population who are like it.

    With f records alike whose weights add up to F, and p = f/F [1]_:

    - f = 1: p/(1-p) · ln(1/p)
    - f = 2: p/(1-p) - (p/(1-p))² · ln(1/p)
    - f > 2: p/f · (1 + q/(f+1) + 2q²/((f+1)(f+2)) + …), q = 1-p

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        The sample.
    quasi_identifiers : sequence of str
        Columns that an attacker knows.
    weight : str, optional
        Column of sampling weights: how many persons a record stands for, at least 1.
    sampling_fraction : float, optional
        Instead of weights, if all have the same: records / persons.
    method : {'exact', 'approximate'}, default 'exact'
        The series to the last digit, or p/(f-q) for f > 2, as sdcMicro computes it.
    missing, alpha, split_out
        As for `frequency_counts`.

    Returns
    -------
    pandas or lazy Dask Series
        Rows and index of `frame`.

    Raises
    ------
    DataError
        If a weight is below 1: the risk would exceed 1. In a Dask frame when it is computed.

    Notes
    -----
    The cost is that of `frequency_counts`.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "w": [10, 20, 2]})
    >>> individual_risk(people, ["zip"], weight="w").round(4).tolist()
    [0.0576, 0.0576, 0.6931]

    References
    ----------
    .. [1] Benedetti and Franconi, Statistical and technological solutions for controlled data
       dissemination, NTTS 1998.
    """
    table = risk_table(
        frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
    )
    figures = pd.DataFrame({"risk": np.empty(0)})
    return look_up(frame, names_of(quasi_identifiers), table, figures)["risk"]


def expected_reidentifications(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    weight: str | None = None,
    sampling_fraction: float | None = None,
    method: Method = "exact",
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """How many records are found on average: the sum of the individual risks.

    Parameters
    ----------
    frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
        As for `individual_risk`. A Dask frame gives a lazy scalar.

    Notes
    -----
    One pass; the risks are summed over the distinct combinations.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "w": [10, 20, 2]})
    >>> round(expected_reidentifications(people, ["zip"], weight="w"), 4)  # 2 * 0.0576 + 0.6931
    0.8084

    References
    ----------
    .. [1] Hundepool and others, Statistical disclosure control, Wiley, 2012, section 3.3.
    """
    table = risk_table(
        frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
    )
    return number((table["n"] * table["risk"]).sum())


def global_risk(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    weight: str | None = None,
    sampling_fraction: float | None = None,
    method: Method = "exact",
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """Share of the records that are found on average: the mean of the individual risks.

    Parameters
    ----------
    frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
        As for `individual_risk`. A Dask frame gives a lazy scalar.

    Notes
    -----
    One pass; the risks are summed over the distinct combinations.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "w": [10, 20, 2]})
    >>> round(global_risk(people, ["zip"], weight="w"), 4)  # 0.8084 / 3
    0.2695

    References
    ----------
    .. [1] Hundepool and others, Statistical disclosure control, Wiley, 2012, section 3.3.
    """
    table = risk_table(
        frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
    )
    return ratio(number((table["n"] * table["risk"]).sum()), number(table["n"].sum()))


def individual_risk_threshold(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    global_risk: float,
    weight: str | None = None,
    sampling_fraction: float | None = None,
    method: Method = "exact",
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """Individual risk down to which riskier records must be protected for a wanted global risk.

    The largest r* for which the mean of min(risk, r*) is at most `global_risk` [1]_; the highest
    risk, if nothing needs to be done.

    Parameters
    ----------
    global_risk : float
        The global risk that is wanted, above 0.
    frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
        As for `individual_risk`. A Dask frame gives a lazy scalar.

    Notes
    -----
    One pass over the records. The distinct risks are brought together in one task, 16 bytes each.

    Examples
    --------
    Risks 0.0576, 0.0576 and 0.6931; the last may be 0.1848 for a mean of 0.1:

    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "w": [10, 20, 2]})
    >>> round(individual_risk_threshold(people, ["zip"], weight="w", global_risk=0.1), 4)
    0.1848

    References
    ----------
    .. [1] Polettini and Seri, Guidelines for the protection of social micro-data using individual
       risk methodology, CASC 2004, equation 17.
    """
    if not global_risk > 0:
        raise AnonError(
            f"global_risk must be above 0, found {global_risk:g}: no record is without risk."
        )
    table = risk_table(
        frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
    )
    risks = table[["risk", "n"]]
    if isinstance(risks, pd.DataFrame):
        return _threshold(risks, global_risk)
    return risks.reduction(
        chunk=_count_risks,
        combine=_count_risks,
        aggregate=_threshold,
        aggregate_kwargs={"wanted": global_risk},
        meta=1.0,
    )


def _count_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """How many records have each risk."""
    return pd.DataFrame(risks.groupby("risk", as_index=False)["n"].sum())


def _threshold(risks: pd.DataFrame, wanted: float) -> float:
    ordered = _count_risks(risks)
    risk, n = ordered["risk"].to_numpy(), ordered["n"].to_numpy()
    above = n.sum() - np.cumsum(n)  # records that are riskier
    kept = np.cumsum(risk * n)
    # The mean if all that are riskier had just the risk of these.
    fits = (kept + risk * above) / max(n.sum(), 1) <= wanted
    if fits.all():
        return float(risk[-1]) if len(risk) else 0.0
    first = int(np.argmin(fits))
    below = kept[first] - risk[first] * n[first]
    return float((wanted * n.sum() - below) / (above[first] + n[first]))
