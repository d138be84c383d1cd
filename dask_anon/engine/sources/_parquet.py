"""Parquet input: the footers say everything that can be known without reading.

A part is a run of neighbouring row groups, which may cross from one file into the next. Files may
differ where it does no harm (order of fields, nullability, a dictionary here and plain text there);
anything else is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from dask_anon.engine.sources._base import Reader, Source, check_columns, gather
from dask_anon.engine.sources._files import File
from dask_anon.errors import DataError

if TYPE_CHECKING:
    from dask_anon.hierarchy import Summary

# The names under which pandas and Dask save an index that has none of its own.
_INDEX = re.compile(r"__index_level_\d+__|__null_dask_index__")


@dataclass(frozen=True)
class Piece:
    """Row groups of one file."""

    file: File
    row_groups: tuple[int, ...]


@dataclass(frozen=True)
class ParquetReader:
    """Reads some neighbouring row groups."""

    pieces: tuple[Piece, ...]
    n_rows: int
    schema: pa.Schema

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Those columns in that order, in the types of the source."""
        check_columns(columns, self.schema)
        if not columns:
            return pa.table({"rows": pa.nulls(self.n_rows)}).select([])
        schema = pa.schema([self.schema.field(name) for name in columns])
        tables = [_read(piece, schema) for piece in self.pieces]
        return pa.concat_tables(tables) if tables else schema.empty_table()


@dataclass(frozen=True, repr=False)
class ParquetSource(Source):
    """Parquet files whose footers have been read."""

    kind: ClassVar[Literal["parquet", "csv"]] = "parquet"

    files: tuple[File, ...]
    schema: pa.Schema
    footers: tuple[pq.FileMetaData, ...] = field(repr=False)
    row_groups: tuple[tuple[int, int, int], ...]  # (file, row group, rows), only those with rows
    runs: tuple[tuple[int, int], ...]  # [start, stop) in row_groups, one a part

    @classmethod
    def open(cls, files: Sequence[File]) -> ParquetSource:
        """Read the footers and find the schema that all files share."""
        with ThreadPoolExecutor(min(8, len(files))) as pool:
            opened = list(pool.map(_footer, files))
        schema = _common_schema(
            [(file, schema) for file, (_, schema) in zip(files, opened, strict=True)]
        )
        footers = tuple(footer for footer, _ in opened)
        row_groups = tuple(
            (i, j, n)
            for i, footer in enumerate(footers)
            for j in range(footer.num_row_groups)
            if (n := footer.row_group(j).num_rows)
        )
        runs = tuple((i, i + 1) for i in range(len(row_groups))) or ((0, 0),)
        return cls(tuple(files), schema, footers, row_groups, runs)

    @property
    def parts(self) -> list[Reader]:
        return [self._part(start, stop) for start, stop in self.runs]

    @property
    def rows_of_parts(self) -> list[int]:
        return [sum(n for _, _, n in self.row_groups[start:stop]) for start, stop in self.runs]

    def regroup(self, part_rows: int) -> ParquetSource:
        """The same table in parts of about `part_rows` rows; a row group is never split."""
        runs = tuple(gather([n for _, _, n in self.row_groups], part_rows))
        return replace(self, runs=runs or ((0, 0),))

    def footer_summary(self, column: str) -> Summary | None:
        """Bounds and missing values of a column from the footers, or None where they do not say."""
        from dask_anon.hierarchy import Summary

        check_columns([column], self.schema)
        type_ = self.schema.field(column).type
        facts = self._statistics(column) if _has_exact_bounds(type_) else None
        return None if facts is None else Summary.from_bounds(type_, *facts, column=column)

    def value_bytes(self, columns: Sequence[str]) -> dict[str, int]:
        """The widest of three looks: into the first, a middle and the last row group.

        Footers do not tell: text that repeats takes a few bytes in the file, and all in memory.
        """
        widest = dict.fromkeys(columns, 0)
        n = len(self.row_groups) if columns else 0
        for at in sorted({0, n // 2, n - 1}) if n else ():
            i, j, _ = self.row_groups[at]
            for name, n_bytes in _look(self.files[i], j, list(columns)).items():
                widest[name] = max(widest[name], n_bytes)
        return widest

    def _statistics(self, column: str) -> tuple[Any, Any, int | None] | None:
        """The bounds, None if all values are missing, and the number of missing values if known."""
        lows, highs = [], []
        n_missing: int | None = 0
        positions: dict[int, int] = {}
        for i, j, n in self.row_groups:
            footer = self.footers[i]
            if i not in positions:
                names = [footer.schema.column(c).path for c in range(footer.num_columns)]
                positions[i] = names.index(column)
            statistics = footer.row_group(j).column(positions[i]).statistics
            if statistics is None:
                return None
            n_null = statistics.null_count if statistics.has_null_count else None
            n_missing = None if n_missing is None or n_null is None else n_missing + n_null
            if statistics.has_min_max:
                lows.append(statistics.min)
                highs.append(statistics.max)
            elif n_null != n:
                return None
        return min(lows, default=None), max(highs, default=None), n_missing

    def _part(self, start: int, stop: int) -> ParquetReader:
        by_file: dict[int, list[int]] = {}
        for i, j, _ in self.row_groups[start:stop]:
            by_file.setdefault(i, []).append(j)
        pieces = tuple(Piece(self.files[i], tuple(groups)) for i, groups in by_file.items())
        return ParquetReader(pieces, sum(n for _, _, n in self.row_groups[start:stop]), self.schema)


def _has_exact_bounds(type_: pa.DataType) -> bool:
    # Floats stay out: writers disagree on NaN and -0.0 in statistics.
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_date(type_)
        or pa.types.is_timestamp(type_)
        or pa.types.is_decimal(type_)
    )


def _footer(file: File) -> tuple[pq.FileMetaData, pa.Schema]:
    with file.open() as handle:
        try:
            parquet = pq.ParquetFile(handle, memory_map=False)
            return parquet.metadata, _own_columns(parquet.schema_arrow, file)
        except (pa.ArrowException, OSError) as error:
            raise _corrupt(file) from error


def _read(piece: Piece, schema: pa.Schema) -> pa.Table:
    with piece.file.open() as handle:
        try:
            # Local disks answer a seek at once; reading ahead would only hold more memory.
            parquet = pq.ParquetFile(handle, memory_map=False, pre_buffer=not piece.file.is_local)
            table = parquet.read_row_groups(
                piece.row_groups, columns=schema.names, use_threads=False
            )
        except (pa.ArrowException, OSError) as error:
            raise _corrupt(piece.file) from error
    columns = [_cast(table.column(each.name), each.type) for each in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _look(file: File, row_group: int, columns: list[str]) -> dict[str, int]:
    """Bytes a value over the first rows of a row group, read page by page."""
    with file.open() as handle:
        try:
            parquet = pq.ParquetFile(handle, memory_map=False, buffer_size=2**18)
            batches = parquet.iter_batches(1000, [row_group], columns, use_threads=False)
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise _corrupt(file) from error
    if not batch:
        return {}
    return {name: -(-batch.column(name).nbytes // batch.num_rows) for name in columns}


def _corrupt(file: File) -> DataError:
    return DataError(
        f"file {file.name!r} is not a readable Parquet file: it is cut short, damaged or of "
        "another format. Write it again, or take it out of the input.",
        file=file.name,
    )


def _own_columns(schema: pa.Schema, file: File) -> pa.Schema:
    """The data columns, without metadata; an index that rode along is no data."""
    doubled = [name for name, n in Counter(schema.names).items() if n > 1]
    if doubled:
        raise DataError(
            f"file {file.name!r} has more than one column named {doubled[0]!r}. Rename one of "
            "them.",
            file=file.name,
            column=doubled[0],
        )
    return pa.schema(
        [pa.field(each.name, each.type) for each in schema if not _INDEX.fullmatch(each.name)]
    )


def _common_schema(schemas: Sequence[tuple[File, pa.Schema]]) -> pa.Schema:
    """The columns of the first file, in types that hold the columns of all."""
    first, schema = schemas[0]
    types = {each.name: each.type for each in schema}
    known_from = dict.fromkeys(types, first)  # the file that gave each type
    for file, other in schemas[1:]:
        for missing, here, there in (
            (set(types) - set(other.names), first, file),
            (set(other.names) - set(types), file, first),
        ):
            if missing:
                raise DataError(
                    f"column {min(missing)!r} is in file {here.name!r} and not in file "
                    f"{there.name!r}. All files of an input need the same columns.",
                    column=min(missing),
                )
        for each in other:
            common = _common_type(types[each.name], each.type)
            if common is None:
                raise DataError(
                    f"column {each.name!r} is {types[each.name]} in file "
                    f"{known_from[each.name].name!r} and {each.type} in file {file.name!r}. Write "
                    "both with one type.",
                    column=each.name,
                )
            if common != types[each.name]:
                types[each.name], known_from[each.name] = common, file
    return pa.schema([pa.field(name, type_) for name, type_ in types.items()])


def _common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that holds both without changing a value, or None if there is none."""
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):  # a file in which the column is missing throughout
        return b
    if _is_text(a) and _is_text(b):
        return pa.large_string()
    if pa.types.is_dictionary(a) and pa.types.is_dictionary(b):
        values = _common_type(a.value_type, b.value_type)
        if values is None or a.ordered != b.ordered:
            return None
        return pa.dictionary(pa.int32(), values, a.ordered)
    for one, other in ((a, b), (b, a)):
        # An order of categories says something that plain text does not, so an ordered one does not
        # mix.
        if pa.types.is_dictionary(one) and not one.ordered and not pa.types.is_dictionary(other):
            return _common_type(one.value_type, other)
    return None


def _is_text(type_: pa.DataType) -> bool:
    return type_ in (pa.string(), pa.large_string(), pa.string_view())


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if column.type.equals(type_):
        return column
    if pa.types.is_dictionary(type_) and not pa.types.is_dictionary(column.type):
        column = column.cast(type_.value_type).dictionary_encode()
    return column.cast(type_)
