"""Mondrian in plain Python, on values: what every engine must be equal to.

No arrays, no histograms: slow, and short enough to be read next to the paper (LeFevre, DeWitt,
Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import le, lt
from typing import Any, Literal


@dataclass
class Attribute:
    """One quasi-identifier. A missing value (None) sorts last: it lies one step past the largest
    whole number, or where the largest float lies, or is a label of its own."""

    kind: Literal["whole", "float", "label"]
    values: Sequence[Any]
    offset: int = 1  # n labels span (n - offset) / (labels of the table - offset)

    def __post_init__(self) -> None:
        present = sorted({v for v in self.values if v is not None})
        self.top = present[-1] if present else 0
        behind = self.top + 1 if self.kind == "whole" else math.inf
        place = {v: i for i, v in enumerate(present)} if self.kind == "label" else {}
        self.places = [behind if v is None else place.get(v, v) for v in self.values]
        self.n_distinct = len(set(self.places))
        self.width = self._extent(self.places)

    def _extent(self, places: Sequence[Any]) -> float:
        if self.kind == "label":
            return len(set(places)) - self.offset
        ends = max(places, default=0), min(places, default=0)
        if self.kind == "whole":
            return float(ends[0] - ends[1])
        return min(ends[0], self.top) / 2 - min(ends[1], self.top) / 2  # halves cannot overflow

    def span(self, region: Sequence[int]) -> float:
        return self._extent([self.places[i] for i in region]) / self.width if self.width else 0.0


def mondrian(
    attributes: Sequence[Attribute], k: int, *, ties: str = "either", span_ties: str = "domain",
    keys: Sequence[int] | None = None, distinct_cap: int = 65_536,
    keeps: Callable[[list[int]], bool] = lambda side: True,
) -> list[list[int]]:  # fmt: skip
    """The equivalence classes as lists of record numbers, in the order of the tree of cuts."""

    def widest_first(region: list[int]) -> list[Attribute]:
        found = []
        for j, a in enumerate(attributes):
            distinct = len({a.places[i] for i in region})
            if distinct > 1:
                n = min(distinct if span_ties == "region" else a.n_distinct, distinct_cap)
                found.append((-a.span(region), -n, j))
        return [attributes[j] for _, _, j in sorted(found)]

    def cut(region: list[int]) -> list[list[int]] | None:
        for a in widest_first(region):
            # Divided, records equal in this attribute are told apart by their keys.
            place = {i: (a.places[i], keys[i] if ties == "divide" else 0) for i in region}
            median = sorted(place.values())[(len(region) - 1) // 2]
            for goes_left in (le,) if ties == "left" else (le, lt):
                left = [i for i in region if goes_left(place[i], median)]
                right = [i for i in region if not goes_left(place[i], median)]
                if all(len(side) >= k and keeps(side) for side in (left, right)):
                    return [left, right]
        return None

    classes, stack = [], [list(range(len(attributes[0].values)))]
    while stack:
        region = stack.pop()
        sides = cut(region)
        classes += [] if sides else [region]
        stack += reversed(sides or [])
    return classes
