"""Finish: each region alone in the compiled kernel, its answers left in segment order.

segments.0[region r] ┐
segments.1[region r] ├──▶ kernel ──▶ answers.r            what is known of every record's class
...                  ┘          └──▶ cuts.r, classes.r    Parquet, in the recoding
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dask_anon.engine.encode import Coding
from dask_anon.engine.execute import compute
from dask_anon.engine.tree import Ask, Extents, Top
from dask_anon.hierarchy import Domain
from dask_anon.kernels import common
from dask_anon.kernels.common import EVERY_KEY, Array, Scale, code_table, fill_table, number_records
from dask_anon.kernels.mondrian import LEAF, Subtree, mondrian
from dask_anon.kernels.segments import take_records
from dask_anon.recoding import (
    LabelSets,
    OrderedBounds,
    RegionClasses,
    classes_of,
    save_region,
    without_repetition,
)


@dataclass(frozen=True)
class Finished:
    """What the driver is told about a region."""

    n_classes: int
    smallest: int
    penalties: Array  # summed over the records, one an attribute


def finish(
    coding: Coding, scale: Scale, ask: Ask, top: Top, offsets: Array, recoding_path: str
) -> list[Finished]:
    """Finish every region; regions that are classes already cost a file of one row."""
    calls: list[tuple[Any, ...]] = []
    for r, node in enumerate(top.leaves()):
        if node in top.extents:
            extents, n = top.extents[node], top.n_records[node]
            calls.append((_finish_class, coding, scale, extents, n, r, recoding_path))
        else:
            segments = offsets[:, r : r + 2].copy()
            calls.append((_finish_region, coding, scale, ask, segments, r, recoding_path))
    return compute("finish", calls)


def answer_type(domains: Sequence[Domain]) -> np.dtype[Any]:
    """What an answers file holds of every record: low, high (and missing), or the set of labels."""
    fields: list[tuple[str, np.dtype[Any]]] = []
    for j, domain in enumerate(domains):
        if domain.kind == "nominal":
            fields.append((f"set_{j}", np.dtype(np.uint32)))
            continue
        fields += [(f"low_{j}", _narrow(domain)), (f"high_{j}", _narrow(domain))]
        if domain.has_missing:
            fields.append((f"missing_{j}", np.dtype(np.bool_)))
    # Whole 64-bit words are moved faster than records of any size.
    short = -sum(dtype.itemsize for _, dtype in fields) % 8
    return np.dtype([*fields, ("padding", f"V{short}")])


def _narrow(domain: Domain) -> np.dtype[Any]:
    # Classes of missing values only have low = the missing code, so it must fit too.
    n_codes = domain.n_codes
    return np.dtype(np.uint8) if n_codes is not None and n_codes < 256 else domain.code_dtype


def _finish_region(
    coding: Coding, scale: Scale, ask: Ask, segments: Array, region: int, recoding_path: str
) -> Finished:
    n, d = int((segments[:, 1] - segments[:, 0]).sum()), coding.n_columns
    if n == 0:  # an empty table
        return Finished(0, 0, np.zeros(coding.n_attributes))
    dtype = np.dtype(coding.dtype)
    rows = np.empty((n, d), dtype)
    keys = np.empty(n if coding.key_columns else 0, np.uint64)
    at = 0
    for p, (start, stop) in enumerate(segments):
        m = int(stop - start)
        if m == 0:
            continue
        read = coding.scratch.read(f"segments.{p}", dtype, m * d, int(start) * d * dtype.itemsize)
        rows[at : at + m] = read.reshape(m, d)
        if keys.size:
            keys[at : at + m] = coding.scratch.read(
                f"segment-keys.{p}", np.uint64, m, int(start) * 8
            )
        at += m
    order = None
    if keys.size:
        # In the order of their keys, "the first of equal records" is a matter of the records alone.
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
    table = code_table(n, d, dtype)
    fill_table(rows, d, table, 0)
    number_records(common.record_numbers(table))
    kept = rows if common.DISTINCT in scale.kind else None
    del rows
    subtree, found = mondrian(
        table, k=ask.k, scale=scale, ties=ask.ties, region_ties=ask.region_ties,
        distinct_cap=ask.distinct_cap, keys=keys if keys.size else None, rules=coding.rules(),
    )  # fmt: skip
    del table
    classes = classes_of(kept, found, scale)
    del kept
    of_record = found.of_record
    if order is not None:
        of_record = np.empty_like(found.of_record)
        of_record[order] = found.of_record
    return _published(coding, scale, subtree, classes, of_record, region, recoding_path)


def _finish_class(
    coding: Coding, scale: Scale, extents: Extents, n: int, region: int, recoding_path: str
) -> Finished:
    dtype = np.dtype(coding.dtype)
    bounds: list[OrderedBounds | LabelSets] = []
    for j in range(coding.n_attributes):
        if scale.kind[j] == common.DISTINCT:
            labels = extents.labels[j].astype(np.uint32)
            bounds.append(without_repetition(np.array([0, len(labels)]), labels))
        else:
            one = slice(j, j + 1)
            missing = extents.high[one] == scale.missing[j]
            low, high = extents.low[one].astype(dtype), extents.present_high[one].astype(dtype)
            bounds.append(OrderedBounds(low, high, missing))
    leaf = Subtree(
        np.array([LEAF], np.int16), np.zeros(1, dtype),
        np.array([EVERY_KEY] if coding.key_columns else [], np.uint64), np.zeros(1, np.int64),
    )  # fmt: skip
    classes = RegionClasses(np.array([n], np.int64), tuple(bounds))
    return _published(coding, scale, leaf, classes, np.zeros(n, np.uint32), region, recoding_path)


def _published(
    coding: Coding, scale: Scale, subtree: Subtree, classes: RegionClasses,
    of_record: Array, region: int, recoding_path: str,
) -> Finished:  # fmt: skip
    save_region(recoding_path, region, subtree, classes)
    answers = np.empty(len(classes.size), answer_type(coding.domains()))
    for j, bounds in enumerate(classes.bounds):
        if isinstance(bounds, LabelSets):
            answers[f"set_{j}"] = bounds.of_class
            continue
        answers[f"low_{j}"], answers[f"high_{j}"] = bounds.low, bounds.high
        if f"missing_{j}" in answers.dtype.fields:
            answers[f"missing_{j}"] = bounds.missing
    # One record is one cache line or two, wherever it goes next.
    coding.scratch.publish(f"answers.{region}", take_records(answers, of_record))
    return Finished(
        len(classes.size), int(classes.size.min(initial=2**62)), classes.penalties(scale)
    )
