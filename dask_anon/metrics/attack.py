"""Attacks that can be rehearsed before somebody else tries them.

    linkage      whoever knows a person's quasi-identifiers looks for the records that may be theirs
    prediction   whoever learns from the release guesses the quasi-identifiers behind its records

Each comes with what the same attacker reaches without the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from dask_anon.errors import DataError, counted
from dask_anon.metrics._attributes import Attribute, attributes_of, named
from dask_anon.metrics._cells import columns_shown, read_cells
from dask_anon.metrics._coverage import Codes, Known, count_compatible, known_of
from dask_anon.metrics._learning import Boosting, check_learning, held_out, require_sklearn
from dask_anon.metrics._prediction import features_of, predict
from dask_anon.metrics._printed import table_of
from dask_anon.metrics._risk_value import Risk, wilson_interval
from dask_anon.metrics._sample import Sample, at_least, quasi_identifiers_of, sample_of
from dask_anon.metrics._steps import Steps

if TYPE_CHECKING:
    from dask_anon.policy import Policy


@dataclass(frozen=True, kw_only=True)
class LinkageRisk(Risk):
    """How often a linkage attack finds the right record.

    Attributes
    ----------
    value, ci, baseline, confidence
        As of every :class:`Risk`. The baseline is a record picked blindly, one in all.
    on_original : float
        The same attack on the original: what anonymization has to bring down.
    unique_rate : float
        Share of the attacked persons whom exactly one released record fits.
    uncovered_rate : float
        Share of them whom no released record fits.
    n_attacks : int
        Persons who were attacked.

    Examples
    --------
    >>> risk = LinkageRisk(
    ...     value=0.25, ci=(0.05, 0.7), baseline=0.25, on_original=1.0,
    ...     unique_rate=0.0, uncovered_rate=0.0, n_attacks=4,
    ... )
    >>> print(risk)
    risk 25.0 % (95 % confidence: 5.0 % to 70.0 %), 25.0 % without the release
    4 persons attacked: 100.0 % on the original; 0.0 % fit one released record alone, 0.0 % fit none
    """  # fmt: skip

    on_original: float
    unique_rate: float
    uncovered_rate: float
    n_attacks: int

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n"
            f"{counted(self.n_attacks, 'person', 'persons')} attacked: "
            f"{100 * self.on_original:.1f} % on the original; "
            f"{100 * self.unique_rate:.1f} % fit one released record alone, "
            f"{100 * self.uncovered_rate:.1f} % fit none"
        )


def linkage_attack(
    original: Any,
    released: Any,
    policy: Policy | Sequence[str],
    *,
    n_attacks: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """How often an attacker who knows a person finds the person's record.

    The attacker knows the exact quasi-identifiers of a person and that the person is in the table.
    Of the released records whose labels cover these values in every column, they pick one blindly.
    If m records fit, one of which is the right one, they are right once in m times; the risk is
    the mean of 1/m over persons drawn from the original without replacement. Nothing is simulated
    beyond the draw of the persons, so all persons together (`n_attacks` as large as the table) give
    the risk without error.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after. The order of the records does not matter.
    policy : Policy or sequence of str
        Whose quasi-identifiers the attacker knows, or these themselves, by the names of the
        original.
    n_attacks : int, default 2000
        Persons to attack.
    seed : int, default 0
        Decides who is attacked, together with the order of the original's records.
    confidence : float, default 0.95
        Of the interval.
    hierarchies : mapping of column to rows, optional
        For columns released as nodes of a hierarchy: one row a value, the value itself first.

    Returns
    -------
    LinkageRisk
        Or a Delayed of it, where a frame is Dask's.

    Raises
    ------
    DataError
        Where labels cannot be read, or cover fewer people than they must: means, midpoints and
        perturbed values cover nobody and have to be attacked by learning
        (:func:`boosting_reidentification`).
    AnonError
        Without anybody to attack.

    Notes
    -----
    The interval is Wilson's, with each person's 1/m for a hit's 0 or 1. It holds what it says, and
    more: chances vary less than hits.

    Where records were left out of the release, the right record may not be there; the risk is then
    an upper bound.

    Reads the original four times (extremes, lengths, persons, the attack on itself) and the release
    once, a partition at a time. O(classes x persons / 64) for each column: 2,000 persons in a
    partition of 200,000 classes take less time than reading it.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [23, 25, 31, 38]})
    >>> released = pd.DataFrame({"age": ["[23, 25]", "[23, 25]", "[31, 38]", "[31, 38]"]})
    >>> risk = linkage_attack(original, released, ["age"])  # every person fits two records
    >>> risk.value, risk.on_original, risk.baseline
    (0.5, 1.0, 0.25)

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008: the
       prosecutor's attack.
    .. [2] Giomi, Boenisch, Wehmeyer and Tasnádi, A unified framework for quantifying privacy risk
       in synthetic data, PoPETs 2023(2): attacks with intervals and baselines.
    """
    at_least("n_attacks", n_attacks, 1)
    wilson_interval(0, 1, confidence=confidence)  # refuses what is no confidence
    steps = Steps(original, released)
    columns = quasi_identifiers_of(policy)
    shown = columns_shown(released, columns)
    facts = attributes_of(steps, original, columns, hierarchies)
    people = steps(_known, sample_of(steps, original, columns, n_attacks, seed), facts)
    own = steps.parts(original, columns, after=people)
    others = steps.parts(released, shown, after=people)
    before = steps.merged(_added, [steps(_counted, part, people, True) for part in own])
    after = steps.merged(_added, [steps(_counted, part, people, False) for part in others])
    return steps(_judged, people, before, after, confidence)


@dataclass(frozen=True, eq=False)
class _People:
    """Who is attacked: what is known of them in each column, and how many records there are."""

    attributes: Mapping[str, Attribute]
    known: tuple[Known, ...]
    n_people: int
    n_records: int


def _known(sample: Sample, facts: tuple[int, Mapping[str, Attribute]]) -> _People:
    n_records, attributes = facts
    if not n_records:
        raise DataError("the original has no records, so there is nobody to attack.")
    cells = [read_cells(sample.records, one, values=True) for one in attributes.values()]
    known = tuple(known_of(one) for one in cells)
    return _People(attributes, known, len(sample.records), n_records)


def _counted(part: pd.DataFrame, people: _People, values: bool) -> tuple[int, Codes]:
    """Records of a partition, and how many of them fit each person."""
    cells = [read_cells(part, one, values=values) for one in people.attributes.values()]
    return len(part), count_compatible(people.known, cells, people.n_people)


def _added(several: list[tuple[int, Codes]]) -> tuple[int, Codes]:
    return sum(n for n, _ in several), np.sum([counts for _, counts in several], axis=0)


def _judged(
    people: _People, before: tuple[int, Codes], after: tuple[int, Codes], confidence: float
) -> LinkageRisk:
    n_released, fitting = after
    n_people = people.n_people
    n_uncovered = int((fitting == 0).sum())
    n_left_out = max(0, people.n_records - n_released)
    if n_uncovered > n_left_out:
        raise DataError(
            f"{n_uncovered:,} of {n_people:,} attacked persons are covered by no released record, "
            f"but only {counted(n_left_out, 'record was', 'records were')} left out. Labels that "
            "are means, midpoints or perturbed values cover nobody: attack them with "
            "boosting_reidentification.",
            n_uncovered=n_uncovered,
        )
    # Chances are summed as if they were hits: what the interval needs of them is their mean.
    hits: Any = (1 / fitting[fitting > 0]).sum()
    risk = Risk.of_trials(hits, n_people, confidence=confidence)
    return LinkageRisk(
        value=float(risk.value),
        ci=(float(risk.ci[0]), float(risk.ci[1])),
        baseline=1 / n_released if n_released else 0.0,
        confidence=confidence,
        on_original=float((1 / before[1]).mean()),
        unique_rate=float((fitting == 1).mean()),
        uncovered_rate=n_uncovered / n_people,
        n_attacks=n_people,
    )


# ------------------------------------------------------------------ prediction


@dataclass(frozen=True)
class PredictedColumn:
    """How well one column of the original is predicted from the release.

    Attributes
    ----------
    column : str
    measure : {"accuracy", "R²"}
        Share of exact hits for labels; share of the explained variance for an ordered column.
    score, baseline : float
        With the release; and of always saying the commonest label, or the mean.
    """

    column: str
    measure: Literal["accuracy", "R²"]
    score: float
    baseline: float

    @property
    def gain(self) -> float:
        """How much of what the baseline leaves open the release tells: 0 nothing, 1 all."""
        if self.baseline >= 1:
            return 0.0
        return max(0.0, (self.score - self.baseline) / (1 - self.baseline))


@dataclass(frozen=True)
class BoostingRisk:
    """How well the original's quasi-identifiers are predicted from the release.

    Attributes
    ----------
    columns : tuple of PredictedColumn
    n_trained, n_tested : int
        Records that the models learn from, and others that they are tested on.

    Examples
    --------
    >>> age = PredictedColumn("age", "R²", score=0.75, baseline=0.0)
    >>> sex = PredictedColumn("sex", "accuracy", score=0.75, baseline=0.5)
    >>> print(BoostingRisk((age, sex), n_trained=3000, n_tested=1000))
    column      measure   release  without  gain
    age         R²        0.750    0.000    0.750
    sex         accuracy  0.750    0.500    0.500
    on average            0.750    0.250    0.625
    """

    columns: tuple[PredictedColumn, ...]
    n_trained: int
    n_tested: int

    @property
    def score(self) -> float:
        """Mean score of the columns."""
        return mean(column.score for column in self.columns)

    @property
    def baseline(self) -> float:
        """Mean baseline of the columns."""
        return mean(column.baseline for column in self.columns)

    @property
    def gain(self) -> float:
        """Mean gain of the columns."""
        return mean(column.gain for column in self.columns)

    def __str__(self) -> str:
        rows = [[c.column, c.measure, *_shown(c)] for c in self.columns]
        return table_of(
            ["column", "measure", "release", "without", "gain"],
            [*rows, ["on average", "", *_shown(self)]],
        )


def boosting_reidentification(
    original: Any,
    released: Any,
    *,
    quasi_identifiers: Policy | Sequence[str],
    features: Sequence[str] | None = None,
    test_share: float = 0.25,
    seed: int = 0,
    max_rows: int = 50_000,
    n_trees: int = 30,
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """How well the original's quasi-identifiers are predicted from the release.

    The attacker has found out the true values behind some released records and learns from them,
    by gradient boosting, to predict each quasi-identifier from the whole released record. Scored
    is what they say about records that were held out, beside saying the commonest label or the
    mean.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after, record i of one being record i of the other: a frame from ``anonymize``,
        or a release with ``order: keep``.
    quasi_identifiers : Policy or sequence of str
        The columns to predict, by their names in the original, or the policy that has them.
    features : sequence of str, optional
        Released columns to learn from, by the names in the original; by default all.
    test_share : float, default 0.25
        Share of the records that are held out.
    seed : int, default 0
        Decides which records are drawn and held out; equal seeds give equal scores.
    max_rows : int, default 50,000
        Larger tables are sampled.
    n_trees : int, default 30
        Rounds of boosting.
    hierarchies : mapping of column to rows, optional
        For columns released as nodes of a hierarchy: one row a value, the value itself first.

    Returns
    -------
    BoostingRisk
        Or a Delayed of it, where a frame is Dask's.

    Raises
    ------
    AnonError
        Without scikit-learn.
    DataError
        Where the tables are not as long as each other, or released cells do not cover the records
        beside them, so that they stand in another order (which means, noise and single labels
        cannot tell); where labels cannot be read.

    Notes
    -----
    A released interval is learnt as its two ends, a set as its two commonest labels and their
    number. Of a nominal column, the 31 commonest labels are predicted, and any other
    counts as not found: for columns with more, the risk is a lower bound.

    Published implementations ask a model about every pair of records, O(records²), and draw without
    a seed. This one asks once a record: O(trees x records) for each column. Each table is read
    twice, once for its length; what is drawn is in memory at once.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 40] * 40, "sex": ["F", "M", "M", "F"] * 20})
    >>> released = original.assign(sex="{F, M}")
    >>> found = boosting_reidentification(original, released, quasi_identifiers=["age"])
    >>> found.columns[0].measure, round(found.score, 2)  # age is published as it is
    ('R²', 0.99)
    """
    require_sklearn("boosting_reidentification")
    check_learning(test_share, max_rows, n_trees)
    steps = Steps(original, released)
    columns = quasi_identifiers_of(quasi_identifiers)
    named(original, columns)
    names = [str(name) for name in released.columns]
    shown = names if features is None else columns_shown(released, features)
    before = sample_of(steps, original, columns, max_rows, seed)
    after = sample_of(steps, released, shown, max_rows, seed)
    boosting = Boosting(n_trees, seed)
    return steps(_predicted, before, after, hierarchies, test_share, boosting)


def _shown(scores: PredictedColumn | BoostingRisk) -> list[str]:
    return [f"{number:.3f}" for number in (scores.score, scores.baseline, scores.gain)]


def _predicted(
    before: Sample,
    after: Sample,
    hierarchies: Mapping[str, Any] | None,
    test_share: float,
    boosting: Boosting,
) -> BoostingRisk:
    if before.n_records != after.n_records:
        raise DataError(
            f"records are compared one by one, but the original has {before.n_records:,} and the "
            f"release {after.n_records:,}. Give both the same records in the same order."
        )
    original, released = before.records, after.records
    if len(original) < 2:
        raise DataError("fewer than 2 records are too few to learn and to test.")
    _, attributes = attributes_of(
        Steps(original), original, list(original.columns), dict(hierarchies or {})
    )
    features = features_of(original, released, attributes)
    split = held_out(len(original), test_share, boosting.seed)
    columns = []
    for name, attribute in attributes.items():
        score, baseline = predict(original, attribute, features, split, boosting)
        measure: Literal["accuracy", "R²"] = "R²" if attribute.is_ordered else "accuracy"
        columns.append(PredictedColumn(name, measure, score, baseline))
    return BoostingRisk(tuple(columns), len(split[0]), len(split[1]))
