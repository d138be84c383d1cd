"""From a privacy model to what is computed of a class, and the limits of the figure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow.types as pt

from dask_anon.errors import DataError, counted
from dask_anon.hierarchy import Taxonomy, ValueCounts
from dask_anon.kernels import measures
from dask_anon.kernels.common import Array
from dask_anon.kernels.measures import Branches, Track, strictly_below
from dask_anon.policy import (
    AlphaKAnonymity,
    BasicBetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KMap,
    Policy,
    PrivacyModelBase,
    RecursiveCLDiversity,
    TCloseness,
)


@dataclass(frozen=True)
class Check:
    """One figure of a class and its limits.

    Attributes
    ----------
    name : str
        The word of the model.
    asked : str
        The limit in words, such as ``t <= 0.2``.
    column : int
        Which of the counted columns.
    kind, parameter
        The figure, one of `kernels.measures`.
    low, high : float
        Its limits, as `kernels.measures.holds` takes them.
    counts_missing : bool
        Whether a missing value is one of the values.
    place : int
        The position of the model in the policy.
    distance : str, optional
        Of t-closeness, where the policy leaves it open: the one that the column's type implies.
    """

    name: str
    asked: str
    column: int
    kind: int
    parameter: float
    low: float
    high: float
    counts_missing: bool
    place: int
    distance: str | None = None

    @property
    def worst(self) -> str:
        """Which figures fail first: ``lowest``, ``highest`` or, between two limits, ``both``."""
        if math.isinf(self.low):
            return "highest"
        return "lowest" if math.isinf(self.high) else "both"


@dataclass(frozen=True)
class Limits:
    """What a model asks, before it meets the data: the figure and its limits."""

    kind: int
    asked: str
    low: float = -math.inf
    high: float = math.inf
    parameter: float = 0.0


_DISTANCES = {
    "equal": measures.EQUAL_DISTANCE,
    "ordered": measures.ORDERED_DISTANCE,
    "numeric": measures.ORDERED_DISTANCE,
    "hierarchical": measures.TREE_DISTANCE,
}


def limits_of(model: PrivacyModelBase, values: ValueCounts | None = None) -> Limits | None:
    """What a model asks of a class beside its size; None if nothing.

    `values` decide which distance t-closeness means where the policy leaves it open.
    """
    match model:
        case AlphaKAnonymity():
            asked = f"alpha <= {model.alpha:g}"
            return Limits(measures.LARGEST_SHARE, asked, high=model.alpha)
        case KMap(weight=str()):
            return Limits(measures.WEIGHT, f"k >= {model.k} in the population", low=model.k)
        case DistinctLDiversity():
            return Limits(measures.DISTINCT_VALUES, f"l >= {model.l}", low=model.l)
        case EntropyLDiversity():
            return Limits(measures.ENTROPY_VALUES, f"l >= {model.l:g}", low=model.l)
        case RecursiveCLDiversity():
            asked = f"c < {model.c:g} for l = {model.l}"
            high = strictly_below(model.c)
            return Limits(measures.RECURSIVE_RATIO, asked, high=high, parameter=model.l)
        case TCloseness():
            kind = _DISTANCES[distance_of(model, values)]
            return Limits(kind, f"t <= {model.t:g}", high=model.t)
        case BasicBetaLikeness():
            return Limits(measures.BASIC_BETA, f"beta <= {model.beta:g}", high=model.beta)
        case EnhancedBetaLikeness():
            return Limits(measures.ENHANCED_BETA, f"beta <= {model.beta:g}", high=model.beta)
        case DeltaDisclosure():
            high = strictly_below(model.delta)
            return Limits(measures.DISCLOSURE, f"delta < {model.delta:g}", high=high)
        case DeltaPresence():
            asked = f"{model.min:g} <= delta <= {model.max:g}"
            return Limits(measures.PRESENCE, asked, low=model.min, high=model.max)
    return None


def distance_of(model: TCloseness, values: ValueCounts | None) -> str:
    """The distance that is asked for, or else the one that goes with the column's type."""
    if model.distance is not None:
        return model.distance
    return "ordered" if values is not None and values.kind != "nominal" else "equal"


def orders_text(model: PrivacyModelBase, values: ValueCounts) -> bool:
    """Whether the texts of a column must be ordered by the numbers that they spell."""
    return isinstance(model, TCloseness) and distance_of(model, values) in ("ordered", "numeric")


def track_of(model: PrivacyModelBase, values: ValueCounts, counts: Array, policy: Policy) -> Track:
    """What the whole table tells for a model; `counts` are of all codes, a missing value the last.

    Raises
    ------
    DataError, PolicyError
        When the column has not what the model needs: numbers, an order, a taxonomy.
    """
    has_missing = len(counts) > len(values.values)
    if isinstance(model, TCloseness):
        distance = distance_of(model, values)
        if distance == "hierarchical":
            return Track(counts, branches=_branches(values, policy, has_missing))
        if distance != "equal":
            if has_missing:
                n = values.n_missing
                raise DataError(
                    f"column {values.column!r} has "
                    f"{counted(n, 'missing value, which has', 'missing values, which have')} no "
                    "place in an order. Choose `sensitive_nulls: ignore`, or `distance: equal`.",
                    column=values.column,
                )
            return Track(counts, steps=values.by_number().steps(by_rank=distance == "ordered"))
    if isinstance(model, DeltaPresence | KMap):
        numbers = _weights(values) if isinstance(model, KMap) else _presence(values)
        return Track(counts, numbers=np.append(numbers, [0.0] * has_missing))
    return Track(counts)


def _weights(values: ValueCounts) -> Array:
    weights = values.numbers()
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        raise DataError(
            f"column {values.column!r} has "
            f"{counted(int(values.counts[wrong].sum()), 'weight', 'weights')} below 0 or infinite. "
            "A weight says how many people a record stands for.",
            column=values.column,
        )
    return weights


def _presence(values: ValueCounts) -> Array:
    type_ = values.values.type
    if pt.is_null(type_):
        return np.empty(0)
    if not pt.is_boolean(type_):
        raise DataError(
            f"column {values.column!r} is of type {values.type}, and delta-presence needs true or "
            "false: who is in the study. Convert it; for CSV, name `type: boolean`.",
            column=values.column,
        )
    return values.numbers()


def _branches(values: ValueCounts, policy: Policy, has_missing: bool) -> Branches:
    taxonomy = Taxonomy.from_rows(policy.taxonomy_of(values.column), column=values.column)
    positions = taxonomy.positions_of(values)
    leaf = np.array([taxonomy.parents[0][p] for p in positions], np.int64)
    parent, height = _nodes(taxonomy)
    if has_missing:  # it belongs to nothing but everything
        leaf = np.append(leaf, len(parent) - 1)
    return Branches(leaf, np.array(parent, np.int64), np.array(height))


def _nodes(taxonomy: Taxonomy) -> tuple[list[int], list[float]]:
    """The nodes above the values, level by level: what each hangs below, and its height."""
    parent: list[int] = []
    height: list[float] = []
    for level in range(1, taxonomy.height):
        first_above = len(parent) + len(taxonomy.levels[level])
        parent += [first_above + place for place in taxonomy.parents[level]]
        height += [level / taxonomy.height] * len(taxonomy.levels[level])
    return [*parent, -1], [*height, 1.0]


def _lower_l(n_values: int) -> str:
    if n_values < 2:
        return "No l does: leave the model out, or publish without the column."
    return f"Lower l to at most {n_values}."


def refusal(check: Check, found: float, values: ValueCounts, n_values: int) -> tuple[str, str]:
    """Why not even the whole table holds a check: at which key of the model, and in words."""
    of = f"column '{values.column}'"
    missing = "" if check.counts_missing or not values.n_missing else " (missing ones do not count)"
    few = f"{of} has only {n_values:,} distinct values{missing}, "
    match check.kind:
        case measures.DISTINCT_VALUES:
            return "l", f"{few}l={check.low:g} cannot hold. {_lower_l(n_values)}"
        case measures.ENTROPY_VALUES:
            return "l", (
                f"{of} is as diverse as {found:.4g} equally frequent values in the whole table"
                f"{missing}, l={check.low:g} cannot hold. Lower l below that."
            )
        case measures.RECURSIVE_RATIO if math.isinf(found):
            return "l", f"{few}l={check.parameter:g} cannot hold. {_lower_l(n_values)}"
        case measures.RECURSIVE_RATIO:
            return "c", (
                f"the most frequent value of {of} has {found:.4g} times the records of the rarer "
                "ones in the whole table, this c cannot hold. Raise c above that, or lower l."
            )
        case measures.LARGEST_SHARE:
            return "alpha", (
                f"one value of {of} makes up {found:.2%} of the whole table{missing}, "
                f"alpha={check.high:g} cannot hold. Raise alpha to at least that."
            )
        case measures.PRESENCE:
            return "", (
                f"{found:.2%} of the whole table is true in {of}, outside {check.low:g} to "
                f"{check.high:g}. Move the limits around that."
            )
        case measures.WEIGHT:
            return "k", (
                f"the weights of the whole table in {of} sum to {found:,.6g}, k={check.low:g} "
                "cannot hold. Lower k, or check that the weights count people."
            )
    raise AssertionError(f"{check.name} holds for every whole table")
