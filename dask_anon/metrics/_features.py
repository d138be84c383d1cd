"""Released cells as features of a model, in the same columns as the original's values.

    released         features         original    features      as the release would show it
    "[23, 25]"       24               27          27            27
    "{F, M}"         F ½, M ½         "M"         F 0, M 1      F ½, M ½
    null             no number        null        no number     no number

A model that is learnt from one table can so be asked about records of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.types as pt

from dask_anon.errors import DataError
from dask_anon.hierarchy._types import UNITS, is_decimal
from dask_anon.metrics._attributes import Attribute, attributes_of
from dask_anon.metrics._cells import Cells, Codes, Floats, Mask, read_cells
from dask_anon.metrics._steps import Steps

# Labels of a column that get a feature of their own, the commonest; the rest share one.
_MOST_LABELS = 32


@dataclass(frozen=True, eq=False)
class Ranks:
    """Labels by how common they are: the commonest has rank 0; of equally common ones the first."""

    of_code: Codes

    @classmethod
    def of(cls, cells: Cells, n_labels: int) -> Ranks:
        """Rank the labels by the records whose cells show them; those of no record come last."""
        assert cells.codes is not None
        weights = np.repeat(cells.counts, cells.n_labels)
        counts = np.bincount(cells.codes, weights, minlength=n_labels)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty(len(counts), np.int64)
        ranks[order] = np.arange(len(counts))
        return cls(ranks)

    def shares(self, cells: Cells) -> Floats:
        """How much of each cell is each of the commonest labels, any other, and missing.

        (cell, commonest + 2). A cell of m labels, the missing value counted as one, is each of them
        with 1/m.
        """
        n_ranked = min(_MOST_LABELS, len(self.of_code))
        of_cell, label, share = _members(cells, len(self.of_code))
        # A label that the original does not have is any other; the missing value comes last.
        column = np.concatenate([np.minimum(self.of_code, n_ranked), [n_ranked, n_ranked + 1]])
        features = np.zeros((len(cells.has_missing), n_ranked + 2))
        np.add.at(features, (of_cell, column[label]), share)
        return features

    def leading(self, cells: Cells) -> Floats:
        """The two commonest labels of each record's cell, by rank, and how many it shows.

        (record, 3), NaN for a label that is not there.
        """
        assert cells.offsets is not None
        assert cells.codes is not None
        of_cell = np.repeat(np.arange(len(cells.has_missing)), cells.n_labels)
        ranks = self.of_code[cells.codes]
        ranks = np.append(ranks[np.lexsort((ranks, of_cell))], [0, 0]).astype(np.float64)
        start = cells.offsets[:-1]
        first = np.where(cells.n_labels > 0, ranks[start], np.nan)
        second = np.where(cells.n_labels > 1, ranks[start + 1], np.nan)
        features = np.column_stack([first, second, cells.n_labels + cells.has_missing])
        return features[cells.of_record]


def _members(cells: Cells, n_labels: int) -> tuple[Codes, Codes, Floats]:
    """The labels of all cells, one entry each: cell, label, and the share of the cell that it is.

    Label `n_labels` is one that the original does not have, `n_labels` + 1 the missing value.
    """
    assert cells.codes is not None
    share = 1 / np.maximum(1, cells.n_labels + cells.has_missing)
    missing = np.flatnonzero(cells.has_missing)
    of_cell = np.concatenate([np.repeat(np.arange(len(share)), cells.n_labels), missing])
    known = np.minimum(cells.codes, n_labels)
    label = np.concatenate([known, np.full(len(missing), n_labels + 1)])
    return of_cell, label, share[of_cell]


def as_shown(own: Floats, original: Cells, shown: Floats, released: Cells, n_labels: int) -> Floats:
    """Features of the original's cells as the release would show them: (cell, feature).

    The mean over the released records that may have the value, each with the chance that it has.
    Somebody from c is asked for as one of {a, c} where the release tells no more; a value that it
    never shows is left as it is.
    """
    of_cell, label, share = _members(released, n_labels)
    weight = released.counts[of_cell] * share
    total = np.bincount(label, weight, minlength=n_labels + 2)
    of_label = np.zeros((n_labels + 2, shown.shape[1]))
    np.add.at(of_label, label, weight[:, None] * shown[of_cell])
    _, own_label, _ = _members(original, n_labels)  # one each, but those of missing come last
    cells = np.argsort(original.only_missing, kind="stable")
    found = own.copy()
    seen = total[own_label] > 0
    found[cells[seen]] = of_label[own_label[seen]] / total[own_label[seen], None]
    return found


def middles(cells: Cells) -> Floats:
    """The middle of each record's cell, NaN where only missing values are shown: (record,)."""
    assert cells.low is not None
    assert cells.high is not None
    return ((cells.low + cells.high) / 2)[cells.of_record]


def ends(cells: Cells) -> Floats:
    """Lower and upper end of each record's cell: (record, 2)."""
    assert cells.low is not None
    assert cells.high is not None
    return np.column_stack([cells.low, cells.high])[cells.of_record]


@dataclass(frozen=True, eq=False)
class Shared:
    """Features of the columns in both tables, in the same places: (record, feature) of each.

    `as_released` are the original's records as the release would show them.
    """

    original: Floats
    released: Floats
    as_released: Floats


def in_both(
    original: pd.DataFrame, released: pd.DataFrame, attributes: Sequence[Attribute]
) -> Shared:
    """Features of columns that both tables have."""
    columns = [_in_both(original, released, attribute) for attribute in attributes]
    return Shared(
        np.column_stack([column.original for column in columns]),
        np.column_stack([column.released for column in columns]),
        np.column_stack([column.as_released for column in columns]),
    )


def _in_both(original: pd.DataFrame, released: pd.DataFrame, attribute: Attribute) -> Shared:
    try:
        after = read_cells(released, attribute, suppressed=False, strangers=True)
    except DataError:
        if attribute.is_ordered or attribute.taxonomy is not None:
            raise
        return _texts_in_both(original, released, attribute.name)
    before = read_cells(original, attribute, values=True, suppressed=False)
    if before.low is not None:
        own = middles(before)[:, None]
        return Shared(own, middles(after)[:, None], own)
    assert attribute.labels is not None
    n_labels = len(attribute.labels)
    ranks = Ranks.of(before, n_labels)
    own, shown = ranks.shares(before), ranks.shares(after)
    translated = as_shown(own, before, shown, after, n_labels)
    return Shared(own[before.of_record], shown[after.of_record], translated[before.of_record])


def _texts_in_both(original: pd.DataFrame, released: pd.DataFrame, column: str) -> Shared:
    """Published texts that are no labels of a release: each is a label of its own."""
    both = pd.concat([original[[column]].astype(object), released[[column]].astype(object)])
    attribute, cells = as_labels(both, column)
    features = Ranks.of(cells, attribute.domain.max_code + 1).shares(cells)[cells.of_record]
    own, shown = features[: len(original)], features[len(original) :]
    return Shared(own, shown, own)


def as_labels(frame: pd.DataFrame, column: str) -> tuple[Attribute, Cells]:
    """A column whose different cells are so many labels, whatever they say."""
    _, attributes = attributes_of(Steps(frame), frame, [column], nominal=[column])
    attribute: Attribute = attributes[column]
    return attribute, read_cells(frame, attribute, values=True, suppressed=False)


def covered(original: Cells, released: Cells, *, points: bool) -> Mask:
    """Whether each record's released cell shows the original's value, where that can be judged.

    An empty cell was suppressed; a point that differs may be a mean or noise, unless the caller
    knows that `points` are values.
    """
    of_original, of_released = original.of_record, released.of_record
    missing = original.only_missing[of_original]
    found = missing & released.has_missing[of_released]
    if original.codes is not None and released.codes is not None:
        assert original.offsets is not None
        assert released.offsets is not None
        width = 1 + max(original.codes.max(initial=0), released.codes.max(initial=0))
        of_cell = np.repeat(np.arange(len(released.has_missing)), released.n_labels)
        shown = np.unique(of_cell * width + released.codes)
        label = np.zeros(len(original.only_missing), np.int64)
        label[~original.only_missing] = original.codes
        asked = of_released * width + label[of_original]
        found |= ~missing & np.isin(asked, shown)
        one = released.n_labels + released.has_missing < 2
    else:
        assert original.low is not None
        assert released.low is not None
        assert released.high is not None
        value = original.low[of_original]
        found |= (released.low[of_released] <= value) & (value <= released.high[of_released])
        one = released.low == released.high
    unsaid = released.only_missing | (False if points else one)
    return np.asarray(found | unsaid[of_released])


def unit_of(attribute: Attribute) -> float:
    """What one step from the smallest to the largest value is in the column's own units.

    Days for dates, times and durations; places on the scale for ordered categories.
    """
    type_ = attribute.domain.type
    if attribute.domain.kind == "float":
        return 2 * attribute.width
    if is_decimal(type_):
        return float(attribute.width * 10.0**-type_.scale)
    if pt.is_date64(type_):
        return attribute.width / 86_400_000
    if pt.is_temporal(type_) and hasattr(type_, "unit"):
        return attribute.width / (UNITS[type_.unit] * 86_400)
    return attribute.width


def shown_in(frame: Any, columns: Sequence[str]) -> list[str]:
    """Those of the columns that a table has, under their own names or as bounds."""
    names = {str(name) for name in frame.columns}
    return [c for c in columns if c in names or {f"{c}_min", f"{c}_max"} <= names]
