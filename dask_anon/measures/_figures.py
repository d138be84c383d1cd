"""Which figures there are, what each counts, and how those of class sizes come from their counts.

The figures of sizes are those of ``dask_anon.metrics``, written down for how many classes there are
of each size: from that all of them follow at once, whatever the number of classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dask_anon.classes import ClassCounts
from dask_anon.metrics.risk import THRESHOLDS


@dataclass(frozen=True)
class Table:
    """What the figures of class sizes are taken from.

    Attributes
    ----------
    counts : ClassCounts
        All classes.
    n_hidden : int
        Records that show ``*`` in every quasi-identifier: one class, which nobody can link.
    n_left_out : int
        Records of the original that are not in the table.
    k : int
        The least class size that the policy asks for.
    """

    counts: ClassCounts
    n_hidden: int
    n_left_out: int
    k: int

    @property
    def linkable(self) -> ClassCounts:
        """The classes that can be linked."""
        if not self.n_hidden:
            return self.counts
        sizes = dict(self.counts.sizes)
        sizes[self.n_hidden] -= 1
        return ClassCounts({size: n for size, n in sizes.items() if n})


@dataclass(frozen=True)
class SizeFigure:
    """A figure of class sizes: its name, what it counts, and its formula."""

    name: str
    words: str
    of: Callable[[Table], float]


def _at_risk(threshold: float) -> Callable[[Table], float]:
    def share(table: Table) -> float:
        sizes = table.linkable.sizes
        at_risk = sum(size * n for size, n in sizes.items() if 1 / size > threshold)
        return at_risk / max(1, table.linkable.n_records)

    return share


def _average(table: Table) -> float:
    return table.counts.n_records / max(1, table.counts.n_classes)


def _discernibility(table: Table) -> int:
    n_all = table.counts.n_records + table.n_left_out
    return table.counts.sum_of_squares + table.n_left_out * n_all


def row_entropy(counts: ClassCounts) -> float:
    """Entropy of the distribution of whole records, in bits."""
    n = counts.n_records
    return 0.0 - sum(m * s / n * math.log2(s / n) for s, m in counts.sizes.items())


def _uniques(table: Table) -> float:
    return table.linkable.sizes.get(1, 0) / max(1, table.linkable.n_records)


def _highest(table: Table) -> float:
    return 1 / table.linkable.smallest if table.linkable.sizes else 0.0


def _mean_risk(table: Table) -> float:
    return table.linkable.n_classes / max(1, table.linkable.n_records)


RISK = (
    SizeFigure("n_records", "records", lambda t: t.counts.n_records),
    SizeFigure("n_suppressed_records", "of these show * alone", lambda t: t.n_hidden),
    SizeFigure("n_classes", "equivalence classes", lambda t: t.counts.n_classes),
    SizeFigure("smallest_class", "records: the k that holds", lambda t: t.counts.smallest),
    SizeFigure("prosecutor_risk", "highest chance of a right guess", _highest),
    SizeFigure("average_prosecutor_risk", "average chance of a right guess", _mean_risk),
    SizeFigure("marketer_risk", "share that linking all records finds", _mean_risk),
    *(
        SizeFigure(
            f"records_at_risk > {word}",
            f"share of records with a risk above {word if '=' not in word else '1/' + word[2:]}",
            _at_risk(threshold),
        )
        for word, threshold in THRESHOLDS.items()
    ),
    SizeFigure("sample_uniqueness", "share of records alone in their class", _uniques),
)

UTILITY = (
    SizeFigure("largest_class", "records", lambda t: t.counts.largest),
    SizeFigure("average_class_size", "records", _average),
    SizeFigure(
        "average_equivalence_class_size",
        "the same, in units of the least that is asked for: 1 is best",
        lambda t: _average(t) / t.k,
    ),
    SizeFigure("discernibility", "sum of squared class sizes", _discernibility),
    SizeFigure("row_entropy", "bits that tell records apart", lambda t: row_entropy(t.counts)),
)

# By the names that `metrics.diversity.diversity_figures` gives them.
DIVERSITY: Mapping[str, str] = {
    "distinct_l_diversity": "the l that holds: distinct values of a class",
    "entropy_l_diversity": "the l that holds: as diverse as l values equally frequent",
    "recursive_c": "the c that holds, for l = {l}",
    "alpha_k_anonymity": "the alpha that holds: largest share of one value",
    "t_closeness": "the t that holds: {distance} distance to the whole table",
    "basic_beta_likeness": "the beta that holds: largest relative gain of a value",
    "enhanced_beta_likeness": "the same, infinite where it is above -ln of the value's share",
    "delta_disclosure": "the delta that holds: |ln| of a value's gain or loss",
    "adversarial_knowledge_gain": "average change of a value's share, 0 to 1",
    "adversarial_accuracy_gain": "gain of a guess by the class over a guess by the table",
    "sensitive_entropy": "entropy of the whole table's values, in nats",
}
