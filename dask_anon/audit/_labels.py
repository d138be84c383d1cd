"""Whether every released label of a quasi-identifier can be read back, and bounds make sense.

Only counts leave this module: never a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dask_anon.audit._files import Chunk, chunks_of, is_text, look, read_batches
from dask_anon.audit._spelling import DATE, FLOAT, INTEGER, WORDS, plainly_good
from dask_anon.audit.manifest import ReleasedColumn
from dask_anon.classes._hashing import text_bytes
from dask_anon.engine.execute import compute
from dask_anon.errors import AnonError
from dask_anon.hierarchy import parse_label
from dask_anon.hierarchy._types import kind_of, type_from_name


@dataclass(frozen=True)
class Shown:
    """How one quasi-identifier is shown: by labels, by bounds, or by numbers that need no check."""

    name: str
    type: str
    label: str | None
    bounds: tuple[str, str] | None
    missing: str | None

    @classmethod
    def of(cls, column: ReleasedColumn) -> Shown:
        """Tell it from the released names."""
        name, released = column.name, column.released
        both = (f"{name}_min", f"{name}_max")
        has_bounds = all(part in released for part in both)
        is_midpoint = column.format == "midpoint"
        return cls(
            name=name,
            type=column.type,
            label=name if name in released and not is_midpoint else None,
            bounds=both if has_bounds else None,
            missing=f"{name}_missing" if has_bounds and f"{name}_missing" in released else None,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The released columns that are read for the check."""
        return tuple(n for n in (self.label, *(self.bounds or ()), self.missing) if n)


@dataclass(frozen=True)
class _Columns:
    shown: tuple[Shown, ...]


def label_problems(files: Sequence[str], shown: Sequence[Shown], *, delimiter: str) -> list[str]:
    """Sentences about labels and bounds that nobody can have released on purpose."""
    for column in shown:
        try:
            type_from_name(column.type)
        except (ValueError, TypeError, AttributeError, pa.ArrowException):
            return [f"column '{column.name}' has a type in the manifest that is not known."]
    columns = [name for column in shown for name in column.columns]
    if not columns:
        return []
    chunks = chunks_of(look(files, columns, delimiter=delimiter), columns, delimiter)
    found = compute("labels", [(_check_chunk, chunk, _Columns(tuple(shown))) for chunk in chunks])
    problems = []
    for i, column in enumerate(shown):
        unreadable, torn, crossed = (sum(counts[i][j] for counts in found) for j in range(3))
        if unreadable:
            problems.append(
                f"column '{column.name}' has {unreadable:,} records whose label cannot be read."
            )
        if torn:
            problems.append(
                f"the bounds of '{column.name}' have {torn:,} rows where one bound is missing "
                "and the other is not."
            )
        if crossed:
            problems.append(
                f"the bounds of '{column.name}' have {crossed:,} rows whose minimum is above "
                "the maximum."
            )
    return problems


def _check_chunk(chunk: Chunk, columns: _Columns) -> list[tuple[int, int, int]]:
    counts = np.zeros((len(columns.shown), 3), dtype=np.int64)
    types = [type_from_name(column.type) for column in columns.shown]
    # A dictionary comes again with every batch of a row group.
    known: list[dict[str, bool]] = [{} for _ in columns.shown]
    for batch in read_batches(chunk):
        for i, column in enumerate(columns.shown):
            if column.label:
                counts[i, 0] += _unreadable(batch.column(column.label), types[i], known[i])
            if column.bounds:
                low, high = (batch.column(name) for name in column.bounds)
                missing = batch.column(column.missing) if column.missing else None
                counts[i] += _torn_and_crossed(low, high, missing, types[i])
    return [(int(a), int(b), int(c)) for a, b, c in counts]


def _unreadable(array: pa.Array, kind: pa.DataType, known: dict[str, bool]) -> int:
    """Count the rows whose label is not one of its type."""
    if not is_text(array.type):
        return 0
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    good = _quick_look(texts, kind)
    if texts.null_count:
        good |= np.asarray(texts.is_null().to_numpy(zero_copy_only=False))
    rest = np.flatnonzero(~good)
    if not len(rest):
        return 0
    asked = texts.take(pa.array(rest)).dictionary_encode()
    if len(known) > 200_000:
        known.clear()
    answers = []
    for text in asked.dictionary.to_pylist():
        if text not in known:
            known[text] = _can_be_read(text, kind)
        answers.append(known[text])
    good[rest] = np.array(answers, dtype=np.bool_)[asked.indices.to_numpy()]
    if texts is array:
        return int((~good).sum())
    return int((~good[array.indices.drop_null().to_numpy()]).sum())


def _quick_look(texts: pa.Array, kind: pa.DataType) -> npt.NDArray[np.bool_]:
    spelling = (
        INTEGER
        if pa.types.is_integer(kind)
        else FLOAT
        if pa.types.is_floating(kind)
        else DATE
        if pa.types.is_date32(kind)
        else WORDS
        if kind_of(kind) == "nominal"
        else None
    )
    if spelling is None:
        return np.zeros(len(texts), dtype=np.bool_)
    found: npt.NDArray[np.bool_] = plainly_good(*text_bytes(texts), spelling)
    return found


def _can_be_read(text: str | None, kind: pa.DataType) -> bool:
    try:
        label = parse_label(text, kind)
        low, high = getattr(label, "low", None), getattr(label, "high", None)
        is_ordered_text = isinstance(low, str)  # only the domain knows the order of categories
        return low is None or is_ordered_text or bool(low <= high)
    except (AnonError, TypeError):
        return False


def _torn_and_crossed(
    low: pa.Array, high: pa.Array, missing: pa.Array | None, kind: pa.DataType
) -> tuple[int, int, int]:
    """Count the bounds that cannot be read, that have one null, and that are in the wrong order."""
    low, n_low = _bound(low, kind)
    high, n_high = _bound(high, kind)
    torn = pc.xor(pc.is_null(low), pc.is_null(high))
    n_torn = _n_true(torn) if not (n_low or n_high) else 0
    if missing is not None:
        said, n_said = _bound(missing, pa.bool_())
        n_low += n_said
        hidden = pc.and_(pc.is_null(low), pc.invert(pc.fill_null(said, False)))
        n_torn += said.null_count + (_n_true(hidden) if not n_low else 0)
    if is_text(low.type):
        return n_low + n_high, n_torn, 0  # ordered categories: only the domain knows the order
    return n_low + n_high, n_torn, _n_true(pc.greater(low, high))


def _bound(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, int]:
    """Read a bound in its type; also how many texts of CSV are none."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not is_text(array.type) or is_text(kind) or pa.types.is_dictionary(kind):
        return array, 0
    try:
        return array.cast(kind), 0
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = array.dictionary_encode()
        good = [_can_be_read(text, kind) for text in texts.dictionary.to_pylist()]
        bad = pa.array([not g for g in good], pa.bool_()).take(texts.indices)
        return pa.nulls(len(array), kind), _n_true(bad)


def _n_true(array: pa.Array) -> int:
    return int(pc.sum(array).as_py() or 0)
