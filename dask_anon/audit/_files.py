"""The released columns of many files, in slices of a size that a task can hold.

    files ──look──▶ footers ──gather──▶ chunks of about 2M rows ──read──▶ batches

Parquet is split at its row groups. A CSV file is read by one task, block after block, as text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from dask_anon.engine.execute import compute
from dask_anon.errors import DataError, nearest

# Rows of a task: their hashes take 32 MiB.
CHUNK_ROWS = 2_000_000
# Rows read at once: a column of them and their hashes stay in the cache of a core.
BATCH_ROWS = 1 << 16
# Bytes of CSV read at once.
BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class FileFacts:
    """What a look at one file tells: rows by row group (a guess for CSV), types of the columns."""

    path: str
    row_groups: tuple[int, ...]
    types: tuple[str, ...]
    is_exact: bool

    @property
    def n_rows(self) -> int:
        """Rows of the file."""
        return sum(self.row_groups)


@dataclass(frozen=True)
class Slice:
    """Row groups of one Parquet file, or (None) the whole of a CSV file."""

    path: str
    row_groups: tuple[int, ...] | None


@dataclass(frozen=True)
class Chunk:
    """What one task reads.

    Of `columns` it only matters which rows are equal, so they come in whatever form is quickest to
    read. `sensitive` come in the types that they were written with, which say in which order their
    values stand; in CSV everything is text.
    """

    slices: tuple[Slice, ...]
    columns: tuple[str, ...]
    delimiter: str
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Looks:
    # An object, because schedulers walk through tuples and lists in search of tasks.
    files: tuple[str, ...]
    columns: tuple[str, ...]
    delimiter: str


def look(files: Sequence[str], columns: Sequence[str], *, delimiter: str = ",") -> list[FileFacts]:
    """Read every footer, or the first block; files must have the columns and agree on types."""
    calls = [
        (_look_at_files, _Looks(tuple(files[i : i + 32]), tuple(columns), delimiter))
        for i in range(0, len(files), 32)
    ]
    facts: list[FileFacts] = [file for found in compute("count-look", calls) for file in found]
    for file in facts[1:]:
        for column, first, other in zip(columns, facts[0].types, file.types, strict=True):
            if first != other:
                raise DataError(
                    f"released column '{column}' is {first} in {facts[0].path} and {other} in "
                    f"{file.path}. The files of a release must agree on their types."
                )
    return facts


def chunks_of(
    facts: Sequence[FileFacts],
    columns: Sequence[str],
    delimiter: str,
    *,
    sensitive: Sequence[str] = (),
) -> list[Chunk]:
    """Gather the row groups of all files into chunks of about `CHUNK_ROWS` rows."""
    gathered: list[list[Slice]] = [[]]
    room = CHUNK_ROWS
    for file in facts:
        for groups, n_rows in _pieces(file):
            if n_rows > room and gathered[-1]:
                gathered.append([])
                room = CHUNK_ROWS
            slices = gathered[-1]
            if groups and slices and slices[-1].path == file.path:
                groups = (*(slices.pop().row_groups or ()), *groups)
            slices.append(Slice(file.path, groups))
            room -= n_rows
    return [
        Chunk(tuple(slices), tuple(columns), delimiter, tuple(sensitive))
        for slices in gathered
        if slices
    ]


def _pieces(file: FileFacts) -> list[tuple[tuple[int, ...] | None, int]]:
    if not file.is_exact:
        return [(None, file.n_rows)]
    return [((i,), n_rows) for i, n_rows in enumerate(file.row_groups) if n_rows]


def rows_of_files(files: Sequence[str], *, delimiter: str = ",") -> list[int]:
    """Rows of every file: from the footer of Parquet, by reading CSV."""
    facts = look(files, [], delimiter=delimiter)
    calls = [(_rows_of_csv, file.path, delimiter) for file in facts if not file.is_exact]
    counted = iter(compute("count-rows", calls) if calls else [])
    return [file.n_rows if file.is_exact else next(counted) for file in facts]


def _rows_of_csv(path: str, delimiter: str) -> int:
    with open_file(path) as file, _csv_reader(file, (), delimiter, header_only=True) as reader:
        return sum(batch.num_rows for batch in reader)


def read_batches(chunk: Chunk) -> Iterator[pa.RecordBatch]:
    """Read a chunk's columns, some rows at a time."""
    columns = (*chunk.columns, *chunk.sensitive)
    for piece in chunk.slices:
        with open_file(piece.path) as file:
            if piece.row_groups is None:
                with _csv_reader(file, columns, chunk.delimiter) as reader:
                    yield from reader
            else:
                typed = bool(chunk.sensitive)
                yield from _read_row_groups(file, piece.row_groups, columns, typed=typed)


def _read_row_groups(
    file: IO[bytes], row_groups: Sequence[int], columns: Sequence[str], *, typed: bool
) -> Iterator[pa.RecordBatch]:
    footer = pq.read_metadata(file) if typed else _plain_footer(file)
    texts = [name for name in columns if _is_dictionary_encoded(footer, row_groups, name)]
    with pq.ParquetFile(file, metadata=footer, read_dictionary=texts) as parquet:
        yield from parquet.iter_batches(
            # A dictionary comes again with every batch: larger ones, where there are any. Sixteen
            # times as large saves no time any more, and takes 80 MiB more.
            batch_size=(4 if texts else 1) * BATCH_ROWS,
            row_groups=list(row_groups),
            columns=list(columns),
            use_threads=False,  # the tasks of a stage already fill the cores
        )


def _plain_footer(file: IO[bytes]) -> Any:
    """Read a footer as somebody does who does not know Arrow's own notes in it.

    They make Arrow build a dictionary of every column that was one when it was written, which for
    millions of labels takes five times longer than to read them as the text they are.
    """
    file.seek(-8, os.SEEK_END)
    tail = file.read(8)
    n_bytes = int.from_bytes(tail[:4], "little")
    n_file = file.seek(0, os.SEEK_END)
    if tail[4:] != b"PAR1" or n_bytes + 12 > n_file:
        raise pa.ArrowInvalid("not a Parquet file")
    file.seek(-8 - n_bytes, os.SEEK_END)
    footer = file.read(n_bytes).replace(b"ARROW:schema", b"arrow:schema")
    file.seek(0)
    return pq.read_metadata(io.BytesIO(b"PAR1" + footer + tail))


def _is_dictionary_encoded(footer: Any, row_groups: Sequence[int], column: str) -> bool:
    """Whether text is stored by code throughout, told by its size: plain text takes more."""
    schema = footer.schema.to_arrow_schema()
    kind = schema.field(column).type
    # What is declared as categories comes as such, and would lose its order.
    if pa.types.is_dictionary(kind) or not is_text(kind):
        return False
    for i in row_groups:
        group = footer.row_group(i)
        # A nested column has several leaves; then the order of the leaves is not the schema's.
        facts = next(
            c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == column
        )
        coded = any(name.endswith("_DICTIONARY") for name in facts.encodings)
        if not coded or facts.total_uncompressed_size > 8 * max(facts.num_values, 1 << 10):
            return False
    return True


def open_file(path: str) -> IO[bytes]:
    """Open a local path, or whatever fsspec opens, to read."""
    if "://" not in path:
        return open(path, "rb")
    import fsspec

    opened: IO[bytes] = fsspec.open(path, "rb").open()
    return opened


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet by its ending; everything else is CSV."""
    return path.lower().endswith((".parquet", ".pq", ".parq"))


def is_text(kind: pa.DataType) -> bool:
    """Whether values are text, however it is stored."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _type_name(kind: pa.DataType) -> str:
    if is_text(kind):
        return "text"
    return str(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _look_at_files(names: _Looks) -> list[FileFacts]:
    return [
        _look_at_parquet(path, names.columns)
        if is_parquet(path)
        else _look_at_csv(path, names.columns, names.delimiter)
        for path in names.files
    ]


def _look_at_parquet(path: str, columns: Sequence[str]) -> FileFacts:
    try:
        with open_file(path) as file:
            footer = _plain_footer(file)
        schema = footer.schema.to_arrow_schema()
        groups = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    except (OSError, pa.ArrowException):
        raise DataError(f"{path} cannot be read as Parquet.") from None
    _check_columns(path, columns, schema.names)
    types = tuple(_type_name(schema.field(column).type) for column in columns)
    return FileFacts(path, groups, types, is_exact=True)


def _look_at_csv(path: str, columns: Sequence[str], delimiter: str) -> FileFacts:
    try:
        with open_file(path) as file:
            n_bytes = file.seek(0, os.SEEK_END)
            file.seek(0)
            head = file.read(1 << 16)
            file.seek(0)
            with _csv_reader(file, columns, delimiter, header_only=True) as reader:
                names = reader.schema.names
    except (OSError, pa.ArrowException):
        raise DataError(f"{path} cannot be read as CSV.") from None
    _check_columns(path, columns, names)
    n_lines = max(head.count(b"\n") - 1, 0)
    n_rows = n_lines if n_bytes == len(head) else int(n_bytes / len(head) * (n_lines + 1))
    return FileFacts(path, (n_rows,), ("text",) * len(columns), is_exact=False)


def _csv_reader(
    file: IO[bytes], columns: Sequence[str], delimiter: str, *, header_only: bool = False
) -> Any:
    return pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=False,  # in a table of one column they are records
        ),
        convert_options=pa_csv.ConvertOptions(
            include_columns=[] if header_only else list(columns),
            column_types={name: pa.string() for name in columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # "" is the empty text
        ),
    )


def _check_columns(path: str, columns: Iterable[str], names: Sequence[str]) -> None:
    for column in columns:
        n_found = names.count(column)
        if n_found == 0:
            close = nearest(column, names)
            hint = f" Did you mean '{close}'?" if close else ""
            raise DataError(
                f"released column '{column}' is not in {path}.{hint} Columns: {list(names)}."
            )
        if n_found > 1:
            raise DataError(f"released column '{column}' stands {n_found} times in {path}.")
