"""Classes that break the models of a policy, without anonymizing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from dask_anon.classes import ClassTable
from dask_anon.kernels.measures import holds, values_of
from dask_anon.metrics._lazy import Tasks
from dask_anon.metrics._sizes import class_table
from dask_anon.metrics._values import (
    SensitiveNulls,
    Whole,
    count_lists,
    merge_counts,
    require_values,
    sparse_of,
)
from dask_anon.models import Models, class_size_of, columns_of
from dask_anon.policy import AlphaKAnonymity, KAnonymity, KMap, Policy, PrivacyModelBase

Broken = npt.NDArray[np.bool_]

# The column that says which models a class breaks.
VIOLATES = "violates"


def violating_classes(
    classes: ClassTable, policy: Policy, *, quasi_identifiers: Sequence[str] | None = None
) -> Any:
    """The classes that break a privacy model of a policy.

    Models that limit a figure of all classes together (average risks, uniqueness) are broken by no
    class alone, and are not looked at.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts the sensitive columns, and the weights, of the policy's models.
    policy : Policy
        Whose models are checked, by its ``sensitive_nulls``.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    pandas or lazy Dask DataFrame
        The rows of the class table that break a model, with ``violates``: which ones, in words.

    Raises
    ------
    DataError
        When the class table lacks a column that a model needs.
    PolicyError
        When a model cannot be asked of a column, such as a distance of texts on a line.

    Notes
    -----
    Two passes over the class table, none over the records.

    Examples
    --------
    >>> from dask_anon import Policy
    >>> policy = Policy(
    ...     columns={"zip": "quasi-identifier", "illness": "sensitive"},
    ...     privacy=[
    ...         {"model": "k-anonymity", "k": 2},
    ...         {"model": "distinct-l-diversity", "column": "illness", "l": 2},
    ...     ],
    ... )
    >>> released = pd.DataFrame({"zip": list("aabbc"), "illness": list("xyzzx")})
    >>> broken = violating_classes(released, policy, quasi_identifiers=["zip"])
    >>> print(broken[["zip", "violates"]].to_string(index=False))
    zip                                                         violates
      b                       distinct-l-diversity of 'illness' with l=2
      c k-anonymity with k=2; distinct-l-diversity of 'illness' with l=2
    """
    columns = columns_of(policy)
    classes = class_table(classes, quasi_identifiers, sensitive=columns, labels=True)
    for column in columns:
        require_values(classes, column)
    tasks = Tasks(classes, list(classes.columns))
    parts = tasks.parts
    counts = {
        column: tasks.merged(merge_counts, [tasks(count_lists, part, column) for part in parts])
        for column in columns
    }
    n_records = tasks.merged(sum, [tasks(_n_records, part) for part in parts])
    models = tasks(_models_of, policy, counts, n_records)
    found = [tasks(_violating, part, policy, models, n_records) for part in parts]
    meta = classes._meta if tasks.lazy else classes[:0]
    return tasks.frame(found, meta.assign(**{VIOLATES: _words([])}))


def _n_records(part: pd.DataFrame) -> int:
    return int(part["size"].sum())


def _models_of(policy: Policy, counts: Mapping[str, Any], n_records: int) -> Models:
    return Models.of(policy, counts, n_records=n_records, refuse=False)


def _violating(part: pd.DataFrame, policy: Policy, models: Models, n_records: int) -> pd.DataFrame:
    sizes = part["size"].to_numpy(np.int64)
    broken = [sizes < _size_needed(model, n_records) for model in policy.privacy]
    for i, check in enumerate(models.checks):
        values = models.values[check.column]
        nulls: SensitiveNulls = "value" if check.counts_missing else "ignore"
        sparse = sparse_of(part, values.column, Whole.of(values, nulls))
        found = values_of(
            check.kind, float(check.parameter), sparse.sizes, sparse.offsets, sparse.codes,
            sparse.counts, i, models.facts,
        )  # fmt: skip
        broken[check.place] |= np.array([not holds(v, check.low, check.high) for v in found], bool)
    table = np.array(broken, bool).reshape(len(broken), len(part))
    rows = np.flatnonzero(table.any(axis=0))
    words = ["; ".join(str(policy.privacy[i]) for i in np.flatnonzero(table[:, r])) for r in rows]
    return part.iloc[rows].reset_index(drop=True).assign(**{VIOLATES: _words(words)})


def _size_needed(model: PrivacyModelBase, n_records: int) -> int:
    """The fewest records of a class, where the model itself says so."""
    if isinstance(model, KAnonymity | AlphaKAnonymity):
        return model.k
    if isinstance(model, KMap) and model.population is not None:
        return class_size_of(model, n_records)
    return 0


def _words(words: Sequence[str]) -> Any:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(words, pa.string())]))
