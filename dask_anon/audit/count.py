"""An exact count of equivalence classes from released files alone, larger than memory.

    files ──▶ rows hashed, scattered by their hash (`_buckets`) ──▶ sizes of the classes

This is the auditor's own way to k: nothing of the engine's work is used, neither its codes nor its
tree nor its class numbers. A row is the tuple of its released values, hashed to 128 bits under a
key drawn for this count: two of 10⁹ classes are taken for one with a probability below 1e-20
(`classes._hashing`).

The sizes of all classes make a small histogram: n records have at most √(2n) different class sizes,
44,721 for 10⁹. What the classes show besides (`judge`) is counted on the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from dask_anon.audit._buckets import in_buckets
from dask_anon.audit._files import Chunk, chunks_of, look, read_batches
from dask_anon.audit._tables import Sizes, count_equal
from dask_anon.classes import ClassCounts
from dask_anon.classes._hashing import Keys, Words, hash_rows
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
    require_columns(columns)
    chunks = chunks_of(facts, columns, delimiter)
    n_rows = sum(file.n_rows for file in facts)
    work = _Sizes(Keys.draw(len(columns)))
    counted, n_read = in_buckets(chunks, work, n_rows=n_rows, scratch_dir=scratch_dir)
    sizes: dict[int, int] = {}
    for values, counts in counted:
        for size, n in zip(values.tolist(), counts.tolist(), strict=True):
            sizes[size] = sizes.get(size, 0) + n
    found = ClassCounts(dict(sorted(sizes.items())))
    require_all(found, n_read)
    return found


@dataclass(frozen=True)
class _Sizes:
    """Counts how large classes are."""

    keys: Keys
    n_words: int = 2

    def ready(self, scratch: str) -> _Sizes:
        return self

    def rows(self, chunk: Chunk) -> Iterator[Words]:
        for batch in batches_of(chunk):
            yield hashes_of(batch, chunk, self.keys)

    def count(self, batches: Iterable[Words], *, n_shared_bits: int, piece_rows: int) -> Sizes:
        return count_equal(batches, n_shared_bits=n_shared_bits, piece_rows=piece_rows)


def hashes_of(batch: pa.RecordBatch, chunk: Chunk, keys: Keys) -> Words:
    """Hashes of the rows of a batch by the columns that make the classes."""
    return hash_rows([batch.column(name) for name in chunk.columns], batch.num_rows, keys)


def batches_of(chunk: Chunk) -> Iterator[pa.RecordBatch]:
    """Read a chunk; Arrow's own message may quote what stands in a file."""
    batches = read_batches(chunk)
    while True:
        with _quietly(chunk):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


@contextmanager
def _quietly(chunk: Chunk) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException):
        names = ", ".join(sorted({piece.path for piece in chunk.slices}))
        raise DataError(f"cannot read the released columns of {names}.") from None


def require_columns(columns: Sequence[str]) -> None:
    """Refuse a count by nothing."""
    if not columns:
        raise DataError("there is no released column to count equivalence classes by. Name one.")


def require_all(counts: ClassCounts, n_read: int | None) -> None:
    """Refuse a count that lost rows on the way through scratch."""
    if n_read is not None and counts.n_records != n_read:
        raise DataError(
            f"the count lost records: {n_read:,} were read, {counts.n_records:,} were counted. "
            "Somebody changed the scratch directory meanwhile; give one that nobody else uses."
        )
