"""What the cells of a released column show, read back against the original's values.

    released            distinct cells                                  of_record
    "[23, 25]"          0: places .0 to .4, no missing value            0
    "30 | missing"      1: place 1., and missing ones                   1
    "[23, 25]"                                                          0

Labels, bounds, midpoints and plain values are read; a release shows few distinct cells, so only
those are parsed. Needs one partition and the facts of the original column, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.classes import released_columns
from dask_anon.errors import DataError, counted
from dask_anon.hierarchy._text import MISSING
from dask_anon.hierarchy._types import family, is_decimal, is_text
from dask_anon.metrics._attributes import Attribute, as_text, refuse_unknown
from dask_anon.metrics._labels import Sets, read_intervals, read_sets
from dask_anon.metrics._taxonomy import ROOT, Taxonomy
from dask_anon.recoding import table_from_frame

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct cells of a released column, and which of them each record has.

    Attributes
    ----------
    of_record : int64 array, one entry a record
        The number of its cell.
    has_missing, only_missing : bool array, one entry a cell
        Whether missing values are among what it shows, and whether they are all that it shows.
    low, high : float64 array, optional
        Of an ordered column: where its smallest and largest value lie (:class:`Attribute`); NaN
        for a cell of missing values only.
    offsets, codes : int64 array, optional
        Of a column of labels, or with a hierarchy: cell i shows the labels
        ``codes[offsets[i] : offsets[i + 1]]`` of ``attribute.labels``, ascending. A code past the
        last label is one that the original does not have.
    levels : int64 array, optional
        With a hierarchy: the level on which the cell stands.
    """

    of_record: Codes
    has_missing: Mask
    only_missing: Mask
    low: Floats | None = None
    high: Floats | None = None
    offsets: Codes | None = None
    codes: Codes | None = None
    levels: Codes | None = None

    @property
    def counts(self) -> Codes:
        """How many records have each cell."""
        return np.bincount(self.of_record, minlength=len(self.has_missing))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The places `low` and `high` of an ordered column."""
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    @property
    def sets(self) -> tuple[Codes, Codes]:
        """The `offsets` and `codes` of a column of labels, or with a hierarchy."""
        assert self.offsets is not None
        assert self.codes is not None
        return self.offsets, self.codes

    @property
    def n_labels(self) -> Codes:
        """How many labels each cell shows, without the missing one."""
        return np.diff(self.sets[0])


def columns_shown(frame: Any, names: Sequence[str]) -> list[str]:
    """The released columns that show these columns: `age`, or `age_min` and `age_max`."""
    return list(dict.fromkeys(released_columns([str(name) for name in frame.columns], names)))


def read_cells(
    frame: pd.DataFrame,
    attribute: Attribute,
    *,
    values: bool = False,
    suppressed: bool = True,
    strangers: bool = False,
) -> Cells:
    """Read the cells of one column in a partition.

    Parameters
    ----------
    frame : pandas DataFrame
        With the column under its own name, or as ``age_min``, ``age_max`` and ``age_missing``.
    attribute : Attribute
        The original column.
    values : bool, default False
        The frame is the original: texts are values, not labels of a release.
    suppressed : bool, default True
        A null where the original has no missing values shows nothing, that is, any value: it was
        suppressed. Otherwise a null is a missing value.
    strangers : bool, default False
        Accept labels that the original does not have.

    Raises
    ------
    DataError
        Where cells cannot be read: the column and in how many records, never what they hold.

    Notes
    -----
    ``*`` shows any value, unless it is a value of the original.
    """
    name = attribute.name
    shown = columns_shown(frame, [name])
    table = table_from_frame(frame, shown)
    if name not in shown:
        cells = _of_bounds(table, attribute)
    else:
        ids, distinct = _distinct(table.column(name), text=attribute.labels is not None)
        flag = f"{name}_missing"
        if attribute.labels is not None:
            cells = _of_labels(ids, distinct, attribute, values=values, strangers=strangers)
        elif is_text(distinct.type) and not (values and attribute.domain.kind == "ordinal"):
            cells = _of_intervals(ids, distinct, attribute)
        else:
            cells = _of_values(ids, distinct, attribute)
            if flag in shown and not values and pt.is_boolean(table.column(flag).type):
                cells = _with_flags(cells, table.column(flag))
    if suppressed and not attribute.has_missing:
        cells = _anything(cells, attribute, cells.only_missing)
    return cells


def _distinct(column: pa.ChunkedArray, *, text: bool) -> tuple[Codes, pa.Array]:
    """Number the distinct values, null the last of them: -> (n,), (m,)."""
    type_ = column.type
    if text or pt.is_dictionary(type_) or pt.is_null(type_) or str(type_) == "string_view":
        column = as_text(column)
    elif pt.is_float16(type_):  # few functions of Arrow know it
        column = pa.chunked_array([column.to_numpy().astype(np.float32)])
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # so it is without rows, or past 2 GiB
        encoded = pa.concat_arrays([pa.array([], column.type), *encoded.chunks])
    encoded = encoded.dictionary_encode()
    values = pa.concat_arrays([encoded.dictionary, pa.nulls(1, column.type)])
    ids = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return ids.astype(np.int64), values


def combined(*numbers: Codes) -> tuple[Codes, Codes]:
    """Number the distinct combinations: -> the number of each record, one record of each."""
    key = numbers[0]
    for other in numbers[1:]:
        key = key * (int(other.max(initial=0)) + 1) + other
    of_record, distinct = pd.factorize(key)
    first = np.empty(len(distinct), np.int64)
    first[of_record[::-1]] = np.arange(len(key))[::-1]
    return of_record.astype(np.int64), first


# -- an ordered column ---------------------------------------------------------------------------


def _of_values(ids: Codes, distinct: pa.Array, attribute: Attribute) -> Cells:
    places = _places(distinct, attribute)
    missing = _is_missing(distinct)
    _refuse(attribute, np.isnan(places) & ~missing, ids)
    return Cells(ids, missing, missing, places, places)


def _places(values: pa.Array, attribute: Attribute) -> Floats:
    type_, own = values.type, attribute.domain.type
    # Arrow would take whole numbers for moments.
    if attribute.domain.kind != "ordinal" and _is_number(type_) == _is_number(own):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return attribute.places(values)
    elif attribute.domain.kind == "ordinal":
        return attribute.places(values)
    raise DataError(
        f"column '{attribute.name}' is {family(type_)} in the release and {family(own)} in the "
        "original. Convert it to one type.",
        column=attribute.name,
    )


def _is_number(type_: pa.DataType) -> bool:
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or is_decimal(type_))


def _is_missing(values: pa.Array) -> Mask:
    missing = np.array(values.is_null())
    if pt.is_floating(values.type):
        missing |= np.isnan(values.to_numpy(zero_copy_only=False))
    return missing


def _of_intervals(ids: Codes, distinct: pa.Array, attribute: Attribute) -> Cells:
    read = read_intervals(distinct, attribute.domain.type)
    low, high = attribute.places(read.low), attribute.places(read.high)
    only = read.missing & np.isnan(low)
    anything = _is_root(distinct)
    bad = ~read.readable | (np.isnan(low) & ~only) | (np.isnan(high) & ~only) | (low > high)
    _refuse(attribute, bad & ~anything, ids)
    return _anything(Cells(ids, read.missing, only, low, high), attribute, anything)


def _is_root(texts: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(pc.equal(texts, ROOT), False))


def _of_bounds(table: pa.Table, attribute: Attribute) -> Cells:
    name = attribute.name
    ends, numbers = [], []
    for end in ("min", "max"):
        ids, distinct = _distinct(table.column(f"{name}_{end}"), text=False)
        if is_text(distinct.type) and attribute.domain.kind != "ordinal":
            distinct = read_intervals(distinct, attribute.domain.type).low
        numbers.append(ids)
        ends.append(_places(distinct, attribute))
    flag = f"{name}_missing"
    said = _flags(table.column(flag)) if flag in table.column_names else None
    if said is not None:
        numbers.append(said.astype(np.int64))
    of_record, first = combined(*numbers)
    low, high = (end[ids[first]] for end, ids in zip(ends, numbers, strict=False))
    only = np.isnan(low) & np.isnan(high)
    _refuse(attribute, (np.isnan(low) != np.isnan(high)) | (low > high), of_record)
    has_missing = only if said is None else only | said[first]
    return Cells(of_record, has_missing, only, low, high)


def _flags(column: pa.ChunkedArray) -> Mask:
    if is_text(column.type):  # as CSV has it
        column = pc.equal(pc.utf8_lower(column), "true")
    return np.asarray(column.cast(pa.bool_()).fill_null(False).to_numpy(), np.bool_)


def _with_flags(cells: Cells, column: pa.ChunkedArray) -> Cells:
    """Midpoints, whose missing values stand in a column of their own."""
    said = _flags(column)
    of_record, first = combined(cells.of_record, said.astype(np.int64))
    cell = cells.of_record[first]
    assert cells.low is not None
    only, low = cells.only_missing[cell], cells.low[cell]
    return Cells(of_record, only | said[first], only, low, low)


# -- a column of labels, or with a hierarchy -----------------------------------------------------


def _of_labels(
    ids: Codes, texts: pa.Array, attribute: Attribute, *, values: bool, strangers: bool
) -> Cells:
    labels = attribute.labels
    assert labels is not None
    anything = np.zeros(len(texts), np.bool_)
    if values:
        missing = np.asarray(texts.is_null())
        found = pc.index_in(texts, value_set=labels)
        refuse_unknown(attribute.name, int((np.asarray(found.is_null()) & ~missing)[ids].sum()))
        sets = Sets.of_single(found.fill_null(0).to_numpy().astype(np.int64), missing)
    else:
        sets = _nodes(texts, attribute) if attribute.taxonomy else read_sets(texts, labels)
        if not pc.is_in(pa.scalar(ROOT), value_set=labels).as_py():
            anything = _is_root(texts)
        _refuse(attribute, ~sets.readable & ~anything, ids)
        if not strangers:
            _refuse_strangers(attribute, sets.has_past(len(labels)) & ~anything, ids)
    only = sets.missing & (np.diff(sets.offsets) == 0)
    levels = _levels(texts, sets, attribute.taxonomy, values) if attribute.taxonomy else None
    cells = Cells(ids, sets.missing, only, None, None, sets.offsets, sets.codes, levels)
    return _with_places(_anything(cells, attribute, anything), attribute)


def _nodes(texts: pa.Array, attribute: Attribute) -> Sets:
    """Texts as nodes of the hierarchy; else as sets of leaves, or intervals that hold some."""
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    sets = read_sets(texts, taxonomy.leaves)
    listed = sets.listed()
    places = attribute.leaf_places
    unread = sets.has_past(len(taxonomy.leaves)) | ~sets.readable
    for i, text in enumerate(texts.to_pylist()):
        body, tail, _ = (text or "").partition(f" | {MISSING}")
        leaves = taxonomy.leaves_of(body)
        if leaves is not None:
            listed[i], sets.missing[i], sets.readable[i] = leaves, bool(tail), True
        elif unread[i] and places is not None:
            read = read_intervals(texts.slice(i, 1), attribute.domain.type)
            low, high = attribute.places(read.low), attribute.places(read.high)
            listed[i] = np.flatnonzero((places >= low) & (places <= high))
            sets.missing[i], sets.readable[i] = read.missing[0], len(listed[i]) > 0
    return Sets.of(listed, sets.missing, sets.readable)


def _levels(texts: pa.Array, sets: Sets, taxonomy: Taxonomy, values: bool) -> Codes:
    """On which level each cell stands: the root where it shows missing values beside others."""
    levels = np.zeros(len(texts), np.int64)
    if values:
        return levels
    for i, (text, leaves) in enumerate(zip(texts.to_pylist(), sets.listed(), strict=True)):
        if len(leaves) and sets.missing[i]:
            levels[i] = taxonomy.n_levels - 1
        elif len(leaves):
            levels[i] = taxonomy.level_of(text, leaves)
    return levels


def _with_places(cells: Cells, attribute: Attribute) -> Cells:
    """Where the leaves of an ordered column's hierarchy lie."""
    places = attribute.leaf_places
    if places is None or cells.offsets is None or cells.codes is None:
        return cells
    low = np.full(len(cells.only_missing), np.nan)
    high = low.copy()
    some = np.flatnonzero(cells.n_labels)
    if len(some):
        low[some] = np.minimum.reduceat(places[cells.codes], cells.offsets[some])
        high[some] = np.maximum.reduceat(places[cells.codes], cells.offsets[some])
    return replace(cells, low=low, high=high)


# -- what is wrong, and what says nothing --------------------------------------------------------


def _anything(cells: Cells, attribute: Attribute, which: Mask) -> Cells:
    """Let these cells show every value of the original."""
    if not which.any():
        return cells
    low, high, offsets, codes = cells.low, cells.high, cells.offsets, cells.codes
    levels = cells.levels
    if low is not None and high is not None:
        ends = (np.nan, np.nan) if attribute.is_empty else (0.0, attribute.top)
        low, high = np.where(which, ends[0], low), np.where(which, ends[1], high)
    if offsets is not None and codes is not None:
        assert attribute.labels is not None
        every = np.arange(len(attribute.labels))
        listed = np.split(codes, offsets[1:-1])
        for i in np.flatnonzero(which):
            listed[i] = every
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in listed])])
        codes = np.concatenate(listed)
    if levels is not None and attribute.taxonomy is not None:
        levels = np.where(which, attribute.taxonomy.n_levels - 1, levels)
    return Cells(
        cells.of_record,
        np.where(which, attribute.has_missing or attribute.is_empty, cells.has_missing),
        np.where(which, attribute.is_empty, cells.only_missing),
        low,
        high,
        offsets,
        codes,
        levels,
    )


def _refuse(attribute: Attribute, bad: Mask, ids: Codes) -> None:
    n_bad = int(bad[ids].sum())
    if n_bad:
        raise DataError(
            f"column '{attribute.name}' has {counted(n_bad, 'record', 'records')} whose released "
            f"cell cannot be read as one of a column of type {attribute.domain.type}. Check that "
            "the release was not changed, or give the column's hierarchy if its cells are nodes.",
            column=attribute.name,
            n_unreadable=n_bad,
        )


def _refuse_strangers(attribute: Attribute, strange: Mask, ids: Codes) -> None:
    n_strange = int(strange[ids].sum())
    if n_strange:
        raise DataError(
            f"column '{attribute.name}' has {counted(n_strange, 'record', 'records')} whose "
            "released cell shows a label that the original does not have. Give the column's "
            "hierarchy if it is a node, or the original that this release was made from.",
            column=attribute.name,
            n_unknown=n_strange,
        )
