"""Steps over the partitions of one table: done at once on pandas, a graph of tasks on Dask.

    part ─ step ─▶ ┐
    part ─ step ─▶ ┼─ merge ─▶ record {"t": 0.2, "l": 3} ──▶ a lazy t, a lazy l
    part ─ step ─▶ ┘

The graph is written down task by task. A class table has tasks for every pair of a partition and a
bucket, and Delayed would look through all of them again at every merge: 15 seconds for a hundred
partitions, before anything is computed. Equal steps have equal names, so what is computed together
does them once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import pandas as pd

# Results merged by one task: as many as the engine merges.
_FAN_IN = 16


@dataclass(frozen=True)
class _Result:
    """What a task will give, by the task's key."""

    key: Any


@dataclass(frozen=True, eq=False)
class _Call:
    """A function with the arguments that are known; the others come when the task runs."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, results: list[Any]) -> Any:
        waiting = iter(results)
        return self.function(*(_filled(argument, waiting) for argument in self.arguments))


class Tasks:
    """The partitions of a table, and what is done with them.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
    columns : sequence of str
        Which columns of it are looked at.
    """

    def __init__(self, frame: Any, columns: Sequence[str]) -> None:
        chosen = frame[list(columns)]
        self.lazy = not isinstance(chosen, pd.DataFrame)
        self.parts: list[Any] = [chosen]
        self._tasks: dict[Any, Any] = {}
        if self.lazy:
            chosen = chosen.optimize()
            self._tasks = dict(chosen.__dask_graph__())
            self.parts = [_Result(key) for key in chosen.__dask_keys__()]

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives, or will: results of other steps may be among `arguments`."""
        if not self.lazy:
            return function(*arguments)
        from dask.base import tokenize

        waiting: list[_Result] = []
        known = tuple(_shape(argument, waiting) for argument in arguments)
        keys = [result.key for result in waiting]
        name = getattr(function, "__name__", "merge").strip("_").replace("_", "-")
        key = f"{name}-{tokenize(function, known, keys)}"
        self._tasks[key] = (_Call(function, known), keys)
        return _Result(key)

    def merged(self, merge: Callable[[list[Any]], Any], results: Sequence[Any]) -> Any:
        """All results as one; `merge` is associative."""
        results = list(results)
        while len(results) > _FAN_IN:
            groups = [results[i : i + _FAN_IN] for i in range(0, len(results), _FAN_IN)]
            results = [self(merge, group) for group in groups]
        return self(merge, results)

    def numbers(self, record: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
        """The numbers of a record, or a lazy scalar for each.

        The scalars are Dask's own, as the sum of a column is: they add and divide, and are computed
        together with columns and sums.

        Parameters
        ----------
        record : mapping of str to number, or the result of a step that gives one
        kinds : mapping of str to type
            Which numbers, and whether each is an ``int`` or a ``float``.
        """
        if not self.lazy:
            return {name: record[name] for name in kinds}
        keys = {name: (f"{name.replace('_', '-')}-{record.key}", 0) for name in kinds}
        self._tasks.update({key: (getitem, record.key, name) for name, key in keys.items()})
        # Dask tries what is done with a number on this one, and somebody may divide: no zero.
        return {name: self._collection([keys[name]], kind(1)) for name, kind in kinds.items()}

    def frame(self, parts: Sequence[Any], meta: pd.DataFrame) -> Any:
        """The parts as one frame."""
        return self._collection([part.key for part in parts], meta) if self.lazy else parts[0]

    def _collection(self, keys: list[Any], meta: Any) -> Any:
        import dask.dataframe as dd

        from dask_anon.classes._graph import Graph

        name = keys[0][0] if isinstance(keys[0], tuple) else keys[0]
        divisions = (None,) * (len(keys) + 1)
        return dd.from_graph(
            Graph(self._tasks, name), meta, divisions, keys, name.rsplit("-", 1)[0]
        )


def _shape(argument: Any, waiting: list[_Result]) -> Any:
    """An argument with a place kept for each result in it, which is noted in `waiting`."""
    if isinstance(argument, _Result):
        waiting.append(argument)
        return _Result(None)
    if isinstance(argument, list):
        return [_shape(one, waiting) for one in argument]
    if isinstance(argument, dict):
        return {name: _shape(one, waiting) for name, one in argument.items()}
    return argument


def _filled(argument: Any, waiting: Any) -> Any:
    if isinstance(argument, _Result):
        return next(waiting)
    if isinstance(argument, list):
        return [_filled(one, waiting) for one in argument]
    if isinstance(argument, dict):
        return {name: _filled(one, waiting) for name, one in argument.items()}
    return argument
