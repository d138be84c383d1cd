"""How much of the original's domain the released cells cover: 0 shows every value, 1 shows nothing.

    "[23, 25]" of ages 20 to 40     2 of 20 steps        0.1
    "{a, b}" of a, b, c             1 of 2 more labels   0.5
    "*", or a record left out                            1.0

Only what a cell shows counts, and what the original's columns are: the records need not stand in
the same order. A record of the original that the release lacks has lost everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dask_anon.errors import AnonError
from dask_anon.metrics._attributes import Attribute
from dask_anon.metrics._cells import Cells
from dask_anon.metrics._covered import (
    Floats,
    Known,
    Sums,
    add,
    columns_of,
    mean,
    means,
    penalties,
    read,
    summed,
    values_covered,
)
from dask_anon.metrics._steps import Steps


def normalized_certainty_penalty(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """Average normalized certainty penalty of each quasi-identifier.

    The penalty of a cell is the share of the attribute's domain that it covers [1]_: (largest −
    smallest) / (largest − smallest of the original) for numbers, dates and ordered categories,
    (labels − 1) / (labels of the original − 1) for sets, (leaves − 1) / (leaves of the hierarchy −
    1) for nodes of a hierarchy. A missing value is a label of its own, or one step past the
    largest number. A cell that was suppressed, and a record left out, cost 1.

    Parameters
    ----------
    released, original : pandas or Dask DataFrame
        The published table, and what it was made from. Records need not stand in the same order.
    quasi_identifiers : sequence of str
        Columns of the original.
    hierarchies : mapping of column to rows, optional
        One row a value, as a list or a frame, the value itself first and the root last.

    Returns
    -------
    dict of str to float
        One entry a quasi-identifier, 0 to 1. Lazy (a ``Delayed``) where a frame is a Dask one.

    Raises
    ------
    DataError
        When released cells cannot be read: their column and number, never what they hold.

    Notes
    -----
    One pass over each table, O(records); only distinct cells are parsed. A midpoint or a mean
    covers one value and costs nothing here: see ``sse_over_sst``.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 22, 30], "zip": ["a", "b", "c"]})
    >>> ages, zips = ["[20, 22]", "[20, 22]", "30"], ["a", "{b, c}", "*"]
    >>> released = pd.DataFrame({"age": ages, "zip": zips})
    >>> normalized_certainty_penalty(released, original, quasi_identifiers=["age", "zip"])
    {'age': 0.13333333333333333, 'zip': 0.5}

    References
    ----------
    .. [1] Xu, Wang, Pei, Wang, Shi and Fu, Utility-based anonymization using local recoding,
       KDD 2006, section 2.
    """
    steps, known, sums = summed(penalties, released, original, quasi_identifiers, hierarchies)
    return steps(means, sums, known)


def global_certainty_penalty(
    released: Any,
    original: Any = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """Global certainty penalty: 0 shows every value, 1 shows nothing.

    The mean over the quasi-identifiers of their average normalized certainty penalty [1]_.

    Parameters
    ----------
    released : pandas or Dask DataFrame, or mapping of column to float
        The published table; or average penalties that are known already, and nothing else.
    original, quasi_identifiers, hierarchies
        As for :func:`normalized_certainty_penalty`, which is the version by column.

    Examples
    --------
    >>> global_certainty_penalty({"age": 0.25, "zip": 0.75})
    0.5

    References
    ----------
    .. [1] Ghinita, Karras, Kalnis and Mamoulis, Fast data anonymization with low information
       loss, VLDB 2007.
    """
    if isinstance(released, Mapping):
        return mean(dict(released))
    if original is None:
        raise AnonError(
            "the penalty of a release is measured against the original. Give both tables, or the "
            "average penalty of each column."
        )
    steps, known, sums = summed(penalties, released, original, quasi_identifiers, hierarchies)
    return steps(mean, steps(means, sums, known))


def granularity(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Granularity: 1 shows every value, 0 shows nothing.

    A cell covers a share of the attribute's values, at best one of them. The mean share over all
    cells, put on a scale from its worst (1) to its best, is the loss metric [1]_ in the form in
    which ARX reports it [2]_. By column it is 1 − the normalized certainty penalty; over all
    columns, one with few values weighs less: 1 − 1/values.

    Parameters
    ----------
    released, original, quasi_identifiers, hierarchies
        As for :func:`normalized_certainty_penalty`.
    by_column : bool, default False
        Give a dict with one figure a quasi-identifier.

    Examples
    --------
    >>> original = pd.DataFrame({"sex": ["f", "m", "m"], "zip": ["a", "b", "c"]})
    >>> released = pd.DataFrame({"sex": ["*", "*", "*"], "zip": ["a", "b", "c"]})
    >>> granularity(released, original, quasi_identifiers=["sex", "zip"])  # (2/3) / (1/2 + 2/3)
    0.5714285714285714

    References
    ----------
    .. [1] Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
    .. [2] Prasser, Eicher, Spengler, Bild and Kuhn, Flexible data anonymization using ARX,
       Software: Practice and Experience 50(7), 2020.
    """
    steps, known, sums = summed(penalties, released, original, quasi_identifiers, hierarchies)
    return steps(_granularity, steps(means, sums, known), known, by_column)


def generalization_intensity(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any],
    by_column: bool = False,
) -> Any:
    """How far up its hierarchy the average cell stands: 0 is a value, 1 the root.

    Level / (levels − 1), averaged [1]_. A set that is no node stands where its labels first lie
    below one node; a record left out stands at the root, and so does a cell that shows missing
    values beside others.

    Parameters
    ----------
    released, original, quasi_identifiers, by_column
        As for :func:`granularity`.
    hierarchies : mapping of column to rows
        One for each quasi-identifier.

    Raises
    ------
    AnonError
        When a quasi-identifier has no hierarchy.

    Examples
    --------
    >>> rows = [["Linz", "Austria", "*"], ["Graz", "Austria", "*"], ["Rome", "Italy", "*"]]
    >>> original = pd.DataFrame({"city": ["Linz", "Graz", "Rome"]})
    >>> released = pd.DataFrame({"city": ["Austria", "Austria", "Rome"]})
    >>> generalization_intensity(
    ...     released, original, quasi_identifiers=["city"], hierarchies={"city": rows}
    ... )  # (1/2 + 1/2 + 0) / 3
    0.3333333333333333

    References
    ----------
    .. [1] Sweeney, Achieving k-anonymity privacy protection using generalization and suppression,
       IJUFKS 10(5), 2002, section 4.
    """
    columns = columns_of(quasi_identifiers)
    without = [column for column in columns if column not in hierarchies]
    if without:
        raise AnonError(
            f"levels are those of a hierarchy, and {without} have none. Give one for each of them, "
            "or measure their granularity."
        )
    steps, known, sums = summed(_heights, released, original, columns, hierarchies)
    by_name = steps(means, sums, known)
    return by_name if by_column else steps(mean, by_name)


def precision(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any],
    by_column: bool = False,
) -> Any:
    """Sweeney's precision: 1 − the generalization intensity; 1 shows every value.

    Parameters
    ----------
    released, original, quasi_identifiers, hierarchies, by_column
        As for :func:`generalization_intensity`.

    Examples
    --------
    >>> original = pd.DataFrame({"sex": ["f", "m"]})
    >>> released = pd.DataFrame({"sex": ["f", "*"]})
    >>> rows = {"sex": [["f", "*"], ["m", "*"]]}
    >>> precision(released, original, quasi_identifiers=["sex"], hierarchies=rows)
    0.5
    """
    steps = Steps(released, original)
    lost = generalization_intensity(
        released,
        original,
        quasi_identifiers=quasi_identifiers,
        hierarchies=hierarchies,
        by_column=by_column,
    )
    return steps(_kept, lost)


def ambiguity(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """How many different records a released record may stand for, on average.

    The product over the quasi-identifiers of the values that its cell covers [1]_: 1 for a record
    as it was, the product of all domains for one that shows nothing or was left out.

    Parameters
    ----------
    released, original, quasi_identifiers, hierarchies
        As for :func:`normalized_certainty_penalty`.
    by_column : bool, default False
        Give a dict with the average number of values of a cell for each quasi-identifier.

    Raises
    ------
    AnonError
        For a column of floating-point numbers without a hierarchy, whose values are not counted.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 22], "zip": ["a", "b"]})
    >>> released = pd.DataFrame({"age": ["[20, 22]", "22"], "zip": ["{a, b}", "b"]})
    >>> ambiguity(released, original, quasi_identifiers=["age", "zip"])  # (3 * 2 + 1) / 2
    3.5

    References
    ----------
    .. [1] Nergiz and Clifton, Thoughts on k-anonymization, DKE 63(3), 2007.
    """
    steps, known, cells = read(released, original, quasi_identifiers, hierarchies)
    sums = [steps(_products, own, known) for own in cells]
    return steps(_ambiguity, steps.merged(add, sums), known, by_column)


def suppressed_cell_rate(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Share of cells that show nothing: any value of the original could stand there.

    Parameters
    ----------
    released, original, quasi_identifiers, hierarchies, by_column
        As for :func:`granularity`. Every cell of a record left out counts.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 22, 30]})
    >>> released = pd.DataFrame({"age": ["20", "*", "[20, 30]"]})
    >>> suppressed_cell_rate(released, original, quasi_identifiers=["age"])
    0.6666666666666666
    """
    steps, known, sums = summed(_nothing, released, original, quasi_identifiers, hierarchies)
    by_name = steps(means, sums, known)
    return by_name if by_column else steps(mean, by_name)


def n_lost_records(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """How many records show nothing in any quasi-identifier, or were left out.

    Parameters
    ----------
    released, original, quasi_identifiers, hierarchies
        As for :func:`normalized_certainty_penalty`.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 22, 30, 40], "zip": ["a", "b", "c", "d"]})
    >>> released = pd.DataFrame({"age": ["20", "*", "*"], "zip": ["*", "*", "c"]})
    >>> n_lost_records(released, original, quasi_identifiers=["age", "zip"])
    2
    """
    steps, known, cells = read(released, original, quasi_identifiers, hierarchies)
    sums = [steps(_empty_records, own, known) for own in cells]
    return steps(_n_lost, steps.merged(add, sums), known)


# -- what is summed --------------------------------------------------------------------------------


def _heights(cells: Cells, attribute: Attribute) -> Floats:
    assert cells.levels is not None
    assert attribute.taxonomy is not None
    return np.asarray(cells.levels / max(1, attribute.taxonomy.n_levels - 1))


def _nothing(cells: Cells, attribute: Attribute) -> Floats:
    return np.asarray(penalties(cells, attribute) >= 1, np.float64)


def _kept(lost: Any) -> Any:
    return {c: 1 - one for c, one in lost.items()} if isinstance(lost, dict) else 1 - lost


def _granularity(lost: dict[str, float], known: Known, by_column: bool) -> Any:
    if by_column:
        return _kept(lost)
    weights = {
        c: 1 - 1 / (a.n_values or 1) if a.n_values is not None else 1.0 for c, a in known[1].items()
    }
    whole = sum(weights.values())
    return 1 - sum(weights[c] * lost[c] for c in lost) / whole if whole else 1.0


def _products(cells: dict[str, Cells], known: Known) -> Sums:
    n_records = len(next(iter(cells.values())).of_record)
    product = np.ones(n_records)
    sums = {}
    for name, own in cells.items():
        of_record = values_covered(own, known[1][name])[own.of_record]
        sums[name] = float(of_record.sum())
        product *= of_record
    return n_records, {**sums, "": float(product.sum())}


def _ambiguity(sums: Sums, known: Known, by_column: bool) -> Any:
    n_released, totals = sums
    n_original, attributes = known
    every = {name: float(a.n_values or 1) for name, a in attributes.items()}
    every[""] = float(np.prod(list(every.values())))
    n_left_out = max(0, n_original - n_released)
    n_records = n_released + n_left_out
    if not n_records:
        return dict.fromkeys(attributes, 1.0) if by_column else 1.0
    means = {name: (totals[name] + n_left_out * every[name]) / n_records for name in every}
    return {name: means[name] for name in attributes} if by_column else means[""]


def _empty_records(cells: dict[str, Cells], known: Known) -> Sums:
    nothing = [_nothing(own, known[1][c])[own.of_record] for c, own in cells.items()]
    return len(nothing[0]), {"": float(np.all(nothing, axis=0).sum())}


def _n_lost(sums: Sums, known: Known) -> int:
    n_released, totals = sums
    return int(totals[""]) + max(0, known[0] - n_released)
