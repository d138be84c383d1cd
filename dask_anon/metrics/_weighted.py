"""The distinct combinations of a sample with the persons that they stand for, and their risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from dask_anon.errors import AnonError, DataError, counted
from dask_anon.metrics._combinations import Combinations, combinations_table, names_of
from dask_anon.metrics._posterior import approximate_risk, exact_risk
from dask_anon.metrics._wildcard import fitting

Missing: TypeAlias = Literal["own-value", "wildcard"]
Method: TypeAlias = Literal["exact", "approximate"]


def counted_table(
    frame: Any,
    quasi_identifiers: Sequence[str],
    weight: str | None,
    missing: Missing,
    alpha: float,
    split_out: int,
) -> Any:
    """One row a combination: its values, ``n`` records, ``size`` that fit, ``weight`` of those."""
    if missing not in ("own-value", "wildcard"):
        raise AnonError(f"missing must be 'own-value' or 'wildcard', found {missing!r}.")
    if not 0 <= alpha <= 1:
        raise AnonError(f"alpha must be between 0 and 1, found {alpha:g}.")
    columns = names_of(quasi_identifiers)
    if weight is not None and weight in frame.columns:
        frame = _each(frame[list(dict.fromkeys([*columns, weight]))], _checked_weights, weight)
    table = combinations_table(frame, columns, weight=weight, split_out=split_out)
    if missing == "own-value":
        return _each(table, _as_they_are)
    if not isinstance(table, pd.DataFrame):
        table = table.repartition(npartitions=1)
    return _each(table, _matched, columns, alpha)


def risk_table(
    frame: Any,
    quasi_identifiers: Sequence[str],
    weight: str | None,
    sampling_fraction: float | None,
    method: Method,
    missing: Missing,
    alpha: float,
    split_out: int,
) -> Any:
    """The same with ``risk``, where the persons are told by weights or by a sampling fraction."""
    if method not in ("exact", "approximate"):
        raise AnonError(f"method must be 'exact' or 'approximate', found {method!r}.")
    if (weight is None) == (sampling_fraction is None):
        raise AnonError(
            "how many persons a record stands for must be said once, found "
            f"{'neither' if weight is None else 'both'}. Give weight, a column with the sampling "
            "weights, or sampling_fraction, if all have the same."
        )
    if sampling_fraction is not None and not 0 < sampling_fraction <= 1:
        raise AnonError(
            f"sampling_fraction must be above 0 and at most 1, found {sampling_fraction:g}. "
            "It is records of the table / persons of the population."
        )
    table = counted_table(frame, quasi_identifiers, weight, missing, alpha, split_out)
    return _each(table, _add_risk, method, sampling_fraction)


def _each(frame: Any, function: Any, *args: Any) -> Any:
    """A function of a pandas frame, of each partition of a Dask frame."""
    if isinstance(frame, pd.DataFrame):
        return function(frame, *args)
    return frame.map_partitions(function, *args, meta=function(frame._meta, *args))


def _checked_weights(frame: pd.DataFrame, weight: str) -> pd.DataFrame:
    if not pd.api.types.is_numeric_dtype(frame[weight].dtype):
        return frame  # whoever sums them says so
    weights = frame[weight].to_numpy(dtype=np.float64, na_value=np.nan)
    n_low = int((weights < 1).sum())
    if n_low:
        raise DataError(
            f"weight column '{weight}' is below 1 in {counted(n_low, 'record', 'records')}. A "
            "record stands for itself at least. Give the number of persons, not a share of them.",
            column=weight,
            n_records=n_low,
        )
    return frame


def _as_they_are(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(n=table["size"], size=table["size"].astype(np.float64))


def _matched(table: pd.DataFrame, columns: list[str], alpha: float) -> pd.DataFrame:
    combinations = Combinations.of(table, columns)
    amounts = {name: table[name] for name in ("size", "weight") if name in table.columns}
    found = {
        name: fitting(combinations.codes, amount.to_numpy(dtype=np.float64), alpha=alpha)
        for name, amount in amounts.items()
    }
    return table.assign(n=table["size"], **found)


def _add_risk(table: pd.DataFrame, method: Method, fraction: float | None) -> pd.DataFrame:
    size = table["size"].to_numpy()
    weight = table["weight"].to_numpy() if fraction is None else size / fraction
    risk_of = exact_risk if method == "exact" else approximate_risk
    return table.assign(risk=risk_of(size, weight))
