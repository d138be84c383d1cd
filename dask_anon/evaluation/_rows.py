"""What was asked, what was found, whether it holds: a row for each thing asked of the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dask_anon.evaluation._findings import Finding, Found
from dask_anon.models import Check, Models, size_findings

if TYPE_CHECKING:
    from dask_anon.policy import Policy


@dataclass(frozen=True)
class Requirement:
    """One thing asked; `found` is None, and nothing is known to hold, where it was not measured.

    Of a table without records there is nothing to measure, and everything holds.
    """

    name: str
    asked: str
    found: float | None
    holds: bool

    @property
    def found_in_words(self) -> str:
        """What was found, as it is printed."""
        if self.found is None:
            return "no records" if self.holds else "not measured"
        return shown(self.found)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{self.name} {self.asked}: found {self.found_in_words}, {verdict}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; what is infinite is said in words."""
        found = self.found
        if found is not None and not math.isfinite(found):
            return {**vars(self), "found": None if math.isnan(found) else shown(found)}
        return dict(vars(self))


@dataclass(frozen=True)
class Judged:
    """The classes of a table, judged by the privacy models of a policy.

    Attributes
    ----------
    policy : Policy
    models : Models
        The same models, knowing the values of the table.
    found : Found
        What its classes show.
    min_size : int
        Records without which a class by itself breaks a model.
    """

    policy: Policy
    models: Models
    found: Found
    min_size: int

    @property
    def rows(self) -> tuple[Requirement, ...]:
        """One row a limit, those of class sizes first."""
        return (*self.of_sizes, *(row for row, _ in self.of_values))

    @property
    def holds(self) -> bool:
        """Whether all models hold."""
        return all(row.holds for row in self.rows)

    @cached_property
    def of_sizes(self) -> tuple[Requirement, ...]:
        """The limits of class sizes."""
        sizes = self.found.counts.sizes
        return tuple(
            Requirement(one.name, one.asked, one.found if sizes else None, one.holds)
            for one in size_findings(self.policy, sizes, estimate=_estimate)
        )

    @cached_property
    def of_values(self) -> tuple[tuple[Requirement, Finding], ...]:
        """The limits of sensitive values, and what breaks them."""
        rows = []
        for check, finding in zip(self.models.checks, self.found.findings, strict=True):
            worst = finding.worst(check)
            row = Requirement(self._name(check), check.asked, worst, not finding.n_classes)
            rows.append((row, finding))
        return tuple(rows)

    def _name(self, check: Check) -> str:
        of = f"{check.name} of '{self.models.columns[check.column]}'"
        return f"{of} ({check.distance})" if check.distance else of


def _estimate(model: Any, sizes: Mapping[int, int]) -> float:
    from dask_anon.metrics.population import population_uniqueness

    estimate: float = population_uniqueness(
        sizes, sampling_fraction=model.sampling_fraction, estimator=model.estimator
    )
    return estimate


def min_size_of(policy: Policy, n_records: int) -> int:
    """Records without which a class by itself breaks a model.

    Not of models that are a figure of all classes together: small classes may be few enough.
    """
    from dask_anon.policy import AlphaKAnonymity, KAnonymity, KMap

    own = tuple(m for m in policy.privacy if isinstance(m, KAnonymity | AlphaKAnonymity | KMap))
    if not own:
        return 1
    alone = policy.model_copy(update={"privacy": own})
    return Models.of(alone, {}, n_records=n_records, refuse=False).min_size


def shown(value: float) -> str:
    """A figure as it is printed."""
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
