"""Files as a lazy frame of the columns that are measured, read as a run would read them.

Types and missing values of CSV are those of the policy, so that a figure of a file is that of the
run. What was released in CSV are labels, and these are text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from dask_anon.classes import released_columns
from dask_anon.classes._columns import require_column
from dask_anon.config import settings
from dask_anon.engine.checks import reaching
from dask_anon.engine.sources import Reader, Source, column_names, open_source
from dask_anon.errors import DataError
from dask_anon.models import columns_of

if TYPE_CHECKING:
    from dask_anon.policy import Policy

# Rows of a partition: some tens of megabytes of the columns that are measured.
PART_ROWS = 1_000_000

# A release directory is read by what is in it.
_MANIFEST, _DATA = "manifest.json", "data"

_WORDS = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "float"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
)


def open_table(
    path: str | os.PathLike[str],
    policy: Policy,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    is_release: bool = False,
) -> Any:
    """Open files as a lazy frame of the columns that are measured.

    Parameters
    ----------
    path : path
        A file, a directory, a glob or a URL; of a release directory, what is in ``data``.
    policy : Policy
        Names the quasi-identifiers; its input section says how CSV is written, and its columns
        which types they have.
    types : mapping of str to pyarrow.DataType, optional
        Types that sensitive columns of CSV are known to have.
    is_release : bool, default False
        Whether these are released files, whose labels are text; a release directory is one.

    Returns
    -------
    dask.dataframe.DataFrame
    """
    place = os.fspath(path)
    if is_release_directory(place):
        place, is_release = os.path.join(place, _DATA), True
    given: dict[str, Any] = {}
    if policy.input is not None and not is_release:
        own = policy.input
        given = {"format": own.format, "delimiter": own.delimiter, "encoding": own.encoding}
    with reaching(place, "input", DataError):
        names = column_names(place, **given)
    shown = released_columns(names, policy.quasi_identifiers)
    for column in counted_columns(policy):
        require_column(names, column)
    declared = {n: str(c.type) for n, c in policy.columns.items() if c.type and n not in shown}
    declared |= {n: word for n, type_ in (types or {}).items() if (word := _word_of(type_))}
    if not is_release:
        declared = {n: str(c.type) for n, c in policy.columns.items() if c.type} | declared
        if policy.input is not None:
            given["null_values"] = policy.input.null_values
    given["types"] = {name: word for name, word in declared.items() if name in names}
    labels = shown if is_release else []
    text = {n for n in names if n not in given["types"] and n not in shown} | set(labels)
    return frame_of(_open(place, given, text, shown), [*shown, *counted_columns(policy)])


def counted_columns(policy: Policy) -> list[str]:
    """Columns of which values are counted: sensitive ones, and those that a model needs."""
    return list(dict.fromkeys([*policy.sensitive, *columns_of(policy)]))


def is_release_directory(path: str) -> bool:
    """Whether a path leads to a directory with a manifest and data."""
    return "://" not in path and os.path.isfile(os.path.join(path, _MANIFEST))


def _open(place: str, given: dict[str, Any], text: set[str], shown: Sequence[str]) -> Source:
    try:
        return open_source(place, **given, text=text)
    except DataError as error:
        # Some cells show a value and some a range: labels, which are compared as they stand.
        mixed = {error.parts.get("column"), *error.parts.get("columns", ())} & set(shown)
        if not mixed or mixed <= text:
            raise
        return _open(place, given, text | mixed, shown)


def _word_of(type_: pa.DataType) -> str | None:
    return next((word for test, word in _WORDS if test(type_)), None)


def frame_of(source: Source, columns: Sequence[str]) -> Any:
    """A lazy frame of some columns of files, in partitions of about `PART_ROWS` rows."""
    import dask.dataframe as dd

    columns = list(dict.fromkeys(columns))
    source = source.regroup(settings().rows_partition or PART_ROWS)
    schema = pa.schema([source.schema.field(name) for name in columns])
    meta = _to_pandas(schema.empty_table())
    return dd.from_map(_read, source.parts, columns=columns, meta=meta)


def _read(part: Reader, columns: Sequence[str]) -> pd.DataFrame:
    return _to_pandas(part.read(columns))


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
