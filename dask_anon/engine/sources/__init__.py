"""Where records come from: Parquet and CSV files, here or behind a URL, in parts that workers read on their own."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from dask_anon.engine.sources._base import Reader, Source
from dask_anon.engine.sources._files import File, find_files, format_of
from dask_anon.engine.sources._parquet import ParquetReader, ParquetSource

__all__ = ["File", "ParquetReader", "ParquetSource", "Reader", "Source", "open_source"]

_NO_TYPES: Mapping[str, str] = {}


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] = ("",),
    types: Mapping[str, str] = _NO_TYPES,
    text: Collection[str] | None = None,
    part_rows: int | None = None,
) -> Source:
    """Open the files of an input."""
    files = find_files(path)
    if format_of(files, format) == "csv":
        raise NotImplementedError
    source: Source = ParquetSource.open(files)
    return source if part_rows is None else source.regroup(part_rows)
