"""Label and write: bounds return to the records' partitions, and only now are other columns read.

    answers.r ──segment of partition p──▶ bounds in segment order ──places──▶ labels ┐
    input part p ── other columns ─────────────────────────────────────────────────  ┴─▶ part-
    XXXXX.parquet

Rows of a written part are permuted with the labels in one gather, and the parts among themselves:
the order of the rows would re-identify. The permutation depends on the seed and on the original
data, so that nobody who holds the release alone can undo it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dask_anon.engine import files
from dask_anon.engine.encode import Coding
from dask_anon.engine.execute import compute
from dask_anon.engine.finish import answer_type
from dask_anon.engine.parts import table_of
from dask_anon.engine.regroup import places
from dask_anon.errors import DataError
from dask_anon.hierarchy import Domain, set_labels
from dask_anon.kernels.common import Array
from dask_anon.kernels.segments import take_records
from dask_anon.policy import Bound, Policy
from dask_anon.recoding import OrderedBounds, RecordSets, load_sets, pseudonyms, released


@dataclass(frozen=True)
class Writing:
    """How parts are written; the same for all of them.

    Attributes
    ----------
    target : str
        The directory (or URL) that the files appear in.
    shuffle_key : bytes or None
        What permutations are made from; None keeps the order.
    """

    coding: Coding
    policy: Policy
    bound: Bound
    recoding_path: str
    target: str
    format: str
    compression: str
    shuffle_key: bytes | None


@dataclass(frozen=True)
class WrittenFile:
    """One file of the release."""

    name: str
    sha256: str
    n_bytes: int
    n_records: int


def shuffle_key(seed: int, checksum: tuple[int, int]) -> bytes:
    """A key from the seed and the original quasi-identifiers, which only the data holder has."""
    return hashlib.sha256(repr((seed, *checksum)).encode()).digest()


def write_parts(writing: Writing, parts: Sequence[Any], offsets: Array) -> list[WrittenFile]:
    """Write every partition as a file of the release, sorted by name.

    `offsets` is (partitions, regions + 1): where each region's segment begins in each partition.
    """
    n_parts = len(parts)
    numbers = np.arange(n_parts)
    if writing.shuffle_key is not None:
        numbers = _generator(writing.shuffle_key, "parts").permutation(n_parts)
    counts = np.diff(offsets, axis=1)
    starts = np.cumsum(counts, axis=0) - counts
    calls = [
        (_write, writing, p, part, offsets[p], starts[p], f"part-{numbers[p]:05d}")
        for p, part in enumerate(parts)
    ]
    return sorted(compute("write", calls), key=lambda file: file.name)


def _write(
    writing: Writing, p: int, part: Any, offsets: Array, starts: Array, name: str
) -> WrittenFile:
    payload = table_of(part, writing.bound.payload)
    place = places(writing.coding, p, offsets)
    if payload.num_rows != len(place):
        raise DataError(
            f"partition {p} had {len(place):,} rows when it was encoded and {payload.num_rows:,} "
            "when it was written. The input changed during the run; run again."
        )
    if writing.shuffle_key is not None:
        order = np.arange(len(place), dtype=np.uint32)
        _generator(writing.shuffle_key, f"rows of {name}").shuffle(order)
        place, payload = place[order], payload.take(pa.array(order))
    table = _assembled(writing, payload, offsets, starts, place)
    return WrittenFile(
        *files.write(table, writing.target, name, writing.format, writing.compression)
    )


def _generator(key: bytes, purpose: str) -> np.random.Generator:
    seed = hashlib.sha256(key + purpose.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(seed, "big")))


def _assembled(
    writing: Writing, payload: pa.Table, offsets: Array, starts: Array, place: Array
) -> pa.Table:
    bound, domains = writing.bound, {d.column: d for d in writing.coding.domains()}
    answers = _Answers(writing, offsets, starts, place)
    fields, arrays = [], []
    for name in bound.released:
        if name in domains:
            j = bound.quasi_identifiers.index(name)
            records = answers.of(j, domains[name])
            shown = released(domains[name], writing.policy.format_of(name), records)
            fields += [
                field.with_metadata(
                    files.LABEL if pa.types.is_dictionary(field.type) else files.BOUND
                )
                for field in shown.fields
            ]
            arrays += shown.arrays
        elif name in bound.identifiers_pseudonymized:
            hidden = pseudonyms(payload.column(name), writing.policy.key_of(name))
            fields.append(pa.field(name, hidden.type))
            arrays.append(hidden)
        else:
            fields.append(payload.schema.field(name))
            arrays.append(payload.column(name))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


class _Answers:
    """The answers for one partition, in the order in which its rows are written."""

    def __init__(self, writing: Writing, offsets: Array, starts: Array, place: Array) -> None:
        self._writing, self._place = writing, place
        self._regions = [int(r) for r in np.flatnonzero(np.diff(offsets))]
        self._begins = offsets
        dtype = answer_type(writing.coding.domains())
        segments = np.empty(int(offsets[-1]), dtype)
        for r in self._regions:
            begin, end = int(offsets[r]), int(offsets[r + 1])
            writing.coding.scratch.read_into(
                f"answers.{r}", segments[begin:end], int(starts[r]) * dtype.itemsize
            )
        self._answers = take_records(segments, place)

    def of(self, j: int, domain: Domain) -> OrderedBounds | RecordSets:
        """Bounds of attribute `j`."""
        if domain.kind == "nominal":
            return self._sets(j, domain)
        low, high = (
            self._answers[f"{end}_{j}"].astype(domain.code_dtype) for end in ("low", "high")
        )
        missing = self._answers[f"missing_{j}"] if domain.has_missing else np.zeros(0, np.bool_)
        return OrderedBounds(low, high, missing)

    def _sets(self, j: int, domain: Domain) -> RecordSets:
        """Labels of the sets that occur here: those of all regions would grow with the table."""
        texts, n_texts = [pa.array([], pa.string())], 0
        of_record = np.empty(len(self._place), np.int64)
        of_record[self._place] = self._answers[f"set_{j}"]  # in the order of the segments
        for r in self._regions:
            offsets, codes = load_sets(self._writing.recoding_path, r, j)
            segment = of_record[self._begins[r] : self._begins[r + 1]]
            occurs = np.zeros(len(offsets) - 1, np.bool_)
            occurs[segment] = True
            size = np.diff(offsets)
            texts.append(
                set_labels(
                    domain,
                    np.concatenate([[0], np.cumsum(size[occurs])]),
                    codes[np.repeat(occurs, size)],
                )
            )
            segment[:] = (np.cumsum(occurs) - 1 + n_texts)[segment]
            n_texts += len(texts[-1])
        return RecordSets(of_record[self._place], pa.concat_arrays(texts))
