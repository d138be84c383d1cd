"""Which released classes may be whose: people as bits, 64 to a word.

    up_to[j]              the people with the j smallest values of a column
    up_to[j] ^ up_to[i]   the people whom an interval covers, however wide it is
    & over the columns    the people whom a class covers

So 200,000 classes and 2,000 people take a fraction of a second, not 400 million comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dask_anon.metrics._cells import Cells

Bits = NDArray[np.uint64]
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Classes looked at together: their bits stay in the processor's cache, and should all of them cover
# all of 2,000 people, the pairs take some 50 MiB.
_BLOCK = 1024


class Cover(Protocol):
    """Whom the cells of one column cover."""

    def of(self, cells: Codes) -> Bits:
        """Bits of the people whom each of these cells covers: (cell, word)."""


class Known(Protocol):
    """The people's values of one column, ready to be looked up by what a cell shows."""

    def covered_by(self, cells: Cells) -> Cover:
        """Whom the cells cover."""


def known_of(people: Cells) -> Known:
    """Make the people's cells of a column, each of a single value, ready to be looked up."""
    absent = people.only_missing[people.of_record]
    lacking = np.bitwise_or.reduce(_bits(np.flatnonzero(absent), len(absent)), axis=0)
    present = np.flatnonzero(~absent)
    of_present = people.of_record[present]
    if people.low is not None:
        values = people.low[of_present]
        order = np.argsort(values, kind="stable")
        return _KnownNumbers(values[order], _running(_bits(present[order], len(absent))), lacking)
    assert people.offsets is not None
    assert people.codes is not None
    labels = people.codes[people.offsets[of_present]]
    order = np.argsort(labels, kind="stable")
    distinct, first = np.unique(labels[order], return_index=True)
    bits = _bits(present[order], len(absent))
    groups = np.bitwise_or.reduceat(bits, first, axis=0) if len(first) else bits
    nobody = np.zeros((1, bits.shape[1]), np.uint64)
    return _KnownLabels(distinct, np.concatenate([groups, nobody]), lacking)


def _bits(people: Codes, n_people: int) -> Bits:
    """One row for each of `people`, with their own bit: (row, word)."""
    bits = np.zeros((len(people), -(-n_people // 64)), np.uint64)
    bits[np.arange(len(people)), people >> 6] = np.uint64(1) << (people & 63).astype(np.uint64)
    return bits


def _running(bits: Bits) -> Bits:
    """What is set in the first 0, 1, 2, … rows."""
    up_to = np.zeros((len(bits) + 1, bits.shape[1]), np.uint64)
    np.bitwise_or.accumulate(bits, axis=0, out=up_to[1:])
    return up_to


@dataclass(frozen=True, eq=False)
class _KnownNumbers:
    values: Floats  # ascending
    up_to: Bits
    lacking: Bits

    def covered_by(self, cells: Cells) -> Cover:
        assert cells.low is not None
        assert cells.high is not None
        first = np.searchsorted(self.values, cells.low, "left")
        last = np.searchsorted(self.values, cells.high, "right")
        first[cells.only_missing] = last[cells.only_missing] = 0
        return _Intervals(self, first, last, cells.has_missing)


@dataclass(frozen=True, eq=False)
class _Intervals:
    known: _KnownNumbers
    first: Codes
    last: Codes
    has_missing: Mask

    def of(self, cells: Codes) -> Bits:
        bits = self.known.up_to[self.last[cells]]
        bits ^= self.known.up_to[self.first[cells]]
        bits[self.has_missing[cells]] |= self.known.lacking
        return bits


@dataclass(frozen=True, eq=False)
class _KnownLabels:
    labels: Codes  # ascending, those that occur
    groups: Bits  # the people with each, and a last row of nobody
    lacking: Bits

    def covered_by(self, cells: Cells) -> Cover:
        assert cells.offsets is not None
        assert cells.codes is not None
        place = np.searchsorted(self.labels, cells.codes)
        known = np.append(self.labels, -1)[place] == cells.codes
        of_label = self.groups[np.where(known, place, len(self.labels))]
        bits = np.zeros((len(cells.has_missing), self.groups.shape[1]), np.uint64)
        shown = np.flatnonzero(np.diff(cells.offsets))
        if len(shown):
            bits[shown] = np.bitwise_or.reduceat(of_label, cells.offsets[shown], axis=0)
        bits[cells.has_missing] |= self.lacking
        return _Sets(bits)


@dataclass(frozen=True, eq=False)
class _Sets:
    bits: Bits

    def of(self, cells: Codes) -> Bits:
        return self.bits[cells]


def count_compatible(
    known: Sequence[Known], columns: Sequence[Cells], n_people: int
) -> NDArray[np.int64]:
    """How many records of a partition may be each person's, by all columns together."""
    classes = pd.DataFrame({j: cells.of_record for j, cells in enumerate(columns)})
    sizes = classes.groupby(list(classes), sort=False).size()
    keys = sizes.index.to_frame(index=False).to_numpy(np.int64)
    weights: Codes = np.asarray(sizes, np.int64)
    covers = [one.covered_by(cells) for one, cells in zip(known, columns, strict=True)]
    counts = np.zeros(-(-n_people // 64) * 64, np.int64)
    for start in range(0, len(keys), _BLOCK):
        block = slice(start, start + _BLOCK)
        bits = covers[0].of(keys[block, 0])
        for j, cover in enumerate(covers[1:], start=1):
            bits &= cover.of(keys[block, j])
        _add(counts, bits, weights[block])
    return counts[:n_people]


def _add(counts: Codes, bits: Bits, weights: Codes) -> None:
    """Add each class's records to the people it covers."""
    classes, words = np.nonzero(bits)
    octets = bits[classes, words].astype("<u8").view(np.uint8).reshape(-1, 8)
    pair, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    people = words[pair] * 64 + bit
    # Sums of whole numbers below 2**53 are exact as floats.
    counts += np.bincount(people, weights[classes[pair]], len(counts)).astype(np.int64)
