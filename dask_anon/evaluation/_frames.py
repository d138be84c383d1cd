"""A class table judged by a policy: the values of its classes counted, then every class looked at.

    classes ──values──▶ ValueCounts ─┐ merged ──▶ Models ─┐
            └────────────────────────┴────────────────────┴──▶ found in each part ──▶ Judged

A pandas table is judged at once; of a Dask table the answer is lazy, one graph for both looks, so
that the table is made once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dask_anon.classes import ClassTable
from dask_anon.config import settings
from dask_anon.evaluation._findings import (
    Classes,
    Flags,
    Found,
    breaking,
    found_in,
    histograms_of,
    merge_found,
    pairs_of,
)
from dask_anon.evaluation._rows import Judged, min_size_of
from dask_anon.hierarchy import ValueCounts, count_values, merge_value_counts
from dask_anon.models import Models, columns_of

if TYPE_CHECKING:
    from dask_anon.policy import Policy

_FAN_IN = 16


@dataclass(frozen=True)
class _Counted:
    """Records of some classes, and how many of them have each sensitive value."""

    n_records: int
    values: dict[str, ValueCounts]


@dataclass(frozen=True)
class Asked:
    """A policy that has met the values of a table."""

    policy: Policy
    models: Models
    min_size: int


def judge_classes(classes: ClassTable, policy: Policy) -> Any:
    """Judge a class table by the privacy models of a policy.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        With the sensitive columns that the models need (``columns_of(policy)``) counted.
    policy : Policy

    Returns
    -------
    Judged, or a Dask Delayed of one

    Notes
    -----
    O(distinct pairs of class and value).
    """
    columns, cap = columns_of(policy), settings().sensitive_cap
    if isinstance(classes, pd.DataFrame):
        asked = _asked([_count(classes, columns, cap)], policy, cap)
        return _judged([_found(classes, asked)], asked)
    parts = classes.to_delayed()
    counted = _reduced([_lazy(_count, part, columns, cap) for part in parts], _merged, cap)
    asked = _lazy(_asked, counted, policy, cap)
    found = _reduced([_lazy(_found, part, asked) for part in parts], _merged_found)
    return _lazy(_judged, found, asked)


def keep_breaking(classes: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """The classes of a table that break a model."""
    return classes[_breaking(classes, asked)]


def _breaking(classes: pd.DataFrame, asked: Asked) -> Flags:
    return breaking(asked.models, _classes_in(classes, asked.models), asked.min_size)


def _count(classes: pd.DataFrame, columns: Sequence[str], cap: int) -> _Counted:
    values = {}
    for column in columns:
        _, listed, counts = _entries(classes, column)
        # Each class lists a value once; what is wanted is in how many records it is.
        known = count_values(listed, column=column, cap=cap)
        sums = np.bincount(known.encode(listed), counts, len(known.values) + 1).astype(np.int64)
        values[column] = replace(known, counts=sums[:-1], n_missing=int(sums[-1]))
    return _Counted(int(classes["size"].sum()), values)


def _merged(several: Sequence[_Counted], cap: int) -> _Counted:
    return _Counted(
        sum(one.n_records for one in several),
        {
            column: merge_value_counts([one.values[column] for one in several], cap=cap)
            for column in several[0].values
        },
    )


def _asked(several: Sequence[_Counted], policy: Policy, cap: int) -> Asked:
    whole = _merged(several, cap)
    models = Models.of(policy, whole.values, n_records=whole.n_records, refuse=False)
    return Asked(policy, models, min_size_of(policy, whole.n_records))


def _found(classes: pd.DataFrame, asked: Asked) -> Found:
    return found_in(asked.models, _classes_in(classes, asked.models), asked.min_size)


def _merged_found(several: Sequence[Found]) -> Found:
    return merge_found(several)


def _judged(several: Sequence[Found], asked: Asked) -> Judged:
    return Judged(asked.policy, asked.models, merge_found(several), asked.min_size)


def _classes_in(classes: pd.DataFrame, models: Models) -> Classes:
    columns = []
    for values, n_codes in zip(models.values, models.n_codes.tolist(), strict=True):
        numbers, listed, counts = _entries(classes, values.column)
        codes = values.encode(listed)
        pairs = pairs_of(numbers, codes, n_codes)
        columns.append(histograms_of(pairs, counts[codes < n_codes], len(classes)))
    return Classes(classes["size"].to_numpy(np.int64), tuple(columns))


def _entries(classes: pd.DataFrame, column: str) -> tuple[Any, pa.Array, Any]:
    """Of every entry of a column of lists: the number of its class, its value, its count."""
    lists = pa.chunked_array(pa.array(classes[column], from_pandas=False))
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    entries = pc.list_flatten(lists).combine_chunks()
    numbers = np.repeat(np.arange(len(classes)), lengths)
    return numbers, entries.field("value"), entries.field("n").to_numpy()


def _lazy(function: Callable[..., Any], *arguments: Any) -> Any:
    from dask.delayed import delayed

    word = function.__name__.strip("_")
    key = f"anon-judge-{word}-{uuid.uuid4().hex}"
    return delayed(function, pure=False)(*arguments, dask_key_name=key)


def _reduced(tasks: list[Any], merge: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Merge what tasks give, some at a time, until few are left."""
    while len(tasks) > _FAN_IN:
        groups = [tasks[i : i + _FAN_IN] for i in range(0, len(tasks), _FAN_IN)]
        tasks = [_lazy(merge, group, *arguments) for group in groups]
    return tasks
