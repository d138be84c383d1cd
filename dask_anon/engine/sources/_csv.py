"""CSV input of any size: scanned, typed and read in blocks, as if it were read in one piece.

    headers ──▶ scan (record starts, lines, ragged rows) ──▶ tally kinds of values ──▶ schema, parts

Two passes look at the bytes before the first record is used: only then are the types of all
columns, the number of rows of each part, and the soundness of every line known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pyarrow import csv

from dask_anon.engine.execute import compute, reduce
from dask_anon.engine.sources._base import Reader, Source, check_columns, gather
from dask_anon.engine.sources._dialect import (
    Dialect,
    Head,
    first_undecodable,
    open_dialect,
    to_utf8,
)
from dask_anon.engine.sources._files import File
from dask_anon.engine.sources._scan import Scanned, Segments, compose, first_records, scan_block
from dask_anon.engine.sources._types import (
    DECLARABLE,
    NOTHING,
    Tally,
    convert,
    declared,
    infer,
    merge_tallies,
    tally,
)
from dask_anon.errors import DataError, nearest

# A task needs about six times this at its peak: bytes, parser and columns.
BLOCK_BYTES = 32 << 20
# Parts can be cut at any multiple of this without looking at the bytes again.
STEP_BYTES = 1 << 20
_TO_THE_END = 1 << 62
_MAX_LINE_BYTES = 512 << 20


@dataclass(frozen=True)
class Stretch:
    """Whole records of one file, next to each other."""

    file: File
    number: int  # of the file in the input
    start: int
    stop: int
    n_records: int
    line: int


@dataclass(frozen=True)
class CsvReader:
    """Reads some stretches of records."""

    stretches: tuple[Stretch, ...]
    n_rows: int
    schema: pa.Schema
    dialect: Dialect

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Those columns in that order, in the types of the source."""
        check_columns(columns, self.schema)
        if not columns:
            return pa.table({"rows": pa.nulls(self.n_rows)}).select([])
        schema = pa.schema([self.schema.field(name) for name in columns])
        empty = "" in self.dialect.null_values
        tables = []
        for stretch in self.stretches:
            texts = _parse(_bytes_of(stretch, self.dialect), stretch, self.dialect, columns)
            arrays = [
                convert(text, each.type, empty_is_missing=empty)
                for text, each in zip(texts, schema, strict=True)
            ]
            tables.append(pa.Table.from_arrays(arrays, schema=schema))
        return pa.concat_tables(tables) if tables else schema.empty_table()


@dataclass(frozen=True, repr=False)
class CsvSource(Source):
    """CSV files that have been scanned and typed."""

    kind: ClassVar[Literal["parquet", "csv"]] = "csv"

    files: tuple[File, ...]
    schema: pa.Schema
    dialect: Dialect
    segments: tuple[Stretch, ...]
    runs: tuple[tuple[int, int], ...]  # [start, stop) in segments, one a part

    @classmethod
    def open(
        cls,
        files: Sequence[File],
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        null_values: Sequence[str] = ("",),
        types: Mapping[str, str],
        text: Collection[str] = (),
        block_bytes: int = BLOCK_BYTES,
        step_bytes: int = STEP_BYTES,
    ) -> CsvSource:
        """Scan the files, then find the types of all columns that are not in `text`."""
        _check_types(types)
        dialect, heads = open_dialect(
            files, delimiter=delimiter, encoding=encoding, null_values=null_values
        )
        segments = _scan(heads, dialect, block_bytes, step_bytes)
        runs = tuple(gather([each.stop - each.start for each in segments], block_bytes))
        everything = pa.schema([pa.field(name, pa.string()) for name in dialect.names])
        source = cls(tuple(files), everything, dialect, segments, runs or ((0, 0),))
        return replace(source, schema=_find_types(source, heads, types, text))

    @property
    def parts(self) -> list[Reader]:
        return [self._part(start, stop) for start, stop in self.runs]

    @property
    def rows_of_parts(self) -> list[int]:
        return [sum(each.n_records for each in self.segments[a:b]) for a, b in self.runs]

    def regroup(self, part_rows: int) -> CsvSource:
        """The same table in parts of about `part_rows` rows, cut at known record starts."""
        runs = tuple(gather([each.n_records for each in self.segments], part_rows))
        return replace(self, runs=runs or ((0, 0),))

    def _part(self, start: int, stop: int) -> CsvReader:
        stretches: list[Stretch] = []
        for each in self.segments[start:stop]:
            last = stretches[-1] if stretches else None
            # Neighbours are read together, as long as the parser's own memory stays small.
            if (
                last
                and (last.number, last.stop) == (each.number, each.start)
                and each.stop - last.start <= BLOCK_BYTES
            ):
                n_records = last.n_records + each.n_records
                stretches[-1] = replace(last, stop=each.stop, n_records=n_records)
            else:
                stretches.append(each)
        n_rows = sum(each.n_records for each in stretches)
        return CsvReader(tuple(stretches), n_rows, self.schema, self.dialect)


def _check_types(types: Mapping[str, str]) -> None:
    for column, type_ in types.items():
        if type_ not in DECLARABLE:
            close = nearest(type_, DECLARABLE)
            hint = f" Did you mean {close!r}?" if close else ""
            raise DataError(
                f"type {type_!r} of column {column!r} is not one of {', '.join(DECLARABLE)}.{hint}",
                column=column,
            )


# Scanning ---------------------------------------------------------------------------------------


def _scan(
    heads: Sequence[Head], dialect: Dialect, block_bytes: int, step_bytes: int
) -> tuple[Stretch, ...]:
    calls = []
    of_file = []
    for i, head in enumerate(heads):
        if head.file.compression:  # has no other point to start from
            bounds = [(head.start, _TO_THE_END)]
        else:
            starts = range(head.start, head.file.size, block_bytes)
            bounds = [(a, min(a + block_bytes, head.file.size)) for a in starts]
        calls += [(_scan_task, head, a, b, dialect, step_bytes) for a, b in bounds]
        of_file += [i] * len(bounds)
    found: list[list[Scanned]] = [[] for _ in heads]
    for i, block in zip(of_file, compute("scan", calls) if calls else [], strict=True):
        if block is not None:
            found[i].append(block)
    stretches = []
    for i, (head, blocks) in enumerate(zip(heads, found, strict=True)):
        segments = compose(
            blocks,
            file=head.file.name,
            encoding=dialect.encoding,
            n_fields=len(dialect.names),
            line=head.line,
        )
        stretches += _stretches(head.file, i, segments)
    return tuple(stretches)


def _stretches(file: File, number: int, segments: Segments) -> list[Stretch]:
    return [
        Stretch(file, number, *map(int, each))
        for each in zip(
            segments.start, segments.stop, segments.n_records, segments.line, strict=True
        )
    ]


def _scan_task(head: Head, start: int, stop: int, dialect: Dialect, step: int) -> Scanned | None:
    """Scan from the first line break at or before `start` to the first at or before `stop`."""
    data, begin = _whole_lines(head, start, stop)
    if not data:
        return None
    bad = first_undecodable(data, dialect.encoding)
    return scan_block(
        data,
        begin,
        delimiter=dialect.delimiter,
        n_fields=len(dialect.names),
        step=_TO_THE_END if head.file.compression else step,
        undecodable=None if bad is None else begin + bad,
    )


def _whole_lines(head: Head, start: int, stop: int) -> tuple[bytes, int]:
    """The bytes of the lines that begin in ``[start, stop)``, and where they begin."""
    file = head.file
    if file.compression:
        return file.read(start, stop), start
    begin = start
    if start == head.start:
        data = file.read(start, stop)
    else:  # the byte before tells whether a line begins right here
        data = file.read(start - 1, stop)
        skip = data.find(head.line_break) + 1
        if not skip or start - 1 + skip == stop:
            return b"", start
        data, begin = data[skip:], start - 1 + skip
    pieces = [data]
    at, width = stop, 1 << 16
    while at < file.size and not pieces[-1].endswith(head.line_break):
        more = file.read(at, at + width)
        if not more:
            break
        end = more.find(head.line_break) + 1
        pieces.append(more[:end] if end else more)
        at, width = at + len(more), min(width * 2, BLOCK_BYTES)
        if at - stop > _MAX_LINE_BYTES:
            raise DataError(
                f"file {file.name!r} has a line of more than {_MAX_LINE_BYTES >> 20} MiB. It is "
                "not a CSV file, or a quote in it is not closed.",
                file=file.name,
            )
    return b"".join(pieces), begin


# Types ------------------------------------------------------------------------------------------


def _find_types(
    source: CsvSource, heads: Sequence[Head], types: Mapping[str, str], text: Collection[str]
) -> pa.Schema:
    names = source.dialect.names
    open_ = [name for name in names if name not in text and types.get(name) != "text"]
    tallies = dict.fromkeys(open_, NOTHING)
    if open_ and source.segments:
        calls = [(_tally_task, part, tuple(open_)) for part in source.parts]
        tallies = dict(zip(open_, reduce("types", calls, _merge_columns), strict=True))
    files = [head.file.name for head in heads]
    empty = "" in source.dialect.null_values
    fields, problems = [], []
    for name in names:
        type_ = pa.string()
        if name in tallies:
            try:
                if name in types:
                    type_ = declared(
                        name, types[name], tallies[name], files, empty_is_missing=empty
                    )
                else:
                    type_ = infer(name, tallies[name], files, empty_is_missing=empty)
            except DataError as problem:
                problems.append(problem)
        fields.append(pa.field(name, type_))
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise DataError(
            "\n  ".join([f"{len(problems)} columns cannot be typed:", *map(str, problems)]),
            columns=[problem.parts["column"] for problem in problems],
        )
    return pa.schema(fields)


def _tally_task(reader: CsvReader, columns: tuple[str, ...]) -> list[Tally]:
    results = []
    for stretch in reader.stretches:
        data = _bytes_of(stretch, reader.dialect)
        lines: np.ndarray | None = None
        tallies = []
        for array in _parse(data, stretch, reader.dialect, columns):
            counts, rows = tally(array)
            if lines is None:
                lines = stretch.line + _lines(data, reader.dialect, stretch.n_records)
            first = tuple((stretch.number, int(lines[row])) if row >= 0 else None for row in rows)
            tallies.append(Tally(tuple(map(int, counts)), first))
        results.append(tallies)
    return _merge_columns(results)


def _merge_columns(results: Sequence[Sequence[Tally]]) -> list[Tally]:
    return [merge_tallies(column) for column in zip(*results, strict=True)]


def _lines(data: bytes, dialect: Dialect, n_records: int) -> np.ndarray:
    """The line of each record, counted from 0."""
    n_lines = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    if n_lines + (not data.endswith((b"\n", b"\r"))) == n_records:
        return np.arange(n_records)  # no blank lines and none inside quotes
    _, _, lines, _ = first_records(data, delimiter=dialect.delimiter, blanks=dialect.blank_is_value)
    return lines


# Parsing ----------------------------------------------------------------------------------------


def _bytes_of(stretch: Stretch, dialect: Dialect) -> bytes:
    data = stretch.file.read(stretch.start, stretch.stop)
    if len(data) != stretch.stop - stretch.start:
        raise _changed(stretch)
    return to_utf8(data, dialect.encoding, stretch.file.name, stretch.start)


def _parse(
    data: bytes, stretch: Stretch, dialect: Dialect, columns: Sequence[str]
) -> list[pa.StringArray]:
    """The columns as they are written; a null is a null spelling without quotes."""
    if not data.endswith((b"\n", b"\r")):
        data += b"\n"  # pyarrow takes a single line without a line break for an empty file
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            read_options=csv.ReadOptions(
                column_names=dialect.names, use_threads=False, block_size=len(data) + 1
            ),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=b'"' in data,
                ignore_empty_lines=not dialect.blank_is_value,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=list(columns),
                null_values=list(dialect.null_values),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _changed(stretch) from error
    if len(table) != stretch.n_records:
        raise _changed(stretch)
    return [_one_chunk(column) for column in table.columns]


def _one_chunk(column: pa.ChunkedArray) -> pa.StringArray:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())


def _changed(stretch: Stretch) -> DataError:
    return DataError(
        f"file {stretch.file.name!r} is not what it was when the input was opened (from line "
        f"{stretch.line} on). Run again when nobody writes to it.",
        file=stretch.file.name,
        line=stretch.line,
    )
