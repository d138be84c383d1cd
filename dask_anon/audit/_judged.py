"""Rows of a bucket by class, and in each class its sensitive codes: distinct, ascending, counted.

    rows (lane, lane, codes …) ──number the classes──▶ (class, code) ──sort──▶ histograms

A table of some ten thousand rows is sorted in the cache of a core. Where a bucket has several
pieces of rows, their histograms are merged, so that memory is bounded by the distinct pairs of
class and value, never by the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from dask_anon.audit._tables import N_TABLES_BITS, gathered, scatter, with_last
from dask_anon.classes._grouping import number_equal
from dask_anon.classes._hashing import Words
from dask_anon.evaluation import Classes, Histograms, histograms_of, pairs_of

Numbers = npt.NDArray[np.int64]

_CODE_BITS = 32
_CODE = np.uint64((1 << _CODE_BITS) - 1)


def n_words(n_columns: int) -> int:
    """Words of a row: two of its hash, and one for every two sensitive columns."""
    return 2 + (n_columns + 1) // 2


def packed(hashes: Words, codes: Sequence[npt.NDArray[np.uint32]]) -> Words:
    """Rows of hashes with the codes of sensitive columns behind them.

    Examples
    --------
    >>> rows = packed(np.array([[1, 2]], np.uint64), [np.array([3], np.uint32)] * 3)
    >>> [f"{word:x}" for word in rows[0]]
    ['1', '2', '300000003', '3']
    """
    rows = np.zeros((len(hashes), n_words(len(codes))), dtype=np.uint64)
    rows[:, :2] = hashes
    for i, column in enumerate(codes):
        rows[:, 2 + i // 2] |= column.astype(np.uint64) << np.uint64(_CODE_BITS * (i % 2))
    return rows


def _codes(rows: Words, i: int) -> Words:
    return (rows[:, 2 + i // 2] >> np.uint64(_CODE_BITS * (i % 2))) & _CODE


def classes_of(
    batches: Iterable[Words], *, n_codes: Sequence[int], n_shared_bits: int, piece_rows: int
) -> Iterator[Classes]:
    """Classes of rows whose hashes share their top bits, some thousands at a time.

    Parameters
    ----------
    batches : iterable of arrays
        Rows as `packed` makes them.
    n_codes : sequence of int
        Of every sensitive column, the codes that are counted; a row with a higher one has nothing
        to count.
    n_shared_bits : int
        Top bits that all hashes share.
    piece_rows : int
        Rows held at once.
    """
    n_tables = 1 << N_TABLES_BITS
    tables: list[_Table | None] = [None] * n_tables
    ordered = np.empty((0, 0), dtype=np.uint64)
    pieces = gathered(batches, piece_rows, n_words(len(n_codes)))
    for piece, is_last in with_last(pieces):
        if len(ordered) < len(piece):
            ordered = np.empty_like(piece)
        begins = scatter(piece, 64 - n_shared_bits - N_TABLES_BITS, n_tables, ordered)
        for i in range(n_tables):
            table = _counted(ordered[begins[i] : begins[i + 1]], n_codes, tables[i])
            tables[i] = None if is_last else table
            if is_last and len(table.hashes):
                yield Classes(table.sizes, table.columns)


class _Table:
    """Classes of some rows."""

    def __init__(self, hashes: Words, sizes: Numbers, columns: tuple[Histograms, ...]) -> None:
        self.hashes, self.sizes, self.columns = hashes, sizes, columns


def _counted(rows: Words, n_codes: Sequence[int], before: _Table | None) -> _Table:
    """The classes of rows, and of those that were counted before."""
    hashes = np.ascontiguousarray(rows[:, :2])
    n_before = 0 if before is None else len(before.hashes)
    if before is not None:
        hashes = np.concatenate([before.hashes, hashes])
    # Classes that were there before are distinct and come first: they keep their numbers.
    numbers, first = number_equal(hashes)
    numbers, hashes = numbers[n_before:], hashes[first]
    sizes = np.bincount(numbers, minlength=len(hashes))
    columns = []
    for i, n in enumerate(n_codes):
        pairs = pairs_of(numbers, _codes(rows, i), n)
        columns.append(histograms_of(pairs, None, len(hashes)))
    if before is not None:
        sizes[:n_before] += before.sizes
        columns = [_merged(*both) for both in zip(before.columns, columns, strict=True)]
    return _Table(hashes, sizes, tuple(columns))


def _merged(before: Histograms, new: Histograms) -> Histograms:
    n_classes = len(new.offsets) - 1
    pairs = [
        pairs_of(
            np.repeat(np.arange(len(one.offsets) - 1), np.diff(one.offsets)), one.codes, 1 << 32
        )
        for one in (before, new)
    ]
    counts = np.concatenate([before.counts, new.counts])
    return histograms_of(np.concatenate(pairs), counts, n_classes)
