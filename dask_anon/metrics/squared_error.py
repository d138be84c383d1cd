"""How far the released numbers lie from those of the original, squared.

    was 23, shown as [20, 30]      worst case 7² (30 instead of 23)      expected 2² (25 − 23)

For ordered columns: numbers, dates, ordered categories. The records of both tables must stand in
the same order. A cell that shows no number, or any, is taken for the whole range of the original; a
value that was missing has no error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dask_anon.errors import AnonError
from dask_anon.metrics._attributes import Attribute
from dask_anon.metrics._cells import Cells
from dask_anon.metrics._covered import Known, mean
from dask_anon.metrics._pairs import Comparison, Pairs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Number, mean and sum of squared deviations of the places of some values."""

    n: int
    mean: float
    squares: float

    @property
    def deviation(self) -> float:
        """Sample standard deviation; 0 where there is none."""
        return float(np.sqrt(self.squares / (self.n - 1))) if self.n > 1 else 0.0

    def __add__(self, other: Moments) -> Moments:
        # Chan, Golub and LeVeque 1983: sums of squares would cancel.
        n = self.n + other.n
        if n == 0:
            return self
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * self.n * other.n / n
        return Moments(n, self.mean + apart * other.n / n, squares)


def attribute_squared_error(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Worst-case squared error of the cells: 0 shows every value, 1 shows nothing.

    Σ of the squared distance from the value to the farther end of its cell, divided by Σ of that to
    the farther end of the column [1]_. Over several columns, their mean. ARX reports 1 minus this.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        The same records in the same order, and in the same partitions.
    columns : sequence of str
        Columns of the original, of numbers, dates or ordered categories.
    hierarchies : mapping of column to rows, optional
        One row a value, as a list or a frame, the value itself first and the root last.
    by_column : bool, default False
        Give a dict with one figure a column.

    Returns
    -------
    float or dict of str to float
        Lazy (a ``Delayed``) where a frame is a Dask one.

    Raises
    ------
    AnonError
        For a column without an order.
    DataError
        When released cells cannot be read, or the records of the tables cannot be paired.

    Notes
    -----
    Two passes over the original and one over the release, O(records).

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 23, 30]})
    >>> released = pd.DataFrame({"age": ["[20, 23]", "[20, 23]", "30"]})
    >>> attribute_squared_error(original, released, columns=["age"])  # 18 / (100 + 49 + 100)
    0.07228915662650602

    References
    ----------
    .. [1] Prasser, Eicher, Spengler, Bild and Kuhn, Flexible data anonymization using ARX,
       Software: Practice and Experience 50(7), 2020.
    """
    compared = _comparison(original, released, columns, hierarchies)
    sums = compared.of_pairs(_farthest, _add)
    return compared.steps(_ratios, sums, by_column)


def record_squared_error(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """Worst-case distance of whole records: 0 shows every value, 1 shows nothing.

    The Euclidean distance from a record to the farthest one that its cells allow, each column
    divided by its standard deviation, averaged over the records; divided by the same for records
    that show nothing. ARX reports 1 minus this.

    Parameters
    ----------
    original, released, columns, hierarchies
        As for :func:`attribute_squared_error`, which is the version by column.

    Notes
    -----
    Three passes over the original and one over the release, O(records).

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 30], "pay": [100, 300]})
    >>> released = pd.DataFrame({"age": ["[20, 30]", "30"], "pay": ["100", "300"]})
    >>> round(record_squared_error(original, released, columns=["age", "pay"]), 6)
    0.353553

    One column of two is lost in one record of two: 1 / (2 · √2).
    """
    compared = _comparison(original, released, columns, hierarchies)
    moments = compared.of_original(_moments, _merge_moments)
    sums = compared.of_pairs(_record_distances, _add, moments, after=moments)
    return compared.steps(_ratios, sums, False)


def sse_over_sst(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Squared error in units of the variance: 0 shows every value, 1 only the mean of all.

    Σ (value − midpoint of its cell)² / Σ (value − mean of the column)² [1]_; over several columns,
    their mean. What microaggregation minimizes. A cell far from its value makes it larger than 1.

    Parameters
    ----------
    original, released, columns, hierarchies, by_column
        As for :func:`attribute_squared_error`.

    Notes
    -----
    Three passes over the original and one over the release, O(records).

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 22, 30, 32]})
    >>> released = pd.DataFrame({"age": [21.0, 21.0, 31.0, 31.0]})
    >>> round(sse_over_sst(original, released, columns=["age"]), 6)  # 4 * 1 / (2 * 36 + 2 * 16)
    0.038462

    References
    ----------
    .. [1] Domingo-Ferrer and Mateo-Sanz, Practical data-oriented microaggregation for statistical
       disclosure control, IEEE TKDE 14(1), 2002.
    """
    compared = _comparison(original, released, columns, hierarchies)
    moments = compared.of_original(_moments, _merge_moments)
    sums = compared.of_pairs(_from_midpoint, _add)
    return compared.steps(_over_variance, sums, moments, by_column)


def il1s(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Mean absolute error in units of √2 standard deviations, IL1s.

    The mean over all cells of abs(value − midpoint of the cell) / (√2 · standard deviation) [1]_.

    Parameters
    ----------
    original, released, columns, hierarchies, by_column
        As for :func:`attribute_squared_error`.

    Notes
    -----
    Three passes over the original and one over the release, O(records).

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 24]})
    >>> released = pd.DataFrame({"age": [22.0, 24.0]})
    >>> round(il1s(original, released, columns=["age"]), 6)  # (2 / (sqrt(2) * sqrt(8)) + 0) / 2
    0.25

    References
    ----------
    .. [1] Yancey, Winkler and Creecy, Disclosure risk assessment in perturbative microdata
       protection, Inference Control in Statistical Databases, 2002.
    """
    compared = _comparison(original, released, columns, hierarchies)
    moments = compared.of_original(_moments, _merge_moments)
    sums = compared.of_pairs(_from_midpoint, _add)
    return compared.steps(_over_deviation, sums, moments, by_column)


# -- of a pair -----------------------------------------------------------------------------------

# A sum and what it is divided by, column by column.
Sums = dict[str, tuple[float, float]]


def _comparison(
    original: Any, released: Any, columns: Sequence[str], hierarchies: Mapping[str, Any] | None
) -> Comparison:
    return Comparison(original, released, columns, hierarchies, literal=False)


def _ends(pairs: Pairs, attribute: Attribute) -> tuple[Floats, Floats, Floats]:
    """For each pair: the value, and both ends of the cell; NaN for a value that was missing."""
    if not attribute.is_ordered or pairs.own.low is None:
        raise AnonError(
            f"column '{attribute.name}' has labels that lie nowhere on a line, so no distance can "
            "be squared. Leave it out, or measure by_element_distance."
        )
    value = pairs.own.ends[0][pairs.own_cell]
    nothing = pairs.shown.only_missing[pairs.shown_cell]
    low, high = (end[pairs.shown_cell] for end in pairs.shown.ends)
    return value, np.where(nothing, 0.0, low), np.where(nothing, attribute.top, high)


def _squared(value: Floats, low: Any, high: Any) -> Floats:
    """Squared distance to the farther end; 0 for a value that was missing."""
    return np.asarray(np.nan_to_num(np.maximum((value - low) ** 2, (value - high) ** 2)))


def _farthest(pairs: dict[str, Pairs], known: Known) -> Sums:
    sums = {}
    for name, own in pairs.items():
        value, low, high = _ends(own, known[1][name])
        sums[name] = (
            float(own.counts @ _squared(value, low, high)),
            float(own.counts @ _squared(value, 0.0, known[1][name].top)),
        )
    return sums


def _record_distances(pairs: dict[str, Pairs], known: Known, moments: dict[str, Moments]) -> Sums:
    n_records = len(next(iter(pairs.values())).of_record)
    shown, worst = np.zeros(n_records), np.zeros(n_records)
    for name, own in pairs.items():
        value, low, high = _ends(own, known[1][name])
        variance = moments[name].deviation ** 2
        if variance:
            shown += (_squared(value, low, high) / variance)[own.of_record]
            worst += (_squared(value, 0.0, known[1][name].top) / variance)[own.of_record]
    return {"": (float(np.sqrt(shown).sum()), float(np.sqrt(worst).sum()))}


def _from_midpoint(pairs: dict[str, Pairs], known: Known) -> Sums:
    """Squared and absolute distances from the midpoint of the cell."""
    sums = {}
    for name, own in pairs.items():
        value, low, high = _ends(own, known[1][name])
        error = np.nan_to_num(value - (low + high) / 2)
        sums[name] = float(own.counts @ error**2), float(own.counts @ np.abs(error))
    return sums


# -- of the table --------------------------------------------------------------------------------


def _moments(cells: dict[str, Cells], _: Known) -> dict[str, Moments]:
    return {name: _moments_of(own) for name, own in cells.items()}


def _moments_of(own: Cells) -> Moments:
    counts = np.where(own.only_missing, 0, own.counts)
    n = int(counts.sum())
    if not n or own.low is None:
        return Moments(0, 0.0, 0.0)
    places = np.nan_to_num(own.low)
    middle = float(counts @ places) / n
    return Moments(n, middle, float(counts @ (places - middle) ** 2))


def _merge_moments(several: list[dict[str, Moments]]) -> dict[str, Moments]:
    merged = dict(several[0])
    for one in several[1:]:
        merged = {name: own + one[name] for name, own in merged.items()}
    return merged


def _add(several: list[Sums]) -> Sums:
    return {
        name: (sum(one[name][0] for one in several), sum(one[name][1] for one in several))
        for name in several[0]
    }


def _over(part: float, whole: float) -> float:
    """A ratio, of columns whose values are all equal as well: any error there is everything."""
    return part / whole if whole else float(part > 0)


def _ratios(sums: Sums, by_column: bool) -> Any:
    figures = {name: _over(*pair) for name, pair in sums.items()}
    return figures if by_column else mean(figures)


def _over_variance(sums: Sums, moments: dict[str, Moments], by_column: bool) -> Any:
    return _ratios({c: (sums[c][0], moments[c].squares) for c in sums}, by_column)


def _over_deviation(sums: Sums, moments: dict[str, Moments], by_column: bool) -> Any:
    scaled = {c: (sums[c][1], moments[c].n * moments[c].deviation * 2**0.5) for c in sums}
    return _ratios(scaled, by_column)
