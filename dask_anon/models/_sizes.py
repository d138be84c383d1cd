"""What is asked of class sizes alone: k, and risks that are a figure of all classes together.

Algorithms enforce each of them by the least class size that implies it (``Models.min_size``): an
average risk of 0.1 holds if every class has 10 records, and nobody is unique, in the sample or in
the population, if every class has 2. That is sufficient, not necessary: a table may hold them with
smaller classes, and is then found to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dask_anon.kernels.measures import holds
from dask_anon.models._population import class_size_of
from dask_anon.policy import (
    AlphaKAnonymity,
    AverageRisk,
    KAnonymity,
    KMap,
    Policy,
    PopulationUniqueness,
    PrivacyModelBase,
    SampleUniqueness,
    StrictAverageRisk,
)

Sizes = Mapping[int, int]
Estimate = Callable[[PopulationUniqueness, Sizes], float]


@dataclass(frozen=True)
class SizeFinding:
    """One thing asked of the class sizes; `found` is None where it was not measured."""

    name: str
    asked: str
    found: float | None
    holds: bool


def size_findings(
    policy: Policy, sizes: Sizes, *, estimate: Estimate | None = None
) -> tuple[SizeFinding, ...]:
    """What the models of a policy ask of class sizes, and whether it holds.

    Parameters
    ----------
    policy : Policy
    sizes : mapping of int to int
        How many classes there are of each size.
    estimate : callable, optional
        ``estimate(model, sizes)`` is the share of records that are unique in the population. Asked
        only if somebody is unique in the sample; without it, that model is not measured and does
        not hold.

    Examples
    --------
    >>> policy = Policy(
    ...     columns={"age": "quasi-identifier"}, privacy=[{"model": "average-risk", "max": 0.4}]
    ... )
    >>> size_findings(policy, {2: 1, 4: 1})  # 2 classes of 6 records
    (SizeFinding(name='average-risk', asked='risk <= 0.4', found=0.3333333333333333, holds=True),)
    """
    return tuple(found for model in policy.privacy for found in _of(model, sizes, estimate))


def _of(model: PrivacyModelBase, sizes: Sizes, estimate: Estimate | None) -> Iterator[SizeFinding]:
    n_records = sum(size * n for size, n in sizes.items())
    smallest = min(sizes, default=0)
    average = sum(sizes.values()) / n_records if n_records else 0.0
    match model:
        case KAnonymity() | AlphaKAnonymity():
            # No class is smaller than k where there is none.
            ok = not sizes or smallest >= model.k
            yield SizeFinding(model.model, f"k >= {model.k}", smallest, ok)
        case KMap(population=int() as population):
            needed = class_size_of(model, n_records)
            ok = not sizes or (smallest >= needed and n_records <= population)
            yield SizeFinding(model.model, f"class size >= {needed}", smallest, ok)
        case AverageRisk():
            yield _at_most(model, "risk", average, model.max)
        case StrictAverageRisk():
            yield _at_most(model, "average risk", average, model.average)
            at_risk = sum(
                size * n for size, n in sizes.items() if not holds(1 / size, 0.0, model.highest)
            )
            share = at_risk / n_records if n_records else 0.0
            what = f"records with a risk above {model.highest:g}"
            yield _at_most(model, what, share, model.records_at_risk)
        case SampleUniqueness():
            yield _at_most(model, "uniques", _uniques(sizes, n_records), model.max)
        case PopulationUniqueness():
            if not _uniques(sizes, n_records):
                # Who shares a class in the sample is not alone in the population.
                yield _at_most(model, "uniques", 0.0, model.max)
            elif estimate is None:
                yield SizeFinding(model.model, f"uniques <= {model.max:g}", None, False)
            else:
                yield _at_most(model, "uniques", estimate(model, sizes), model.max)


def _uniques(sizes: Sizes, n_records: int) -> float:
    return sizes.get(1, 0) / n_records if n_records else 0.0


def _at_most(model: PrivacyModelBase, what: str, found: float, limit: float) -> SizeFinding:
    ok = bool(holds(found, 0.0, limit))
    return SizeFinding(model.model, f"{what} <= {limit:g}", found, ok)
