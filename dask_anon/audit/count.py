"""An exact count of equivalence classes from released files alone, larger than memory.

    files ──▶ chunks of ──hash──▶ rows scattered by the top ──▶ buckets of ──count──▶ sizes
              2M rows             bits of their hash            2M rows
              (a task each)       (a scratch file a task)       (a task each)

This is the auditor's own way to k: nothing of the engine's work is used, neither its codes nor its
tree nor its class numbers. A row is the tuple of its released values, hashed to 128 bits under a
key drawn for this count: two of 10⁹ classes are taken for one with a probability below 1e-20
(`classes._hashing`). Equal rows have equal hashes, so they meet in one bucket, which one task
counts alone.

Nobody holds more than a piece of rows and the distinct classes of one bucket. The sizes of all
classes make a small histogram: n records have at most √(2n) different class sizes, 44,721 for 10⁹.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dask_anon.audit._files import CHUNK_ROWS, Chunk, chunks_of, look, read_batches
from dask_anon.audit._tables import Sizes, count_equal, gathered, scatter
from dask_anon.classes import ClassCounts
from dask_anon.classes._hashing import Keys, Words, hash_rows
from dask_anon.engine.execute import compute
from dask_anon.errors import DataError


def count_classes(
    files: Sequence[str | os.PathLike[str]],
    columns: Sequence[str],
    *,
    scratch_dir: str | os.PathLike[str] | None = None,
    delimiter: str = ",",
) -> ClassCounts:
    """Count the equivalence classes of a release from its files.

    Records with equal values in all `columns` are one class. A null is a value of its own, and
    neither the empty text nor NaN. In CSV every value is text, and an empty field without quotes
    is the null.

    Parameters
    ----------
    files : sequence of paths
        Parquet (by the ending ``.parquet`` or ``.pq``) or CSV files with a header; what is not a
        local path is opened by fsspec.
    columns : sequence of str
        The released columns of the quasi-identifiers, such as ``age_min`` and ``age_max``.
    scratch_dir : path, optional
        A directory that all workers see, needed on several machines; by default the temporary
        directory of Dask, else of the system. 16 bytes a row are written into a directory in it,
        which is removed at the end; nothing if the rows fit into one task.
    delimiter : str, default ","
        Of CSV files.

    Returns
    -------
    ClassCounts
        Exact, but for colliding hashes: a probability below 1e-20 for 10⁹ classes.
    """
    facts = look([os.fspath(path) for path in files], columns, delimiter=delimiter)
    if not columns:
        raise DataError("there is no released column to count equivalence classes by. Name one.")
    chunks = chunks_of(facts, columns, delimiter)
    keys = Keys.draw(len(columns))
    n_rows = sum(file.n_rows for file in facts)
    if len(chunks) <= 1 and n_rows <= CHUNK_ROWS:
        return _merge(compute("count", [(_count_chunk, chunk, keys) for chunk in chunks]))

    # A tenth of room, so that a bucket of average luck still fits into one piece.
    n_buckets = -(-n_rows * 10 // (9 * CHUNK_ROWS))
    n_bits = max(0, n_buckets - 1).bit_length()
    with _scratch(scratch_dir) as scratch:
        parts = [os.path.join(scratch, f"part-{i:06d}") for i in range(len(chunks))]
        calls = zip(chunks, parts, strict=True)
        begins = compute(
            "count-scatter", [(_scatter_chunk, chunk, keys, n_bits, part) for chunk, part in calls]
        )
        buckets = [_runs(parts, begins, bucket) for bucket in range(1 << n_bits)]
        counts = _merge(compute("count", [(_count_bucket, runs, n_bits) for runs in buckets]))
    n_hashed = sum(int(table[-1, -1]) for table in begins if len(table))
    if counts.n_records != n_hashed:
        raise DataError(
            f"the count lost records: {n_hashed:,} were read, {counts.n_records:,} were counted. "
            "Somebody changed the scratch directory meanwhile; give one that nobody else uses."
        )
    return counts


@dataclass(frozen=True)
class _Runs:
    """Where the rows of one bucket lie: (file, first row, row after the last)."""

    runs: tuple[tuple[str, int, int], ...]


def _runs(parts: Sequence[str], begins: Sequence[npt.NDArray[np.int64]], bucket: int) -> _Runs:
    return _Runs(
        tuple(
            (part, int(start), int(stop))
            for part, table in zip(parts, begins, strict=True)
            for start, stop in table[:, bucket : bucket + 2]
            if start < stop
        )
    )


def _count_chunk(chunk: Chunk, keys: Keys) -> Sizes:
    return count_equal(_hashes(chunk, keys), n_shared_bits=0, piece_rows=CHUNK_ROWS)


def _count_bucket(bucket: _Runs, n_bits: int) -> Sizes:
    batches = (_read_run(*run) for run in bucket.runs)
    return count_equal(batches, n_shared_bits=n_bits, piece_rows=CHUNK_ROWS)


def _hashes(chunk: Chunk, keys: Keys) -> Iterator[Words]:
    try:
        for batch in read_batches(chunk):
            columns = [batch.column(name) for name in chunk.columns]
            yield hash_rows(columns, batch.num_rows, keys)
    except (OSError, pa.ArrowException):
        # Arrow's own message may quote what stands in the file.
        names = ", ".join(sorted({piece.path for piece in chunk.slices}))
        raise DataError(f"cannot read the released columns of {names}.") from None


def _scatter_chunk(chunk: Chunk, keys: Keys, n_bits: int, path: str) -> npt.NDArray[np.int64]:
    """Write the hashes of a chunk ordered by bucket, piece after piece.

    Returns where each bucket begins, shape (piece, bucket + 1). Two runs of a task write the same
    bytes, so the answer of either fits the file of the other.
    """
    tables: list[npt.NDArray[np.int64]] = []
    n_written = 0
    temporary = f"{path}.{uuid.uuid4().hex}"
    ordered = np.empty((CHUNK_ROWS, 2), dtype=np.uint64)
    with open(temporary, "wb") as file:
        for piece in gathered(_hashes(chunk, keys), CHUNK_ROWS):
            begins = scatter(piece, min(63, 64 - n_bits), 1 << n_bits, ordered)
            file.write(ordered[: len(piece)].data.cast("B"))
            tables.append(begins + n_written)
            n_written += len(piece)
    os.replace(temporary, path)
    return np.array(tables, dtype=np.int64).reshape(-1, (1 << n_bits) + 1)


def _read_run(path: str, start: int, stop: int) -> Words:
    try:
        words = np.fromfile(path, dtype=np.uint64, count=2 * (stop - start), offset=16 * start)
    except FileNotFoundError:
        raise DataError(
            "a worker does not see the scratch directory of the count. "
            "Give a scratch_dir that all workers see."
        ) from None
    return words.reshape(-1, 2)


def _merge(parts: Sequence[Sizes]) -> ClassCounts:
    sizes: dict[int, int] = {}
    for values, counts in parts:
        for size, n in zip(values.tolist(), counts.tolist(), strict=True):
            sizes[size] = sizes.get(size, 0) + n
    return ClassCounts(dict(sorted(sizes.items())))


@contextmanager
def _scratch(parent: str | os.PathLike[str] | None) -> Iterator[str]:
    """Make a directory of this count alone, gone at the end."""
    parent = parent or dask.config.get("temporary-directory", None)
    if parent:
        Path(parent).mkdir(parents=True, exist_ok=True)
    path = tempfile.mkdtemp(prefix="anon-count-", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
