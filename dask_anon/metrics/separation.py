"""Which columns tell people apart: what every set of quasi-identifiers does, and which are safe.

A policy names quasi-identifiers. Before that somebody must find out which columns are any, and how
few of them are enough to single people out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations as subsets_of
from typing import Any, Literal

import numpy as np
import pandas as pd

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.metrics._combinations import Combinations, combinations_table, names_of
from dask_anon.metrics._sizes import count, ratio, sizes_of, total
from dask_anon.metrics._wildcard import fewest_fitting


def distinction(classes: ClassTable, *, quasi_identifiers: Sequence[str] | None = None) -> Any:
    """Share of distinct combinations of values among the records; 0 without records.

    Classes / records [1]_. 1 if all records differ.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a table. A Dask frame gives a lazy
        scalar.
    quasi_identifiers : sequence of str, optional
        Of a table: the columns that make its classes.

    Examples
    --------
    >>> distinction(pd.DataFrame({"size": [2, 1, 1]}))  # 3 / 4
    0.75

    References
    ----------
    .. [1] Motwani and Xu, Efficient algorithms for masking and finding quasi-identifiers, PVLDB
       2007.
    """
    sizes = sizes_of(classes, quasi_identifiers)
    return ratio(count(sizes), total(sizes))


def separation(classes: ClassTable, *, quasi_identifiers: Sequence[str] | None = None) -> Any:
    """Share of the pairs of records that differ; 0 without a pair.

    1 - Σ size·(size-1) / (n·(n-1)) [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a table. A Dask frame gives a lazy
        scalar.
    quasi_identifiers : sequence of str, optional
        Of a table: the columns that make its classes.

    Examples
    --------
    Of the 6 pairs of 4 records one is alike:

    >>> round(separation(pd.DataFrame({"size": [2, 1, 1]})), 4)  # 5 / 6
    0.8333

    References
    ----------
    .. [1] Motwani and Xu, Efficient algorithms for masking and finding quasi-identifiers, PVLDB
       2007.
    """
    sizes = sizes_of(classes, quasi_identifiers)
    n_records = total(sizes)
    pairs = n_records * (n_records - 1)
    return ratio(pairs - total(sizes * (sizes - 1)), pairs)


def attribute_sets(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    max_size: int | None = None,
    split_out: int = 1,
) -> Any:
    """Distinction and separation of every set of quasi-identifiers.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        The table.
    quasi_identifiers : sequence of str
        Columns of which sets are made; a missing value is a value of its own.
    max_size : int, optional
        Columns of the largest set; all by default.
    split_out : int, default 1
        Of Dask: in how many partitions the distinct combinations are counted before they are
        brought together; more for many millions.

    Returns
    -------
    pandas or lazy Dask DataFrame
        A row per set, from small to large and in the order of the columns: ``attributes`` (a tuple
        of names), ``n_classes``, ``smallest`` (the smallest class), ``distinction`` and
        ``separation``.

    Notes
    -----
    One pass over the table counts the distinct combinations; 2^columns sets are then counted from
    those, in one task of a Dask graph, which needs their values and about 8 bytes a column and
    combination beside.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 30, 30, 40]})
    >>> attribute_sets(people, ["sex", "age"])[["attributes", "distinction", "separation"]]
       attributes  distinction  separation
    0      (sex,)         0.50    0.666667
    1      (age,)         0.50    0.500000
    2  (sex, age)         0.75    0.833333

    References
    ----------
    .. [1] Motwani and Xu, Efficient algorithms for masking and finding quasi-identifiers, PVLDB
       2007.
    """
    columns = names_of(quasi_identifiers)
    table = combinations_table(frame, columns, split_out=split_out)
    largest = _largest_set(columns, max_size)
    if isinstance(table, pd.DataFrame):
        return _describe_sets(table, columns, largest)
    together = table.repartition(npartitions=1)
    return together.map_partitions(_describe_sets, columns, largest, meta=_no_sets())


def safe_combinations(
    frame: Any,
    quasi_identifiers: Sequence[str],
    *,
    k: int,
    min_size: int = 2,
    max_size: int | None = None,
    missing: Literal["own-value", "wildcard"] = "own-value",
    split_out: int = 1,
) -> Any:
    """Sets of quasi-identifiers that can be released as they are: no record in a class below `k`.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        The table.
    quasi_identifiers : sequence of str
        Columns of which sets are made.
    k : int
        How many records must be alike.
    min_size, max_size : int
        Columns of the smallest and largest set that are told; 2, and all.
    missing : {'own-value', 'wildcard'}, default 'own-value'
        Whether a missing value is a value of its own, or fits any. A wildcard is optimistic: a
        record counts for all that it may be, and whoever knows what it is counts it once.
    split_out : int, default 1
        As for `attribute_sets`.

    Returns
    -------
    list of list of str, or dask.delayed.Delayed
        From small to large and in the order of the columns. Of Dask, what computes to it.

    Notes
    -----
    A set with an unsafe part is unsafe, so it is not counted. Otherwise the cost is that of
    `attribute_sets`; with wildcards, times the number of patterns in which values are missing.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 30, 30, 40]})
    >>> safe_combinations(people, ["sex", "age"], k=2, min_size=1)
    [['sex']]

    References
    ----------
    .. [1] Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001
       (what is not k-anonymous in some columns is not in more).
    """
    columns = names_of(quasi_identifiers)
    if missing not in ("own-value", "wildcard"):
        raise AnonError(f"missing must be 'own-value' or 'wildcard', found {missing!r}.")
    if k < 1:
        raise AnonError(f"k must be at least 1, found {k}.")
    if min_size < 1:
        raise AnonError(f"min_size is a number of columns, at least 1, found {min_size}.")
    table = combinations_table(frame, columns, split_out=split_out)
    largest = _largest_set(columns, max_size)
    if isinstance(table, pd.DataFrame):
        return _find_safe(table, columns, k, min_size, largest, missing)
    import dask

    (together,) = table.repartition(npartitions=1).to_delayed()
    find = dask.delayed(_find_safe, pure=False)
    return find(together, columns, k, min_size, largest, missing)


def _largest_set(columns: Sequence[str], asked: int | None) -> int:
    if asked is not None and asked < 1:
        raise AnonError(f"max_size is a number of columns, at least 1, found {asked}.")
    return min(len(columns), asked or len(columns))


def _sets(n_columns: int, largest: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, largest + 1):
        yield from subsets_of(range(n_columns), size)


def _no_sets() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "attributes": pd.Series([], dtype=object),
            "n_classes": np.empty(0, np.int64),
            "smallest": np.empty(0, np.int64),
            "distinction": np.empty(0),
            "separation": np.empty(0),
        }
    )


def _describe_sets(table: pd.DataFrame, columns: list[str], largest: int) -> pd.DataFrame:
    combinations = Combinations.of(table, columns)
    rows: list[tuple[Any, ...]] = []
    for chosen in _sets(len(columns), largest):
        sizes = combinations.class_sizes(chosen)
        classes = pd.DataFrame({"size": sizes})
        smallest = int(sizes.min(initial=sizes.max(initial=0)))
        names = tuple(columns[i] for i in chosen)
        rows.append((names, len(sizes), smallest, distinction(classes), separation(classes)))
    empty = _no_sets()
    return pd.DataFrame(rows, columns=list(empty.columns)).astype(empty.dtypes)


def _find_safe(
    table: pd.DataFrame, columns: list[str], k: int, min_size: int, largest: int, missing: str
) -> list[list[str]]:
    combinations = Combinations.of(table, columns)
    fewest = fewest_fitting if missing == "wildcard" else _fewest_equal
    safe: set[tuple[int, ...]] = set()
    for chosen in _sets(len(columns), largest):
        parts = subsets_of(chosen, len(chosen) - 1)
        # Sets come from small to large, so the parts of this one are judged already.
        if len(chosen) > 1 and not all(part in safe for part in parts):
            continue
        if fewest(combinations, chosen) >= k:
            safe.add(chosen)
    told = sorted((chosen for chosen in safe if len(chosen) >= min_size), key=lambda s: (len(s), s))
    return [[columns[i] for i in chosen] for chosen in told]


def _fewest_equal(combinations: Combinations, columns: Sequence[int]) -> float:
    """How many records equal the record that fewest equal, in some of the columns."""
    return float(combinations.class_sizes(columns).astype(float).min(initial=np.inf))
