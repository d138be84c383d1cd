"""A class table judged by a policy: the values of its classes counted, then every class looked at.

    classes ──values──▶ ValueCounts ─┐ merged ──▶ Models ─┐
            └────────────────────────┴────────────────────┴──▶ found in each part ──▶ Judged

A pandas table is judged at once; of a Dask table the answer is lazy, one graph for both looks, so
that the table is made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dask_anon.classes import ClassTable
from dask_anon.evaluation._findings import Classes, Found, Histograms, found_in, merge_found
from dask_anon.evaluation._rows import Judged, min_size_of
from dask_anon.hierarchy import ValueCounts
from dask_anon.metrics._steps import Steps
from dask_anon.metrics._values import (
    SensitiveNulls,
    Whole,
    count_lists,
    merge_counts,
    require_values,
    sparse_of,
)
from dask_anon.models import Models, columns_of

if TYPE_CHECKING:
    from dask_anon.policy import Policy


@dataclass(frozen=True, eq=False)
class _Asked:
    """A policy that has met the values of a table."""

    policy: Policy
    models: Models
    min_size: int


def judge_classes(classes: ClassTable, policy: Policy) -> Any:
    """Judge a class table by the privacy models of a policy.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        With the columns that the models need (``columns_of(policy)``) counted.
    policy : Policy

    Returns
    -------
    Judged, or a Dask Delayed of one

    Notes
    -----
    O(distinct pairs of class and value).
    """
    columns = columns_of(policy)
    for column in columns:
        require_values(classes, column)
    steps = Steps(classes)
    parts = steps.parts(classes, ["size", *columns])
    counts = {
        column: steps.merged(merge_counts, [steps(count_lists, part, column) for part in parts])
        for column in columns
    }
    n_records = steps.merged(sum, [steps(_n_records, part) for part in parts])
    asked = steps(_ask, policy, counts, n_records)
    found = steps.merged(_merge, [steps(_find, part, asked) for part in parts])
    return steps(_judge, found, asked)


def _n_records(classes: pd.DataFrame) -> int:
    return int(classes["size"].sum())


def _ask(policy: Policy, counts: Mapping[str, ValueCounts], n_records: int) -> _Asked:
    models = Models.of(policy, counts, n_records=n_records, refuse=False)
    return _Asked(policy, models, min_size_of(policy, n_records))


def _find(classes: pd.DataFrame, asked: _Asked) -> Found:
    models = asked.models
    nulls: SensitiveNulls = "value" if asked.policy.sensitive_nulls == "value" else "ignore"
    columns = []
    for values in models.values:
        sparse = sparse_of(classes, values.column, Whole.of(values, nulls))
        columns.append(Histograms(sparse.offsets, sparse.codes, sparse.counts))
    sizes = classes["size"].to_numpy(np.int64)
    return found_in(models, Classes(sizes, tuple(columns)), asked.min_size)


def _merge(several: Sequence[Found]) -> Found:
    return merge_found(several)


def _judge(found: Found, asked: _Asked) -> Judged:
    return Judged(asked.policy, asked.models, found, asked.min_size)
