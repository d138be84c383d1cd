"""Encode: each quasi-identifier once into small order-preserving integers.

    partition p ── quasi-identifiers only ──▶ codes.p   (records, columns) row-major,
                                                        uint16 | uint32 | uint64
                                              keys.p    a key a record, where ties are divided

The sensitive columns that a privacy model counts follow the quasi-identifiers in every row, so that
all that moves codes moves them too.

A task returns what the driver needs and no more: extents, missing values, capped distinct values
and a few thousand records' codes, on which the tree bases its guesses (never its decisions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dask_anon.algorithms.mondrian import priority_of
from dask_anon.engine.execute import reduce
from dask_anon.engine.parts import table_of
from dask_anon.engine.scratch import Scratch, refuse_unseen
from dask_anon.engine.sensitive import load_models, rules_of
from dask_anon.errors import DataError
from dask_anon.hierarchy import Domain, FloatDomain
from dask_anon.kernels import common
from dask_anon.kernels.common import Array, Scale
from dask_anon.kernels.measures import Facts
from dask_anon.kernels.rules import Rules
from dask_anon.kernels.segments import checksum, distinct_up_to
from dask_anon.kernels.vector import LANES
from dask_anon.models import Models
from dask_anon.recoding import load_domains, record_keys

_KINDS = {"difference": common.DIFFERENCE, "float": common.FLOAT, "distinct": common.DISTINCT}


@dataclass(frozen=True)
class Coding:
    """How partitions are encoded; domains lie in the scratch directory, so that tasks stay small.

    Attributes
    ----------
    columns : tuple of str
        The quasi-identifiers in policy order.
    dtype : str
        Type of the codes.
    key_columns : tuple of str
        The columns that a record's key is made from; empty where no key is needed.
    sensitive : tuple of str
        The sensitive columns that a privacy model counts.
    """

    scratch: Scratch
    columns: tuple[str, ...]
    dtype: str
    key_columns: tuple[str, ...]
    seed: int
    distinct_cap: int
    sample_size: int
    sensitive: tuple[str, ...] = ()
    domains_at: str = "domains"

    @property
    def n_attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.columns)

    @property
    def n_columns(self) -> int:
        """Codes of a record: those of the quasi-identifiers, then of sensitive columns."""
        return len(self.columns) + len(self.sensitive)

    def rules(self) -> tuple[Rules, Facts] | None:
        """What every class must satisfy beside its size."""
        if not self.sensitive:
            return None
        refuse_unseen(self.scratch.path)
        return rules_of(load_models(self.scratch))

    def domains(self) -> tuple[Domain, ...]:
        """The domains of the quasi-identifiers, read from scratch once a process."""
        refuse_unseen(self.scratch.path)
        return _domains(self.scratch.file(self.domains_at))

    def codes(self, part: int) -> Array:
        """Flat codes of a partition, with a block of padding that vector loads may touch."""
        return self.scratch.read(f"codes.{part}", self.dtype)

    def keys(self, part: int) -> Array:
        """Keys of a partition's records, or none."""
        if not self.key_columns:
            return np.empty(0, np.uint64)
        return self.scratch.read(f"keys.{part}", np.uint64)


@dataclass(frozen=True)
class Encoded:
    """What encoding tells about one partition, or all of them."""

    n_records: tuple[int, ...]  # one a partition
    low: Array
    high: Array
    present_high: Array
    n_missing: Array
    distinct: tuple[Array | None, ...]  # None: more than the cap
    sample: Array
    checksum: tuple[int, int]

    @property
    def total(self) -> int:
        """Records in all."""
        return sum(self.n_records)


def code_type(domains: Sequence[Domain], models: Models) -> np.dtype[Any]:
    """The smallest type that holds the codes of every domain and every sensitive column."""
    own = [np.min_scalar_type(len(values.values)) for values in models.values]
    wide = [np.dtype(np.uint16), *own, *(domain.code_dtype for domain in domains)]
    return max(wide, key=lambda dtype: dtype.itemsize)


@lru_cache(maxsize=8)
def _domains(path: str) -> tuple[Domain, ...]:
    return load_domains(path)


def encode(coding: Coding, parts: Sequence[Any]) -> Encoded:
    """Encode every partition; parts are Readers or Delayed frames."""
    calls = [(_encode, coding, p, part) for p, part in enumerate(parts)]
    return reduce("encode", calls, partial(_merge, distinct_cap=coding.distinct_cap))


def _encode(coding: Coding, p: int, part: Any) -> Encoded:
    domains, dtype = coding.domains(), np.dtype(coding.dtype)
    needed = tuple(dict.fromkeys((*coding.columns, *coding.sensitive, *coding.key_columns)))
    table = table_of(part, needed)
    columns = [domain.encode(table.column(domain.column)) for domain in domains]
    rows = np.empty((table.num_rows, coding.n_columns), dtype)
    for j, column in enumerate(columns):
        rows[:, j] = column
    for j, values in enumerate(load_models(coding.scratch).values if coding.sensitive else ()):
        rows[:, len(domains) + j] = values.encode(table.column(values.column))
    padding = np.zeros(LANES, dtype)
    coding.scratch.publish(f"codes.{p}", rows.reshape(-1), padding)
    if coding.key_columns:
        keys = record_keys(table, coding.key_columns, coding.seed)
        coding.scratch.publish(f"keys.{p}", keys)
    return _told(columns, rows, domains, coding)


def _told(
    columns: Sequence[Array], rows: Array, domains: Sequence[Domain], coding: Coding
) -> Encoded:
    n, d = len(rows), len(columns)
    low, high = np.full(d, 2**64 - 1, np.uint64), np.zeros(d, np.uint64)
    present_high, n_missing = np.zeros(d, np.uint64), np.zeros(d, np.int64)
    for j, column in enumerate(columns if n else ()):
        low[j], high[j] = column.min(), column.max()
        present_high[j] = high[j]
        if high[j] == domains[j].missing_code:
            present = column[column != high[j]]
            n_missing[j] = n - len(present)
            present_high[j] = present.max(initial=0)
    step = max(1, n // coding.sample_size)
    sums = checksum(rows, np.uint64(coding.seed))
    return Encoded(
        (n,), low, high, present_high, n_missing,
        tuple(
            _distinct(column, domain, coding.distinct_cap)
            for column, domain in zip(columns, domains, strict=True)
        ),
        rows[::step, :d].copy(), (int(sums[0]), int(sums[1])),
    )  # fmt: skip


def _distinct(column: Array, domain: Domain, cap: int) -> Array | None:
    n_values = domain.n_codes
    if n_values is not None and n_values <= cap:
        seen = np.zeros(n_values + 1, np.bool_)
        seen[column] = True
        return np.flatnonzero(seen).astype(np.uint64)
    size = 1 << (2 * cap).bit_length()
    found = np.empty(cap, column.dtype)
    table, taken = np.empty(size, column.dtype), np.empty(size, np.uint8)
    n = distinct_up_to(column, cap, table, taken, found)
    return None if n > cap else np.sort(found[:n]).astype(np.uint64)


def _merge(results: list[Encoded], *, distinct_cap: int) -> Encoded:
    return Encoded(
        tuple(n for r in results for n in r.n_records),
        np.min([r.low for r in results], axis=0),
        np.max([r.high for r in results], axis=0),
        np.max([r.present_high for r in results], axis=0),
        np.sum([r.n_missing for r in results], axis=0),
        tuple(
            _union([r.distinct[j] for r in results], distinct_cap)
            for j in range(len(results[0].distinct))
        ),
        np.concatenate([r.sample for r in results]),
        (
            sum(r.checksum[0] for r in results) % 2**64,
            sum(r.checksum[1] for r in results) % 2**64,
        ),
    )


def _union(sets: list[Array | None], cap: int) -> Array | None:
    known = [s for s in sets if s is not None]
    if len(known) < len(sets):
        return None
    union = np.unique(np.concatenate(known))
    return None if len(union) > cap else union


def scale_of(domains: Sequence[Domain], encoded: Encoded, distinct_cap: int) -> Scale:
    """How spans of these domains are measured, from what encoding found."""
    kind = np.array([_KINDS[domain.span_kind] for domain in domains], np.int64)
    distinct = [distinct_cap if s is None else min(len(s), distinct_cap) for s in encoded.distinct]
    width, offset, top = np.zeros(len(kind)), np.zeros(len(kind)), np.zeros(len(kind))
    half = common.half_of_float
    for j in range(len(kind)):
        if encoded.high[j] <= encoded.low[j]:
            continue  # constant, or no record at all
        if kind[j] == common.DISTINCT:
            s = encoded.distinct[j]
            every = _n_labels(domains[j]) + int(encoded.n_missing[j] > 0)
            n_labels = every if s is None else len(s)
            width[j], offset[j] = n_labels - 1, 1.0
        elif kind[j] == common.FLOAT:
            top[j] = half(encoded.present_high[j])
            width[j] = top[j] - half(encoded.low[j])
        else:
            width[j] = float(encoded.high[j] - encoded.low[j])
    return Scale(
        kind=kind,
        width=width,
        offset=offset,
        missing=np.array([domain.missing_code for domain in domains], np.uint64),
        top=top,
        priority=np.array(priority_of(distinct), np.int64),
        n_codes=np.array(
            [
                _n_labels(d) + 1 if k == common.DISTINCT else 0
                for d, k in zip(domains, kind, strict=True)
            ],
            np.int64,
        ),
    )


def _n_labels(domain: Domain) -> int:
    assert domain.n_codes is not None
    return domain.n_codes


def settled(domains: Sequence[Domain], encoded: Encoded) -> tuple[Domain, ...]:
    """The domains, knowing now which of them have missing values."""
    return tuple(_settled(domain, encoded, j) for j, domain in enumerate(domains))


def _settled(domain: Domain, encoded: Encoded, j: int) -> Domain:
    has_missing = bool(encoded.n_missing[j])
    if isinstance(domain, FloatDomain):
        low, high = int(encoded.low[j]), int(encoded.present_high[j])
        return domain.bounded(low, high, has_missing=has_missing)
    return replace(domain, has_missing=has_missing)


def refuse_missing(domains: Sequence[Domain], encoded: Encoded) -> None:
    """Raise where the policy has no place for missing values and there are some."""
    found = [
        f"{domain.column!r} ({n:,})"
        for domain, n in zip(domains, encoded.n_missing, strict=True)
        if n
    ]
    if found:
        raise DataError(
            f"quasi-identifiers have missing values: {', '.join(found)}. Fill them, or let the "
            "policy say `missing: {quasi-identifiers: own-value}`."
        )
