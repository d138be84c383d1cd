"""Record beside record: what a value was, and the cell that shows it now.

    original   23   25   40   (none)
    released   [23, 25]  [23, 25]  40   null        distinct pairs, each with its records

Both tables must hold the same records in the same order. Only distinct pairs are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dask_anon.metrics._attributes import attributes_of
from dask_anon.metrics._cells import Cells, columns_shown, combined, read_cells
from dask_anon.metrics._covered import Known, columns_of
from dask_anon.metrics._steps import Steps, refuse_unaligned

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs of an original cell and a released one, in one column of a partition.

    Attributes
    ----------
    own, shown : Cells
        What the original and the release show.
    of_record : int64 array, one entry a record
        The number of its pair.
    own_cell, shown_cell : int64 array, one entry a pair
    """

    own: Cells
    shown: Cells
    of_record: Codes
    own_cell: Codes
    shown_cell: Codes

    @classmethod
    def of(cls, own: Cells, shown: Cells) -> Pairs:
        """Lay the cells side by side."""
        of_record, first = combined(own.of_record, shown.of_record)
        return cls(own, shown, of_record, own.of_record[first], shown.of_record[first])

    @property
    def counts(self) -> Codes:
        """How many records have each pair."""
        return np.bincount(self.of_record, minlength=len(self.own_cell))

    def labels_in_common(self) -> Codes:
        """How many labels both cells of a pair show."""
        own_offsets, own_codes = self.own.sets
        _, shown_codes = self.shown.sets
        sizes = self.own.n_labels[self.own_cell]
        ends = np.cumsum(sizes)
        # The labels of the original cell of every pair, one after the other.
        at = np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes)
        asked = own_codes[at + np.repeat(own_offsets[self.own_cell], sizes)]
        width = 1 + max(int(own_codes.max(initial=0)), int(shown_codes.max(initial=0)))
        cell_of_code = np.repeat(np.arange(len(self.shown.n_labels)), self.shown.n_labels)
        there = cell_of_code * width + shown_codes
        wanted = np.repeat(self.shown_cell, sizes) * width + asked
        found = np.append(there, -1)[np.searchsorted(there, wanted)] == wanted
        up_to = np.append(0, np.cumsum(found))[np.append(0, ends)]
        return np.asarray(np.diff(up_to), np.int64)


class Comparison:
    """Two tables whose records stand in the same order, and what is known of the original.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
    columns : sequence of str
        Of the original.
    hierarchies : mapping of column to rows, optional
    literal : bool
        A null of the release is a missing value, and labels that the original does not have are
        labels. Otherwise a null was suppressed where the original has no missing values, and
        unknown labels are refused.
    nominal, numbers, labelled
        As for :func:`~dask_anon.metrics._attributes.attributes_of`.
    """

    def __init__(
        self,
        original: Any,
        released: Any,
        columns: Sequence[str],
        hierarchies: Mapping[str, Any] | None = None,
        *,
        literal: bool,
        nominal: Sequence[str] = (),
        numbers: Sequence[str] = (),
        labelled: bool = False,
    ) -> None:
        self.steps = Steps(original, released)
        self.columns = columns_of(columns)
        self._original = original
        self._released = released
        self._literal, self._labelled = literal, labelled
        self.known = attributes_of(
            self.steps,
            original,
            self.columns,
            hierarchies,
            nominal=nominal,
            numbers=numbers,
            labelled=labelled,
        )

    def of_original(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        *,
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Read the original alone once more: `function({column: Cells}, known)`, merged."""
        steps, known = self.steps, self.known
        names = list(self.columns if columns is None else columns)
        parts = steps.parts(self._original, names, after=known)
        cells = [steps(_own_cells, part, known, names, self._labelled) for part in parts]
        return steps.merged(merge, [steps(function, own, known) for own in cells])

    def of_pairs(
        self,
        function: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        *arguments: Any,
        after: Any = None,
    ) -> Any:
        """Read both: `function({column: Pairs}, known, *arguments)`, merged.

        `after` is what the arguments wait for, if that takes a pass.
        """
        steps = self.steps
        shown = columns_shown(self._released, self.columns)
        known = self.known if after is None else after
        parts = steps.pairs(self._original, self.columns, self._released, shown, known)
        pairs = [steps(_paired, *pair, self.known, self._literal, self._labelled) for pair in parts]
        return steps.merged(merge, [steps(function, own, self.known, *arguments) for own in pairs])


def _own_cells(
    part: pd.DataFrame, known: Known, columns: Sequence[str], labelled: bool
) -> dict[str, Cells]:
    """The original's cells, which are values unless it is a release itself."""
    return {
        name: read_cells(
            part, known[1][name], values=not labelled, suppressed=False, strangers=True
        )
        for name in columns
    }


def _paired(
    original: pd.DataFrame, released: pd.DataFrame, known: Known, literal: bool, labelled: bool
) -> dict[str, Pairs]:
    refuse_unaligned(len(original), len(released))
    own = _own_cells(original, known, list(known[1]), labelled)
    return {
        name: Pairs.of(
            own[name], read_cells(released, attribute, suppressed=not literal, strangers=literal)
        )
        for name, attribute in known[1].items()
    }
