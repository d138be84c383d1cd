"""The equivalence classes of one region: their sizes and what they cover, as codes.

ordered attribute    low, high of the values present, and whether a missing value is among them
nominal attribute    the set of labels present; equal sets are stored once

classes.R.parquet    one row a class       sets.R.J.parquet    one row a distinct set of attribute J
cuts.R.parquet       the subtree of the region, in preorder
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dask_anon.kernels.common import DISTINCT, Array, Scale, total_span
from dask_anon.kernels.mondrian import LEAF, Classes, Subtree
from dask_anon.kernels.segments import label_sets


@dataclass(frozen=True)
class OrderedBounds:
    """Extents of one ordered attribute; `low` > `high` where every value is missing."""

    low: Array
    high: Array
    missing: Array  # bool: a missing value is in the class

    def n_outside(self, codes: Array, classes: Array, missing_code: int) -> int:
        """How many of these records lie outside what their class shows."""
        between = (self.low[classes] <= codes) & (codes <= self.high[classes])
        inside = np.where(codes == missing_code, self.missing[classes], between)
        return len(codes) - int(np.count_nonzero(inside))


@dataclass(frozen=True)
class LabelSets:
    """Labels of one nominal attribute: class c has the codes of set ``of_class[c]``.

    Set s is ``codes[offsets[s] : offsets[s + 1]]``, ascending.
    """

    of_class: Array
    offsets: Array
    codes: Array

    def n_outside(self, codes: Array, classes: Array, missing_code: int) -> int:
        """How many of these records have a label that their class does not show."""
        width = missing_code + 1  # the missing label is one of them
        set_of_code = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        shown = set_of_code * width + self.codes
        asked = self.of_class[classes].astype(np.int64) * width + codes.astype(np.int64)
        return len(codes) - int(np.count_nonzero(np.isin(asked, shown)))


@dataclass(frozen=True)
class RegionClasses:
    """What the classes of a region cover."""

    size: Array
    bounds: tuple[OrderedBounds | LabelSets, ...]

    def penalties(self, scale: Scale) -> Array:
        """Normalized certainty penalty, summed over the records, one number an attribute."""
        return np.array([self._penalty(j, scale) for j in range(len(self.bounds))])

    def _penalty(self, j: int, scale: Scale) -> float:
        bounds = self.bounds[j]
        if scale.width[j] == 0:
            return 0.0
        if isinstance(bounds, LabelSets):
            n_labels = np.diff(bounds.offsets)[bounds.of_class]
            return float(self.size @ ((n_labels - scale.offset[j]) / scale.width[j]))
        missing = np.uint64(scale.missing[j])
        nothing = bounds.low > bounds.high
        low = np.where(nothing, missing, bounds.low)
        high = np.where(bounds.missing, missing, bounds.high)
        return float(
            total_span(
                scale.kind[j], low.astype(np.uint64), high.astype(np.uint64), self.size,
                scale.width[j], scale.offset[j], missing, scale.top[j],
            )
        )  # fmt: skip


def classes_of(rows: Array | None, classes: Classes, scale: Scale) -> RegionClasses:
    """The classes of a region; its codes are needed where there are nominal attributes."""
    if rows is not None:
        records = np.argsort(classes.of_record, kind="stable")
        start = np.concatenate([[0], np.cumsum(classes.size)])
    bounds: list[OrderedBounds | LabelSets] = []
    for j in range(scale.n_attributes):
        if rows is not None and scale.kind[j] == DISTINCT:
            bounds.append(_sets_of(rows, classes, start, records, j, int(scale.n_codes[j])))
        else:
            missing = classes.high[:, j] == scale.missing[j]
            bounds.append(OrderedBounds(classes.low[:, j], classes.present_high[:, j], missing))
    return RegionClasses(classes.size, tuple(bounds))


def _sets_of(
    rows: Array, classes: Classes, start: Array, records: Array, j: int, n_codes: int
) -> LabelSets:
    n = len(classes.size)
    offsets, codes = np.empty(n + 1, np.int64), np.empty(len(rows), np.uint32)
    seen = np.full(n_codes, -1, np.int64)
    n_codes_used = label_sets(rows, classes.of_record, start, records, j, seen, offsets, codes)
    return without_repetition(offsets, codes[:n_codes_used])


def without_repetition(offsets: Array, codes: Array) -> LabelSets:
    """Store equal sets once: set c is codes[offsets[c] : offsets[c + 1]]."""
    sets = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(codes))
    # Sets of one label, nearly all of them, are their own name; the rest go by their bytes.
    size = np.diff(offsets)
    name = np.where(size == 1, codes[np.minimum(offsets[:-1], len(codes) - 1)].astype(np.int64), -1)
    longer = np.flatnonzero(size > 1)
    if len(longer):
        known: dict[bytes, int] = {}
        data, ends = codes.tobytes(), offsets * codes.itemsize
        name[longer] = [
            -1 - known.setdefault(data[ends[c] : ends[c + 1]], len(known) + 1) for c in longer
        ]
    _, first, of_class = np.unique(name, return_index=True, return_inverse=True)
    kept = sets.take(pa.array(first))
    return LabelSets(
        of_class.astype(np.uint32),
        kept.offsets.to_numpy().astype(np.int64),
        kept.values.to_numpy(),
    )


def save_region(path: str, region: int, subtree: Subtree, classes: RegionClasses) -> None:
    """Write a region's cuts and classes into the directory `path`."""
    cuts = {"attribute": subtree.attribute, "threshold": subtree.threshold, "right": subtree.right}
    if subtree.key.size:
        cuts["key"] = subtree.key
    columns = {"size": classes.size}
    for j, bounds in enumerate(classes.bounds):
        if isinstance(bounds, LabelSets):
            columns[f"set_{j}"] = bounds.of_class
            sets = pa.ListArray.from_arrays(
                pa.array(bounds.offsets, pa.int32()), pa.array(bounds.codes)
            )
            _write(pa.table({"codes": sets}), path, f"sets.{region}.{j}.parquet")
        else:
            columns[f"low_{j}"], columns[f"high_{j}"] = bounds.low, bounds.high
            columns[f"missing_{j}"] = bounds.missing
    _write(pa.table(cuts), path, f"cuts.{region}.parquet")
    _write(pa.table(columns), path, f"classes.{region}.parquet")


def _write(table: pa.Table, path: str, name: str) -> None:
    # Bounds of classes hardly repeat: dictionaries and compression cost more than they save.
    target = os.path.join(path, name)
    temporary = f"{target}.{os.getpid()}.{id(table)}.tmp"
    pq.write_table(table, temporary, use_dictionary=False, compression="none")
    os.replace(temporary, target)


def load_region(path: str, region: int, nominal: Sequence[bool]) -> tuple[Subtree, RegionClasses]:
    """Read what `save_region` wrote; `nominal` says which attributes have sets of labels."""
    cuts = pq.read_table(os.path.join(path, f"cuts.{region}.parquet"))
    table = pq.read_table(os.path.join(path, f"classes.{region}.parquet"))

    def column(source: pa.Table, name: str) -> Array:
        return source.column(name).to_numpy()

    bounds: list[OrderedBounds | LabelSets] = []
    for j, has_sets in enumerate(nominal):
        if has_sets:
            bounds.append(LabelSets(column(table, f"set_{j}"), *load_sets(path, region, j)))
        else:
            names = (f"low_{j}", f"high_{j}", f"missing_{j}")
            bounds.append(OrderedBounds(*(column(table, name) for name in names)))
    has_keys = "key" in cuts.column_names
    subtree = Subtree(
        column(cuts, "attribute"),
        column(cuts, "threshold"),
        column(cuts, "key") if has_keys else np.empty(0, np.uint64),
        column(cuts, "right"),
    )
    return subtree, RegionClasses(column(table, "size"), tuple(bounds))


def load_sets(path: str, region: int, j: int) -> tuple[Array, Array]:
    """The distinct sets of labels of attribute `j` in a region: offsets and codes."""
    table = pq.read_table(os.path.join(path, f"sets.{region}.{j}.parquet"))
    sets = table.column("codes").combine_chunks()
    return sets.offsets.to_numpy().astype(np.int64), sets.values.to_numpy()


def class_of_nodes(subtree: Subtree) -> Array:
    """The class of every leaf of a subtree; inner nodes have none (-1)."""
    leaf = subtree.attribute == LEAF
    return np.where(leaf, np.cumsum(leaf) - 1, -1)
