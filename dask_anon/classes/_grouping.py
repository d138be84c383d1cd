"""Equal hashes get one number, in the order in which they are first seen.

hashes   a b a c b   ──▶   numbers   0 1 0 2 1     first   0 1 3
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dask_anon.classes._hashing import Words

Integers = npt.NDArray[np.int64]


def number_equal(hashes: Words) -> tuple[Integers, Integers]:
    """Number the classes of rows by their hashes.

    Parameters
    ----------
    hashes : uint64 array, (row, lane)

    Returns
    -------
    int64 array, (row,)
        The class of each row.
    int64 array, (class,)
        The row where each class is first seen.

    Notes
    -----
    The hash table grows with the classes, never with the rows: 48 to 96 bytes a class.

    Examples
    --------
    >>> rows = np.array([[7, 1], [7, 2], [7, 1]], dtype=np.uint64)
    >>> [numbers.tolist() for numbers in number_equal(rows)]
    [[0, 1, 0], [0, 1]]
    """
    numbers = np.empty(len(hashes), np.int64)
    first = np.empty(len(hashes), np.int64)
    slots = np.zeros((1 << 12, 3), np.uint64)  # (lane, lane, class + 1); 0: free
    at = n_classes = 0
    while at < len(hashes):
        if 2 * n_classes >= len(slots):
            slots = _grown(slots)
        at, n_classes = _number(hashes, at, n_classes, slots, numbers, first)
    return numbers, first[:n_classes].copy()


@njit(nogil=True, cache=True)
def _number(
    hashes: Words, at: int, n_classes: int, slots: Words, numbers: Integers, first: Integers
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Number rows from `at` until the table is half full; returns where it stopped."""
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(at, hashes.shape[0]):
        if 2 * n_classes >= slots.shape[0]:
            return i, n_classes
        a, b = hashes[i, 0], hashes[i, 1]
        # The second lane addresses: rows of one bucket share the top bits of the first.
        slot = b & mask
        while slots[slot, 2] != 0 and (slots[slot, 0] != a or slots[slot, 1] != b):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot, 2] == 0:
            first[n_classes] = i
            n_classes += 1
            slots[slot, 0], slots[slot, 1], slots[slot, 2] = a, b, np.uint64(n_classes)
        numbers[i] = np.int64(slots[slot, 2]) - 1
    return hashes.shape[0], n_classes


@njit(nogil=True, cache=True)
def _grown(slots: Words) -> Words:  # pragma: no cover - compiled
    # In large steps while it is small: half the moves.
    factor = 4 if slots.shape[0] < 1 << 20 else 2
    grown = np.zeros((factor * slots.shape[0], 3), np.uint64)
    mask = np.uint64(grown.shape[0] - 1)
    for i in range(slots.shape[0]):
        if slots[i, 2] != 0:
            slot = slots[i, 1] & mask
            while grown[slot, 2] != 0:
                slot = (slot + np.uint64(1)) & mask
            grown[slot, 0], grown[slot, 1], grown[slot, 2] = slots[i, 0], slots[i, 1], slots[i, 2]
    return grown


def counts_by_class(
    classes: Integers, codes: Integers, counts: Integers, n_classes: int
) -> tuple[Integers, Integers, Integers]:
    """Gather counts of values by class, the values ascending, and add up those of equal ones.

    Parameters
    ----------
    classes, codes, counts : int64 arrays
        In any order; a value of a class may come several times.
    n_classes : int

    Returns
    -------
    int64 array, (n_classes + 1,)
        Where the values of each class begin.
    int64 arrays
        Codes and counts.

    Examples
    --------
    >>> classes, codes = np.array([0, 1, 0, 0]), np.array([5, 2, 3, 5])
    >>> [found.tolist() for found in counts_by_class(classes, codes, np.array([1, 1, 2, 1]), 2)]
    [[0, 2, 3], [3, 5, 2], [2, 2, 1]]
    """
    offsets = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=n_classes))])
    gathered, n = np.empty_like(codes), np.empty_like(counts)
    _gather_by_class(classes, codes, counts, offsets[:-1].copy(), gathered, n)
    n_kept = _add_equal(offsets, gathered, n)
    return offsets, gathered[:n_kept], n[:n_kept]


@njit(nogil=True, cache=True)
def _gather_by_class(
    classes: Integers,
    codes: Integers,
    counts: Integers,
    at: Integers,
    to_codes: Integers,
    to_counts: Integers,
) -> None:  # pragma: no cover - compiled
    for i in range(classes.size):
        place = at[classes[i]]
        to_codes[place], to_counts[place] = codes[i], counts[i]
        at[classes[i]] = place + 1


@njit(nogil=True, cache=True)
def _add_equal(
    offsets: Integers, codes: Integers, counts: Integers
) -> int:  # pragma: no cover - compiled
    """Sort each class by code, add up, close the gaps; returns how many are left."""
    kept = 0
    for c in range(offsets.size - 1):
        start, stop = offsets[c], offsets[c + 1]
        if stop - start > 32:
            order = np.argsort(codes[start:stop])
            codes[start:stop] = codes[start:stop][order]
            counts[start:stop] = counts[start:stop][order]
        else:
            for i in range(start + 1, stop):
                code, count, j = codes[i], counts[i], i
                while j > start and codes[j - 1] > code:
                    codes[j], counts[j] = codes[j - 1], counts[j - 1]
                    j -= 1
                codes[j], counts[j] = code, count
        offsets[c] = kept
        for i in range(start, stop):
            if i > start and codes[kept - 1] == codes[i]:
                counts[kept - 1] += counts[i]
            else:
                codes[kept], counts[kept] = codes[i], counts[i]
                kept += 1
    offsets[-1] = kept
    return kept
