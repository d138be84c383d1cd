"""Lazy numbers of Dask, from a task that finds several of them.

    record, a task that gives {"t": 0.2, "l": 3}  ──▶  a lazy t, a lazy l

They are Dask's own scalars, as the sum of a column is: they add, divide, and are computed together
with columns and sums, sharing every task.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import getitem
from typing import Any


def lazy_scalars(record: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Make each number of a lazy record a lazy scalar.

    Parameters
    ----------
    record : Delayed
        Of a mapping of names to numbers.
    kinds : mapping of str to type
        Which numbers, and whether each is an ``int`` or a ``float``.

    Returns
    -------
    dict of str to dask.dataframe Scalar
    """
    import dask.dataframe as dd

    from dask_anon.classes._graph import Graph

    tasks = dict(record.__dask_graph__())
    keys = {name: (f"{name}-{record.key}", 0) for name in kinds}
    tasks.update({key: (getitem, record.key, name) for name, key in keys.items()})
    graph = Graph(tasks, str(record.key))
    return {
        # One, because Dask tries what is done with a number on this one, and somebody may divide.
        name: dd.from_graph(graph, kind(1), (None, None), [keys[name]], name.replace("_", "-"))
        for name, kind in kinds.items()
    }


def lazy_scalar(value: Any, kind: type) -> Any:
    """Make a lazy number a lazy scalar; a number that is known stays as it is."""
    if not hasattr(value, "__dask_graph__"):
        return value
    from dask import delayed

    return lazy_scalars(delayed(_record, pure=True)(value), {"figure": kind})["figure"]


def _record(value: Any) -> dict[str, Any]:
    return {"figure": value}
