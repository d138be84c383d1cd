"""Clusters: the same release wherever the tasks run, and a sentence where they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest
from running import STAGES, Stages, policy_for, released, small, write_people

import dask_anon as anon
from dask_anon.engine import execute


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("cluster") / "people")


@pytest.fixture(scope="module")
def on_threads(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    target = tmp_path_factory.mktemp("threads") / "release"
    with small(), dask.config.set(scheduler="threads"):
        anon.run(policy_for(source, target))
    return released(target)


@contextmanager
def local(**options: Any) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50} | options
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Two workers that are processes."""
    with local(n_workers=2, processes=True) as client:
        yield client


@pytest.fixture
def one_process() -> Iterator[Any]:
    """Two workers in this process, cheap to start."""
    with local(n_workers=2, processes=False) as client:
        yield client


# -- the same release ----------------------------------------------------------------------------


def test_synchronous_scheduler_gives_the_same_release(
    source: Path, on_threads: dict[str, str], tmp_path: Path
) -> None:
    with small(), dask.config.set(scheduler="synchronous"):
        anon.run(policy_for(source, tmp_path / "release"))
    assert released(tmp_path / "release") == on_threads


def test_workers_in_one_process_give_the_same_release(
    one_process: Any, source: Path, on_threads: dict[str, str], tmp_path: Path
) -> None:
    with small():
        anon.run(policy_for(source, tmp_path / "release"))
    assert released(tmp_path / "release") == on_threads


def test_two_worker_processes_give_the_same_release(
    workers: Any, source: Path, on_threads: dict[str, str], tmp_path: Path
) -> None:
    with small():
        anon.run(policy_for(source, tmp_path / "release"))
    assert released(tmp_path / "release") == on_threads


def test_one_worker_process_gives_the_same_release(
    source: Path, on_threads: dict[str, str], tmp_path: Path
) -> None:
    with small(), local(n_workers=1, processes=True, threads_per_worker=2):
        anon.run(policy_for(source, tmp_path / "release"))
    assert released(tmp_path / "release") == on_threads


def test_two_runs_at_once_do_not_disturb_each_other(
    workers: Any, source: Path, on_threads: dict[str, str], tmp_path: Path
) -> None:
    def run(seed: int) -> Any:
        with workers.as_current():
            return anon.run(policy_for(source, tmp_path / f"release-{seed}", seed=seed))

    with small(), ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, [3, 4])
    assert released(tmp_path / "release-3") == on_threads
    assert first.n_records == second.n_records == 4_000
    assert anon.verify(second.path).holds


def test_tasks_of_two_machines_have_different_keys() -> None:
    # Containers count their processes from one, and so does the first task of each.
    program = (
        "import os; os.getpid = lambda: 1\n"
        "from dask_anon.engine.execute import _tasks\n"
        "print(_tasks('encode', [(abs, 1)])[0].key)"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    }
    assert len(keys) == 2


def test_every_result_of_a_failed_stage_is_let_go(one_process: Any) -> None:
    def fails() -> None:
        raise anon.DataError("bad.")

    with pytest.raises(anon.DataError):
        execute.reduce("encode", [(abs, 1), (fails,), (abs, 2)], sum)
    for _ in range(200):  # the scheduler hears of it a little later
        if not one_process.cluster.scheduler.tasks:
            break
        time.sleep(0.05)
    assert not one_process.cluster.scheduler.tasks


# -- what is seen --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["threads", "synchronous", "cluster"])
def test_progress_counts_every_task_of_a_stage(
    request: Any, source: Path, tmp_path: Path, where: str
) -> None:
    if where == "cluster":
        request.getfixturevalue("one_process")
        where = "distributed"
    stages = Stages()
    with small(), dask.config.set(scheduler=where), execute.reporting_to(stages):
        anon.run(policy_for(source, tmp_path / "release"))
    names = list(dict.fromkeys(name for name, _, _ in stages.seen))
    assert [name for name in names if name in STAGES] == list(STAGES)
    assert [(name, n) for name, n, _ in stages.seen] == [(name, m) for name, _, m in stages.seen]
    assert all(n == 8 for name, n, _ in stages.seen if name in ("domains", "encode", "write"))


def test_dashboard_groups_the_tasks_by_stage(
    one_process: Any, source: Path, tmp_path: Path
) -> None:
    with small():
        anon.run(policy_for(source, tmp_path / "release"))
    groups = Counter(one_process.cluster.scheduler.task_prefixes.keys())
    assert {f"anon-{stage}" for stage in STAGES} <= set(groups)
    assert all(name.startswith("anon-") for name in groups)
    assert len(groups) < 20


def test_the_library_makes_no_client(source: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from running import policy_for, small\n"
        "import dask_anon as anon\n"
        "with small():\n"
        "    anon.run(policy_for(sys.argv[1], sys.argv[2]))\n"
        "assert 'distributed' not in sys.modules or not __import__('distributed').Client._instances"
    )
    arguments = [str(source), str(tmp_path / "release")]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, env=here)


# -- sentences -----------------------------------------------------------------------------------


class _Hides:
    """Moves a directory of a run away when a stage begins, as if the workers did not see it."""

    def __init__(self, stage: str, parent: Path, pattern: str) -> None:
        self._stage, self._parent, self._pattern = stage, parent, pattern

    def start(self, stage: str, n_tasks: int) -> None:
        if stage == self._stage:
            (path,) = self._parent.glob(self._pattern)
            path.rename(self._parent / "elsewhere")

    def advance(self, stage: str) -> None:
        pass

    def finish(self, stage: str) -> None:
        pass


@pytest.mark.parametrize(
    "stage, pattern", [("encode", ".release.scratch-*"), ("write", ".release.staging-*")]
)
def test_a_directory_that_workers_do_not_see_gets_a_sentence(
    one_process: Any, source: Path, tmp_path: Path, stage: str, pattern: str
) -> None:
    hides = _Hides(stage, tmp_path, pattern)
    with small(), execute.reporting_to(hides), pytest.raises(
        anon.OutputError, match=r"is not visible on host .*anon\.scratch-directory"
    ):  # fmt: skip
        anon.run(policy_for(source, tmp_path / "release"))


def test_another_version_on_a_worker_gets_a_sentence(
    one_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = execute._tasks("encode", [(abs, 1)])
    monkeypatch.setattr(execute, "__version__", "9.9")
    with pytest.raises(anon.PlanError, match=r"a worker has dask_anon 9\.9, this is .* the same"):
        execute._run("encode", tasks)


def test_a_scheduler_without_the_package_gets_a_sentence(one_process: Any) -> None:
    class Unreadable:
        def __reduce__(self) -> Any:
            return __import__, ("a_module_that_is_not_there",)

    with pytest.raises(anon.PlanError, match="scheduler cannot read the tasks of dask_anon"):
        execute.compute("encode", [(abs, Unreadable())])


def test_workers_that_die_on_one_task_get_a_sentence(workers: Any) -> None:
    def dies() -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    workers.cluster.scheduler.allowed_failures = 0
    with pytest.raises(anon.PlanError, match="workers died at 'encode'"):
        execute.compute("encode", [(dies,)])
