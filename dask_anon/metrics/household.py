"""Household risk: who finds one of those who live together, finds all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dask_anon.errors import DataError, counted, nearest
from dask_anon.metrics._weighted import Method, Missing
from dask_anon.metrics.individual import individual_risk


def household_risk(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    household: str,
    weight: str | None = None,
    sampling_fraction: float | None = None,
    method: Method = "exact",
    missing: Missing = "own-value",
    alpha: float = 1.0,
    split_out: int = 1,
) -> Any:
    """Risk of each household: the chance that at least one of its members is found.

    1 - Π (1 - risk) over its members [1]_: who finds one of them, finds all.

    Parameters
    ----------
    household : str
        Column that says who lives together.
    frame, quasi_identifiers, weight, sampling_fraction, method, missing, alpha, split_out
        As for `individual_risk`.

    Returns
    -------
    pandas or lazy Dask DataFrame
        One row per household, which is the index: ``size`` and ``risk``. A record's household risk
        is ``frame[household].map(result["risk"])``.

    Raises
    ------
    DataError
        If a record has no household. In a Dask frame when it is computed.

    Notes
    -----
    As `individual_risk`, and a shuffle of two numbers a household into as many partitions as
    `frame` has.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "w": [2, 2, 2], "home": [1, 1, 2]})
    >>> household_risk(people, ["zip"], weight="w", household="home")["risk"].round(4).to_dict()
    {1: 0.5195, 2: 0.6931}

    References
    ----------
    .. [1] Hundepool and others, Statistical disclosure control, Wiley, 2012, section 3.3.
    """
    names = [str(name) for name in frame.columns]
    if household not in names:
        close = nearest(household, names)
        hint = f" Did you mean '{close}'?" if close else ""
        raise DataError(f"household column '{household}' is not in the table.{hint}")
    risk = individual_risk(
        frame,
        quasi_identifiers,
        weight=weight,
        sampling_fraction=sampling_fraction,
        method=method,
        missing=missing,
        alpha=alpha,
        split_out=split_out,
    )
    homes = frame[[household]]
    if isinstance(frame, pd.DataFrame):
        return _finish(_members(homes, risk).groupby("home", observed=True).sum(), household)
    members = homes.map_partitions(
        _members, risk, meta=_members(homes._meta, risk._meta), align_dataframes=False
    )
    sums = members.groupby("home", observed=True, sort=False).sum(split_out=frame.npartitions)
    return sums.map_partitions(_finish, household, meta=_finish(sums._meta, household))


def _members(homes: pd.DataFrame, risk: pd.Series) -> pd.DataFrame:
    """One row a record: where it lives, and the logarithm of the chance that it stays hidden."""
    (household,) = homes.columns
    n_missing = int(homes[household].isna().sum())
    if n_missing:
        raise DataError(
            f"household column '{household}' has no value in "
            f"{counted(n_missing, 'record', 'records')}. Give whoever lives alone a household.",
            n_records=n_missing,
        )
    with np.errstate(divide="ignore"):  # a risk of 1 leaves no chance
        hidden = np.log1p(-risk.to_numpy())
    return pd.DataFrame({"home": homes[household], "size": 1, "hidden": hidden})


def _finish(sums: pd.DataFrame, household: str) -> pd.DataFrame:
    risk = -np.expm1(sums["hidden"])
    return pd.DataFrame({"size": sums["size"], "risk": risk}).rename_axis(household)
