"""How far released cells lie from the values that they stand for, from 0 to 1.

    was      shown as      real             nominal
    1        [1, 3]        E|1 − U| / range  –
    a        {a, b}        –                 1 − 1/2
    (none)   [1, 3]        1                 1

The records of both tables must stand in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dask_anon.errors import AnonError
from dask_anon.metrics._attributes import Attribute
from dask_anon.metrics._covered import Known, Sums, add, mean
from dask_anon.metrics._pairs import Comparison, Pairs
from dask_anon.metrics._ranks import Ranks, merge_places, places_of, ranks_of

Floats = NDArray[np.float64]

# What the kinds of columns are called, here and in the tools that know the measure.
_KINDS = {"real": "real", "ordered": "ordered", "nominal": "nominal", "unordered": "nominal"}


def by_element_distance(
    original: Any,
    released: Any,
    *,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    original_is_released: bool = False,
    by_column: bool = False,
) -> Any:
    """Mean distance between the elements of two tables: 0 is equal, 1 as far apart as can be.

    For a pair of elements, by the type of its column:

    - *real*: the distance of two values is abs(a − b) / (M − m), with the extremes M and m of the
      original column. A range is a value that lies anywhere within it, and the distance to it that
      of its values, on average; of two ranges, of their values in order (earth mover's distance).
    - *ordered*: the same of ranks; a rank is how many elements of the original are smaller, and the
      range is n − 1. A value that does not occur there has a rank between its neighbours'.
    - *nominal*: 1 − labels in both / labels in either; a single value is a set of one.

    A missing element is at distance 1 from every other, and 0 from another missing one. A cell that
    shows missing values beside others is half the one, half the other (nominal: one label more).

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        The same records in the same order, and in the same partitions.
    types : mapping of column to {"real", "ordered", "nominal"}, optional
        By default numbers, dates and times are real, ordered categories ordered, and all else
        nominal. Text that is said to be real or ordered is read as numbers.
    columns : sequence of str, optional
        Columns of the original; by default all.
    hierarchies : mapping of column to rows, optional
        For cells that are nodes: the set of their leaves.
    original_is_released : bool, default False
        The original is a release itself: its texts are read as intervals and sets as well.
    by_column : bool, default False
        Give a dict with one figure a column.

    Returns
    -------
    float or dict of str to float
        Lazy (a ``Delayed``) where a frame is a Dask one.

    Raises
    ------
    AnonError
        For an unknown type, or one that the column cannot have.
    DataError
        When released cells cannot be read, or the records of the tables cannot be paired.

    Notes
    -----
    Two passes over the original, three with ordered columns, and one over the release, O(records);
    only distinct pairs of cells are compared.

    Examples
    --------
    >>> original = pd.DataFrame({"n": [1, 3, 5, 9], "q": ["a", "b", "c", "d"]})
    >>> released = pd.DataFrame(
    ...     {
    ...         "n": ["[1, 3]", "[1, 3]", "[5, 9]", "[5, 9]"],
    ...         "q": ["{a, b}", "{a, b}", "{c, d}", "{c, d}"],
    ...     }
    ... )
    >>> by_element_distance(original, released, by_column=True)  # (1 + 1 + 2 + 2) / 8 / 4
    {'n': 0.1875, 'q': 0.5}
    >>> by_element_distance(original, released)
    0.34375
    """
    names = list(original.columns) if columns is None else list(columns)
    kinds = _kinds(original, names, types or {})
    compared = Comparison(
        original,
        released,
        names,
        hierarchies,
        literal=True,
        nominal=[name for name, kind in kinds.items() if kind == "nominal"],
        numbers=[name for name, kind in kinds.items() if kind in ("real", "ordered")],
        labelled=original_is_released,
    )
    ranked = [name for name, kind in kinds.items() if kind == "ordered"]
    ranks, after = {}, None
    if ranked:
        places = compared.of_original(places_of, merge_places, columns=ranked)
        ranks = after = compared.steps(ranks_of, places)
    sums = compared.of_pairs(_distances, add, ranks, after=after)
    return compared.steps(_shares, sums, compared.known, by_column)


def changed_cells(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Share of cells that do not show what was there.

    A range or a set never equals a value, not even when it covers it. A missing value that is still
    missing has not changed.

    Parameters
    ----------
    original, released, columns, hierarchies, by_column
        As for :func:`by_element_distance`.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [23, 25, None, 31]})
    >>> released = pd.DataFrame({"age": ["[23, 25]", "25", None, "30"]})
    >>> changed_cells(original, released)
    0.5
    """
    names = list(original.columns) if columns is None else list(columns)
    compared = Comparison(original, released, names, hierarchies, literal=True)
    sums = compared.of_pairs(_changes, add)
    return compared.steps(_shares, sums, compared.known, by_column)


def _kinds(original: Any, columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """The kind of every column that has been said, and of ordered categories."""
    for column, kind in types.items():
        if column not in columns:
            raise AnonError(
                f"a type is given for column '{column}', which is not compared. "
                f"The columns are {list(columns)}."
            )
        if kind not in _KINDS:
            raise AnonError(
                f"column '{column}' cannot be of type {kind!r}. Choose 'real', 'ordered' or "
                "'nominal'."
            )
    dtypes = dict(original.dtypes)
    scales = {c: "ordered" for c in columns if getattr(dtypes.get(c), "ordered", False)}
    return scales | {column: _KINDS[kind] for column, kind in types.items()}


def _distances(pairs: dict[str, Pairs], known: Known, ranks: dict[str, Ranks]) -> Sums:
    sums = {
        name: float(own.counts @ _distance(own, known[1][name], ranks.get(name)))
        for name, own in pairs.items()
    }
    return len(next(iter(pairs.values())).of_record), sums


def _distance(pairs: Pairs, attribute: Attribute, ranks: Ranks | None) -> Floats:
    if pairs.own.low is None or pairs.shown.low is None:
        return _between_sets(pairs)
    own, shown = pairs.own, pairs.shown
    if ranks is None:
        ends = [own.ends, shown.ends]
        width = attribute.top
    else:
        ends = [(ranks.of(low), ranks.of(high)) for low, high in (own.ends, shown.ends)]
        width = ranks.width
    (a1, a2), (b1, b2) = (
        (low[cell], high[cell])
        for (low, high), cell in zip(ends, (pairs.own_cell, pairs.shown_cell), strict=True)
    )
    apart = between_ranges(a1, a2, b1, b2)
    # In a column of equal values, every other value is as far away as can be.
    apart = apart / width if width else np.where(apart > 0, 1.0, apart)
    apart = np.nan_to_num(np.minimum(apart, 1.0))
    gone = [
        np.where(cells.only_missing, 1.0, np.where(cells.has_missing, 0.5, 0.0))[cell]
        for cells, cell in ((own, pairs.own_cell), (shown, pairs.shown_cell))
    ]
    both_there = np.minimum(1 - gone[0], 1 - gone[1])
    return np.asarray(np.abs(gone[0] - gone[1]) + both_there * apart)


def between_ranges(a1: Floats, a2: Floats, b1: Floats, b2: Floats) -> Floats:
    """Earth mover's distance of two ranges over which values are spread evenly.

    The values in order: the lowest of one goes to the lowest of the other, and so on. A value is a
    range of no width.

    Examples
    --------
    >>> one, two, four = np.array([1.0]), np.array([2.0]), np.array([4.0])
    >>> between_ranges(two, two, one, four).tolist()  # (1**2 + 2**2) / (2 * 3)
    [0.8333333333333334]
    """
    first, last = a1 - b1, a2 - b2
    both = np.abs(first) + np.abs(last)
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = (first**2 + last**2) / (2 * both)
    return np.asarray(np.where(first * last >= 0, both / 2, crossing))


def _between_sets(pairs: Pairs) -> Floats:
    own, shown, i, j = pairs.own, pairs.shown, pairs.own_cell, pairs.shown_cell
    # Missing is one label more.
    in_both = pairs.labels_in_common() + (own.has_missing[i] & shown.has_missing[j])
    sizes = (own.n_labels + own.has_missing)[i] + (shown.n_labels + shown.has_missing)[j]
    return np.asarray(1 - in_both / (sizes - in_both))


def _changes(pairs: dict[str, Pairs], known: Known) -> Sums:
    sums = {name: float(own.counts @ _changed(own)) for name, own in pairs.items()}
    return len(next(iter(pairs.values())).of_record), sums


def _changed(pairs: Pairs) -> NDArray[np.bool_]:
    own, shown, i, j = pairs.own, pairs.shown, pairs.own_cell, pairs.shown_cell
    if own.offsets is not None:
        return np.asarray(_between_sets(pairs) > 0)
    (a1, a2), (b1, b2) = own.ends, shown.ends
    gone = own.only_missing[i] & shown.only_missing[j]
    same = (a1[i] == b1[j]) & (a2[i] == b2[j]) & (own.has_missing[i] == shown.has_missing[j])
    return np.asarray(~(gone | same))


def _shares(sums: Sums, _: Known, by_column: bool) -> Any:
    n_records, totals = sums
    figures = {name: total / n_records if n_records else 0.0 for name, total in totals.items()}
    return figures if by_column else mean(figures)
