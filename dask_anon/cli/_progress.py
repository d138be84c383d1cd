"""Progress on stderr: a bar for each stage on a terminal, two plain lines a stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from dask_anon.engine.execute import Progress


@contextmanager
def progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Choose how to show progress by what `stream` (stderr) is."""
    from rich.console import Console

    stream = stream or sys.stderr
    console = Console(file=stream, stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(stream)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    bars = RichProgress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )
    with bars:
        yield Bars(bars)


class Lines:
    """``encode 0/50`` when a stage starts, ``encode 50/50`` when it ends.

    A stage that runs again, such as a cut for each level of the tree, adds to its count and its
    first line is not repeated.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = Lock()  # tasks end in the threads of the scheduler
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}

    def start(self, stage: str, n_tasks: int) -> None:
        """Note that `n_tasks` more tasks begin."""
        with self._lock:
            again = stage in self._total
            self._total[stage] = self._total.get(stage, 0) + n_tasks
            self._done.setdefault(stage, 0)
            if not again:
                self._line(stage)

    def advance(self, stage: str) -> None:
        """Note that a task is done."""
        with self._lock:
            if stage in self._done:
                self._done[stage] += 1

    def finish(self, stage: str) -> None:
        """Note that the stage is over, also when it failed."""
        with self._lock:
            if stage in self._total:
                self._line(stage)

    def _line(self, stage: str) -> None:
        print(f"{stage} {self._done[stage]}/{self._total[stage]}", file=self._stream, flush=True)


class Bars:
    """A bar for each stage; one that runs again grows."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._lock = Lock()
        self._tasks: dict[str, TaskID] = {}
        self._total: dict[str, int] = {}

    def start(self, stage: str, n_tasks: int) -> None:
        """Show the bar of a stage, or lengthen it."""
        with self._lock:
            self._total[stage] = self._total.get(stage, 0) + n_tasks
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(stage, total=n_tasks)
            else:
                self._bars.update(self._tasks[stage], total=self._total[stage])

    def advance(self, stage: str) -> None:
        """Move the bar by one task."""
        with self._lock:
            if stage in self._tasks:
                self._bars.advance(self._tasks[stage])

    def finish(self, stage: str) -> None:
        """Draw the bar once more, since the next stage may come late."""
        self._bars.refresh()
