"""Privacy models in plain Python: what a list of sensitive values must satisfy, word for word.

    keeps({"model": "t-closeness", "column": "s", "t": 0.2}, table)   a function of a class
    a class is a list of row numbers; `table` maps a column to the values of all rows

Fractions where the definition is rational, so that no rounding decides. Missing values (None) tell
nothing and protect nobody: they are left out, as ``sensitive_nulls: ignore`` says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

Keeps = Callable[[Sequence[int]], bool]
_SLACK = Fraction(1, 10**11)


def shares(values: Sequence[Any]) -> dict[Any, Fraction]:
    """How often each known value occurs, as a share of the known ones."""
    known = Counter(v for v in values if v is not None)
    return {v: Fraction(n, known.total()) for v, n in known.items()}


def entropy_l(values: Sequence[Any]) -> float:
    own = shares(values)
    return math.exp(-sum(q * math.log(q) for q in own.values())) if own else 0.0


def recursive_ratio(values: Sequence[Any], l: int) -> float:
    counts = sorted(Counter(v for v in values if v is not None).values(), reverse=True)
    rest = sum(counts[l - 1 :])
    return float(Fraction(counts[0], rest)) if rest else math.inf


def equal_distance(own: Mapping[Any, Fraction], of_all: Mapping[Any, Fraction]) -> Fraction:
    return sum((abs(own.get(v, 0) - p) for v, p in of_all.items()), Fraction(0)) / 2


def ordered_distance(
    own: Mapping[Any, Fraction], of_all: Mapping[Any, Fraction], *, by_value: bool = False
) -> Fraction:
    """Earth mover's distance on a line; neighbours are 1 apart, or as far as their values are."""
    order = sorted(of_all)
    if len(order) < 2:
        return Fraction(0)
    steps = [Fraction(b) - Fraction(a) if by_value else 1 for a, b in pairwise(order)]
    moved, total = Fraction(0), Fraction(0)
    for v, step in zip(order, steps, strict=False):
        moved += own.get(v, 0) - of_all[v]
        total += abs(moved) * step
    return total / sum(steps)


def keeps(model: Mapping[str, Any], table: Mapping[str, Sequence[Any]]) -> Keeps:
    """Whether a class keeps one model of a policy."""
    name = model["model"]
    column = table[model["column"]] if "column" in model else []
    of_all = shares(column)

    def own(rows: Sequence[int]) -> dict[Any, Fraction]:
        return shares([column[i] for i in rows])

    def distance(rows: Sequence[int]) -> Fraction:
        if not own(rows):
            return Fraction(0)
        match model["distance"]:
            case "equal":
                return equal_distance(own(rows), of_all)
            case kind:
                return ordered_distance(own(rows), of_all, by_value=kind == "numeric")

    def gains(rows: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
        return [((q - of_all[v]) / of_all[v], of_all[v]) for v, q in own(rows).items()]

    def within(figure: Any, limit: Any) -> bool:
        return bool(Fraction(figure) <= Fraction(limit) + _SLACK)

    match name:
        case "k-anonymity":
            return lambda rows: len(rows) >= model["k"]
        case "alpha-k-anonymity":
            return lambda rows: (
                len(rows) >= model["k"]
                and within(max(own(rows).values(), default=0), model["alpha"])
            )
        case "distinct-l-diversity":
            return lambda rows: len(own(rows)) >= model["l"]
        case "entropy-l-diversity":
            return lambda rows: within(model["l"], entropy_l([column[i] for i in rows]))
        case "recursive-cl-diversity":
            return lambda rows: (
                recursive_ratio([column[i] for i in rows], model["l"]) < model["c"] - 1e-11
            )
        case "t-closeness":
            return lambda rows: within(distance(rows), model["t"])
        case "basic-beta-likeness":
            return lambda rows: all(within(gain, model["beta"]) for gain, _ in gains(rows))
        case "enhanced-beta-likeness":
            return lambda rows: all(
                within(gain, min(model["beta"], -math.log(p))) for gain, p in gains(rows)
            )
        case "delta-disclosure":
            return lambda rows: (
                len(own(rows)) == len(of_all)
                and all(
                    abs(math.log(q / of_all[v])) < model["delta"] - 1e-11
                    for v, q in own(rows).items()
                )
            )
        case "delta-presence":
            return lambda rows: (
                within(own(rows).get(True, 0), model["max"])
                and within(model["min"], own(rows).get(True, 0))
            )
    raise ValueError(name)
