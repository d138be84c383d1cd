"""Rows of many files brought to where equal ones meet, larger than memory.

    files ──▶ chunks of ──Work.rows──▶ rows scattered by the top ──▶ buckets ──Work.count──▶ answers
              2M rows                  bits of their hash
              (a task each)            (a scratch file a task)       (a task each)

A row is the hash of its released values, of two words, and whatever words follow it. Equal rows
have equal hashes, so they meet in one bucket, which one task counts alone. Nobody holds more than a
piece of rows and what is distinct in one bucket.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import dask
import numpy as np
import numpy.typing as npt

from dask_anon.audit._files import CHUNK_ROWS, Chunk
from dask_anon.audit._tables import gathered, scatter
from dask_anon.classes._hashing import Words
from dask_anon.engine.execute import compute
from dask_anon.engine.scratch import scratch_directory
from dask_anon.errors import DataError


class Work(Protocol):
    """What is counted. It travels to the tasks, so it is small once it is `ready`."""

    @property
    def n_words(self) -> int:
        """Words of a row, two of them its hash."""

    def ready(self, scratch: str) -> Work:
        """The same, with what is large left in a directory that all workers see."""

    def rows(self, chunk: Chunk) -> Iterator[Words]:
        """The rows of a chunk, some at a time."""

    def count(self, batches: Iterable[Words], *, n_shared_bits: int, piece_rows: int) -> Any:
        """Count rows whose hashes share their top bits, holding `piece_rows` of them at once."""


def in_buckets(
    chunks: Sequence[Chunk],
    work: Work,
    *,
    n_rows: int,
    scratch_dir: str | os.PathLike[str] | None = None,
) -> tuple[list[Any], int | None]:
    """Count the rows of chunks, equal ones together.

    Parameters
    ----------
    chunks : sequence of Chunk
    work : Work
    n_rows : int
        About how many rows there are in all.
    scratch_dir : path, optional
        Where a directory of this count alone is made; it is removed at the end.

    Returns
    -------
    list
        What the tasks counted, disjoint parts of the rows.
    int or None
        How many rows were scattered; None where there was no need to.
    """
    # The memory of a piece is the same, however wide its rows are.
    piece_rows = 2 * CHUNK_ROWS // work.n_words
    if len(chunks) <= 1 and n_rows <= piece_rows:
        return compute("count", [(_count_chunk, chunk, work, piece_rows) for chunk in chunks]), None

    # A tenth of room, so that a bucket of average luck still fits into one piece.
    n_buckets = -(-n_rows * 10 // (9 * piece_rows))
    n_bits = max(0, n_buckets - 1).bit_length()
    with _scratch(scratch_dir) as scratch:
        work = work.ready(scratch)
        parts = [os.path.join(scratch, f"part-{i:06d}") for i in range(len(chunks))]
        begins = compute(
            "count-scatter",
            [
                (_scatter_chunk, chunk, work, n_bits, piece_rows, part)
                for chunk, part in zip(chunks, parts, strict=True)
            ],
        )
        buckets = [_runs(parts, begins, bucket) for bucket in range(1 << n_bits)]
        counts = compute(
            "count", [(_count_bucket, runs, work, n_bits, piece_rows) for runs in buckets]
        )
    return counts, sum(int(table[-1, -1]) for table in begins if len(table))


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


def _count_chunk(chunk: Chunk, work: Work, piece_rows: int) -> Any:
    return work.count(work.rows(chunk), n_shared_bits=0, piece_rows=piece_rows)


def _count_bucket(bucket: _Runs, work: Work, n_bits: int, piece_rows: int) -> Any:
    batches = (_read_run(*run, work.n_words) for run in bucket.runs)
    return work.count(batches, n_shared_bits=n_bits, piece_rows=piece_rows)


def _scatter_chunk(
    chunk: Chunk, work: Work, n_bits: int, piece_rows: int, path: str
) -> npt.NDArray[np.int64]:
    """Write the rows of a chunk ordered by bucket, piece after piece.

    Returns where each bucket begins, shape (piece, bucket + 1). Two runs of a task write the same
    bytes, so the answer of either fits the file of the other.
    """
    tables: list[npt.NDArray[np.int64]] = []
    n_written = 0
    temporary = f"{path}.{uuid.uuid4().hex}"
    ordered = np.empty((piece_rows, work.n_words), dtype=np.uint64)
    with open(temporary, "wb") as file:
        for piece in gathered(work.rows(chunk), piece_rows, work.n_words):
            begins = scatter(piece, min(63, 64 - n_bits), 1 << n_bits, ordered)
            file.write(ordered[: len(piece)].data.cast("B"))
            tables.append(begins + n_written)
            n_written += len(piece)
    os.replace(temporary, path)
    return np.array(tables, dtype=np.int64).reshape(-1, (1 << n_bits) + 1)


def _read_run(path: str, start: int, stop: int, n_words: int) -> Words:
    with seeing_scratch():
        words = np.fromfile(
            path, dtype=np.uint64, count=n_words * (stop - start), offset=8 * n_words * start
        )
    return words.reshape(-1, n_words)


@contextmanager
def seeing_scratch() -> Iterator[None]:
    """Say in a sentence that a worker does not see the files of another one."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(
            "a worker does not see the scratch directory of the count. "
            "Give a scratch_dir that all workers see."
        ) from None


@contextmanager
def _scratch(parent: str | os.PathLike[str] | None) -> Iterator[str]:
    """A directory of this count alone, gone at the end."""
    parent = parent or dask.config.get("temporary-directory", None)
    if parent:
        os.makedirs(parent, exist_ok=True)
    with scratch_directory(parent, prefix="anon-count-") as scratch:
        yield scratch.path
