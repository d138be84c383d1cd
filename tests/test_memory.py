"""Memory: a table larger than all workers goes through, and the client holds nothing of it.

The memory of every process is read while a run goes on. How it compares with the plan for larger
tables, stage by stage, is in ``benchmarks/memory.py``.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dask_anon as anon
from dask_anon.cli._machines import ALLOCATOR
from dask_anon.engine import execute, write
from dask_anon.engine.sources import open_source

MIB = 2**20
N_WORKERS, LIMIT = 2, 512 * MIB
QUASI_IDENTIFIERS = ["age", "zip", "income", "hours", "born", "height"]


def write_table(directory: Path, n_records: int, rows_per_group: int, text_bytes: int) -> int:
    """Six numbers and two other columns; says how many bytes they take as an Arrow table.

    The text repeats, so that files stay small; nobody who reads it into memory gains by that.
    """
    directory.mkdir(parents=True)
    draw = np.random.default_rng(5)
    n = rows_per_group
    texts = pa.array([f"{i:03d}" + "x" * (text_bytes - 3) for i in range(100)])
    group = pa.table(
        {
            "age": draw.integers(17, 91, n).astype(np.int32),
            "zip": draw.integers(0, 50_000, n).astype(np.int32),
            "income": draw.lognormal(10, 1, n).astype(np.int32),
            "hours": draw.integers(0, 99, n).astype(np.int32),
            "born": draw.integers(0, 20_000, n).astype(np.int32),
            "height": draw.normal(170, 12, n).astype(np.int32),
            "amount": draw.normal(size=n),
            "letter": texts.take(pa.array(draw.integers(0, len(texts), n))),
        }
    )
    n_groups = n_records // n
    with pq.ParquetWriter(directory / "part.parquet", group.schema, compression="lz4") as writer:
        for _ in range(n_groups):
            writer.write_table(group)
    return n_groups * group.nbytes


def policy_for(source: Path, target: Path) -> anon.Policy:
    return anon.Policy(
        columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier"),
        default_role="insensitive",
        privacy=[{"model": "k-anonymity", "k": 10}],
        recoding={"method": "generalization", "format": "bounds"},
        input={"path": str(source)},
        output={"path": str(target)},
    )


@contextmanager
def peaks(pids: list[int]) -> Iterator[dict[int, int]]:
    """The most that each process held while the block ran, beginning with what it holds now."""
    processes = [psutil.Process(pid) for pid in pids]
    found = {process.pid: process.memory_info().rss for process in processes}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            for process in processes:
                found[process.pid] = max(found[process.pid], process.memory_info().rss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        # As `dask-anon run --workers 2` starts them: they keep more memory than others do.
        dask.config.set({"distributed.nanny.pre-spawn-environ": ALLOCATOR}),
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, processes=True, memory_limit=LIMIT,
            dashboard_address=None, silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


def test_a_table_larger_than_all_workers_goes_through(workers: Any, tmp_path: Path) -> None:
    n_records = 2_000_000
    n_bytes = write_table(tmp_path / "table", n_records, rows_per_group=25_000, text_bytes=1_400)
    assert n_bytes > 2.5 * N_WORKERS * LIMIT

    policy = policy_for(tmp_path / "table", tmp_path / "release")
    planned = anon.plan(policy)
    assert planned.peak_memory < LIMIT
    pids = list(workers.run(os.getpid).values())
    with peaks([*pids, os.getpid()]) as found:
        client_before = found[os.getpid()]
        release = anon.run(policy)

    assert (release.n_records, release.holds) == (n_records, True)
    # The same processes to the end: none was killed for its memory and started again.
    assert sorted(workers.run(os.getpid).values()) == sorted(pids)
    assert max(found[pid] for pid in pids) < LIMIT
    assert found[os.getpid()] - client_before < 64 * MIB


def test_the_client_holds_no_more_for_more_records(workers: Any, tmp_path: Path) -> None:
    grown = []
    # Once to warm up: what is imported and compiled then stays.
    for name, n_records in (("warm", 50_000), ("one", 300_000), ("four", 1_200_000)):
        source = tmp_path / name
        write_table(source, n_records, rows_per_group=50_000, text_bytes=8)
        with peaks([os.getpid()]) as found:
            before = found[os.getpid()]
            anon.run(policy_for(source, tmp_path / f"{name}-release"))
        grown.append(found[os.getpid()] - before)
    # 900,000 records more are 36 MiB of codes and bounds of theirs, if they came here.
    assert grown[2] < grown[1] + 12 * MIB


def largest_result(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes of the largest result of a task that comes back to the client, by stage."""
    found: dict[str, int] = {}
    original = execute._run

    def noted(stage: str, *arguments: Any) -> list[Any]:
        results = original(stage, *arguments)
        for result in results:
            found[stage] = max(found.get(stage, 0), len(pickle.dumps(result)))
        return results

    monkeypatch.setattr(execute, "_run", noted)
    return found


def test_no_result_of_a_task_grows_with_its_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sizes = []
    for n_records in (100_000, 400_000):
        source, target = tmp_path / f"{n_records}", tmp_path / f"release-{n_records}"
        write_table(source, n_records, rows_per_group=n_records // 4, text_bytes=8)
        # As many regions either way: a count and an offset for each do come back.
        settings = {
            "anon.rows.partition": n_records // 4,
            "anon.rows.region": n_records // 4,
            "anon.distinct-cap": 1_000,
        }
        with dask.config.set(settings), monkeypatch.context() as patch:
            found = largest_result(patch)
            anon.run(policy_for(source, target))
        sizes.append(found)
    few, many = sizes
    assert set(few) == set(many) >= {"encode", "tree", "regroup", "finish", "write", "count"}
    # The sample that guides the tree has 200,000 records at most, however many there are.
    sample = 200_000 * len(QUASI_IDENTIFIERS) * 4
    for stage, n_bytes in many.items():
        assert n_bytes < 1.1 * few[stage] + 4_096 or (stage == "encode" and n_bytes < 1.1 * sample)


def test_the_plan_knows_how_long_texts_are_that_repeat(tmp_path: Path) -> None:
    peaks = []
    for text_bytes in (8, 2_000):
        source = tmp_path / f"{text_bytes}"
        n_bytes = write_table(source, 20_000, rows_per_group=5_000, text_bytes=text_bytes)
        (width,) = open_source(source).value_bytes(["letter"]).values()
        assert text_bytes <= width <= text_bytes + 8
        with dask.config.set({"anon.rows.partition": 5_000}):
            peaks.append(anon.plan(policy_for(source, tmp_path / "release")).stages[-2])
    assert [stage.name for stage in peaks] == ["write", "write"]
    # Read once and permuted once.
    assert peaks[1].task_memory - peaks[0].task_memory > 2 * 5_000 * 1_900
    assert n_bytes > 20_000 * 2_000


def test_partitions_get_fewer_records_when_these_are_wide(tmp_path: Path) -> None:
    rows = []
    for text_bytes in (8, 2_000):
        source = tmp_path / f"{text_bytes}"
        write_table(source, 120_000, rows_per_group=5_000, text_bytes=text_bytes)
        with dask.config.set({"anon.memory.limit": "600MiB", "num_workers": 1}):
            rows.append(anon.plan(policy_for(source, tmp_path / "release")).partition_rows)
    assert rows[0] > 50_000
    assert rows[1] <= 15_000


def test_a_row_group_that_cannot_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    write_table(tmp_path / "table", 200_000, rows_per_group=200_000, text_bytes=1_500)
    policy = policy_for(tmp_path / "table", tmp_path / "release")
    with (
        dask.config.set({"anon.memory.limit": "600MiB"}),
        pytest.raises(anon.PlanError, match=r"at 'write'.* Use row groups of at most [\d,]+ rows"),
    ):
        anon.run(policy)
    assert os.listdir(tmp_path) == ["table"]


def test_a_written_part_labels_no_set_of_another_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    n, n_parts, labelled = 4_000, 8, []
    draw = np.random.default_rng(1)
    job = pa.array([f"job {i}" for i in draw.integers(0, 300, n)])
    table = pa.table({"job": job, "age": draw.integers(0, 90, n)})
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=n // n_parts)
    original = write.set_labels

    def noted(domain: Any, offsets: Any, codes: Any) -> Any:
        labelled.append(len(offsets) - 1)
        return original(domain, offsets, codes)

    monkeypatch.setattr(write, "set_labels", noted)
    policy = anon.Policy(
        columns={"job": "quasi-identifier", "age": "quasi-identifier"},
        privacy=[{"model": "k-anonymity", "k": 2}],
        input={"path": str(tmp_path / "table.parquet")},
        output={"path": str(tmp_path / "release")},
    )
    settings = {"anon.rows.partition": n // n_parts, "anon.rows.region": 1_000}
    with dask.config.set(settings), dask.config.set(scheduler="threads"):
        anon.run(policy)
    # Labels of every set of a region, in each of its parts, would be three times as many.
    assert n_parts < sum(labelled) <= n


def test_memory_of_a_task_is_given_back_also_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[str] = []

    class Pool:
        def release_unused(self) -> None:
            released.append("now")

    monkeypatch.setattr(execute.pa, "default_memory_pool", Pool)
    with dask.config.set(scheduler="synchronous"):
        execute.compute("encode", [(abs, 1), (abs, 2)])
        with pytest.raises(TypeError):
            execute.compute("encode", [(abs, "a")])
    assert len(released) == 3
