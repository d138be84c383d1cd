"""What classes show of their sensitive values, and what that says about the privacy models.

    classes ──Histograms──▶ a figure a class ──▶ Finding: worst figure, what breaks

Findings of parts merge into those of the whole. The figures are those by which algorithms decide
(`dask_anon.kernels.measures`), taken from the same form: of every class its distinct codes,
ascending, with their counts.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dask_anon.classes import ClassCounts
from dask_anon.kernels.measures import holds, values_of
from dask_anon.models import Check, Models

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_CODE_BITS = np.uint64(32)
_CODE = np.uint64((1 << 32) - 1)


class Histograms(NamedTuple):
    """One sensitive column: codes[offsets[i]:offsets[i + 1]] are those of class i, ascending."""

    offsets: Numbers
    codes: Numbers
    counts: Numbers


@dataclass(frozen=True, eq=False)
class Classes:
    """Some equivalence classes: how many records each has, and the values of each column."""

    sizes: Numbers
    columns: tuple[Histograms, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What classes show for one check of a privacy model.

    Attributes
    ----------
    lowest, highest : float
        Extremes of the figure over the classes.
    n_classes, n_records : int
        Classes that break the check, and the records in them.
    """

    lowest: float = math.inf
    highest: float = -math.inf
    n_classes: int = 0
    n_records: int = 0

    def worst(self, check: Check) -> float | None:
        """The extreme that comes nearest to a limit of the check, or is furthest past it.

        None without classes.
        """
        if self.lowest > self.highest:
            return None
        above, below = self.lowest - check.low, check.high - self.highest
        return self.lowest if above < below else self.highest


@dataclass(frozen=True)
class Found:
    """What some classes show for all models.

    Attributes
    ----------
    counts : ClassCounts
        How many classes there are of each size.
    findings : tuple of Finding
        One for each check of the models.
    n_classes, n_records : int
        Classes that are too small or break any check, and the records in them.
    """

    counts: ClassCounts
    findings: tuple[Finding, ...]
    n_classes: int
    n_records: int


def found_in(models: Models, classes: Classes, min_size: int = 1) -> Found:
    """Take every figure of every class.

    Parameters
    ----------
    models : Models
        Of the whole table.
    classes : Classes
        Some of its classes.
    min_size : int, default 1
        Records that every class needs.
    """
    breaks = classes.sizes < min_size
    findings = []
    for i, check in enumerate(models.checks):
        figures = _figures(models, i, classes)
        findings.append(Finding(*_judge(figures, classes.sizes, check.low, check.high, breaks)))
    sizes, counts = np.unique(classes.sizes, return_counts=True)
    return Found(
        ClassCounts(dict(zip(sizes.tolist(), counts.tolist(), strict=True))),
        tuple(findings),
        int(breaks.sum()),
        int(classes.sizes[breaks].sum()),
    )


def _figures(models: Models, i: int, classes: Classes) -> npt.NDArray[np.float64]:
    check = models.checks[i]
    column = classes.columns[check.column]
    figures: npt.NDArray[np.float64] = values_of(
        check.kind, check.parameter, classes.sizes, *column, i, models.facts
    )
    return figures


def merge_found(several: Iterable[Found], *, n_checks: int = 0) -> Found:
    """What the classes of all show; of none, nothing for each of `n_checks`."""
    sizes: dict[int, int] = {}
    n_classes = n_records = 0
    findings: tuple[Finding, ...] | None = None
    for one in several:
        for size, n in one.counts.sizes.items():
            sizes[size] = sizes.get(size, 0) + n
        n_classes, n_records = n_classes + one.n_classes, n_records + one.n_records
        findings = one.findings if findings is None else _both(findings, one.findings)
    if findings is None:
        findings = (Finding(),) * n_checks
    return Found(ClassCounts(dict(sorted(sizes.items()))), findings, n_classes, n_records)


def _both(left: Sequence[Finding], right: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            min(a.lowest, b.lowest),
            max(a.highest, b.highest),
            a.n_classes + b.n_classes,
            a.n_records + b.n_records,
        )
        for a, b in zip(left, right, strict=True)
    )


def pairs_of(classes: Numbers, codes: npt.NDArray[Any], n_codes: int) -> npt.NDArray[np.uint64]:
    """Class and code in one number, for the codes that are counted."""
    pairs = (classes.astype(np.uint64) << _CODE_BITS) | codes.astype(np.uint64)
    return pairs[codes < n_codes]


def histograms_of(
    pairs: npt.NDArray[np.uint64], counts: Numbers | None, n_classes: int
) -> Histograms:
    """Histograms from pairs of class and code, each standing for one record or `counts`."""
    if len(pairs) and not (pairs[1:] > pairs[:-1]).all():
        if counts is None:
            pairs = np.sort(pairs)
        else:
            order = np.argsort(pairs, kind="stable")
            pairs, counts = pairs[order], counts[order]
        begins = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
        if counts is None:
            counts = np.diff(np.append(begins, len(pairs)))
        else:
            counts = np.add.reduceat(counts, begins)
        pairs = pairs[begins]
    elif counts is None:
        counts = np.ones(len(pairs), np.int64)
    first = np.arange(n_classes + 1, dtype=np.uint64) << _CODE_BITS
    offsets = np.searchsorted(pairs, first).astype(np.int64)
    return Histograms(offsets, (pairs & _CODE).astype(np.int64), counts)


@njit(nogil=True, cache=True)
def _judge(
    figures: npt.NDArray[np.float64], sizes: Numbers, low: float, high: float, breaks: Flags
) -> tuple[float, float, int, int]:  # pragma: no cover - compiled
    """Extremes, classes and records that break the limits; notes which classes do."""
    lowest, highest = np.inf, -np.inf
    n_classes, n_records = 0, 0
    for i in range(figures.size):
        lowest, highest = min(lowest, figures[i]), max(highest, figures[i])
        if not holds(figures[i], low, high):
            n_classes += 1
            n_records += sizes[i]
            breaks[i] = True
    return lowest, highest, n_classes, n_records
