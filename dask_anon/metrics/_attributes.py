"""What the values of an original column are, and how far apart: the ruler for released cells.

    integers, dates, floats, ordered categories    a place on a line: 0 the smallest value of the
                                                   original, 1 the largest
    text, true/false, categories                   a number among the labels

A missing value lies one step past the largest (on the largest, where numbers have no next one), or
is a label of its own: as the engine counts when it cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.errors import DataError, counted, nearest
from dask_anon.hierarchy import (
    Domain,
    FloatDomain,
    IntegerDomain,
    OrdinalDomain,
    Summary,
    domain_of,
    merge_summaries,
    summarize,
)
from dask_anon.hierarchy._text import text_of
from dask_anon.hierarchy._types import is_decimal, is_text, kind_of
from dask_anon.metrics._labels import read_intervals, read_sets
from dask_anon.metrics._steps import Steps
from dask_anon.metrics._taxonomy import Taxonomy, taxonomies_of
from dask_anon.recoding import table_from_frame

Floats = NDArray[np.float64]

_DIGITS = Context(prec=80)  # more than any decimal has


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column of the original, and its hierarchy where there is one.

    Attributes
    ----------
    domain : Domain
        Type, extremes or labels, and whether values are missing.
    taxonomy : Taxonomy, optional
        Its leaves are then the labels.
    """

    domain: Domain
    taxonomy: Taxonomy | None = None

    @property
    def name(self) -> str:
        """The column."""
        return self.domain.column

    @property
    def is_ordered(self) -> bool:
        """Whether values have places on a line."""
        return self.domain.kind != "nominal"

    @property
    def has_missing(self) -> bool:
        """Whether the original has missing values."""
        return self.domain.has_missing

    @property
    def is_empty(self) -> bool:
        """Whether the original has no values, but missing ones."""
        return self.domain.max_code < self.domain.min_code

    @property
    def labels(self) -> pa.Array | None:
        """What values are called, in the order of their numbers; None on a line alone."""
        if self.taxonomy is not None:
            return self.taxonomy.leaves
        return None if self.is_ordered else self.domain.labels

    @property
    def n_values(self) -> int | None:
        """How many values the column may have, the missing one included; None for floats."""
        labels = self.labels
        n = self.domain.n_codes if labels is None else len(labels)
        return None if n is None else n + int(self.has_missing)

    @cached_property
    def leaf_places(self) -> Floats | None:
        """Where the leaves of an ordered column's hierarchy lie; None where some have no place."""
        if self.taxonomy is None or not self.is_ordered:
            return None
        read = read_intervals(self.taxonomy.leaves, self.domain.type)
        places = self.places(read.low)
        points = read.readable & (places == self.places(read.high))
        return places if points.all() else None

    # -- places on the line

    @property
    def width(self) -> float:
        """The largest value minus the smallest in units of the type; 1 if that is 0."""
        low, high = self._extremes()
        return (high - low) or (0.5 if self.domain.kind == "float" else 1.0)

    @property
    def top(self) -> float:
        """The place of the largest value: 1, or 0 where all values are equal."""
        low, high = self._extremes()
        return 1.0 if high > low else 0.0

    @property
    def step(self) -> float:
        """From one value to the next; 0 for floats, which have no next one."""
        return 0.0 if self.domain.kind == "float" else 1 / self.width

    def places(self, array: pa.Array) -> Floats:
        """Where values lie; NaN for missing ones and for those of another kind.

        Never turns two values round. Values between two units, such as midpoints, and beyond the
        extremes have a place as well.
        """
        domain = self.domain
        if isinstance(domain, OrdinalDomain):
            texts = array if is_text(array.type) else text_of(array)
            units = _numbers(pc.index_in(texts.cast(pa.string()), value_set=domain.labels))
        elif isinstance(domain, FloatDomain):
            units = _numbers(array) * 0.5 - (domain.minimum or 0.0) * 0.5
        else:
            assert isinstance(domain, IntegerDomain)
            units = _units(array, domain.type, domain.minimum or 0)
        return np.asarray(units / self.width)

    def _extremes(self) -> tuple[float, float]:
        """The smallest and the largest value in units of the type, from where 0 is 0."""
        domain = self.domain
        if isinstance(domain, FloatDomain) and domain.minimum is not None:
            # Halves, because the difference of two floats may overflow where theirs does not.
            return domain.minimum * 0.5, (domain.maximum or 0.0) * 0.5
        return 0.0, float(max(0, domain.max_code))


def _numbers(array: pa.Array) -> Floats:
    if not (pt.is_floating(array.type) or pt.is_integer(array.type)):
        array = array.cast(pa.float64())
    numbers = np.array(array.to_numpy(zero_copy_only=False), np.float64)
    return np.asarray(numbers + 0.0)


def _units(array: pa.Array, type_: pa.DataType, base: int) -> Floats:
    """How many units of `type_` the values lie above `base`; exact until the last step."""
    if pt.is_floating(array.type):
        scale = 10.0**type_.scale if is_decimal(type_) else 1.0
        return np.asarray(_numbers(array) * scale - float(base))
    if is_decimal(type_) or is_decimal(array.type):
        # A midpoint has one digit more than the decimals that it lies between.
        scale = max(0, getattr(type_, "scale", 0))
        exact = array.cast(pa.decimal256(76, scale + 1)).to_pylist()
        above = [None if v is None else _DIGITS.subtract(v.scaleb(scale), base) for v in exact]
    else:
        words = array
        if not pt.is_integer(type_) or not pt.is_integer(array.type):
            words = array.cast(type_).view(pa.int32() if type_.bit_width == 32 else pa.int64())
        # Python's integers, because 64 bits do not hold the difference of any two.
        above = [None if v is None else v - base for v in words.to_pylist()]
    return np.array([np.nan if v is None else float(v) for v in above], np.float64)


# -- from the original, one pass -----------------------------------------------------------------

# What one pass over some rows remembers: how many there are, and the facts of each column.
Facts = tuple[int, dict[str, Summary]]


def attributes_of(
    steps: Steps,
    original: Any,
    columns: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    *,
    nominal: Sequence[str] = (),
    numbers: Sequence[str] = (),
    labelled: bool = False,
) -> Any:
    """Look once at the original: -> (number of records, {column: Attribute}), or a task of it.

    Parameters
    ----------
    steps : Steps
    original : pandas or Dask DataFrame
    columns : sequence of str
    hierarchies : mapping of column to rows, optional
        See :class:`~dask_anon.metrics._taxonomy.Taxonomy`.
    nominal : sequence of str
        Columns whose values are taken for labels, whatever their type.
    numbers : sequence of str
        Columns whose texts are taken for numbers, or intervals of them.
    labelled : bool, default False
        The original is a release itself, and its texts may be sets.
    """
    taxonomies = taxonomies_of(hierarchies, columns)
    named(original, columns)
    found = [
        steps(_summarized, part, list(columns), list(nominal), list(numbers), labelled)
        for part in steps.parts(original, columns)
    ]
    return steps(_settled, steps.merged(_merged, found), taxonomies)


def named(frame: Any, columns: Sequence[str]) -> None:
    """Refuse columns that a table does not have."""
    names = [str(name) for name in frame.columns]
    for column in columns:
        if column not in names:
            close = nearest(column, names)
            hint = f" Did you mean '{close}'?" if close else ""
            raise DataError(f"column '{column}' is not in the table.{hint} Columns: {names}.")


def _summarized(
    part: pd.DataFrame,
    columns: list[str],
    nominal: list[str],
    numbers: list[str],
    labelled: bool,
) -> Facts:
    table = table_from_frame(part, columns)
    found = {}
    for column in columns:
        values = table.column(column)
        if column in nominal:
            values = as_text(values)
        elif column in numbers and kind_of(values.type) == "nominal":
            values = _ends_of(values, column)
        if labelled and kind_of(values.type) == "nominal":
            values = _labels_in(as_text(values))
        found[column] = summarize(values, column=column)
    return len(part), found


def _ends_of(values: pa.ChunkedArray, column: str) -> pa.ChunkedArray:
    """The numbers that texts spell, both ends of each interval."""
    texts = pc.unique(as_text(values))
    read = read_intervals(texts, pa.float64())
    bad = ~read.readable
    if bad.any():
        n_bad = int(
            pc.sum(pc.is_in(as_text(values), value_set=texts.filter(pa.array(bad)))).as_py()
        )
        raise DataError(
            f"column '{column}' has {counted(n_bad, 'record', 'records')} whose text is neither a "
            "number nor an interval of numbers. Take the column for 'nominal', or make it one of "
            "numbers or ordered categories.",
            column=column,
            n_unreadable=n_bad,
        )
    gone = pa.nulls(int(read.missing.any()), pa.float64())
    return pa.chunked_array([read.low, read.high, gone])


def _labels_in(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The labels of sets, and of what is none."""
    distinct = pc.unique(texts)
    sets = read_sets(distinct, pa.array([], pa.string()))
    own = distinct.filter(pa.array(~sets.readable))
    labels = [*sets.strangers, *([None] if sets.missing.any() else [])]
    return pa.chunked_array([pa.array(labels, pa.string()), own])


def as_text(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values by their text, so that they are labels."""
    return pa.chunked_array([_text(chunk) for chunk in array.chunks], pa.string())


def _text(chunk: pa.Array) -> pa.Array:
    if pt.is_dictionary(chunk.type):
        return text_of(chunk.dictionary).take(chunk.indices)
    return pa.nulls(len(chunk), pa.string()) if pt.is_null(chunk.type) else text_of(chunk)


def _merged(several: list[Facts]) -> Facts:
    n_records = sum(n for n, _ in several)
    columns = several[0][1]
    return n_records, {c: merge_summaries([facts[c] for _, facts in several]) for c in columns}


def _settled(facts: Facts, taxonomies: dict[str, Taxonomy]) -> tuple[int, dict[str, Attribute]]:
    n_records, summaries = facts
    attributes = {}
    for column, summary in summaries.items():
        attributes[column] = Attribute(domain_of(column, summary), taxonomies.get(column))
    return n_records, attributes


def refuse_unknown(column: str, n_unknown: int) -> None:
    """Refuse values of the original that its hierarchy does not have."""
    if n_unknown:
        raise DataError(
            f"column '{column}' has {counted(n_unknown, 'record', 'records')} whose value is not "
            "in its hierarchy. Add a row for each such value.",
            column=column,
            n_unknown=n_unknown,
        )
