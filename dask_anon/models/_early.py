"""What can be refused before a record is read: types, taxonomies, algorithms that merge."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from dask_anon.errors import AnonError, PolicyError, Problem
from dask_anon.hierarchy import Taxonomy, count_values
from dask_anon.models._checks import track_of
from dask_anon.policy import Policy, TCloseness


def check_models(policy: Policy, types: Mapping[str, pa.DataType]) -> None:
    """Raise if a model cannot be asked of a column of its type, or a taxonomy cannot be used.

    Parameters
    ----------
    policy : Policy
    types : mapping of str to pyarrow.DataType
        The types of the columns; those that are not known yet may be left out.

    Raises
    ------
    PolicyError
        With everything at once.
    """
    problems: list[Problem] = []
    for i, model in enumerate(policy.privacy):
        name = model.sensitive or model.weighed
        if name is None:
            continue
        try:
            if isinstance(model, TCloseness) and model.distance == "hierarchical":
                Taxonomy.from_rows(policy.taxonomy_of(name), column=name)
            elif name in types:
                # A column of no values: refuses what the type cannot be.
                nothing = count_values(pa.array([], types[name]), column=name, cap=0)
                track_of(model, nothing, nothing.counts, policy)
        except PolicyError as error:
            problems += error.problems
        except AnonError as error:
            problems.append(Problem(f"privacy[{i}]", str(error)))
    if problems:
        raise PolicyError(list(dict.fromkeys(problems)))


def require_monotone(policy: Policy, algorithm: str) -> None:
    """Raise if merging classes may break a model, for algorithms that rely on the contrary."""
    problems = [
        Problem(
            f"privacy[{i}]",
            f"{model.model} may cease to hold where classes merge ({model.because}), and "
            f"{algorithm} merges classes. Choose another model or algorithm.",
        )
        for i, model in enumerate(policy.privacy)
        if not model.monotone
    ]
    if problems:
        raise PolicyError(problems)
