"""Whether a release is still good for its work: learning from it, and counting in it.

original ──learn──▶ model ┐
                          ├─ asked about people of the original that neither has seen
release  ──learn──▶ model ┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from dask_anon.errors import AnonError, DataError, counted
from dask_anon.metrics import _queries
from dask_anon.metrics._attributes import Attribute, attributes_of, named
from dask_anon.metrics._cells import Codes, Floats, Mask, columns_shown
from dask_anon.metrics._features import in_both, shown_in
from dask_anon.metrics._learning import (
    Boosting,
    Regression,
    check_learning,
    held_out,
    require_sklearn,
)
from dask_anon.metrics._printed import table_of
from dask_anon.metrics._sample import Sample, at_least, quasi_identifiers_of, sample_of
from dask_anon.metrics._steps import Steps
from dask_anon.metrics._target import Target

if TYPE_CHECKING:
    from dask_anon.policy import Policy

Scores = Mapping[str, float]

# Records that predicates are written from: their extents are known to a percent.
_N_PREDICATES = 10_000


@dataclass(frozen=True)
class ModelUtility:
    """What a model learns from a release, beside what it learns from the original.

    Attributes
    ----------
    target : str
        The column that the models predict.
    task : {"classification", "regression"}
    trivial : mapping of str to float
        Scores of always saying the commonest label, or the mean, of the original.
    original : mapping of str to float
        Scores of the model learnt from the original.
    released : mapping of str to float
        Scores of the model learnt from the release, on the same records of the original: what
        somebody who has only the release can say about real people.
    released_on_released : mapping of str to float
        The same model on released records that it has not seen: what they believe it can say.
    n_trained, n_tested : int
        Records of the original.
    """

    target: str
    task: Literal["classification", "regression"]
    trivial: Scores
    original: Scores
    released: Scores
    released_on_released: Scores
    n_trained: int
    n_tested: int

    def __str__(self) -> str:
        rows = [
            ("nothing", "original", self.trivial),
            ("original", "original", self.original),
            ("release", "original", self.released),
            ("release", "release", self.released_on_released),
        ]
        measures = list(self.original)
        head = ["learnt from", "tested on", *measures]
        body = [
            [learnt, tested, *(f"{scores[measure]:.3f}" for measure in measures)]
            for learnt, tested, scores in rows
        ]
        return (
            f"{self.task} of '{self.target}', {self.n_trained:,} records learnt from, "
            f"{self.n_tested:,} tested\n{table_of(head, body)}"
        )


def model_utility(
    original: Any,
    released: Any,
    *,
    target: str,
    features: Sequence[str] | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    test_share: float = 0.25,
    seed: int = 0,
    max_rows: int = 50_000,
    n_trees: int = 100,
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """How well a model that is learnt from the release works on real people.

    Gradient boosting learns to predict a column twice, from the original and from the release.
    Both are asked about records of the original that were held out, and their scores stand side by
    side with those of no model at all [1]_.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after.
    target : str
        The column to predict, by its name in the original.
    features : sequence of str, optional
        The columns to predict it from; by default all others that both tables have.
    task : {"auto", "classification", "regression"}, default "auto"
        Numbers and dates with more than 10 different values are a regression.
    test_share : float, default 0.25
        Share of the records that are held out.
    seed : int, default 0
        Decides which records are drawn and held out; equal seeds give equal scores.
    max_rows : int, default 50,000
        Larger tables are sampled.
    n_trees : int, default 100
        Rounds of boosting.
    hierarchies : mapping of column to rows, optional
        For columns released as nodes of a hierarchy: one row a value, the value itself first.

    Returns
    -------
    ModelUtility
        Or a Delayed of it, where a frame is Dask's. A classification has the accuracy, its average
        over the labels, and for two labels the area under the ROC curve; a regression has R² and
        the mean absolute error, of dates in days.

    Raises
    ------
    AnonError
        Without scikit-learn.
    DataError
        Where labels cannot be read, or the release does not show the target of any record.

    Notes
    -----
    A released interval is learnt as its middle, a set as equal shares of its labels, a missing
    value as none. The 32 commonest labels of a column are told apart. Before the model that is
    learnt from the release is asked about a real person, the person's labels are put as the release
    shows such labels on average: whoever lives in c is one of {a, c} where it tells no more. A
    released target counts where its cell is a single label; for a regression it is the middle of
    the cell.

    Record i of a release as long as the original is taken for that of person i, so that held-out
    persons are held out of both. If the release was shuffled, some records of held-out persons are
    learnt from in their released form, which favours the release a little.

    Each table is read twice, once for its length; what is drawn is in memory at once. 50,000
    records of nine columns take some seconds.

    Examples
    --------
    >>> original = pd.DataFrame({"age": range(20, 80), "old": [False] * 30 + [True] * 30})
    >>> released = original.assign(age=["[20, 49]"] * 30 + ["[50, 79]"] * 30)
    >>> found = model_utility(original, released, target="old")
    >>> found.original["accuracy"], found.released["accuracy"]
    (1.0, 1.0)

    References
    ----------
    .. [1] LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006.
    """
    require_sklearn("model_utility")
    if task not in ("auto", "classification", "regression"):
        raise AnonError("task is 'auto', 'classification' or 'regression', found another word.")
    check_learning(test_share, max_rows, n_trees)
    steps = Steps(original, released)
    named(original, [target])
    if features is None:
        names = [str(name) for name in original.columns if name != target]
        features = shown_in(released, names)
    columns = [column for column in features if column != target]
    if not columns:
        raise AnonError("a model needs a column to learn from beside its target. Name one.")
    named(original, columns)
    wanted = [*columns, target]
    before = sample_of(steps, original, wanted, max_rows, seed)
    after = sample_of(steps, released, columns_shown(released, wanted), max_rows, seed)
    asked = _Asked(target, tuple(columns), task, test_share, seed, n_trees, dict(hierarchies or {}))
    return steps(_utility, before, after, asked)


@dataclass(frozen=True)
class _Asked:
    target: str
    columns: tuple[str, ...]
    task: Literal["auto", "classification", "regression"]
    test_share: float
    seed: int
    n_trees: int
    hierarchies: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Table:
    """Records with a known answer: those to learn from, and those to test on."""

    features: Floats
    answers: Any
    test_features: Floats
    test_answers: Any

    @classmethod
    def of(cls, features: Floats, answers: Any, known: Mask, asked: _Asked, name: str) -> _Table:
        n = len(features)
        if n < 2:
            raise DataError(f"the {name} has fewer than 2 records: too few to learn and to test.")
        learnt, tested = held_out(n, asked.test_share, asked.seed)
        learnt, tested = learnt[known[learnt]], tested[known[tested]]
        if not len(learnt) or not len(tested):
            raise DataError(
                f"column '{asked.target}' shows a single value in too few records of the {name}, "
                f"{known.sum():,} of {n:,} that were drawn. Predict a column that is published as "
                "it is.",
                column=asked.target,
            )
        return cls(features[learnt], answers[learnt], features[tested], answers[tested])


def _utility(before: Sample, after: Sample, asked: _Asked) -> ModelUtility:
    given = {c: rows for c, rows in asked.hierarchies.items() if c != asked.target}
    original, released = before.records, after.records
    _, attributes = attributes_of(Steps(original), original, asked.columns, given)
    target = Target.of(original, asked.target, asked.task)
    task = target.task
    features = in_both(original, released, list(attributes.values()))
    answers, known = target.answers(original, values=True)
    own = _Table.of(features.original, answers, known, asked, "original")
    same = _Table.of(features.as_released, answers, known, asked, "original")
    answers, known = target.answers(released, values=False)
    shown = _Table.of(features.released, answers, known, asked, "release")
    boosting = Boosting(asked.n_trees, asked.seed)
    (of_original,) = task.learn(own.features, own.answers, [own.test_features], boosting)
    of_release, of_release_itself = task.learn(
        shown.features, shown.answers, [same.test_features, shown.test_features], boosting
    )
    truth = own.test_answers
    return ModelUtility(
        target=asked.target,
        task="regression" if isinstance(task, Regression) else "classification",
        trivial=task.scores(truth, task.without_learning(own.answers, len(truth))),
        original=task.scores(truth, of_original),
        released=task.scores(truth, of_release),
        released_on_released=task.scores(shown.test_answers, of_release_itself),
        n_trained=len(own.answers),
        n_tested=len(truth),
    )


# ------------------------------------------------------------------ counting


@dataclass(frozen=True)
class QueryError:
    """How far the counts from a release are from the true ones.

    Attributes
    ----------
    mean, median : float
        Relative error over the queries.
    n_queries : int
    selectivity : float
        Share of the records that a query counts in the original, on average.
    sanity_bound : float
        Records: smaller true counts are divided by as many.

    Examples
    --------
    >>> print(QueryError(mean=0.125, median=0.08, n_queries=1000, selectivity=0.051, sanity_bound=30.0))
    1,000 COUNT queries, of 5.1 % of the records on average: off by 12.5 % on average, 8.0 % at the median
    """  # noqa: E501

    mean: float
    median: float
    n_queries: int
    selectivity: float
    sanity_bound: float

    def __str__(self) -> str:
        return (
            f"{counted(self.n_queries, 'COUNT query', 'COUNT queries')}, of "
            f"{100 * self.selectivity:.1f} % of the records on average: off by "
            f"{100 * self.mean:.1f} % on average, {100 * self.median:.1f} % at the median"
        )


def count_query_error(
    original: Any,
    released: Any,
    *,
    quasi_identifiers: Policy | Sequence[str],
    sensitive: str | None = None,
    n_queries: int = 1000,
    n_attributes: int = 2,
    selectivity: float = 0.05,
    sanity_bound: float = 0.001,
    seed: int = 0,
    hierarchies: Mapping[str, Any] | None = None,
) -> Any:
    """How far counts from the release are from the counts of the original.

    Random queries of the form ``COUNT(*) WHERE age BETWEEN … AND … AND zip IN (…)`` are put to
    both tables [1]_ [2]_. The release answers with what it can know: a cell that covers some of
    what is asked counts as much of a record, as if its values were equally likely. The error of a
    query is |estimated - true| / max(true, sanity bound).

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        Before and after. The order of the records does not matter to the answers.
    quasi_identifiers : Policy or sequence of str
        The columns to ask for, by their names in the original, or the policy that has them.
    sensitive : str, optional
        A column that every query asks for besides, as [2]_ has it.
    n_queries : int, default 1000
    n_attributes : int, default 2
        Quasi-identifiers in a query.
    selectivity : float, default 0.05
        Share of the records that a query would count if its columns were independent.
    sanity_bound : float, default 0.001
        Share of the records: a smaller true count does not blow up the relative error.
    seed : int, default 0
        Decides the queries, together with the order of the original's records.
    hierarchies : mapping of column to rows, optional
        For columns released as nodes of a hierarchy: one row a value, the value itself first.

    Returns
    -------
    QueryError
        Or a Delayed of it, where a frame is Dask's: the same for all partitions to the last digit.

    Raises
    ------
    DataError
        Where labels cannot be read.
    AnonError
        Where a query would ask for more columns than there are.

    Notes
    -----
    Predicates are written from the values of 10,000 records of the original. A missing value is in
    no range and no list; a cell that may be missing is missing with the weight of one value.

    Reads the original four times (extremes, lengths, those records, the answers), the release
    once, a partition at a time. O(distinct cells x queries) for every set of columns asked for.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [20, 21, 22, 23]})
    >>> released = pd.DataFrame({"age": ["[20, 23]"] * 4})  # each single age counts 4 x 1/4
    >>> count_query_error(
    ...     original, released, quasi_identifiers=["age"], n_attributes=1, n_queries=10
    ... ).mean
    0.0

    References
    ----------
    .. [1] LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    .. [2] Xiao and Tao, Anatomy: simple and effective privacy preservation, VLDB 2006.
    """
    steps = Steps(original, released)
    columns = quasi_identifiers_of(quasi_identifiers)
    at_least("n_queries", n_queries, 1)
    at_least("n_attributes", n_attributes, 1)
    if n_attributes > len(columns):
        raise AnonError(
            f"a query over {n_attributes} quasi-identifiers needs as many, found "
            f"{len(columns)}. Lower n_attributes."
        )
    for name, share in (("selectivity", selectivity), ("sanity_bound", sanity_bound)):
        if not 0 < share <= 1:
            raise AnonError(f"{name} must be above 0 and at most 1, found {share:g}.")
    always = [] if sensitive is None else [sensitive]
    wanted = [*(column for column in columns if column not in always), *always]
    facts = attributes_of(steps, original, wanted, hierarchies)
    workload = steps(
        _written, sample_of(steps, original, wanted, _N_PREDICATES, seed), facts,
        n_queries, n_attributes, always, selectivity, seed,
    )  # fmt: skip
    shown = columns_shown(released, wanted)
    own = steps.parts(original, wanted, after=workload)
    others = steps.parts(released, shown, after=workload)
    before = steps.merged(_queries.merged, [steps(_true, workload, part) for part in own])
    after = steps.merged(_queries.merged, [steps(_estimated, workload, part) for part in others])
    return steps(_error, before, after, sanity_bound)


def _written(
    sample: Sample, facts: tuple[int, Mapping[str, Attribute]],
    n_queries: int, n_columns: int, always: list[str], selectivity: float, seed: int,
) -> _queries.Workload:  # fmt: skip
    n_records, attributes = facts
    if not n_records:
        raise DataError("the original has no records, so there is nothing to count.")
    return _queries.write_queries(
        sample.records,
        attributes,
        n_queries=n_queries,
        n_columns=n_columns,
        always=always,
        selectivity=selectivity,
        seed=seed,
    )


def _true(workload: _queries.Workload, part: pd.DataFrame) -> tuple[int, Codes]:
    return _queries.answer(workload, part, values=True)


def _estimated(workload: _queries.Workload, part: pd.DataFrame) -> tuple[int, Codes]:
    return _queries.answer(workload, part, values=False)


def _error(before: tuple[int, Codes], after: tuple[int, Codes], sanity_bound: float) -> QueryError:
    n_records, true = before[0], _queries.counts_of(before[1])
    estimated = _queries.counts_of(after[1])
    bound = sanity_bound * n_records
    errors = np.abs(estimated - true) / np.maximum(true, bound)
    return QueryError(
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        n_queries=len(errors),
        selectivity=float(true.mean()) / n_records,
        sanity_bound=bound,
    )
