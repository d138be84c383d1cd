"""Faults: workers die, tasks run twice, tasks fail; the release is the same, or there is none.

Workers are processes of this test, and they kill themselves: the first task of a stage does so
once, at the worst moment it has, when its file is complete and has not appeared yet.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from running import STAGES, policy_for, released, small, tasks_replaced, write_people

import dask_anon as anon
from dask_anon.engine import execute


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("faults") / "people")


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The release as it is when nothing happens, made on threads."""
    target = tmp_path_factory.mktemp("undisturbed") / "release"
    with small(), dask.config.set(scheduler="threads"):
        anon.run(policy_for(source, target))
    return released(target)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers that are processes, and a nanny each that starts them again."""
    from distributed import Client, LocalCluster

    with (
        # A worker that dies twice in a short time is not given up.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50,
        ) as running,
        Client(running) as client,
    ):  # fmt: skip
        yield client


def dying_once(marker: Path) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a task kill its worker when its first file is complete but has not appeared yet.

    A task that leaves no file does so when it has its result. The marker says that it happened.
    """
    path = str(marker)

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        def dies(*arguments: Any) -> Any:
            def die(*_: Any) -> None:
                with open(path, "x"):
                    pass
                os.kill(os.getpid(), signal.SIGKILL)

            if os.path.exists(path):
                return function(*arguments)
            os.replace = die
            function(*arguments)
            die()

        return dies

    return of


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_killed_in_a_stage_changes_nothing(
    cluster: Any, source: Path, undisturbed: dict[str, str], tmp_path: Path, stage: str
) -> None:
    cluster.wait_for_workers(2, timeout=60)
    marker, dying = tmp_path / "killed", dying_once(tmp_path / "killed")
    target = tmp_path / "release"
    with small(), tasks_replaced(lambda s, i, f: dying(f) if (s, i) == (stage, 0) else f):
        anon.run(policy_for(source, target))
    assert marker.exists()
    assert released(target) == undisturbed
    assert anon.verify(target).holds
    assert sorted(os.listdir(tmp_path)) == ["killed", "release", "release.recoding"]


def test_tasks_that_run_twice_give_the_same_files(
    source: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    def twice(_: str, __: int, function: Callable[..., Any]) -> Callable[..., Any]:
        def runs(*arguments: Any) -> Any:
            function(*arguments)
            return function(*arguments)

        return runs

    with small(), tasks_replaced(twice):
        anon.run(policy_for(source, tmp_path / "release"))
    assert released(tmp_path / "release") == undisturbed


@pytest.mark.parametrize("where", ["threads", "synchronous", "distributed"])
def test_an_error_of_a_task_arrives_as_it_was_raised(cluster: Any, where: str) -> None:
    def fails(column: str) -> None:
        raise anon.DataError(f"column {column!r} is bad. Mend it.", column=column, position=7)

    calls = [(fails, "age")]
    message = r"^column 'age' is bad\. Mend it\.$"
    with dask.config.set(scheduler=where), pytest.raises(anon.DataError, match=message) as caught:
        execute.compute("encode", calls)
    assert (caught.value.column, caught.value.position) == ("age", 7)


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_fails_leaves_nothing(source: Path, tmp_path: Path, stage: str) -> None:
    def failing(here: str, i: int, function: Callable[..., Any]) -> Callable[..., Any]:
        def fails(*arguments: Any) -> Any:
            function(*arguments)
            raise anon.DataError("the data cannot be read.")

        return fails if (here, i) == (stage, 1 if stage != "count" else 0) else function

    with small(), tasks_replaced(failing), pytest.raises(anon.DataError, match="cannot be read"):
        anon.run(policy_for(source, tmp_path / "release"))
    assert os.listdir(tmp_path) == []


def test_a_run_that_fails_leaves_what_stood_there_before(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "release"
    with small():
        anon.run(policy_for(source, target))
    before = released(target)

    def failing(stage: str, _: int, function: Callable[..., Any]) -> Callable[..., Any]:
        def fails(*_: Any) -> Any:
            raise anon.OutputError("the disk is full.")

        return fails if stage == "write" else function

    with small(), tasks_replaced(failing), pytest.raises(anon.OutputError):
        anon.run(policy_for(source, target), overwrite=True)
    assert released(target) == before
    assert sorted(os.listdir(tmp_path)) == ["release", "release.recoding"]


class _Stops:
    """A driver that is stopped, as by Ctrl-C, when a stage begins."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def start(self, stage: str, n_tasks: int) -> None:
        if stage == self._stage:
            raise KeyboardInterrupt

    def advance(self, stage: str) -> None:
        pass

    def finish(self, stage: str) -> None:
        pass


@pytest.mark.parametrize("stage", ["tree", "write"])
def test_a_driver_that_is_stopped_cleans_up(source: Path, tmp_path: Path, stage: str) -> None:
    with small(), execute.reporting_to(_Stops(stage)), pytest.raises(KeyboardInterrupt):
        anon.run(policy_for(source, tmp_path / "release"))
    assert os.listdir(tmp_path) == []
