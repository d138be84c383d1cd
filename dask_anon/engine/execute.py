"""One stage of work on whatever scheduler the caller has.

A stage is a list of independent tasks. Each is a module-level function with small arguments that
publishes what is large by write-then-rename and returns what is small, so that a task may run twice
without harm. The driver waits for the whole stage: that barrier is what makes it safe to delete the
files of the stage before.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import dask
from dask.callbacks import Callback
from dask.delayed import delayed

Call = tuple[Any, ...]


class Progress(Protocol):
    """Somebody who wants to see how far a run has come."""

    def start(self, stage: str, n_tasks: int) -> None: ...

    def advance(self, stage: str) -> None: ...

    def finish(self, stage: str) -> None: ...


class _Silent:
    def start(self, stage: str, n_tasks: int) -> None:
        pass

    def advance(self, stage: str) -> None:
        pass

    def finish(self, stage: str) -> None:
        pass


_SILENT = _Silent()
_progress: ContextVar[Progress | None] = ContextVar("anon_progress", default=None)
_counter = itertools.count()


@contextmanager
def reporting_to(progress: Progress) -> Iterator[None]:
    """Tell `progress` about every stage that starts inside the block."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def compute(stage: str, calls: Sequence[Call]) -> list[Any]:
    """Run independent tasks and return their (small) results in order.

    Parameters
    ----------
    stage : str
        Name of the stage, one word or several joined by a hyphen; the dashboard groups the tasks by
        it.
    calls : sequence of (function, *arguments)
        Arguments may be Delayed, such as the partitions of a Dask DataFrame.
    """
    return _run(stage, _tasks(stage, calls))


def reduce(
    stage: str, calls: Sequence[Call], merge: Callable[[list[Any]], Any], fan_in: int = 16
) -> Any:
    """Run independent tasks and merge their results on the workers, `fan_in` at a time.

    `merge` must be associative; a single result is passed through it as well.
    """
    layer = _tasks(stage, calls)
    while len(layer) > 1:
        groups = [layer[i : i + fan_in] for i in range(0, len(layer), fan_in)]
        layer = _tasks(f"{stage}-merge", [(merge, group) for group in groups])
    return merge(_run(stage, layer, n_tasks=len(calls)))


def _tasks(stage: str, calls: Sequence[Call]) -> list[Any]:
    # The number after the name makes the key unique in a cluster that runs several jobs;
    # the dashboard groups by what stands before it.
    unique = f"{os.getpid()}{next(_counter)}"
    return [
        delayed(function, pure=False, traverse=_holds_tasks(arguments))(
            *arguments, dask_key_name=f"anon-{stage}-{unique}-{i}"
        )
        for i, (function, *arguments) in enumerate(calls)
    ]


def _holds_tasks(arguments: Sequence[Any]) -> bool:
    return any(isinstance(a, list) or hasattr(a, "__dask_graph__") for a in arguments)


def _run(stage: str, tasks: Sequence[Any], n_tasks: int | None = None) -> list[Any]:
    progress = _progress.get() or _SILENT
    progress.start(stage, n_tasks or len(tasks))
    try:
        client = current_client()
        if client is None:
            with _Count(progress, stage):
                return list(dask.compute(*tasks))
        return _gather(client, tasks, progress, stage)
    finally:
        progress.finish(stage)


class _Count(Callback):  # type: ignore[misc]
    """Counts a stage's own tasks on the schedulers that run in this process."""

    def __init__(self, progress: Progress, stage: str) -> None:
        super().__init__(posttask=self._after)
        self._progress, self._stage = progress, stage
        self._prefix = f"anon-{stage}-"

    def _after(self, key: Any, *_: Any) -> None:
        if isinstance(key, str) and key.startswith(self._prefix) and "-merge-" not in key:
            self._progress.advance(self._stage)


def _gather(client: Any, tasks: Sequence[Any], progress: Progress, stage: str) -> list[Any]:
    futures = client.compute(list(tasks))
    for future in futures:
        future.add_done_callback(lambda _: progress.advance(stage))
    try:
        return list(client.gather(futures))
    finally:
        client.cancel(futures)


def current_client() -> Any:
    """The distributed client that Dask would use, or None for the local schedulers."""
    from dask.base import get_scheduler

    scheduler = get_scheduler()
    owner = getattr(scheduler, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None
