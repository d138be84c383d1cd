"""A generalization hierarchy as its leaves, and which of them every node covers.

rows of the hierarchy             node            covers      level
Private ; Non-Government ; *      Private         0           0
Federal ; Government ; *          Government      1, 2        1
Local   ; Government ; *          *               0, 1, 2     2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dask_anon.errors import AnonError, DataError, counted

Codes = NDArray[np.int64]

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """Nodes of one column's hierarchy and their leaves, which are numbered by their rows.

    A label that stands on several levels covers the leaves of the highest, and its own level is
    the lowest: it is never said to show more than it does.

    Attributes
    ----------
    column : str
    leaves : pyarrow.Array of string
        The values of level 0.
    node_of : mapping of str to int
        The position of every label, `*` included.
    offsets, codes : int64 array
        Node i covers the leaves ``codes[offsets[i] : offsets[i + 1]]``, ascending.
    levels : int64 array
        The level of every node.
    paths : int64 array, shape (leaves, levels)
        Which node of each level a leaf lies below.
    """

    column: str
    leaves: pa.Array = field(repr=False)
    node_of: Mapping[str, int] = field(repr=False)
    offsets: Codes = field(repr=False)
    codes: Codes = field(repr=False)
    levels: Codes = field(repr=False)
    paths: Codes = field(repr=False)

    @property
    def n_levels(self) -> int:
        """Levels from the values up to the root, both counted."""
        return len(self.paths[0])

    @classmethod
    def of(cls, column: str, rows: Any) -> Taxonomy:
        """Read a hierarchy: one row a leaf, level 0 first.

        Parameters
        ----------
        column : str
        rows : DataFrame, sequence of sequences, or an object that has such ``rows``

        Raises
        ------
        DataError
            When rows differ in length, a leaf stands in two rows, or a cell is missing.

        Examples
        --------
        >>> sexes = Taxonomy.of("sex", [["male", "*"], ["female", "*"]])
        >>> sexes.leaves_of("*").tolist()
        [0, 1]
        """
        labels = _labels(column, rows)
        if (labels[:, -1] != labels[0, -1]).any():  # no root: `*` is above all
            labels = np.column_stack([labels, np.full(len(labels), ROOT, object)])
        numbers, names = pd.factorize(labels.ravel())
        n_levels = len(labels[0])
        paths = numbers.reshape(-1, n_levels).astype(np.int64)
        node_of = {str(name): i for i, name in enumerate(names)}
        covers = [np.empty(0, np.int64)] * len(names)
        levels = np.zeros(len(names), np.int64)
        for level in reversed(range(n_levels)):
            levels[paths[:, level]] = level
        for level in range(n_levels):
            order = np.argsort(paths[:, level], kind="stable")
            nodes, starts = np.unique(paths[order, level], return_index=True)
            for node, leaves in zip(nodes, np.split(order, starts[1:]), strict=True):
                covers[node] = leaves
        if ROOT not in node_of:
            node_of[ROOT] = int(paths[0, -1])
        sizes = [len(leaves) for leaves in covers]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        leaves = pa.array(labels[:, 0].tolist(), pa.string())
        return cls(column, leaves, node_of, offsets, np.concatenate(covers), levels, paths)

    def leaves_of(self, label: str) -> Codes | None:
        """The leaves below a node; None for a label that is none."""
        node = self.node_of.get(label)
        return None if node is None else self.codes[self.offsets[node] : self.offsets[node + 1]]

    def level_of(self, label: str, leaves: Codes) -> int:
        """The level of a node, or the lowest on which these leaves lie below one."""
        if label in self.node_of:
            return int(self.levels[self.node_of[label]])
        same = (self.paths[leaves] == self.paths[leaves[0]]).all(axis=0)
        return int(np.argmax(same))


def taxonomies_of(
    hierarchies: Mapping[str, Any] | None, columns: Sequence[str]
) -> dict[str, Taxonomy]:
    """The hierarchies of these columns, read.

    Raises
    ------
    AnonError
        When one is given for a column that is not looked at.
    """
    given = dict(hierarchies or {})
    others = [column for column in given if column not in columns]
    if others:
        raise AnonError(
            f"hierarchies are given for columns that are not measured: {others}. "
            f"Name them among the quasi-identifiers, which are {list(columns)}."
        )
    return {
        column: rows if isinstance(rows, Taxonomy) else Taxonomy.of(column, rows)
        for column, rows in given.items()
    }


def _labels(column: str, rows: Any) -> NDArray[np.object_]:
    """All labels as text: (leaf, level)."""
    if isinstance(rows, pd.DataFrame):
        rows = rows.to_numpy(dtype=object).tolist()
    elif not isinstance(rows, Sequence) or isinstance(rows, str):
        rows = getattr(rows, "rows", None)
    if rows is None or len(rows) == 0:
        raise DataError(
            f"the hierarchy of column '{column}' has no rows. Give one row a value, as a list or "
            "a frame, with the value itself first.",
            column=column,
        )
    lengths = np.array([len(row) for row in rows])
    n_levels = int(np.bincount(lengths).argmax())
    ragged = np.flatnonzero(lengths != n_levels)
    if len(ragged) or n_levels == 0:
        raise DataError(
            f"the hierarchy of column '{column}' has {counted(n_levels, 'level', 'levels')} in "
            f"most rows and another number in {counted(len(ragged), 'row', 'rows')}"
            + (f" (the first is row {ragged[0] + 1})" if len(ragged) else "")
            + ". Repeat labels until all rows are equally long.",
            column=column,
        )
    labels = np.empty((len(rows), n_levels), object)
    for i, row in enumerate(rows):
        labels[i] = [None if pd.isna(label) else str(label) for label in row]
    n_missing = sum(label is None for label in labels.ravel())
    if n_missing:
        raise DataError(
            f"the hierarchy of column '{column}' has {counted(n_missing, 'label', 'labels')} "
            "missing. Name every node; a missing value is a value of its own and needs no row.",
            column=column,
        )
    n_twice = len(labels) - len(set(labels[:, 0]))
    if n_twice:
        raise DataError(
            f"the hierarchy of column '{column}' has {counted(n_twice, 'value', 'values')} in two "
            "rows. Give each value one row.",
            column=column,
        )
    return labels
