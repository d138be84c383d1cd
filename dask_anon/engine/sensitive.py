"""What privacy models need to know of the whole table: the values of its sensitive columns.

    parts ──sensitive columns only──▶ ValueCounts ──merged on the workers──▶ Models ──▶ scratch

One pass, and only where a model asks for it. The models are refused here, before any work, where
not even the whole table keeps them. What they know grows with the distinct values, so tasks read it
from the scratch directory instead of carrying it.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dask_anon.engine.execute import reduce
from dask_anon.engine.parts import table_of
from dask_anon.engine.scratch import Scratch, whole_file
from dask_anon.hierarchy import ValueCounts, count_values, merge_value_counts
from dask_anon.kernels.measures import Facts
from dask_anon.kernels.rules import Rules
from dask_anon.models import Models, columns_of
from dask_anon.policy import Policy

Counts = dict[str, ValueCounts]


def find_models(parts: Sequence[Any], policy: Policy, cap: int) -> Models:
    """The privacy models of a policy, knowing how often each sensitive value occurs.

    Parameters
    ----------
    parts : sequence of Reader or Delayed frame
    policy : Policy
    cap : int
        Distinct values that a sensitive column may have.

    Raises
    ------
    DataError, PolicyError
        The whole table does not keep a model, or a column has too many distinct values.
    """
    columns = columns_of(policy)
    if not columns or not parts:
        return Models.of(policy, {})
    calls = [(_count, part, columns, cap) for part in parts]
    return Models.of(policy, reduce("values", calls, partial(_merge, cap=cap)))


def _count(part: Any, columns: tuple[str, ...], cap: int) -> Counts:
    table = table_of(part, columns)
    return {name: count_values(table.column(name), column=name, cap=cap) for name in columns}


def _merge(results: list[Counts], *, cap: int) -> Counts:
    return {
        name: merge_value_counts([counts[name] for counts in results], cap=cap)
        for name in results[0]
    }


def rules_of(models: Models) -> tuple[Rules, Facts]:
    """The models as the compiled kernels take them."""
    first = np.concatenate([[0], np.cumsum(models.n_codes)]).astype(np.int64)
    rules = Rules(
        models.n_codes, first, models.kind, models.column,
        models.parameter, models.low, models.high,
    )  # fmt: skip
    return rules, models.facts


def save_models(scratch: Scratch, models: Models) -> None:
    """Leave the models where the tasks of this run find them."""
    with whole_file(scratch.file("models")) as temporary, open(temporary, "wb") as file:
        pickle.dump(models, file)


def load_models(scratch: Scratch) -> Models:
    """The models of this run, read once a process. The scratch directory is the run's own."""
    return _load(scratch.file("models"))


@lru_cache(maxsize=8)
def _load(path: str) -> Models:
    with open(path, "rb") as file:
        return pickle.load(file)
