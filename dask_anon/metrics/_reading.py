"""Partitions that are read a second time, because keeping them all would fill the memory.

part ─ count ─▶ ┐
part ─ count ─▶ ┴─ known ─▶ ready
                              └──▶ part again ─ measure by what is known ─▶ …
"""

from __future__ import annotations

from typing import Any

from dask_anon.metrics._steps import Steps


def read_after(steps: Steps, parts: list[Any], known: Any, reason: str) -> list[Any]:
    """The same partitions, read again when `known` is there.

    What is needed before and after something that takes all partitions is better read twice than
    kept: Dask would hold the whole table in memory until then. A partition that is made of several
    others, as by a shuffle, is kept, and so is what a cluster persists: it lies in its memory
    anyway.
    """
    if not steps.lazy:
        return parts
    from dask import delayed

    ready = steps(_ready, known)
    read = delayed(_Reading.again, pure=True)
    readings = [_Reading.of(part, reason) for part in parts]
    return [
        part if reading is None else read(reading, ready)
        for part, reading in zip(parts, readings, strict=True)
    ]


class _Reading:
    """The tasks that make a partition, one after the other, to be done by a single other one.

    A class of its own, so that Dask does not look inside and take them for tasks to schedule.
    """

    def __init__(self, tasks: list[tuple[Any, Any]], reason: str) -> None:
        self.tasks, self.token = tasks, (tasks[-1][0], reason)

    @classmethod
    def of(cls, part: Any, reason: str) -> _Reading | None:
        """None if a partition is made of several others, or is there already."""
        from distributed import Future

        graph, key = dict(part.dask), part.key
        tasks: list[tuple[Any, Any]] = []
        while True:
            task = graph.get(key)
            needed = getattr(task, "dependencies", None)
            is_there = isinstance(task, Future) or isinstance(getattr(task, "value", None), Future)
            if needed is None or len(needed) > 1 or is_there or not callable(task):
                return None
            tasks.insert(0, (key, task))
            if not needed:
                return cls(tasks, reason)
            (key,) = needed

    def again(self, _ready: None) -> Any:
        values: dict[Any, Any] = {}
        for key, task in self.tasks:
            values = {key: task(values)}
        return values[self.tasks[-1][0]]

    def __dask_tokenize__(self) -> Any:
        return "anon-reading", self.token


def _ready(_known: Any) -> None:
    """All that waits for something needs of it: a task that is done."""
