"""Measure a table, or one before and after: everything lazy in one computation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dask_anon.classes import ClassTable, equivalence_classes, released_columns
from dask_anon.classes._arrow import value_type
from dask_anon.classes._columns import require_column
from dask_anon.evaluation import judge_classes, together, with_loss
from dask_anon.hierarchy._types import kind_of
from dask_anon.measures._files import counted_columns, open_table
from dask_anon.measures._measures import Measures
from dask_anon.measures._told import told
from dask_anon.policy import RecursiveCLDiversity, TCloseness

if TYPE_CHECKING:
    from dask_anon.policy import Policy


def measure(data: Any, policy: Policy, *, released: Any = None) -> Measures:
    """Measure the risk and the utility of a table, or of one before and after.

    Parameters
    ----------
    data : pandas or Dask DataFrame, or path
        Any table, ours or not, anonymized or not.
    policy : Policy
        Names the quasi-identifiers and the sensitive columns, and what is asked.
    released : pandas or Dask DataFrame, or path, optional
        What `data` was released as.

    Returns
    -------
    Measures
        Prints as a table: each figure, before and after, and what it counts; then what the policy
        asks of the released table, or of the only one.

    Raises
    ------
    DataError, PolicyError
        A column is missing, or cannot be what a model needs.

    Notes
    -----
    O(records). A table is read once, for its quasi-identifiers and sensitive columns; where there
    are two, once more for what the labels cover of the original's domains.

    Examples
    --------
    >>> from dask_anon import Policy
    >>> policy = Policy(
    ...     columns={"zip": "quasi-identifier", "illness": "sensitive"},
    ...     privacy=[{"model": "k-anonymity", "k": 2}],
    ... )
    >>> people = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> found = measure(people, policy)
    >>> found["smallest_class"].before, found["distinct_l_diversity of 'illness'"].before
    (2, 2)
    >>> print(found.evaluation)
    requirement  asked   found  holds
    k-anonymity  k >= 2  2      yes
    """
    data, released = _opened(data, released, policy)
    tables = {"before": data} if released is None else {"before": data, "after": released}
    asked = {when: _asked_of(table, policy) for when, table in tables.items()}
    notes: tuple[str, ...] = ()
    certainty: dict[str, float] | None = None
    if released is None:
        found = together(asked)
    else:
        found, certainty, error = with_loss(asked, partial(_lost, data, released, policy))
        notes = () if error is None else (f"The information loss was not measured: {error}",)
    choices = {column: _choices(data, column, policy) for column in policy.sensitive}
    return told(policy, found, choices, certainty or {}, notes)


def _opened(data: Any, released: Any, policy: Policy) -> tuple[Any, Any]:
    """Files as frames; of released files in CSV, in the types of the original."""
    if isinstance(data, str | os.PathLike):
        data = open_table(data, policy)
    if isinstance(released, str | os.PathLike):
        types = {name: _type_of(data, name) for name in counted_columns(policy)}
        released = open_table(released, policy, types=types, is_release=True)
    return data, released


def _asked_of(table: Any, policy: Policy) -> dict[str, Any]:
    """What is taken from one table, lazily if it is a Dask frame."""
    counted = counted_columns(policy)
    shown = released_columns([str(name) for name in table.columns], policy.quasi_identifiers)
    hides = all(_shows_text(table[column]) for column in shown)
    if hides and not isinstance(table, pd.DataFrame):
        table = _read_once(table, [*shown, *counted])
    classes = equivalence_classes(table, policy, sensitive=counted, labels=False)
    return {
        "judged": judge_classes(classes, policy),
        "hidden": _n_hidden(table, shown) if hides else 0,
        "values": {column: _diversity(classes, column, policy) for column in policy.sensitive},
    }


def _read_once(table: Any, columns: Sequence[str]) -> Any:
    """The table, read by tasks of their own: what looks at it twice would read it twice, fused."""
    import dask.dataframe as dd

    for column in columns:
        require_column([str(name) for name in table.columns], column)
    chosen = table[list(columns)]
    return dd.from_delayed(chosen.to_delayed(), meta=chosen._meta, verify_meta=False)


def _diversity(classes: ClassTable, column: str, policy: Policy) -> dict[str, Any]:
    from dask_anon.metrics.diversity import diversity_figures

    return diversity_figures(
        classes,
        column=column,
        l=_l_of(column, policy),
        hierarchy=policy.taxonomy_of(column) if _in_tree(column, policy) else None,
        # Where they are an error, the models refuse them; that is one sentence, not a race of two.
        sensitive_nulls="value" if policy.sensitive_nulls == "value" else "ignore",
    )


def _l_of(column: str, policy: Policy) -> int:
    """The l for which the c of recursive diversity is measured."""
    own = [
        m.l for m in policy.privacy if isinstance(m, RecursiveCLDiversity) and m.column == column
    ]
    return own[0] if own else 2


def _in_tree(column: str, policy: Policy) -> bool:
    return any(
        isinstance(m, TCloseness) and m.column == column and m.distance == "hierarchical"
        for m in policy.privacy
    )


def _lost(data: Any, released: Any, policy: Policy) -> Any:
    from dask_anon.metrics.loss import normalized_certainty_penalty

    columns = policy.quasi_identifiers
    return normalized_certainty_penalty(released, data, quasi_identifiers=columns)


def _n_hidden(table: Any, columns: Sequence[str]) -> Any:
    """Records that show ``*`` in every quasi-identifier."""
    if isinstance(table, pd.DataFrame):
        return _hidden_in(table, columns)
    from dask.delayed import delayed

    return delayed(sum)([delayed(_hidden_in)(part, columns) for part in table.to_delayed()])


def _shows_text(column: Any) -> bool:
    """Whether a column holds texts, as far as its type tells."""
    from dask_anon.metrics._linkage import _may_be_text

    return _may_be_text(column.dtype)


def _hidden_in(part: pd.DataFrame, columns: Sequence[str]) -> int:
    hidden = np.ones(len(part), np.bool_)
    for column in columns:
        if hidden.any():  # in most tables nobody is left after the first
            hidden &= (part[column] == "*").fillna(False).to_numpy(dtype=np.bool_)
    return int(hidden.sum())


def _choices(data: Any, column: str, policy: Policy) -> dict[str, str]:
    """How a sensitive column is measured where there is a choice."""
    if _in_tree(column, policy):
        distance = "hierarchical"
    else:
        distance = "equal" if kind_of(_type_of(data, column)) in (None, "nominal") else "ordered"
    return {"distance": distance, "l": str(_l_of(column, policy))}


def _type_of(table: Any, column: str) -> pa.DataType:
    return value_type(table[column] if isinstance(table, pd.DataFrame) else table._meta[column])
