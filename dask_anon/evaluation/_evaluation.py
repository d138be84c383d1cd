"""What was asked of a release, what was found, and whether it holds.

policy ──asked──┐
                ├──▶ Evaluation: one row a requirement, and the figures beside
classes ─found──┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dask_anon import metrics
from dask_anon.classes import ClassCounts, equivalence_classes
from dask_anon.errors import VerificationError
from dask_anon.evaluation._frames import judge_classes
from dask_anon.evaluation._rows import Judged, Requirement, shown
from dask_anon.evaluation._together import with_loss
from dask_anon.metrics._printed import table_of as printed
from dask_anon.models import columns_of

if TYPE_CHECKING:
    from dask_anon.policy import Policy


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
    def of(
        cls,
        judged: Judged,
        certainty: Mapping[str, float] | None = None,
        *,
        n_suppressed: int = 0,
    ) -> Evaluation:
        """Judge a release, of which the classes were judged already, by all that its policy asks.

        Parameters
        ----------
        judged : Judged
            The classes of the release.
        certainty : mapping of column to float, optional
            Average normalized certainty penalty of each quasi-identifier, 0 to 1. Without it the
            global certainty penalty is not measured, and a requirement on it does not hold.
        n_suppressed : int, default 0
            Records left out of the release.
        """
        figures = _figures(judged.policy.k, judged.found.counts, n_suppressed)
        if certainty:
            figures["global_certainty_penalty"] = metrics.global_certainty_penalty(certainty)
        rows = (*judged.rows, *_required(judged.policy, figures))
        return cls(rows, figures, dict(certainty or {}))

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
            "requirements": [row.to_json() for row in self.rows],
            "figures": dict(self.figures),
            "certainty": dict(self.certainty),
        }

    def __str__(self) -> str:
        return table_of(self.rows)


def table_of(rows: Sequence[Requirement]) -> str:
    """Requirements as a table."""
    head = ("requirement", "asked", "found", "holds")
    body = [(r.name, r.asked, r.found_in_words, "yes" if r.holds else "NO") for r in rows]
    return printed(head, body)


def evaluate(original: Any, released: Any, policy: Policy) -> Evaluation:
    """Judge a released table by its policy.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after; Dask frames are computed down to what their classes show.
    policy : Policy
        What is asked.

    Returns
    -------
    Evaluation
        One row a limit of the privacy models and of ``require``. Where released cells cannot be
        read back, and no requirement asks for it, the information loss is not measured.

    Raises
    ------
    DataError, PolicyError
        A column is missing, or cannot be what a model needs.

    Notes
    -----
    O(records): both tables are read once for their classes and their number of records, and once
    for what the released cells cover of the original's domains.
    """
    from dask_anon.metrics.loss import normalized_certainty_penalty

    classes = equivalence_classes(released, policy, sensitive=columns_of(policy), labels=False)
    asked = {"judged": judge_classes(classes, policy), "n_original": original.shape[0]}
    found, certainty, error = with_loss(
        asked,
        partial(
            normalized_certainty_penalty,
            released,
            original,
            quasi_identifiers=policy.quasi_identifiers,
        ),
    )
    if error is not None and policy.require.global_certainty_penalty is not None:
        raise error
    judged: Judged = found["judged"]
    n_suppressed = max(0, int(found["n_original"]) - judged.found.counts.n_records)
    return Evaluation.of(judged, certainty, n_suppressed=n_suppressed)


def _required(policy: Policy, figures: Mapping[str, float]) -> list[Requirement]:
    rows = []
    for name, limit in policy.require:
        if limit is not None:
            found = figures.get(name)
            holds = found is not None and found <= limit.max
            rows.append(Requirement(name, f"<= {shown(limit.max)}", found, holds))
    return rows


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
