"""How many people of a population each record of a sample stands for.

    sample      age zip        population  age zip         sample      age zip  population
                30  021                    30  021                     30  021  1.5
                30  021          ──▶       30  021     ──▶             30  021  1.5
                44  100                    30  021                     44  100  0.0
                                           51  100

Summed over an equivalence class, the column gives the people of the population who have the exact
quasi-identifiers of some member: no more than those whom the class's labels cover. So a class that
has k of them by this count hides each of its records among k people at least, and k-map
(``weight: population``) can be asked of any algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dask_anon.errors import DataError, nearest


def add_population_counts(
    data: Any,
    population: Any,
    *,
    quasi_identifiers: Sequence[str],
    name: str = "population",
) -> Any:
    """Add a column with the people of a population that each record stands for.

    Parameters
    ----------
    data : pandas or Dask DataFrame
        The sample.
    population : pandas or Dask DataFrame
        One row a person, with the same quasi-identifiers of the same types.
    quasi_identifiers : sequence of str
    name : str, default "population"
        The new column: people of the population with the record's quasi-identifiers, divided by
        the records of the sample that have them.

    Returns
    -------
    pandas or Dask DataFrame
        `data` with the column. pandas keeps rows and index as they are; a Dask frame is merged, so
        its rows come in another order, without their index.

    Raises
    ------
    DataError
        A quasi-identifier is missing in either table, or the new column is there already.

    Notes
    -----
    Two group-by passes and a merge on the quasi-identifiers. A missing value equals a missing
    value. Records whose quasi-identifiers nobody in the population has count 0.

    Examples
    --------
    >>> sample = pd.DataFrame({"age": [30, 30, 44]})
    >>> everybody = pd.DataFrame({"age": [30, 30, 30, 51]})
    >>> counted = add_population_counts(sample, everybody, quasi_identifiers=["age"])
    >>> counted["population"].tolist()
    [1.5, 1.5, 0.0]

    References
    ----------
    Sweeney, k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002 (k-map).
    """
    keys = list(quasi_identifiers)
    for frame, whose in ((data, "table"), (population, "population")):
        _refuse_unknown(keys, [str(c) for c in frame.columns], whose)
    if name in data.columns:
        raise DataError(f"the table has a column '{name}' already. Give the counts another name.")
    in_population = _sizes(population, keys, "_n_people")
    in_sample = _sizes(data, keys, "_n_records")
    counts = in_sample.merge(in_population, on=keys, how="left")
    counts[name] = counts["_n_people"].fillna(0).astype("float64") / counts["_n_records"]
    counts = counts[[*keys, name]]
    merged = data.merge(counts, on=keys, how="left")
    return merged.set_axis(data.index) if isinstance(data, pd.DataFrame) else merged


def _sizes(frame: Any, keys: list[str], name: str) -> Any:
    sizes = frame[keys].groupby(keys, dropna=False, observed=True, sort=False).size()
    return sizes.rename(name).reset_index()


def _refuse_unknown(keys: list[str], names: list[str], whose: str) -> None:
    for key in keys:
        if key not in names:
            close = nearest(key, names)
            hint = f" Did you mean '{close}'?" if close else ""
            raise DataError(f"column '{key}' is not in the {whose}.{hint} Columns: {names}.")
