"""How many equal hashes there are of each, in memory bounded by the distinct ones."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from numba import njit

from dask_anon.classes._hashing import Words

# Class sizes and how many classes have each.
Sizes = tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]

# A bucket of 2M rows makes 64 tables of 32k rows, which the cache of a core holds.
N_TABLES_BITS = 6


def count_equal(batches: Iterable[Words], *, n_shared_bits: int, piece_rows: int) -> Sizes:
    """Class sizes of rows whose hashes share their top bits.

    Rows are scattered once more, so that a table of classes stays in the cache of a core. Tables
    outlive a piece only if there are several pieces, which takes a class that is larger than one.
    """
    n_tables = 1 << N_TABLES_BITS
    spare: list[Words] = []
    tables = [_Table(spare) for _ in range(n_tables)]
    records: list[Words] = []
    ordered = np.empty((0, 2), dtype=np.uint64)
    for piece, is_last in with_last(gathered(batches, piece_rows)):
        if len(ordered) < len(piece):
            ordered = np.empty((len(piece), 2), dtype=np.uint64)
        offsets = scatter(piece, 64 - n_shared_bits - N_TABLES_BITS, n_tables, ordered)
        for i, table in enumerate(tables):
            table.add(ordered[offsets[i] : offsets[i + 1]])
            if is_last:
                records.append(table.take())
    if not records:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    return _sizes(np.concatenate(records))


def gathered(batches: Iterable[Words], piece_rows: int, n_words: int = 2) -> Iterator[Words]:
    """Batches of rows, of `n_words` each, gathered into pieces of `piece_rows`.

    A piece is good until the one after the next: two arrays take turns, because the pages of a
    fresh one cost as much as the count itself.
    """
    turns = [np.empty((piece_rows, n_words), dtype=np.uint64)]
    n_filled = 0
    for batch in batches:
        at = 0
        while at < len(batch):
            n = min(len(batch) - at, piece_rows - n_filled)
            turns[0][n_filled : n_filled + n] = batch[at : at + n]
            n_filled, at = n_filled + n, at + n
            if n_filled == piece_rows:
                yield turns[0]
                if len(turns) == 1:
                    turns.insert(0, np.empty_like(turns[0]))
                else:
                    turns.reverse()
                n_filled = 0
    if n_filled:
        yield turns[0][:n_filled]


def with_last(pieces: Iterator[Words]) -> Iterator[tuple[Words, bool]]:
    """Every piece, and whether it is the last one."""
    before: Words | None = None
    for piece in pieces:
        if before is not None:
            yield before, False
        before = piece
    if before is not None:
        yield before, True


def _sizes(records: Words) -> Sizes:
    if records.max() < 1 << 20:
        counts = np.bincount(records.view(np.int64))
        sizes = np.flatnonzero(counts)
        return sizes.astype(np.uint64), counts[sizes]
    return np.unique(records, return_counts=True)


class _Table:
    """An open-addressing hash table of classes: grows with the distinct ones, never with rows.

    Arrays that a table is done with go to `spare`, for the next table.
    """

    def __init__(self, spare: list[Words]) -> None:
        self._spare = spare
        self._slots = np.zeros((0, 3), dtype=np.uint64)  # (lane, lane, records); 0 records: free
        self._n_used = 0

    def take(self) -> Words:
        """Give the records of each class, and be empty."""
        slots = self._slots
        records: Words = slots[:, 2][slots[:, 2] > 0]
        slots[:] = 0
        self._spare.append(slots)
        self._slots, self._n_used = slots[:0], 0
        return records

    def add(self, rows: Words) -> None:
        """Count `rows` in."""
        for i in range(0, len(rows), 1 << 17):
            batch = rows[i : i + (1 << 17)]
            needed = 2 * (self._n_used + len(batch))  # at most half full
            if needed > len(self._slots):
                grown = self._empty(1 << (needed - 1).bit_length())
                _move(self._slots, grown)
                self._slots = grown
            self._n_used += _insert(self._slots, batch)

    def _empty(self, n_slots: int) -> Words:
        while self._spare:
            slots = self._spare.pop()
            if len(slots) == n_slots:
                return slots
        return np.zeros((n_slots, 3), dtype=np.uint64)


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


@njit(nogil=True, cache=True)
def scatter(
    rows: Words, shift: int, n_buckets: int, out: Words
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Order rows by some bits of their first lane (counting sort); returns where buckets begin.

    The number of buckets is a power of two. What stands behind the lanes goes along.
    """
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
        for word in range(2, rows.shape[1]):
            out[at[to], word] = rows[i, word]
        at[to] += 1
    return offsets
