"""Is this table k-anonymous, l-diverse, t-close? Looked at as it is, without anonymizing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from dask_anon.classes import ClassTable, equivalence_classes
from dask_anon.errors import AnonError, counted
from dask_anon.evaluation._frames import judge_classes
from dask_anon.evaluation._rows import Judged, Requirement
from dask_anon.evaluation._together import together
from dask_anon.metrics.diversity import violating_classes
from dask_anon.models import columns_of

if TYPE_CHECKING:
    from dask_anon.policy import Policy
    from dask_anon.policy import PrivacyModelBase as PrivacyModel


@dataclass(frozen=True)
class Check:
    """A table looked at by privacy models.

    Attributes
    ----------
    rows : tuple of Requirement
        What was asked, what was found, whether it holds: one row a limit.
    n_records, n_classes : int
        Of the table.
    n_records_violating, n_classes_violating : int
        Those that break a model by themselves: too small, or a figure past its limit. Where all
        classes together break one (an average risk, say), nobody is to blame alone.
    violating_classes : pandas or lazy Dask DataFrame
        These classes: quasi-identifiers, ``size``, of each sensitive column that a model looks at
        the values with their counts, and ``violates``: which models. It holds values of the data.
    """

    rows: tuple[Requirement, ...]
    n_records: int
    n_classes: int
    n_records_violating: int
    n_classes_violating: int
    violating_classes: ClassTable = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether every model holds."""
        return all(row.holds for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, without values of the data."""
        return {
            "holds": self.holds,
            "requirements": [row.to_json() for row in self.rows],
            "n_records": self.n_records,
            "n_classes": self.n_classes,
            "n_records_violating": self.n_records_violating,
            "n_classes_violating": self.n_classes_violating,
        }

    def __str__(self) -> str:
        lines = [f"{row}." for row in self.rows]
        if self.n_classes_violating:
            broken = counted(self.n_classes, "equivalence class", "equivalence classes")
            verb = "breaks" if self.n_classes_violating == 1 else "break"
            lines.append(
                f"{self.n_classes_violating:,} of {broken} {verb} a model, with "
                f"{self.n_records_violating:,} of "
                f"{counted(self.n_records, 'record', 'records')}."
            )
        return "\n".join(lines)


def check(
    data: Any,
    models: Policy | Sequence[PrivacyModel | Mapping[str, Any]],
    quasi_identifiers: Sequence[str] | None = None,
) -> Check:
    """Check a table for privacy models, without anonymizing it.

    Parameters
    ----------
    data : pandas or Dask DataFrame
        Any table, released or not; a Dask frame is computed down to what its classes show.
    models : Policy or sequence of models
        A policy, or models such as ``{"model": "k-anonymity", "k": 5}``.
    quasi_identifiers : sequence of str, optional
        The columns that make the classes; needed with models, left out with a policy.

    Returns
    -------
    Check
        Prints as a sentence for each model. A table without records keeps every model.

    Raises
    ------
    PolicyError, DataError
        A model asks something impossible, or a column is missing or cannot be what a model needs.

    Notes
    -----
    O(records). The quasi-identifiers, and the sensitive columns that a model looks at, are read
    once; the violating classes of a Dask frame once more, when they are computed.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["021", "021", "100"], "illness": ["flu", "hiv", "flu"]})
    >>> diverse = {"model": "distinct-l-diversity", "column": "illness", "l": 2}
    >>> found = check(people, [{"model": "k-anonymity", "k": 2}, diverse], ["zip"])
    >>> print(found)
    k-anonymity k >= 2: found 1, FAILS.
    distinct-l-diversity of 'illness' l >= 2: found 1, FAILS.
    1 of 2 equivalence classes breaks a model, with 1 of 3 records.
    >>> found.violating_classes[["zip", "size"]].to_dict("list")
    {'zip': ['100'], 'size': [1]}
    """
    policy = _policy_of(models, quasi_identifiers)
    columns = columns_of(policy)
    lazy = not isinstance(data, pd.DataFrame)
    classes = equivalence_classes(data, policy, sensitive=columns, labels=not lazy)
    judged: Judged = together({"judged": judge_classes(classes, policy)})["judged"]
    if lazy:
        classes = equivalence_classes(data, policy, sensitive=columns)
    found = judged.found
    return Check(
        rows=judged.rows,
        n_records=found.counts.n_records,
        n_classes=found.counts.n_classes,
        n_records_violating=found.n_records,
        n_classes_violating=found.n_classes,
        violating_classes=violating_classes(classes, policy),
    )


def _policy_of(models: Any, quasi_identifiers: Sequence[str] | None) -> Policy:
    from dask_anon.policy import Policy

    if isinstance(models, Policy):
        if quasi_identifiers is not None:
            raise AnonError(
                "the policy names the quasi-identifiers already. Leave out quasi_identifiers."
            )
        return models
    if quasi_identifiers is None:
        raise AnonError(
            "which columns others could know is not said. Name them: "
            "check(data, models, quasi_identifiers=[...]), or give a policy."
        )
    roles = {_column_of(model): "sensitive" for model in models}
    roles.pop(None, None)
    return Policy(
        columns={**roles, **dict.fromkeys(quasi_identifiers, "quasi-identifier")},
        privacy=list(models),
        default_role="insensitive",
    )


def _column_of(model: Any) -> str | None:
    column = model.get("column") if isinstance(model, Mapping) else model.sensitive
    return column if isinstance(column, str) else None
