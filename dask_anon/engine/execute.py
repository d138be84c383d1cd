"""One stage of work on whatever scheduler the caller has.

A stage is a list of independent tasks. Each is a module-level function with small arguments that
publishes what is large by write-then-rename and returns what is small, so that a task may run twice
without harm. The driver waits for the whole stage: that barrier is what makes it safe to delete the
files of the stage before.
"""

from __future__ import annotations

import ctypes
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import dask
import pyarrow as pa
from dask.callbacks import Callback
from dask.delayed import delayed

from dask_anon import __version__
from dask_anon.errors import PlanError

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
    tasks = layer = _tasks(stage, calls)
    while len(layer) > 1:
        groups = [layer[i : i + fan_in] for i in range(0, len(layer), fan_in)]
        layer = _tasks(f"{stage}-merge", [(merge, group) for group in groups])
    return merge(_run(stage, tasks, layer))


def _tasks(stage: str, calls: Sequence[Call]) -> list[Any]:
    # Unique in a cluster that runs the jobs of several machines; the dashboard groups the tasks by
    # what stands before it.
    unique = uuid.uuid4().hex
    return [
        delayed(_perform, pure=False, traverse=_holds_tasks(arguments))(
            __version__, stage, function, *arguments, dask_key_name=f"anon-{stage}-{unique}-{i}"
        )
        for i, (function, *arguments) in enumerate(calls)
    ]


def _perform(version: str, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task, but not beside tasks of a version that may code or cut otherwise."""
    if version != __version__:
        raise PlanError(
            f"a worker has dask_anon {__version__}, this is {version}. "
            "Install the same version on the scheduler, the workers and here."
        )
    _begin(stage)
    try:
        return function(*arguments)
    finally:
        # Arrow keeps what it was given: 55 MiB after a million rows were encoded, which the next
        # task would have on top of its own. Giving it back takes less than a millisecond.
        pa.default_memory_pool().release_unused()


_stage_here = ""


def _begin(stage: str) -> None:
    """Where another stage begins, give back what the C library kept for tasks like the last.

    Within a stage it is used again, which saves a fifth of the time (``MALLOC_TRIM_THRESHOLD_``);
    for arrays of other sizes it would only be in the way: 160 MiB from the finish to the end.
    """
    global _stage_here
    stage = stage.removesuffix("-merge")
    if stage != _stage_here:
        _stage_here = stage
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
        if trim is not None:  # glibc alone has it
            trim(0)


def _holds_tasks(arguments: Sequence[Any]) -> bool:
    return any(isinstance(a, list) or hasattr(a, "__dask_graph__") for a in arguments)


def _run(stage: str, tasks: Sequence[Any], wanted: Sequence[Any] | None = None) -> list[Any]:
    """The results of `wanted` (by default the tasks themselves), counting the tasks."""
    wanted = tasks if wanted is None else wanted
    progress = _progress.get() or _SILENT
    progress.start(stage, len(tasks))
    try:
        client = current_client()
        if client is None:
            with _Count(progress, stage):
                return list(dask.compute(*wanted))
        return _gather(client, stage, tasks, wanted, progress)
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


def _gather(
    client: Any, stage: str, tasks: Sequence[Any], wanted: Sequence[Any], progress: Progress
) -> list[Any]:
    from distributed import KilledWorker

    counted = client.compute(list(tasks) if tasks is wanted else [*tasks, *wanted])
    futures = counted[-len(wanted) :]
    del counted[len(tasks) :]
    try:
        _watch(counted, stage, progress)
        return list(client.gather(futures))
    except KilledWorker as error:
        raise PlanError(
            f"workers died at {stage!r}, one after the other, on the same task: they had too "
            "little memory, most likely. Give each of them more, fewer threads, or a lower "
            "`anon.memory.limit` to plan with."
        ) from error
    except RuntimeError as error:
        if "deserialization of the task graph" not in str(error):
            raise
        raise PlanError(
            f"the scheduler cannot read the tasks of dask_anon {__version__}. "
            "Install the same version on the scheduler, the workers and here."
        ) from error
    finally:
        client.cancel(futures)


def _watch(futures: list[Any], stage: str, progress: Progress) -> None:
    """Count futures as they are done, until one fails. The list is emptied."""
    from distributed import as_completed

    waiting = as_completed(futures)
    futures.clear()  # a result that was merged is not kept for the sake of the count
    for future in waiting:
        if future.status == "error":
            return
        progress.advance(stage)
        del future


def current_client() -> Any:
    """The distributed client that Dask would use, or None for the local schedulers."""
    from dask.base import get_scheduler

    scheduler = get_scheduler()
    owner = getattr(scheduler, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None
