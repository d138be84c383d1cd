"""Texts of released cells, parsed many at a time.

Numbers and plain labels, nearly all that a release shows, are read by Arrow; the rest one by one by
the exact parser of labels. What cannot be read is marked, not raised: who asks knows the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.errors import DataError
from dask_anon.hierarchy import Interval, LabelSet, parse_label
from dask_anon.hierarchy._text import MISSING

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

_TAIL = f" | {MISSING}"
_INTEGER = r"-?[0-9]{1,18}"
_FLOAT = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"


@dataclass(frozen=True, eq=False)
class Intervals:
    """Texts read as intervals: entry i has the values `low` to `high`, and maybe missing ones."""

    low: pa.Array
    high: pa.Array
    missing: Mask
    readable: Mask


@dataclass(frozen=True, eq=False)
class Sets:
    """Texts read as sets of labels: set i is ``codes[offsets[i] : offsets[i + 1]]``.

    A code past the last label stands for one of the `strangers`, which are not among them.
    """

    offsets: Codes
    codes: Codes
    missing: Mask
    readable: Mask
    strangers: tuple[str, ...] = ()

    @classmethod
    def of(cls, sets: Sequence[Codes], missing: Mask, readable: Mask) -> Sets:
        """From one array of codes a set."""
        offsets = np.zeros(len(sets) + 1, np.int64)
        np.cumsum([len(codes) for codes in sets], out=offsets[1:])
        codes = np.concatenate([np.empty(0, np.int64), *sets]).astype(np.int64)
        return cls(offsets, codes, missing, readable)

    @classmethod
    def of_single(cls, codes: Codes, missing: Mask) -> Sets:
        """From one code a set, which is left out where the value is missing."""
        offsets = np.concatenate([[0], np.cumsum(~missing)])
        return cls(offsets, codes[~missing], missing, np.ones(len(missing), np.bool_))

    def has_past(self, n_labels: int) -> Mask:
        """Which sets have codes past the last label."""
        past = np.concatenate([[0], np.cumsum(self.codes >= n_labels)])
        return np.asarray(np.diff(past[self.offsets]) > 0)

    def listed(self) -> list[Codes]:
        """One array of codes a set."""
        return np.split(self.codes, self.offsets[1:-1]) if len(self.readable) else []


def read_intervals(texts: pa.Array, type_: pa.DataType) -> Intervals:
    """Read texts of a column whose original was of `type_`; a null is a cell of missing values."""
    n = len(texts)
    missing, readable = np.asarray(texts.is_null()).copy(), np.ones(n, np.bool_)
    plain = pt.is_integer(type_) or pt.is_float32(type_) or pt.is_float64(type_)
    if not plain:
        return _intervals_one_by_one(texts, type_, missing, readable)
    number, read_as = (_INTEGER, pa.int64()) if pt.is_integer(type_) else (_FLOAT, type_)
    pattern = (
        rf"^(?:(?P<point>{number})|\[(?P<low>{number}), (?P<high>{number})\])"
        rf"(?P<missing> \| {MISSING})?$"
    )
    parts = pc.extract_regex(texts, pattern)
    point, low, high, tail = (parts.field(i) for i in range(4))
    found = np.asarray(parts.is_valid())
    rest = np.flatnonzero(~found & ~missing)
    is_point = pc.not_equal(point, "")
    nothing = pa.scalar(None, pa.string())
    ends = [
        pc.if_else(pa.array(found), pc.if_else(is_point, point, end), nothing).cast(read_as)
        for end in (low, high)
    ]
    missing |= found & np.asarray(pc.fill_null(pc.not_equal(tail, ""), False))
    if not len(rest):
        return Intervals(ends[0], ends[1], missing, readable)
    others = _intervals_one_by_one(
        texts.take(pa.array(rest)), type_, np.zeros(len(rest), np.bool_), readable[rest]
    )
    missing[rest], readable[rest] = others.missing, others.readable
    mask = np.zeros(n, np.bool_)
    mask[rest] = True
    try:
        ends = [
            pc.replace_with_mask(end.cast(other.type), pa.array(mask), other)
            for end, other in zip(ends, (others.low, others.high), strict=True)
        ]
    except pa.ArrowInvalid:  # numbers of the type, beside those that it cannot hold
        readable[rest] = False
    return Intervals(ends[0], ends[1], missing, readable)


def _intervals_one_by_one(
    texts: pa.Array, type_: pa.DataType, missing: Mask, readable: Mask
) -> Intervals:
    lows, highs = [], []
    value_type = pa.string() if pt.is_dictionary(type_) else type_
    for i, text in enumerate(texts.to_pylist()):
        label = _parsed(text, type_)
        if not isinstance(label, Interval) or not _holds(label, value_type):
            label, readable[i] = Interval(None, None), False
        missing[i] |= label.missing
        lows.append(label.low)
        highs.append(label.high)
    return Intervals(pa.array(lows, value_type), pa.array(highs, value_type), missing, readable)


def _parsed(text: str | None, type_: pa.DataType) -> Interval | LabelSet | None:
    try:
        return parse_label(text, type_)
    except DataError:
        return None


def _holds(label: Interval, type_: pa.DataType) -> bool:
    """Whether the type has these values: a label may say more than it can."""
    try:
        pa.array([label.low, label.high], type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return False
    return True


def read_sets(texts: pa.Array, labels: pa.Array) -> Sets:
    """Read texts as sets of labels; a null is a cell of missing values.

    A text that is itself a label of the original, though a release would quote it, is that label.
    """
    missing = np.asarray(texts.is_null()).copy()
    readable = np.ones(len(texts), np.bool_)
    tail = pc.ends_with(texts, _TAIL)
    body = pc.replace_substring_regex(texts, rf" \| {MISSING}$", "")
    braced = pc.and_(pc.starts_with(body, "{"), pc.ends_with(body, "}"))
    inner = pc.if_else(braced, pc.replace_substring_regex(body, r"^\{|\}$", ""), body)
    # A plain label has no comma, so that commas part labels; those in quotes are read with care.
    lists = pc.split_pattern(inner, ", ")
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    found = pc.index_in(lists.flatten(), value_set=labels)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    unknown = np.asarray(found.is_null())
    n_unknown = np.diff(np.concatenate([[0], np.cumsum(unknown)])[offsets])
    in_quotes = np.asarray(pc.fill_null(pc.match_substring(texts, '"'), False))
    is_set = np.asarray(pc.fill_null(braced, False))
    awkward = (n_unknown > 0) | in_quotes | (is_set != (sizes > 1))
    missing |= np.asarray(pc.fill_null(tail, False)) & ~awkward
    codes = found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    sets = Sets(offsets, codes, missing, readable)
    if awkward.any():
        sets = _with_awkward(sets, texts, np.flatnonzero(awkward), labels)
    return _ascending(sets, len(labels))


def _with_awkward(sets: Sets, texts: pa.Array, rows: Codes, labels: pa.Array) -> Sets:
    known = {label: code for code, label in enumerate(labels.to_pylist())}
    strangers: dict[str, int] = {}
    listed = sets.listed()
    for row, text in zip(rows, texts.take(pa.array(rows)).to_pylist(), strict=True):
        label = _parsed(text, pa.string())
        own = label.labels if isinstance(label, LabelSet) else ()
        is_known = label is not None and all(one in known for one in own)
        if not is_known and text in known:
            label, own = LabelSet((text,)), (text,)
        sets.readable[row] = label is not None
        sets.missing[row] = label is not None and label.missing
        listed[row] = np.array(
            [
                known[one]
                if one in known
                else len(known) + strangers.setdefault(one, len(strangers))
                for one in own
            ],
            np.int64,
        )
    return replace(Sets.of(listed, sets.missing, sets.readable), strangers=tuple(strangers))


def _ascending(sets: Sets, n_labels: int) -> Sets:
    """Each set in ascending order, without repetition."""
    n_sets = len(sets.readable)
    of_set = np.repeat(np.arange(n_sets), np.diff(sets.offsets))
    width = max(n_labels, int(sets.codes.max(initial=0)) + 1)
    keys = np.unique(of_set * width + sets.codes)
    offsets = np.searchsorted(keys, np.arange(n_sets + 1) * width)
    return replace(sets, offsets=offsets.astype(np.int64), codes=keys % width)
