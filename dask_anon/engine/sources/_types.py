"""Which type a written column has, from counts of what its values look like.

    values ──examine──▶ kinds ──count, per block──▶ Tally ──merge──▶ Tally ──▶ type or sentence

A column is what all its values are. Where some are numbers and some are not, nobody can tell a
typing error from a code, so the policy has to say; only a leading zero (``02134``) shows a code by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dask_anon.engine.sources._values import Kind, examine
from dask_anon.errors import DataError

K = Kind
DECLARABLE = ("integer", "float", "text", "boolean", "date", "timestamp")

_NUMBERS = (K.INTEGER, K.BIG, K.DECIMAL)
_ACCEPTED: dict[str, tuple[Kind, ...]] = {
    "integer": (K.INTEGER, K.CODE),
    "float": (*_NUMBERS, K.CODE),
    "boolean": (K.BOOLEAN,),
    "date": (K.DATE,),
    "timestamp": (K.DATE, K.TIMESTAMP),
}
_ZONED = pa.timestamp("us", "UTC")
_TYPES: dict[str, pa.DataType] = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}

Place = tuple[int, int]  # number of the file, 1-based line


@dataclass(frozen=True)
class Tally:
    """How many values of each kind a column has, and where the first of each stands."""

    counts: tuple[int, ...]
    first: tuple[Place | None, ...]

    def n(self, *kinds: Kind) -> int:
        return sum(self.counts[kind] for kind in kinds)

    def first_of(self, kinds: Sequence[Kind]) -> Place:
        return min(place for kind in kinds if (place := self.first[kind]) is not None)


NOTHING = Tally((0,) * len(Kind), (None,) * len(Kind))


def tally(array: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of each kind, and the row of its first value."""
    kinds, _ = examine(array)
    counts = np.bincount(kinds, minlength=len(Kind))
    rows = np.array([int((kinds == kind).argmax()) if counts[kind] else -1 for kind in Kind])
    return counts, rows


def merge_tallies(tallies: Sequence[Tally]) -> Tally:
    """The tally of all values together."""
    counts = tuple(sum(each.counts[kind] for each in tallies) for kind in Kind)
    first = tuple(
        min((place for each in tallies if (place := each.first[kind]) is not None), default=None)
        for kind in Kind
    )
    return Tally(counts, first)


def infer(
    column: str, found: Tally, files: Sequence[str], *, empty_is_missing: bool
) -> pa.DataType:
    """The type of a column that is not declared.

    Raises
    ------
    DataError
        If some values are numbers and others are not, and no leading zero shows that they are
        codes.
    """
    values = [k for k in Kind if k != K.MISSING and not (k == K.EMPTY and empty_is_missing)]
    n = found.n(*values)
    n_numbers = found.n(*_NUMBERS)
    if n == 0 or found.n(K.CODE):
        return pa.string()
    if n_numbers == n:
        # A float would merge integers that differ in their last digits, so those beyond int64 stay
        # text.
        if found.n(K.DECIMAL):
            return pa.float64()
        return pa.string() if found.n(K.BIG) else pa.int64()
    if n_numbers:
        raise _mixed(column, found, [k for k in values if k not in _NUMBERS], n_numbers, files)
    for name in ("boolean", "date", "timestamp"):
        if found.n(*_ACCEPTED[name]) == n:
            return _TYPES[name]
    return _ZONED if found.n(K.ZONED) == n else pa.string()


def declared(
    column: str, type_: str, found: Tally, files: Sequence[str], *, empty_is_missing: bool
) -> pa.DataType:
    """The type that a column was declared to have, if all its values have it."""
    if type_ == "text":
        return pa.string()
    values = [k for k in Kind if k != K.MISSING and not (k == K.EMPTY and empty_is_missing)]
    n = found.n(*values)
    if type_ == "timestamp" and n and found.n(K.ZONED) == n:
        return _ZONED
    wrong = [k for k in values if k not in _ACCEPTED[type_]]
    n_wrong = found.n(*wrong)
    if n_wrong:
        raise DataError(
            f"column {column!r} is declared {type_}, but {_count(n_wrong, 'value')} cannot be "
            f"read as one (first at {_at(found.first_of(wrong), files)}){_why(found, wrong)}. "
            "Correct the data, name the spelling under null_values if it means missing, or "
            "declare `type: text` for the column.",
            column=column,
            n=n_wrong,
        )
    return _TYPES[type_]


def convert(array: pa.StringArray, type_: pa.DataType, *, empty_is_missing: bool) -> pa.Array:
    """The values of a column in its type."""
    if pa.types.is_string(type_):
        return array
    kinds, values = examine(array)
    missing = kinds == K.MISSING
    if empty_is_missing:
        missing |= kinds == K.EMPTY
    if not np.isin(kinds[~missing], _accepted_by(type_)).all():
        raise DataError("the input changed while it was read. Run again when nobody writes to it.")
    if pa.types.is_floating(type_):
        if missing.any():
            array = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), array)
        return array.cast(type_)
    if pa.types.is_timestamp(type_):
        values = np.where(kinds == K.DATE, values * 86_400_000_000, values)
    if pa.types.is_boolean(type_):
        return pa.array(values.astype(bool), type_, mask=missing)
    if pa.types.is_date32(type_):
        values = values.astype(np.int32)
        return pa.array(values, pa.int32(), mask=missing).view(type_)
    return pa.array(values, pa.int64(), mask=missing).view(type_)


def _accepted_by(type_: pa.DataType) -> list[int]:
    if type_ == _ZONED:
        return [K.ZONED]
    name = next(name for name, each in _TYPES.items() if each == type_)
    return list(_ACCEPTED[name])


def _mixed(
    column: str, found: Tally, others: Sequence[Kind], n_numbers: int, files: Sequence[str]
) -> DataError:
    n_others = found.n(*others)
    at = _at(found.first_of(others), files)
    if found.n(K.NONFINITE) == n_others:
        return DataError(
            f"column {column!r} mixes {_count(n_numbers, 'number')} with "
            f"{_count(n_others, 'value')} that {'is' if n_others == 1 else 'are'} not finite, "
            f"such as nan or inf (first at {at}). Name the spelling under null_values if it means "
            "missing, else correct the data or declare `type: text` for the column.",
            column=column,
        )
    return DataError(
        f"column {column!r} mixes {_count(n_numbers, 'number')} with "
        f"{_count(n_others, 'text value')} (first text at {at}). Clean it, name the spelling "
        "under null_values if it means missing, or declare `type: text` for it.",
        column=column,
    )


def _why(found: Tally, wrong: Sequence[Kind]) -> str:
    reasons = []
    if K.IMPOSSIBLE in wrong and (n := found.n(K.IMPOSSIBLE)):
        reasons.append(
            f"{_count(n, 'day or hour', 'days or hours')} that {'does' if n == 1 else 'do'} not "
            "exist"
        )
    if K.NONFINITE in wrong and (n := found.n(K.NONFINITE)):
        reasons.append(f"{_count(n, 'value')} not finite")
    return f"; among them {' and '.join(reasons)}" if reasons else ""


def _count(n: int, what: str, plural: str | None = None) -> str:
    return f"{n:,} {what if n == 1 else plural or what + 's'}"


def _at(place: Place, files: Sequence[str]) -> str:
    return f"line {place[1]} of {files[place[0]]}"
