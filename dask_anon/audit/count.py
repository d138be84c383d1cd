"""An exact count of equivalence classes from released files alone, larger than memory.

    files ──▶ slices of row groups ──hash──▶ rows scattered by the top bits of their hash ──▶ buckets ──▶ sizes
              (task: 2M rows)                (one scratch file a task)                        (task: 2M rows)

This is the auditor's own way to k: nothing of the engine's work, neither its codes nor its tree nor its class
numbers, is used. A row is the tuple of its released values, hashed to 128 bits under a key drawn for this count
(`_hashing`): two of 10⁹ classes are taken for one with a probability below 1e-20. Equal rows have equal hashes and
so meet in one bucket, which one task counts alone.

Nobody holds more than a piece of rows and the distinct classes of one bucket. The sizes of all classes fit into a
histogram that stays small: n records make at most √(2n) different sizes, 44,721 for 10⁹.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import dask
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numba import njit

from dask_anon.audit._hashing import Keys, Words, hash_rows
from dask_anon.engine.execute import compute
from dask_anon.errors import DataError, nearest

# Rows that a task hashes before it writes them, and rows of a bucket: 16 bytes each, so 32 MiB.
PIECE_ROWS = 2_000_000
# Rows hashed at once: a column of them and their hashes stay in the cache of a core.
BATCH_ROWS = 1 << 17
# Tables that a bucket is counted in: 32k rows each.
N_TABLES = 64
# Bytes of CSV that are read at once.
BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class ClassCounts:
    """How many equivalence classes there are of each size."""

    sizes: Mapping[int, int]

    @property
    def n_records(self) -> int:
        """Records in all classes."""
        return sum(size * n for size, n in self.sizes.items())

    @property
    def n_classes(self) -> int:
        """Equivalence classes."""
        return sum(self.sizes.values())

    @property
    def smallest(self) -> int:
        """Records in the smallest class; 0 without records."""
        return min(self.sizes, default=0)

    @property
    def largest(self) -> int:
        """Records in the largest class; 0 without records."""
        return max(self.sizes, default=0)

    @property
    def sum_of_squares(self) -> int:
        """Sum of squared class sizes: the discernibility metric of a release that suppresses nothing."""
        return sum(size * size * n for size, n in self.sizes.items())

    def n_classes_below(self, k: int) -> int:
        """Classes with fewer than `k` records."""
        return sum(n for size, n in self.sizes.items() if size < k)

    def n_records_below(self, k: int) -> int:
        """Records in classes with fewer than `k` records."""
        return sum(size * n for size, n in self.sizes.items() if size < k)

    def share_of_records_up_to(self, size: int) -> float:
        """Share of records in classes of at most `size` records; 0 without records."""
        return self.n_records_below(size + 1) / self.n_records if self.sizes else 0.0

    def figures(self) -> dict[str, int]:
        """The figures that a manifest records."""
        return {
            "n_classes": self.n_classes,
            "smallest": self.smallest,
            "largest": self.largest,
            "sum_of_squares": self.sum_of_squares,
        }

    def __str__(self) -> str:
        if not self.sizes:
            return "no records"
        return (
            f"{self.n_records:,} records in {self.n_classes:,} equivalence classes "
            f"of {self.smallest:,} to {self.largest:,} records"
        )


@dataclass(frozen=True)
class FileFacts:
    """What a look at one file tells: its rows (a guess for CSV) and the types of the columns."""

    path: str
    row_groups: tuple[int, ...]
    types: tuple[str, ...]
    exact: bool

    @property
    def n_rows(self) -> int:
        return sum(self.row_groups)


@dataclass(frozen=True)
class _Slice:
    """Row groups of one file, or all of a CSV file."""

    path: str
    row_groups: tuple[int, ...] | None
    columns: tuple[str, ...]
    delimiter: str


def count_classes(
    files: Sequence[str | os.PathLike[str]],
    columns: Sequence[str],
    *,
    scratch_dir: str | os.PathLike[str] | None = None,
    delimiter: str = ",",
) -> ClassCounts:
    """Count the equivalence classes of a release from its files.

    Records with equal values in all `columns` are one class. A null is a value of its own, and neither the empty
    text nor NaN. In CSV every value is text, and an empty field without quotes is the null.

    Parameters
    ----------
    files : sequence of paths
        Parquet (by the ending ``.parquet`` or ``.pq``) or CSV files with a header; what is not a local path is
        opened by fsspec.
    columns : sequence of str
        The released columns of the quasi-identifiers, such as ``age_min`` and ``age_max``.
    scratch_dir : path, optional
        A directory that all workers see; needed on several machines. A directory made in it (16 bytes a row) is
        removed at the end. By default the temporary directory of Dask, else of the system. Nothing is written when
        the rows fit into one task.
    delimiter : str, default ","
        Of CSV files.

    Returns
    -------
    ClassCounts
        Exact, but for a collision of hashes, which has a probability below 1e-20 for 10⁹ classes.
    """
    facts = look([os.fspath(path) for path in files], columns, delimiter=delimiter)
    if not facts:
        return ClassCounts({})
    keys = Keys.draw(len(columns))
    chunks = _chunks(facts, tuple(columns), delimiter)
    n_rows = sum(file.n_rows for file in facts)
    if len(chunks) == 1 and n_rows <= PIECE_ROWS:
        return _merge(compute("count", [(_count_chunk, chunks[0], keys)]))

    n_bits = max(0, (-(-n_rows // PIECE_ROWS) - 1).bit_length())
    with _scratch(scratch_dir) as scratch:
        parts = [os.path.join(scratch, f"part-{i:06d}") for i in range(len(chunks))]
        written = compute(
            "count-scatter",
            [(_scatter_chunk, chunk, keys, n_bits, part) for chunk, part in zip(chunks, parts, strict=True)],
        )
        calls = []
        for bucket in range(1 << n_bits):
            runs = [
                (part, int(start), int(stop))
                for part, offsets in zip(parts, written, strict=True)
                for start, stop in offsets[:, bucket : bucket + 2]
                if start < stop
            ]
            calls.append((_count_bucket, _Runs(tuple(runs)), n_bits))
        counts = _merge(compute("count", calls))
    n_hashed = sum(int(offsets[-1, -1]) for offsets in written if len(offsets))
    if counts.n_records != n_hashed:
        raise DataError(
            f"the count lost records: {n_hashed:,} were read and {counts.n_records:,} counted. "
            "The scratch directory changed meanwhile; give one that nobody else uses."
        )
    return counts


def look(files: Sequence[str], columns: Sequence[str], *, delimiter: str = ",") -> list[FileFacts]:
    """Look at every file's footer or first block; refuses files that lack a column or disagree about its type."""
    batches = [tuple(files[i : i + 32]) for i in range(0, len(files), 32)]
    calls = [(_look_at_files, _Names(batch, tuple(columns)), delimiter) for batch in batches]
    facts: list[FileFacts] = [file for batch in compute("count-look", calls) for file in batch]
    for file in facts[1:]:
        for column, first, other in zip(columns, facts[0].types, file.types, strict=True):
            if first != other:
                raise DataError(
                    f"column '{column}' is {first} in {facts[0].path} and {other} in {file.path}; "
                    "the files of a release must agree on their types."
                )
    return facts


@dataclass(frozen=True)
class _Names:
    """Names in an object, so that no scheduler takes a tuple of them for a task or walks through it."""

    files: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Runs:
    """Where the rows of one bucket lie: (file, first row, row after the last)."""

    runs: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _Chunk:
    """The work of one task."""

    slices: tuple[_Slice, ...]


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet by its ending; everything else is CSV."""
    return path.lower().endswith((".parquet", ".pq", ".parq"))


def _look_at_files(names: _Names, delimiter: str) -> list[FileFacts]:
    return [_look_at(path, names.columns, delimiter) for path in names.files]


def _look_at(path: str, columns: Sequence[str], delimiter: str) -> FileFacts:
    if not is_parquet(path):
        return _look_at_csv(path, columns, delimiter)
    with open_file(path) as file, pq.ParquetFile(file) as parquet:
        schema, metadata = parquet.schema_arrow, parquet.metadata
        _check_columns(path, columns, schema.names)
        types = tuple(_type_name(schema.field(column).type) for column in columns)
        groups = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    return FileFacts(path, groups, types, exact=True)


def _look_at_csv(path: str, columns: Sequence[str], delimiter: str) -> FileFacts:
    with open_file(path) as file:
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(1 << 16)
        file.seek(0)
        with _csv_reader(file, None, delimiter) as reader:
            _check_columns(path, columns, reader.schema.names)
    n_lines = max(head.count(b"\n"), 1)
    return FileFacts(path, (int(n_bytes / len(head) * n_lines),), ("string",) * len(columns), exact=False)


def _check_columns(path: str, columns: Iterable[str], names: Sequence[str]) -> None:
    for column in columns:
        if names.count(column) != 1:
            close = nearest(column, names)
            hint = f" Did you mean '{close}'?" if close and column not in names else ""
            found = "is missing from" if column not in names else "stands more than once in"
            raise DataError(f"released column '{column}' {found} {path}.{hint} Columns: {list(names)}.")


def _type_name(kind: pa.DataType) -> str:
    # How labels are stored (plain, dictionary, with large offsets) makes no difference to whoever reads them.
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return "string" if pa.types.is_large_string(kind) else str(kind)


def _chunks(facts: Sequence[FileFacts], columns: tuple[str, ...], delimiter: str) -> list[_Chunk]:
    """Row groups of all files gathered into tasks of about `PIECE_ROWS` rows."""
    chunks: list[_Chunk] = []
    slices: list[_Slice] = []
    room = PIECE_ROWS
    for file in facts:
        if not file.exact:
            pieces: list[tuple[tuple[int, ...] | None, int]] = [(None, file.n_rows)]
        else:
            pieces = [((i,), n) for i, n in enumerate(file.row_groups) if n]
        for groups, n_rows in pieces:
            if n_rows > room and slices:
                chunks.append(_Chunk(tuple(slices)))
                slices, room = [], PIECE_ROWS
            if groups and slices and slices[-1].path == file.path and slices[-1].row_groups:
                groups = (*slices.pop().row_groups, *groups)  # type: ignore[misc]
            slices.append(_Slice(file.path, groups, columns, delimiter))
            room -= n_rows
    return [*chunks, _Chunk(tuple(slices))]


def open_file(path: str) -> IO[bytes]:
    """A local path or whatever fsspec opens, to read."""
    if "://" not in path:
        return open(path, "rb")
    import fsspec

    opened: IO[bytes] = fsspec.open(path, "rb").open()
    return opened


def read_batches(piece: _Slice) -> Iterator[pa.RecordBatch]:
    """The columns of a slice, some rows at a time."""
    if piece.row_groups is None:
        with open_file(piece.path) as file, _csv_reader(file, piece.columns, piece.delimiter) as reader:
            yield from reader
        return
    with open_file(piece.path) as file:
        footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
        texts = [name for name in piece.columns if _type_name(schema.field(name).type) == "string"]
        file.seek(0)
        with pq.ParquetFile(file, metadata=footer, read_dictionary=texts) as parquet:
            yield from parquet.iter_batches(
                batch_size=BATCH_ROWS,
                row_groups=list(piece.row_groups),
                columns=list(piece.columns),
                use_threads=False,
            )


def _csv_reader(file: IO[bytes], columns: tuple[str, ...] | None, delimiter: str) -> Any:
    def options(names: Sequence[str]) -> pa_csv.ConvertOptions:
        return pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            include_columns=list(names),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=True,
        )

    return pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=options(columns or ()),
    )


def _hashes(chunk: _Chunk, keys: Keys) -> Iterator[Words]:
    for piece in chunk.slices:
        for batch in read_batches(piece):
            columns = [batch.column(name) for name in piece.columns]
            yield hash_rows(columns, batch.num_rows, keys)


def _pieces(batches: Iterable[Words]) -> Iterator[Words]:
    """Hashes gathered into pieces of at most `PIECE_ROWS`."""
    piece = np.empty((PIECE_ROWS, 2), dtype=np.uint64)
    n_filled = 0
    for hashes in batches:
        while len(hashes):
            taken = hashes[: PIECE_ROWS - n_filled]
            piece[n_filled : n_filled + len(taken)] = taken
            n_filled += len(taken)
            hashes = hashes[len(taken) :]
            if n_filled == PIECE_ROWS:
                yield piece
                piece, n_filled = np.empty_like(piece), 0
    if n_filled:
        yield piece[:n_filled]


def _scatter_chunk(chunk: _Chunk, keys: Keys, n_bits: int, path: str) -> npt.NDArray[np.int64]:
    """Write the hashes of a chunk ordered by bucket, piece after piece.

    Returns where each bucket begins, shape (piece, bucket + 1): two runs of a task write the same bytes, so the
    answer of either fits the file of the other.
    """
    tables = []
    start = 0
    temporary = f"{path}.{uuid.uuid4().hex}"
    with open(temporary, "wb") as file:
        for piece in _pieces(_hashes(chunk, keys)):
            ordered = np.empty_like(piece)
            offsets = _scatter(piece, min(63, 64 - n_bits), 1 << n_bits, ordered)
            file.write(memoryview(ordered).cast("B"))
            tables.append(offsets + start)
            start += len(piece)
    os.replace(temporary, path)
    return np.array(tables, dtype=np.int64).reshape(-1, (1 << n_bits) + 1)


@njit(nogil=True, cache=True)
def _scatter(
    rows: Words, shift: int, n_buckets: int, out: Words
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Counting sort of rows by bits of their first lane; `n_buckets` is a power of two."""
    by, mask = np.uint64(shift), np.uint64(n_buckets - 1)
    offsets = np.zeros(n_buckets + 1, dtype=np.int64)
    for i in range(rows.shape[0]):
        offsets[np.int64((rows[i, 0] >> by) & mask) + 1] += 1
    for bucket in range(n_buckets):
        offsets[bucket + 1] += offsets[bucket]
    at = offsets[:-1].copy()
    for i in range(rows.shape[0]):
        to = np.int64((rows[i, 0] >> by) & mask)
        out[at[to], 0] = rows[i, 0]
        out[at[to], 1] = rows[i, 1]
        at[to] += 1
    return offsets


Sizes = tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]


def _count_chunk(chunk: _Chunk, keys: Keys) -> Sizes:
    return _count(_pieces(_hashes(chunk, keys)), n_bits=0)


def _count_bucket(bucket: _Runs, n_bits: int) -> Sizes:
    return _count(_pieces(_read_run(*run) for run in bucket.runs), n_bits)


def _read_run(path: str, start: int, stop: int) -> Words:
    try:
        words = np.fromfile(path, dtype=np.uint64, count=2 * (stop - start), offset=16 * start)
    except FileNotFoundError:
        raise DataError(
            "a worker does not see the scratch directory of the count; "
            "give a scratch_dir that all workers see."
        ) from None
    return words.reshape(-1, 2)


def _count(pieces: Iterator[Words], n_bits: int) -> Sizes:
    """Class sizes of rows whose hashes share their top bits, in memory bounded by their distinct ones.

    Rows are scattered once more, so that a table of classes fits into the cache of a core: 2M rows are counted in
    25 instead of 90 ns a row. Tables outlive a piece only when there are several, which takes a class so large that
    it fills a bucket alone.
    """
    tables = [_Table() for _ in range(N_TABLES)]
    shift = max(0, 64 - n_bits - N_TABLES.bit_length() + 1)
    records = []
    ordered = np.empty((0, 2), dtype=np.uint64)
    for piece, is_last in _and_whether_last(pieces):
        if len(ordered) < len(piece):
            ordered = np.empty((len(piece), 2), dtype=np.uint64)
        offsets = _scatter(piece, shift, N_TABLES, ordered)
        for i, table in enumerate(tables):
            table.add(ordered[offsets[i] : offsets[i + 1]])
            if is_last:
                records.append(table.take())
    if not records:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    return _sizes(np.concatenate(records))


def _and_whether_last(pieces: Iterator[Words]) -> Iterator[tuple[Words, bool]]:
    full: Words | None = None
    for piece in pieces:
        if full is not None:
            yield full, False
        full = piece
    if full is not None:
        yield full, True


def _sizes(records: Words) -> Sizes:
    if records.max() < 1 << 20:
        counts = np.bincount(records.view(np.int64))
        sizes = np.flatnonzero(counts)
        return sizes.astype(np.uint64), counts[sizes]
    return np.unique(records, return_counts=True)


class _Table:
    """An open-addressing hash table of classes that grows with the distinct ones, never with the rows."""

    def __init__(self) -> None:
        self.take()

    def take(self) -> Words:
        """The records of each class; the table is empty afterwards."""
        records: Words = self._slots[:, 2] if hasattr(self, "_slots") else np.empty(0, np.uint64)
        self._slots = np.zeros((0, 3), dtype=np.uint64)  # (lane, lane, records); 0 records: free
        self._n_used = 0
        return records[records > 0]

    def add(self, rows: Words) -> None:
        """Count `rows` in."""
        for i in range(0, len(rows), BATCH_ROWS):
            batch = rows[i : i + BATCH_ROWS]
            needed = 2 * (self._n_used + len(batch))  # at most half full
            if needed > len(self._slots):
                grown = np.zeros((1 << (needed - 1).bit_length(), 3), dtype=np.uint64)
                _move(self._slots, grown)
                self._slots = grown
            self._n_used += _insert(self._slots, batch)


@njit(nogil=True, cache=True)
def _insert(slots: Words, rows: Words) -> int:  # pragma: no cover - compiled
    mask = np.uint64(slots.shape[0] - 1)
    n_new = 0
    for i in range(rows.shape[0]):
        a, b = rows[i, 0], rows[i, 1]
        # The second lane addresses: the rows of a table share the top bits of the first.
        at = b & mask
        while slots[at, 2] != 0 and (slots[at, 0] != a or slots[at, 1] != b):
            at = (at + np.uint64(1)) & mask
        if slots[at, 2] == 0:
            slots[at, 0], slots[at, 1] = a, b
            n_new += 1
        slots[at, 2] += np.uint64(1)
    return n_new


@njit(nogil=True, cache=True)
def _move(slots: Words, to: Words) -> None:  # pragma: no cover - compiled
    mask = np.uint64(to.shape[0] - 1)
    for i in range(slots.shape[0]):
        if slots[i, 2] != 0:
            at = slots[i, 1] & mask
            while to[at, 2] != 0:
                at = (at + np.uint64(1)) & mask
            to[at, 0], to[at, 1], to[at, 2] = slots[i, 0], slots[i, 1], slots[i, 2]


def _merge(parts: Sequence[Sizes]) -> ClassCounts:
    sizes: dict[int, int] = {}
    for values, counts in parts:
        for size, n in zip(values.tolist(), counts.tolist(), strict=True):
            sizes[size] = sizes.get(size, 0) + n
    return ClassCounts(dict(sorted(sizes.items())))


class _scratch:
    """A directory of this count alone, gone at the end."""

    def __init__(self, parent: str | os.PathLike[str] | None) -> None:
        self._parent = parent or dask.config.get("temporary-directory", None)

    def __enter__(self) -> str:
        if self._parent:
            Path(self._parent).mkdir(parents=True, exist_ok=True)
        self._path = tempfile.mkdtemp(prefix="anon-count-", dir=self._parent)
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
