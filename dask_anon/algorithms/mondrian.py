"""Mondrian's decisions about one region, from summaries alone.

The algorithm asks for order statistics and is told them; it never sees a record:

    question  ──▶  "the value of rank 499,999 of attribute 2 in this region?"
    answer    ◀──  its value, how many records lie below it, how many up to it

so that the same dozen lines decide for a region whose records lie on a hundred machines. The
compiled kernel (``dask_anon.kernels.mondrian``) makes the same decisions for a region in memory,
and must stay equal to it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dask_anon.kernels.common import DIVIDE, EVERY_KEY, LEFT, Array, Scale, span

_ALL = int(EVERY_KEY)


@dataclass(frozen=True)
class Question:
    """Asks which value has this rank (from 0) in the region.

    The value of `attribute`; where `among` is a code, the key among the records that have that
    code.
    """

    attribute: int
    rank: int
    among: int | None = None


@dataclass(frozen=True)
class Rank:
    """An order statistic, with the numbers of records < and <= it."""

    value: int
    below: int
    up_to: int


@dataclass(frozen=True)
class Cut:
    """Records whose (code, key) is <= (threshold, key) go left: `n_left` of them."""

    attribute: int
    threshold: int
    key: int
    n_left: int


def find_cut(
    n_records: int, *, k: int, ties: int, order: Sequence[int], has_rules: bool = False
) -> Generator[Question | Cut, Any, Cut | None]:
    """The first allowed cut of a region, or None where it is an equivalence class.

    Parameters
    ----------
    n_records : int
        Records in the region.
    k : int
        Records that both sides need.
    ties : {LEFT, EITHER, DIVIDE}
        Where records equal to the median go.
    order : sequence of int
        The attributes to try (`attribute_order`).
    has_rules : bool, default False
        Whether both sides must keep more than their size.

    Yields
    ------
    Question or Cut
        Send back the question's `Rank`; of a cut, whether both of its sides keep the rules.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4; the relaxed variant section 3.2.
    """

    def allowed(n_left: int) -> bool:
        return n_left >= k and n_records - n_left >= k

    if n_records < 2 * k:
        return None
    rank = (n_records - 1) // 2
    for attribute in order:
        median = yield Question(attribute, rank)
        if ties == DIVIDE:
            key = yield Question(attribute, rank - median.below, among=median.value)
            cuts = _between_keys(attribute, median, key)
        else:
            cuts = [
                Cut(attribute, median.value, _ALL, median.up_to),
                Cut(attribute, median.value - 1, _ALL, median.below),
            ]
        for cut in cuts[:1] if ties == LEFT else cuts:
            if allowed(cut.n_left) and (not has_rules or (yield cut)):
                return cut
    return None


def _between_keys(attribute: int, median: Rank, key: Rank) -> list[Cut]:
    """The cuts after and before the median of the pairs (code, key)."""
    up_to, below = median.below + key.up_to, median.below + key.below
    everyone = up_to == median.up_to
    return [
        Cut(attribute, median.value, _ALL if everyone else key.value, up_to),
        Cut(attribute, median.value, key.value - 1, below)
        if key.below
        else Cut(attribute, median.value - 1, _ALL, below),
    ]


def attribute_spans(low: Array, high: Array, n_labels: Array, scale: Scale) -> list[float]:
    """Span of every attribute of a region; -1 for one that cannot be cut.

    Parameters
    ----------
    low, high : arrays of codes, shape (attributes,)
        Extents of the region.
    n_labels : int array, shape (attributes,)
        Distinct labels in the region, for nominal attributes.
    scale : Scale
        How spans are measured.
    """
    measure = span.py_func if hasattr(span, "py_func") else span
    return [
        -1.0
        if low[j] == high[j]
        else float(
            measure(
                scale.kind[j], np.uint64(low[j]), np.uint64(high[j]), n_labels[j],
                scale.width[j], scale.offset[j], scale.missing[j], scale.top[j],
            )
        )
        for j in range(scale.n_attributes)
    ]  # fmt: skip


def attribute_order(
    spans: Sequence[float], priority: Sequence[int], distinct: dict[int, int] | None = None
) -> list[int]:
    """Attributes in the order in which a cut is tried: the widest span first.

    Equal spans keep the order of `priority`; where `distinct` is given, the attribute with more
    distinct values in the region comes first, then policy order.
    """
    cuttable = [j for j in priority if spans[j] >= 0]
    if distinct is None:
        return sorted(cuttable, key=lambda j: -spans[j])
    return sorted(cuttable, key=lambda j: (-spans[j], -distinct.get(j, 0), j))


def tied_attributes(spans: Sequence[float]) -> list[int]:
    """Attributes whose span equals another's, so that distinct values decide between them."""
    return [
        j for j, own in enumerate(spans) if own >= 0 and sum(own == other for other in spans) > 1
    ]


def priority_of(distinct: Sequence[int]) -> list[int]:
    """Attributes by distinct values in the whole table, more first, then policy order."""
    return sorted(range(len(distinct)), key=lambda j: (-distinct[j], j))


class RankSearch:
    """Finds an order statistic by histograms of ever narrower brackets.

    Parameters
    ----------
    rank : int
        The rank wanted, from 0.
    low, high : int
        The value lies between them.
    n_bins : int
        Bins of a histogram, a power of two.

    Attributes
    ----------
    base, shift : int
        The bracket to count next: bin b holds the values v with ``(v - base) >> shift == b``.
    """

    def __init__(self, rank: int, low: int, high: int, n_bins: int) -> None:
        self.rank, self._bits = rank, n_bins.bit_length() - 1
        self.base, self._below = low, 0
        self.shift = max(0, (high - low).bit_length() - self._bits)

    def narrow(self, histogram: Array) -> Rank | None:
        """Take the bracket's histogram; the answer once a bin holds a single value."""
        return self._look_into(histogram, self._below)

    def start_from(self, base: int, shift: int, below: int, histogram: Array) -> Rank | bool | None:
        """Begin with a bracket that was counted on a guess; False where the guess missed."""
        n_inside = int(histogram.sum())
        if not below <= self.rank < below + n_inside:
            return False
        self.base, self.shift = base, shift
        return self._look_into(histogram, below)

    def _look_into(self, histogram: Array, below: int) -> Rank | None:
        up_to = np.cumsum(histogram) + below
        found = int(np.searchsorted(up_to, self.rank, side="right"))
        below = int(up_to[found - 1]) if found else below
        if self.shift == 0:
            return Rank(self.base + found, below, int(up_to[found]))
        self.base += found << self.shift
        self._below = below
        self.shift = max(0, self.shift - self._bits)
        return None
