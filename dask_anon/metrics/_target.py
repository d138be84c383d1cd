"""The column that models predict, and what the cells of a table say of it.

numbers to be estimated    the middle of the cell
labels to be told apart    the one value of the cell; nothing where it shows several
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics._attributes import Attribute, attributes_of
from dask_anon.metrics._cells import Floats, Mask, read_cells
from dask_anon.metrics._features import middles, unit_of
from dask_anon.metrics._learning import Classification, Regression
from dask_anon.metrics._steps import Steps

# Numbers with at most so many values are labels, if the caller does not say.
_FEW_VALUES = 10
# A classification grows as many trees as there are labels, in every round.
_MOST_LABELS = 100


@dataclass(frozen=True, eq=False)
class Target:
    """A column of the original, and how it is predicted.

    `places` are those of its values where an ordered column is predicted as labels.
    """

    attribute: Attribute
    task: Regression | Classification
    places: Floats | None = None

    @classmethod
    def of(
        cls,
        original: pd.DataFrame,
        column: str,
        task: Literal["auto", "classification", "regression"],
    ) -> Target:
        """Look at the original's values to see what the column is, and what `auto` means."""
        _, attributes = attributes_of(Steps(original), original, [column])
        attribute: Attribute = attributes[column]
        if not attribute.is_ordered:
            if task == "regression":
                raise AnonError(
                    f"column '{column}' has labels without an order, which no regression "
                    "predicts. Ask for task='classification'."
                )
            assert attribute.labels is not None
            _refuse_many(column, len(attribute.labels))
            return cls(attribute, Classification(len(attribute.labels)))
        cells = read_cells(original, attribute, values=True, suppressed=False)
        assert cells.low is not None
        # The distinct cells include null, whether it occurs or not.
        places = np.unique(cells.low[~cells.only_missing])
        if task == "regression" or (task == "auto" and len(places) > _FEW_VALUES):
            return cls(attribute, Regression())
        _refuse_many(column, len(places))
        return cls(attribute, Classification(len(places)), places)

    def answers(self, frame: pd.DataFrame, *, values: bool) -> tuple[Any, Mask]:
        """What each record says, as numbers or as codes of labels; and whether it says it.

        `values` says that the frame is the original.
        """
        cells = read_cells(
            frame, self.attribute, values=values, suppressed=False, strangers=not values
        )
        if isinstance(self.task, Regression):
            middle = middles(cells) * unit_of(self.attribute)
            return middle, ~np.isnan(middle)
        if self.places is None:
            assert cells.offsets is not None
            assert cells.codes is not None
            known = (cells.n_labels == 1) & ~cells.has_missing
            code = np.zeros(len(known), np.int64)
            code[known] = cells.codes[cells.offsets[:-1][known]]
            known &= code < self.task.n_labels
        else:
            assert cells.low is not None
            known = (cells.low == cells.high) & ~cells.has_missing
            code = np.searchsorted(self.places, np.where(known, cells.low, self.places[:1]))
            known &= np.append(self.places, np.nan)[code] == cells.low
        return code[cells.of_record], known[cells.of_record]


def _refuse_many(column: str, n_labels: int) -> None:
    if n_labels > _MOST_LABELS:
        raise DataError(
            f"column '{column}' has {n_labels:,} labels, a classification takes at most "
            f"{_MOST_LABELS}. Group them, or ask for task='regression' if they are numbers.",
            column=column,
        )
