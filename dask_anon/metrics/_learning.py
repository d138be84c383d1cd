"""Gradient boosting as a stand-in for whoever learns from a table, with its scores.

    features, answers ──learn──▶ what the model says about records that it has not seen ──▶ scores

scikit-learn is optional and imported here only. Equal records, answers and seed give equal scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dask_anon.errors import AnonError
from dask_anon.metrics._sample import at_least

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Boosting:
    """How a model is grown: rounds of boosting, and the seed of what is random in it."""

    n_trees: int
    seed: int

    def options(self) -> dict[str, Any]:
        """As scikit-learn calls them."""
        return {
            "max_iter": self.n_trees,
            # A label of few records would get huge steps: with 16 labels of education in Adult, 30
            # rounds without a penalty end below those of saying the commonest one, and above with.
            "l2_regularization": 10.0,
            "max_leaf_nodes": 16,
            "random_state": self.seed % 2**32,
            # Stopping early would hold out records of its own, and only where the table is large.
            "early_stopping": False,
        }


class Task(Protocol):
    """What is asked of a model: numbers, or one of some labels."""

    def learn(
        self,
        features: Floats,
        answers: Any,
        tests: Sequence[Floats],
        boosting: Boosting,
        categories: Mask | None = None,
    ) -> list[Floats]:
        """Learn from records, and say something about each table of tests.

        `categories` are the features whose numbers, below 255, have no order.
        """

    def without_learning(self, answers: Any, n_tests: int) -> Floats:
        """What is said who knows how answers are distributed, and nothing of the record."""

    def scores(self, truth: Any, said: Floats) -> dict[str, float]:
        """How good the answers are, by the name of the measure."""


@dataclass(frozen=True)
class Regression:
    """Numbers: something said is one number a record."""

    def learn(
        self,
        features: Floats,
        answers: Floats,
        tests: Sequence[Floats],
        boosting: Boosting,
        categories: Mask | None = None,
    ) -> list[Floats]:
        if (answers == answers[0]).all():
            return [self.without_learning(answers, len(test)) for test in tests]
        from sklearn.ensemble import HistGradientBoostingRegressor

        (features, *tests), shown = _usable(features, tests)
        model = HistGradientBoostingRegressor(
            **boosting.options(),
            categorical_features=None if categories is None else categories[shown],
        )
        with _one_thread():
            model.fit(features, answers)
            return [np.asarray(model.predict(test), np.float64) for test in tests]

    def without_learning(self, answers: Floats, n_tests: int) -> Floats:
        return np.full(n_tests, answers.mean())

    def scores(self, truth: Floats, said: Floats) -> dict[str, float]:
        return {"R²": r_squared(truth, said), "MAE": float(np.mean(np.abs(truth - said)))}


@dataclass(frozen=True)
class Classification:
    """Labels by their codes: something said is a probability of each label, (record, label)."""

    n_labels: int

    def learn(
        self,
        features: Floats,
        answers: Codes,
        tests: Sequence[Floats],
        boosting: Boosting,
        categories: Mask | None = None,
    ) -> list[Floats]:
        seen = np.unique(answers)
        if len(seen) == 1:
            return [self.without_learning(answers, len(test)) for test in tests]
        from sklearn.ensemble import HistGradientBoostingClassifier

        (features, *tests), shown = _usable(features, tests)
        model = HistGradientBoostingClassifier(
            **boosting.options(),
            categorical_features=None if categories is None else categories[shown],
        )
        said = [np.zeros((len(test), self.n_labels)) for test in tests]
        with _one_thread():
            model.fit(features, answers)
            for probability, test in zip(said, tests, strict=True):
                probability[:, seen] = model.predict_proba(test)
        return said

    def without_learning(self, answers: Codes, n_tests: int) -> Floats:
        shares = np.bincount(answers, minlength=self.n_labels) / len(answers)
        return np.tile(shares, (n_tests, 1))

    def scores(self, truth: Codes, said: Floats) -> dict[str, float]:
        right = truth == said.argmax(axis=1)
        found = {
            "accuracy": float(right.mean()),
            # Averaged over the labels that occur, so that a rare one counts as a common one.
            "balanced accuracy": float(pd.Series(right).groupby(truth).mean().mean()),
        }
        if self.n_labels == 2:
            found["ROC AUC"] = roc_auc(truth, said[:, 1])
        return found


def _one_thread() -> Any:
    """Keep scikit-learn to the one thread that a task has.

    Its threads wait by spinning: on two busy cores, a fit of 5 s took 45 s with two of them.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="openmp")


def _usable(features: Floats, tests: Sequence[Floats]) -> tuple[list[Floats], Mask]:
    """Leave out features without a value to learn from, which scikit-learn cannot bin.

    If there is none with a value, all are zeros.
    """
    shown: Mask = np.asarray(~np.isnan(features).all(axis=0))
    if not shown.any():
        return [np.zeros_like(table) for table in (features, *tests)], np.ones_like(shown)
    return [np.clip(table[:, shown], -1e300, 1e300) for table in (features, *tests)], shown


def r_squared(truth: Floats, said: Floats) -> float:
    """Share of the variance that is explained; of truths that are all equal, 1 if right, else 0.

    Examples
    --------
    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))  # 1 - 1/2
    0.5
    """
    off = float(np.sum((truth - said) ** 2))
    total = float(np.sum((truth - truth.mean()) ** 2))
    return 1.0 - off / total if total else float(off == 0)


def roc_auc(truth: Codes, score: Floats) -> float:
    """Chance that a record of label 1 scores above one of label 0, ties half; ½ without either.

    Examples
    --------
    >>> roc_auc(np.array([0, 1, 1]), np.array([0.2, 0.2, 0.9]))  # (½ + 1) / 2
    0.75
    """
    n_ones = int(truth.sum())
    n_zeros = len(truth) - n_ones
    if not n_ones or not n_zeros:
        return 0.5
    ranks = pd.Series(score).rank().to_numpy()
    above = ranks[truth == 1].sum() - n_ones * (n_ones + 1) / 2
    return float(above / (n_ones * n_zeros))


def held_out(n_records: int, share: float, seed: int) -> tuple[Codes, Codes]:
    """Split record numbers into those to learn from and those to test on, both ascending."""
    n_tests = min(max(1, round(share * n_records)), n_records - 1)
    shuffled = np.random.default_rng([seed, 1]).permutation(n_records)
    return np.sort(shuffled[n_tests:]), np.sort(shuffled[:n_tests])


def require_sklearn(measure: str) -> None:
    """Refuse a measure that learns where nothing is installed to learn with."""
    try:
        import sklearn.ensemble  # noqa: F401
    except ImportError:
        raise AnonError(
            f"{measure} learns with scikit-learn, which is not installed. "
            "Install it: pip install 'dask-anon[ml]'."
        ) from None


def check_learning(test_share: float, max_rows: int, n_trees: int) -> None:
    """Refuse what leaves nothing to learn from, to test on, or to learn with."""
    if not 0 < test_share < 1:
        raise AnonError(f"test_share must be above 0 and below 1, found {test_share:g}.")
    at_least("max_rows", max_rows, 2)
    at_least("n_trees", n_trees, 1)
