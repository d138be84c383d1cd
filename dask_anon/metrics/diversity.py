"""What the classes of a table give away about sensitive values: every model's figure, measured.

    classes = equivalence_classes(released, policy, sensitive=["illness"])
    t_closeness(classes, column="illness")                                       one figure
    diversity_figures(classes, column="illness")                                 all of a column
    violating_classes(classes, policy)                                           who breaks what

Each takes a class table, or a released table whose ``quasi_identifiers`` are named. A pandas frame
gives a number, a Dask frame a lazy one; what is computed together shares the class table's tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError, DataError
from dask_anon.metrics._classwise import figures
from dask_anon.metrics._closeness import (
    basic_beta,
    basic_beta_likeness,
    closest,
    delta_disclosure,
    delta_presence,
    disclosure,
    enhanced_beta,
    enhanced_beta_likeness,
    t_closeness,
)
from dask_anon.metrics._gain import (
    accuracy_gain,
    adversarial_accuracy_gain,
    adversarial_knowledge_gain,
    classification_metric,
    entropy_of_table,
    knowledge_gain,
    sensitive_entropy,
)
from dask_anon.metrics._l_diversity import (
    alpha,
    alpha_k_anonymity,
    distinct_l,
    distinct_l_diversity,
    entropy_l,
    entropy_l_diversity,
    recursive_c,
    recursive_cl_diversity,
    smallest_c,
)
from dask_anon.metrics._lazy import Tasks
from dask_anon.metrics._sizes import class_table
from dask_anon.metrics._values import SensitiveNulls
from dask_anon.metrics._violations import violating_classes

__all__ = [
    "adversarial_accuracy_gain",
    "adversarial_knowledge_gain",
    "alpha_k_anonymity",
    "basic_beta_likeness",
    "classification_metric",
    "delta_disclosure",
    "delta_presence",
    "distinct_l_diversity",
    "diversity_figures",
    "enhanced_beta_likeness",
    "entropy_l_diversity",
    "k_map",
    "recursive_c",
    "recursive_cl_diversity",
    "sensitive_entropy",
    "t_closeness",
    "violating_classes",
]


def diversity_figures(
    classes: ClassTable,
    *,
    column: str,
    l: int = 2,
    hierarchy: Any = None,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> dict[str, Any]:
    """All figures of one sensitive column, in two passes over the class table.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives lazy scalars.
    column : str
        The sensitive column.
    l : int, default 2
        For which l the c of recursive (c,l)-diversity is measured.
    hierarchy : DataFrame or sequence of sequences, optional
        If given, t-closeness is measured with the hierarchical distance, else with the one that
        goes with the column's type.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    dict of str to number, or to lazy scalars
        By the name of the function that gives the same figure alone.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> found = diversity_figures(released, column="illness", quasi_identifiers=["zip"])
    >>> found["distinct_l_diversity"], found["alpha_k_anonymity"], found["recursive_c"]
    (2, 0.5, 1.0)
    """
    if l < 2:
        raise AnonError(f"l of recursive (c,l)-diversity is at least 2, found {l}.")
    wanted = {
        "distinct_l_diversity": distinct_l(column),
        "entropy_l_diversity": entropy_l(column),
        "recursive_c": smallest_c(column, l),
        "alpha_k_anonymity": alpha(column),
        "t_closeness": closest(column, None if hierarchy is None else "hierarchical"),
        "basic_beta_likeness": basic_beta(column),
        "enhanced_beta_likeness": enhanced_beta(column),
        "delta_disclosure": disclosure(column),
        "adversarial_knowledge_gain": knowledge_gain(column),
        "adversarial_accuracy_gain": accuracy_gain(),
        "sensitive_entropy": entropy_of_table(),
    }
    return figures(
        classes,
        column,
        wanted,
        sensitive_nulls=sensitive_nulls,
        hierarchy=hierarchy,
        quasi_identifiers=quasi_identifiers,
    )


def k_map(
    classes: ClassTable, *, weight: str = "weight", quasi_identifiers: Sequence[str] | None = None
) -> Any:
    """k-map: the fewest people of the population that a class stands for.

    The smallest sum of the weights of a class [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that sums weights. A Dask frame gives a lazy scalar.
    weight : str, default "weight"
        The column of their sums; of a released table, the column of each record's weight.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 if there is no class.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aab"), "people": [100.0, 50.0, 75.0]})
    >>> k_map(released, weight="people", quasi_identifiers=["zip"])
    75.0

    References
    ----------
    .. [1] Sweeney, Achieving k-anonymity privacy protection using generalization and suppression,
       IJUFKS 10(5), 2002.
    """
    if quasi_identifiers is not None:
        classes = class_table(classes, quasi_identifiers, weight=weight)
        weight = "weight"
    if weight not in classes.columns:
        raise DataError(
            f"the class table has no column '{weight}'. Make it with "
            "equivalence_classes(released, policy, weight=...), or name the quasi_identifiers."
        )
    tasks = Tasks(classes, [weight])
    least = tasks.merged(_least, [tasks(_least_weight, part, weight) for part in tasks.parts])
    return tasks.numbers(tasks(_k_map, least), {"k_map": float})["k_map"]


def _least_weight(part: pd.DataFrame, weight: str) -> float | None:
    return float(part[weight].min()) if len(part) else None


def _least(parts: Sequence[float | None]) -> float | None:
    return min((part for part in parts if part is not None), default=None)


def _k_map(least: float | None) -> dict[str, float]:
    return {"k_map": 0.0 if least is None else least}
