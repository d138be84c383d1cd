"""Figures of a table that are the worst, or the sum, of figures of its classes.

    class table ─ values ─▶ Whole ─┐
    class table ───────────────────┴─ figure of each class ─▶ lowest, highest, sum ─▶ figure

A figure of a class is what the privacy model of the policy limits: the same function, of the same
form of a class, decides in the algorithms, here and in the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.hierarchy import ValueCounts
from dask_anon.kernels.measures import Facts, Track, facts_of, values_of
from dask_anon.metrics._lazy import Tasks
from dask_anon.metrics._sizes import class_table
from dask_anon.metrics._values import (
    SensitiveNulls,
    Sparse,
    Whole,
    count_lists,
    merge_counts,
    require_values,
    sparse_of,
)
from dask_anon.models import limits_of, orders_text, track_of
from dask_anon.policy import Policy, PrivacyModelBase

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """How a figure of the table comes from its classes.

    Attributes
    ----------
    of_classes : callable
        ``of_classes(sparse, known)`` is the figure of some classes.
    merge : callable
        One of all figures that are given, which are at least one.
    finish : callable, optional
        ``finish(figure, known)`` is what is asked for.
    model : PrivacyModelBase, optional
        The model that limits the figure of a class.
    nothing : int or float
        The figure of a table without classes, of the type of any.
    """

    of_classes: Callable[[Sparse, Known], Any]
    merge: Callable[[list[Any]], Any]
    finish: Callable[[Any, Known], Any] | None = None
    model: PrivacyModelBase | None = None
    nothing: Any = 0.0


@dataclass(frozen=True, eq=False)
class Known:
    """What must be known of the whole table before the figures of a class are taken.

    Attributes
    ----------
    whole : Whole
    kind, parameter
        The figure of a class that the model limits, one of `kernels.measures`.
    track : int
        Which track of `facts` is the model's.
    facts : Facts
    """

    whole: Whole
    kind: int
    parameter: float
    track: int
    facts: Facts


def values_of_model(sparse: Sparse, known: Known, parameter: float | None = None) -> Floats:
    """The figure of each class that the model limits."""
    return np.asarray(
        values_of(
            known.kind,
            known.parameter if parameter is None else float(parameter),
            sparse.sizes,
            sparse.offsets,
            sparse.codes,
            sparse.counts,
            known.track,
            known.facts,
        )
    )


def lowest(sparse: Sparse, known: Known) -> float:
    """The lowest of the model's figures."""
    return float(values_of_model(sparse, known).min())


def highest(sparse: Sparse, known: Known) -> float:
    """The highest of the model's figures."""
    return float(values_of_model(sparse, known).max())


def worst(model: PrivacyModelBase, *, nothing: Any = 0.0) -> Figure:
    """The figure of the class that keeps a model worst."""
    limits = limits_of(model)
    assert limits is not None
    at_most = np.isinf(limits.low)
    return Figure(highest if at_most else lowest, max if at_most else min, None, model, nothing)


def figures(
    classes: ClassTable,
    column: str,
    wanted: Mapping[str, Figure],
    *,
    sensitive_nulls: SensitiveNulls,
    hierarchy: Any = None,
    quasi_identifiers: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Several figures of one sensitive column, in two passes over the class table."""
    classes = class_table(classes, quasi_identifiers, sensitive=[column])
    require_values(classes, column)
    tasks = Tasks(classes, ["size", column])
    counts = tasks.merged(merge_counts, [tasks(count_lists, part, column) for part in tasks.parts])
    rows = None if hierarchy is None else _rows(hierarchy)
    known = tasks(_know, counts, sensitive_nulls, dict(wanted), rows)
    found = [tasks(_measure, part, column, known, dict(wanted)) for part in tasks.parts]
    record = tasks(_finish, tasks.merged(partial(_merge, dict(wanted)), found), known, dict(wanted))
    return tasks.numbers(record, {name: type(one.nothing) for name, one in wanted.items()})


def figure_of(
    figure: Figure,
    classes: ClassTable,
    column: str,
    sensitive_nulls: SensitiveNulls,
    quasi_identifiers: Sequence[str] | None,
    hierarchy: Any = None,
) -> Any:
    """One figure of one sensitive column."""
    return figures(
        classes,
        column,
        {"figure": figure},
        sensitive_nulls=sensitive_nulls,
        hierarchy=hierarchy,
        quasi_identifiers=quasi_identifiers,
    )["figure"]


def _know(
    values: ValueCounts,
    sensitive_nulls: SensitiveNulls,
    wanted: Mapping[str, Figure],
    rows: Sequence[Sequence[str]] | None,
) -> dict[str, Known]:
    """What the figures need of the whole table, in one array for all."""
    models = {name: figure.model for name, figure in wanted.items() if figure.model is not None}
    if any(orders_text(model, values) for model in models.values()):
        values = values.by_number()
    whole = Whole.of(values, sensitive_nulls)
    # The room of the models asks a policy for taxonomies, and for nothing else.
    policy = cast(Policy, _Taxonomies(rows))
    tracks = [track_of(model, values, whole.counts, policy) for model in models.values()]
    facts = facts_of(tracks or [Track(whole.counts)])
    known = {}
    for name in wanted:
        limits = limits_of(models[name], values) if name in models else None
        known[name] = Known(
            whole,
            kind=limits.kind if limits else 0,
            parameter=limits.parameter if limits else 0.0,
            track=list(models).index(name) if limits else 0,
            facts=facts,
        )
    return known


@dataclass(frozen=True)
class _Taxonomies:
    rows: Sequence[Sequence[str]] | None

    def taxonomy_of(self, column: str) -> Sequence[Sequence[str]]:
        if self.rows is None:
            raise AnonError(
                f"hierarchical distance of column '{column}' needs its hierarchy. Give its rows, "
                "each a value and what it belongs to."
            )
        return self.rows


def _rows(hierarchy: Any) -> list[list[str]]:
    """The rows of a hierarchy as texts."""
    if isinstance(hierarchy, pd.DataFrame):
        hierarchy = hierarchy.to_numpy(dtype=object)
    return [[str(label) for label in row] for row in hierarchy]


def _measure(
    part: pd.DataFrame, column: str, known: Mapping[str, Known], wanted: Mapping[str, Figure]
) -> dict[str, Any]:
    """Each figure of some classes; nothing without classes."""
    if not len(part):
        return {}
    sparse = sparse_of(part, column, next(iter(known.values())).whole)
    return {name: figure.of_classes(sparse, known[name]) for name, figure in wanted.items()}


def _merge(wanted: Mapping[str, Figure], parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found = [part for part in parts if part]
    if not found:
        return {}
    return {name: figure.merge([part[name] for part in found]) for name, figure in wanted.items()}


def _finish(
    merged: dict[str, Any], known: Mapping[str, Known], wanted: Mapping[str, Figure]
) -> dict[str, Any]:
    if not merged:
        return {name: figure.nothing for name, figure in wanted.items()}
    return {
        name: figure.finish(merged[name], known[name]) if figure.finish else merged[name]
        for name, figure in wanted.items()
    }
