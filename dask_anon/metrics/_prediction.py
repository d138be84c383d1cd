"""What an attacker learns from released records whose originals they know.

    released record ──features──▶ model ──▶ the quasi-identifiers behind another released record

Features of a record are all that it shows, in few numbers: the two ends of an interval; the two
commonest labels of a set, and how many it has.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dask_anon.errors import DataError, counted
from dask_anon.metrics._attributes import Attribute, attributes_of
from dask_anon.metrics._cells import Cells, Codes, Floats, Mask, read_cells
from dask_anon.metrics._features import (
    Ranks,
    as_labels,
    covered,
    ends,
    middles,
    shown_in,
)
from dask_anon.metrics._learning import Boosting, Classification, Regression, r_squared
from dask_anon.metrics._steps import Steps

# Labels of a predicted column that are told apart: a model grows a tree for each, in every round.
_MOST_ANSWERS = 31
# Labels of a released column that are told apart, the most that scikit-learn takes.
_MOST_CATEGORIES = 254


def features_of(
    original: pd.DataFrame, released: pd.DataFrame, attributes: Mapping[str, Attribute]
) -> tuple[Floats, Mask]:
    """All that released records show: (record, feature), and which features are categories."""
    tables: list[Floats] = []
    categories: list[bool] = []
    for attribute, cells in _read(original, released, attributes):
        if cells.low is not None:
            tables.append(ends(cells))
            categories += [False, False]
        if attribute.labels is not None:
            leading = Ranks.of(cells, len(attribute.labels)).leading(cells)
            labels = leading[:, :2]
            labels[labels >= _MOST_CATEGORIES] = np.nan
            tables.append(leading)
            categories += [True, True, False]
    return np.column_stack(tables), np.array(categories)


def _read(
    original: pd.DataFrame, released: pd.DataFrame, attributes: Mapping[str, Attribute]
) -> list[tuple[Attribute, Cells]]:
    """Cells of all released columns: the quasi-identifiers as labels, others as they are."""
    names = [str(name) for name in released.columns]
    found = []
    for name in shown_in(released, list(attributes)):
        found.append(_quasi_identifier(original, released, attributes[name]))
        own = (name, f"{name}_min", f"{name}_max", f"{name}_missing")
        names = [other for other in names if other not in own]
    for name in names:
        _, plain = attributes_of(Steps(released), released, [name])
        cells = read_cells(released, plain[name], values=True, suppressed=False)
        found.append((plain[name], cells))
    return found


def _quasi_identifier(
    original: pd.DataFrame, released: pd.DataFrame, attribute: Attribute
) -> tuple[Attribute, Cells]:
    try:
        cells = read_cells(released, attribute, suppressed=False, strangers=True)
    except DataError:
        if attribute.is_ordered:
            raise
        return as_labels(released, attribute.name)
    _refuse_other_order(original, cells, attribute, points=_has_labels(released, attribute))
    return attribute, cells


def _has_labels(released: pd.DataFrame, attribute: Attribute) -> bool:
    """Whether numbers are shown as labels or bounds, which no mean is."""
    if attribute.domain.kind not in ("integer", "float"):
        return False
    if attribute.name not in released.columns:
        return True
    column = released[attribute.name]
    return isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_string_dtype(column)


def _refuse_other_order(
    original: pd.DataFrame, released: Cells, attribute: Attribute, *, points: bool
) -> None:
    """Refuse cells that do not cover the values beside them: nothing could be learnt of them.

    It would look like a release that is safe.
    """
    own = read_cells(original, attribute, values=True, suppressed=False)
    n_outside = int((~covered(own, released, points=points)).sum())
    if n_outside:
        raise DataError(
            f"column '{attribute.name}' has {counted(n_outside, 'record', 'records')} of "
            f"{len(original):,} whose released cell does not cover the value beside it, so the "
            "release has its records in another order. Give it as `anonymize` returns it, or made "
            "with `order: keep`.",
            column=attribute.name,
            n_outside=n_outside,
        )


def predict(
    original: pd.DataFrame,
    attribute: Attribute,
    features: tuple[Floats, Mask],
    split: tuple[Codes, Codes],
    boosting: Boosting,
) -> tuple[float, float]:
    """Score of a column that is predicted from the features, and of saying the same of everybody.

    R² of an ordered column; else the share of records whose very label is said.
    """
    cells = read_cells(original, attribute, values=True, suppressed=False)
    if cells.low is not None:
        return _predict_numbers(middles(cells), features, split, boosting)
    return _predict_labels(*_answers(cells, attribute), features, split, boosting)


def _predict_numbers(
    truth: Floats, features: tuple[Floats, Mask], split: tuple[Codes, Codes], boosting: Boosting
) -> tuple[float, float]:
    table, categories = features
    known = ~np.isnan(truth)
    learnt, tested = (records[known[records]] for records in split)
    if not len(learnt) or not len(tested):
        return 0.0, 0.0  # no value that could be found out
    task = Regression()
    (said,) = task.learn(table[learnt], truth[learnt], [table[tested]], boosting, categories)
    blindly = task.without_learning(truth[learnt], len(tested))
    return r_squared(truth[tested], said), r_squared(truth[tested], blindly)


def _predict_labels(
    truth: Codes,
    any_other: int,
    features: tuple[Floats, Mask],
    split: tuple[Codes, Codes],
    boosting: Boosting,
) -> tuple[float, float]:
    table, categories = features
    learnt, tested = split
    task = Classification(any_other + 2)
    (said,) = task.learn(table[learnt], truth[learnt], [table[tested]], boosting, categories)
    blindly = task.without_learning(truth[learnt], len(tested))
    return _hits(truth[tested], said, any_other), _hits(truth[tested], blindly, any_other)


def _answers(cells: Cells, attribute: Attribute) -> tuple[Codes, int]:
    """Each record's label: its rank, one code for any other label, and one for missing."""
    assert attribute.labels is not None
    any_other = min(_MOST_ANSWERS, len(attribute.labels))
    ranks = Ranks.of(cells, len(attribute.labels)).leading(cells)[:, 0]
    codes = np.where(np.isnan(ranks), any_other + 1, np.minimum(ranks, any_other))
    return codes.astype(np.int64), any_other


def _hits(truth: Codes, said: Floats, any_other: int) -> float:
    """Share of records whose label is the one said; `any_other` is no label, and never said."""
    named = np.delete(said, any_other, axis=1).argmax(axis=1)
    return float(np.mean(truth == named + (named >= any_other)))
