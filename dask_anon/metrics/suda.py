"""Special uniques: records that few columns are enough to single out.

Two records may both be unique. One of them is unique by its sex and age already, the other only
when all ten columns are put together. The first is more likely unique in the population, too, and
easier to find; SUDA scores tell how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, prod
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from dask_anon.errors import AnonError
from dask_anon.metrics._combinations import Combinations, combinations_table, look_up, names_of
from dask_anon.metrics._minimal_uniques import minimal_sample_uniques

Scores: TypeAlias = Literal["elliot", "ihsn"]


def suda2(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    max_size: int | None = None,
    sampling_fraction: float = 0.01,
    scores: Scores = "elliot",
    split_out: int = 1,
) -> Any:
    """SUDA score of every record, its DIS score, and what each column contributes.

    A *minimal sample unique* (MSU) of a record is a set of columns in which it is unique, while it
    is in no part of the set. Of m columns, an MSU of s adds (m-s)! to the record's score [1]_: the
    number of ways in which a search that adds column after column meets it. The DIS score [2]_ is
    the chance that a match on all columns is a true one, spread over the sample uniques by their
    score:

        θ = U d / (U d + P (1-d))
        dis = 1 / (1 + U (1/θ - 1) / (score^Q · Σ score^-Q)),  Q = 1 + (8-m)/20

    with U records that are unique, P records in pairs, and the sampling fraction d.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        The table.
    quasi_identifiers : sequence of str
        Columns that an attacker knows; a missing value is a value of its own.
    max_size : int, optional
        Columns of the largest MSU that is looked for; all by default. With a limit M an MSU of s
        adds (m-s)·(m-s-1)·…·(m-M).
    sampling_fraction : float, default 0.01
        Share of the population that is in the table, d.
    scores : {'elliot', 'ihsn'}, default 'elliot'
        How much an MSU adds: as above, or (2^(m-s) - 1) / (m over s), as in the implementation of
        the International Household Survey Network.
    split_out : int, default 1
        Of Dask: in how many partitions the distinct combinations are counted before they are
        brought together; more for many millions.

    Returns
    -------
    pandas or lazy Dask DataFrame
        Rows and index of `frame`: ``score``, ``dis``, and for each column ``<name>_contribution``,
        the share of the score that comes from MSUs with the column. All are 0 for a record that is
        not unique.

    Raises
    ------
    AnonError
        If an option is impossible.

    Notes
    -----
    One pass counts the distinct combinations, another looks up those that have a score. Between
    them one task visits 2^m sets of columns, or those of at most `max_size`; each takes a pass over
    the combinations that no smaller set tells apart. The task holds 16 bytes a column and
    combination, and a bit a combination for each set of the most frequent size: with more than
    fifteen columns give a limit. Nine columns of Adult (20,000 combinations) take half a second, a
    million combinations of nine columns a minute.

    Examples
    --------
    The third is unique by age (2! = 2) and by sex with zip (1), the fourth by zip, the fifth by zip
    and by sex with age:

    >>> people = pd.DataFrame({
    ...     "sex": ["f", "f", "m", "f", "m"],
    ...     "age": [30, 30, 40, 30, 30],
    ...     "zip": ["1", "1", "1", "2", "3"],
    ... })
    >>> suda2(people, ["sex", "age", "zip"])["score"].tolist()
    [0.0, 0.0, 3.0, 2.0, 3.0]

    References
    ----------
    .. [1] Elliot, Manning, Mayes, Gurd and Bane, SUDA: a program for detecting special uniques,
       UNECE/Eurostat work session on statistical data confidentiality, 2005; Manning, Haglin and
       Keane, A recursive search algorithm for statistical disclosure assessment, DMKD 16(2), 2008.
    .. [2] Skinner and Elliot, A measure of disclosure risk for microdata, JRSS B 64(4), 2002.
    """
    columns = names_of(quasi_identifiers)
    table = _scored_table(frame, columns, max_size, sampling_fraction, scores, split_out)
    figures = _no_figures(columns)
    return look_up(frame, columns, table, figures).fillna(0.0)


def suda2_contributions(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    max_size: int | None = None,
    scores: Scores = "elliot",
    split_out: int = 1,
) -> Any:
    """How much of all SUDA scores comes from minimal sample uniques with each column.

    Parameters
    ----------
    frame, quasi_identifiers, max_size, scores, split_out
        As for `suda2`.

    Returns
    -------
    pandas or lazy Dask Series
        Shares of the sum of the scores by column, 0 to 1 each. They add up to more than 1, because
        several columns make a minimal unique together.

    Examples
    --------
    >>> people = pd.DataFrame({
    ...     "sex": ["f", "f", "m", "f", "m"],
    ...     "age": [30, 30, 40, 30, 30],
    ...     "zip": ["1", "1", "1", "2", "3"],
    ... })
    >>> suda2_contributions(people, ["sex", "age", "zip"]).tolist()  # 2, 3 and 5 of 8
    [0.25, 0.375, 0.625]

    References
    ----------
    .. [1] Templ, Statistical disclosure control for microdata, Springer, 2017, section 3.7.
    """
    columns = names_of(quasi_identifiers)
    table = _scored_table(frame, columns, max_size, 0.01, scores, split_out)
    if isinstance(table, pd.DataFrame):
        return _shares(table, columns)
    return table.map_partitions(_shares, columns, meta=_shares(table._meta, columns))


def _scored_table(
    frame: Any,
    columns: list[str],
    max_size: int | None,
    sampling_fraction: float,
    scores: Scores,
    split_out: int,
) -> Any:
    if scores not in ("elliot", "ihsn"):
        raise AnonError(f"scores must be 'elliot' or 'ihsn', found {scores!r}.")
    if max_size is not None and max_size < 1:
        raise AnonError(f"max_size is a number of columns, at least 1, found {max_size}.")
    if not 0 < sampling_fraction < 1:
        raise AnonError(
            f"sampling_fraction must be above 0 and below 1, found {sampling_fraction:g}. "
            "It is records of the table / persons of the population."
        )
    table = combinations_table(frame, columns, split_out=split_out)
    options = (columns, max_size or len(columns), sampling_fraction, scores)
    if isinstance(table, pd.DataFrame):
        return _score(table, *options)
    together = table.repartition(npartitions=1)
    return together.map_partitions(_score, *options, meta=_score(table._meta, *options))


def _no_figures(columns: Sequence[str]) -> pd.DataFrame:
    names = ["score", "dis", *(f"{column}_contribution" for column in columns)]
    return pd.DataFrame({name: np.empty(0) for name in names})


def _score(
    table: pd.DataFrame, columns: list[str], max_size: int, fraction: float, scores: Scores
) -> pd.DataFrame:
    """Combinations that have a score, with it."""
    combinations = Combinations.of(table, columns)
    m, largest = len(columns), min(max_size, len(columns))
    score = np.zeros(len(table))
    by_column = np.zeros((m, len(table)))
    for chosen, unique in minimal_sample_uniques(combinations, largest):
        added = _weight_of(len(chosen), m, largest, scores)
        score[unique] += added
        for column in chosen:
            by_column[column][unique] += added
    scored = np.flatnonzero(score)
    dis = _dis(score[scored], combinations, m, fraction)
    shares = by_column[:, scored] / score[scored]
    figures = pd.DataFrame(np.vstack([score[scored], dis, shares]).T)
    figures.columns = _no_figures(columns).columns
    labels = table[columns].iloc[scored].reset_index(drop=True)
    return pd.concat([labels, figures], axis=1)


def _weight_of(size: int, m: int, largest: int, scores: Scores) -> float:
    """What a minimal sample unique of `size` of m columns adds to a score."""
    if scores == "ihsn":
        return float(2 ** (m - size) - 1) / comb(m, size)
    return float(prod(m - i for i in range(size, min(largest, m - 1) + 1)))


def _dis(score: Any, combinations: Combinations, m: int, fraction: float) -> Any:
    unique = int((combinations.sizes == 1).sum())
    paired = 2 * int((combinations.sizes == 2).sum())
    # U (1/θ - 1), which is 0 where there are no pairs: then every match is a true one.
    false_matches = paired * (1 - fraction) / fraction
    q = 1 + (8 - m) / 20
    powers = score**q
    return 1 / (1 + false_matches / (powers * (1 / powers).sum())) if unique else score


def _shares(table: pd.DataFrame, columns: list[str]) -> pd.Series:
    score = table["score"].to_numpy()
    total = score.sum() or 1.0
    shares = [float(score @ table[f"{column}_contribution"]) / total for column in columns]
    return pd.Series(shares, index=pd.Index(columns, name="column"), name="contribution")
