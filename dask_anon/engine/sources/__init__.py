"""Where records come from: Parquet and CSV files, in parts that workers read on their own."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from dask_anon.engine.sources._base import Reader, Source
from dask_anon.engine.sources._csv import CsvReader, CsvSource
from dask_anon.engine.sources._dialect import open_dialect
from dask_anon.engine.sources._files import File, find_files, format_of
from dask_anon.engine.sources._parquet import ParquetReader, ParquetSource

__all__ = [
    "CsvReader",
    "CsvSource",
    "File",
    "ParquetReader",
    "ParquetSource",
    "Reader",
    "Source",
    "column_names",
    "open_source",
]

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
    """Open the files of an input.

    Parquet footers are read here, on the driver; CSV files are scanned in two stages on the
    workers.

    Parameters
    ----------
    path : str or path
        A file, a directory or a glob; anything that fsspec opens.
    format : {"parquet", "csv"}, optional
        By the ending of the files unless given.
    delimiter, encoding : str, optional
        Of CSV files; the delimiter is found in the header unless given, the encoding is UTF-8.
    null_values : sequence of str
        What stands for a missing value in CSV files when it is written without quotes.
    types : mapping of str to str, optional
        Types of CSV columns: integer, float, text, boolean, date or timestamp. Others are found
        from all values of the column. Names that the input does not have are passed over.
    text : collection of str, optional
        CSV columns that stay as they are written.
    part_rows : int, optional
        About how many rows a part shall have.

    Examples
    --------
    >>> source = open_source("people.csv", text=["name", "diagnosis"])      # doctest: +SKIP
    >>> source.parts[0].read(["age", "zip"])                                # doctest: +SKIP
    """
    files = find_files(path)
    source: Source
    if format_of(files, format) == "csv":
        source = CsvSource.open(
            files,
            delimiter=delimiter,
            encoding=encoding,
            null_values=null_values,
            types=types,
            text=text or (),
        )
    else:
        source = ParquetSource.open(files)
    return source if part_rows is None else source.regroup(part_rows)


def column_names(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> list[str]:
    """Tell the columns of an input from its headers or footers alone, before it is scanned."""
    files = find_files(path)
    if format_of(files, format) == "csv":
        dialect, _ = open_dialect(files, delimiter=delimiter, encoding=encoding)
        return list(dialect.names)
    return list(ParquetSource.open(files).schema.names)
