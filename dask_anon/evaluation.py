"""What was asked of a release, what was found, and whether it holds.

    policy ──asked──┐
                    ├──▶ Evaluation: one row a requirement, and the figures beside
    classes ─found──┘

The figures come from class counts alone: from frames by `evaluate`, from files by
`Evaluation.from_counts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dask_anon import metrics
from dask_anon.classes import ClassCounts, equivalence_classes
from dask_anon.errors import VerificationError

if TYPE_CHECKING:
    from dask_anon.policy import Policy


@dataclass(frozen=True)
class Requirement:
    """One thing asked; `found` is None, and nothing is known to hold, where it was not measured."""

    name: str
    asked: str
    found: float | None
    holds: bool

    def __str__(self) -> str:
        found = "not measured" if self.found is None else _shown(self.found)
        return f"{self.name} {self.asked}: found {found}, {'holds' if self.holds else 'FAILS'}"


@dataclass(frozen=True)
class Evaluation:
    """A release judged by its policy.

    Attributes
    ----------
    rows : tuple of Requirement
        The privacy models and what ``require`` asks.
    figures : mapping of str to number
        Records, classes, risk and loss, asked for or not.
    certainty : mapping of column to float
        Average normalized certainty penalty of each quasi-identifier; empty if not measured.
    """

    rows: tuple[Requirement, ...]
    figures: Mapping[str, float | int]
    certainty: Mapping[str, float]

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return all(row.holds for row in self.rows)

    @classmethod
    def from_counts(
        cls,
        policy: Policy,
        counts: ClassCounts,
        certainty: Mapping[str, float] | None = None,
        *,
        n_suppressed: int = 0,
    ) -> Evaluation:
        """Judge class counts.

        Parameters
        ----------
        policy : Policy
            What is asked.
        counts : ClassCounts
            How many classes there are of each size.
        certainty : mapping of column to float, optional
            Average normalized certainty penalty of each quasi-identifier, 0 to 1. Without it the
            global certainty penalty is not measured, and a requirement on it does not hold.
        n_suppressed : int, default 0
            Records left out of the release.
        """
        figures = _figures(policy.k, counts, n_suppressed)
        if certainty:
            figures["global_certainty_penalty"] = metrics.global_certainty_penalty(certainty)
        smallest = counts.smallest
        rows = [
            Requirement(
                "k-anonymity", f"k >= {policy.k}", smallest, not counts.n_classes_below(policy.k)
            )
        ]
        rows += [
            # A model that is not counted here must not pass for one that holds.
            Requirement(model.model, "", None, False)
            for model in policy.privacy
            if model.model != "k-anonymity"
        ]
        for name, limit in policy.require:
            if limit is not None:
                found = figures.get(name)
                holds = found is not None and found <= limit.max
                rows.append(Requirement(name, f"<= {_shown(limit.max)}", found, holds))
        return cls(tuple(rows), figures, dict(certainty or {}))

    def raise_if_failed(self) -> None:
        """Raise what does not hold, if anything does not.

        Raises
        ------
        VerificationError
            With a sentence for each requirement that fails.
        """
        failed = [str(row) for row in self.rows if not row.holds]
        if failed:
            raise VerificationError(
                f"{len(failed)} of {len(self.rows)} requirements do not hold: "
                + "; ".join(failed)
                + ".",
                problems=tuple(failed),
            )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "holds": self.holds,
            "requirements": [
                {"name": row.name, "asked": row.asked, "found": row.found, "holds": row.holds}
                for row in self.rows
            ],
            "figures": dict(self.figures),
            "certainty": dict(self.certainty),
        }

    def __str__(self) -> str:
        head = ("requirement", "asked", "found", "holds")
        body = [
            (
                row.name,
                row.asked,
                "not measured" if row.found is None else _shown(row.found),
                "yes" if row.holds else "NO",
            )
            for row in self.rows
        ]
        widths = [max(len(line[i]) for line in (head, *body)) for i in range(4)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in (head, *body)
        ]
        return "\n".join(lines)


def evaluate(original: Any, released: Any, policy: Policy) -> Evaluation:
    """Judge a released table by its policy.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after; a Dask frame is computed down to its class sizes. Of the original only
        the number of records is used, for those that were suppressed.
    policy : Policy
        What is asked.

    Returns
    -------
    Evaluation
        Without the global certainty penalty, which takes the domains of the original; a run from
        files measures it.
    """
    sizes = equivalence_classes(released, policy)["size"].value_counts()
    n_original: Any = original.shape[0]
    if not isinstance(sizes, pd.Series) or not isinstance(n_original, int):
        import dask

        sizes, n_original = dask.compute(sizes, n_original)
    by_size = {int(size): int(n) for size, n in sorted(sizes.items())}
    counts = ClassCounts(by_size)
    n_suppressed = max(0, int(n_original) - counts.n_records)
    return Evaluation.from_counts(policy, counts, n_suppressed=n_suppressed)


def _figures(k: int, counts: ClassCounts, n_suppressed: int) -> dict[str, float | int]:
    n_records, n_classes = counts.n_records, counts.n_classes
    average = n_records / n_classes if n_classes else 0.0
    return {
        "n_records": n_records,
        "n_suppressed": n_suppressed,
        "n_classes": n_classes,
        "smallest_class": counts.smallest,
        "largest_class": counts.largest,
        "average_class_size": average,
        "average_equivalence_class_size": average / k,
        "discernibility": counts.sum_of_squares + n_suppressed * (n_records + n_suppressed),
        "prosecutor_risk": 1 / counts.smallest if counts.smallest else 0.0,
        "average_prosecutor_risk": n_classes / n_records if n_records else 0.0,
    }


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
