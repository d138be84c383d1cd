"""The whole run against the same table shuffled and copied: ``python -m benchmarks.run``.

Two workers of one thread, one after the other, the references on workers as Dask starts them:

    run       read, anonymize, write with bounds, count the classes from what was written
    shuffle   dd.read_parquet(...).shuffle(...).to_parquet(...), no anonymization
    copy      read and write every file by itself
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

from benchmarks._data import QUASI_IDENTIFIERS, write_people
from dask_anon import Policy
from dask_anon.engine.execute import reporting_to


@dataclass
class Phases:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = 0.0

    def start(self, stage: str, n_tasks: int) -> None:
        self._since = time.perf_counter()

    def advance(self, stage: str) -> None:
        pass

    def finish(self, stage: str) -> None:
        spent = time.perf_counter() - self._since
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent


@dataclass
class Measured:
    """Wall and CPU seconds of all processes, and the most that any of them held at once."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak: int = 0
    peak_of_one: int = 0


@contextlib.contextmanager
def measured() -> Iterator[Measured]:
    """Watch this process and its children while the block runs."""
    found, done = Measured(), threading.Event()

    def watch() -> None:
        me = psutil.Process()
        while not done.wait(0.1):
            held = []
            for process in [me, *me.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    held.append(process.memory_info().rss)
            found.peak = max(found.peak, sum(held))
            found.peak_of_one = max(found.peak_of_one, max(held, default=0))

    cpu = _cpu_seconds()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    began = time.perf_counter()
    try:
        yield found
    finally:
        found.seconds = time.perf_counter() - began
        found.cpu_seconds = _cpu_seconds() - cpu
        done.set()
        watcher.join()


def _cpu_seconds() -> float:
    me = psutil.Process()
    times = (process.cpu_times() for process in [me, *me.children(recursive=True)])
    return sum(t.user + t.system for t in times)


def policy(source: str, target: str, format: str = "bounds") -> Policy:
    """Six quasi-identifiers, k = 10."""
    return Policy(
        columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier"),
        default_role="insensitive",
        privacy=[{"model": "k-anonymity", "k": 10}],
        recoding={"method": "generalization", "format": format},
        input={"path": source},
        output={"path": target},
    )


def anonymized(source: str, target: str, format: str = "bounds") -> tuple[Measured, Phases]:
    """Run the job on the current scheduler."""
    import dask_anon as anon

    phases = Phases()
    with measured() as found, reporting_to(phases):
        anon.run(policy(source, target, format), overwrite=True)
    return found, phases


def shuffled(source: str, target: str) -> Measured:
    """What Dask takes to move the rows once."""
    import dask.dataframe as dd

    with measured() as found:
        dd.read_parquet(source).shuffle("measurement").to_parquet(target)
    return found


def copied(client: object, source: str, target: str) -> Measured:
    """What reading and writing takes without moving a row."""
    os.makedirs(target, exist_ok=True)
    with measured() as found:
        futures = client.map(_copy, sorted(glob.glob(f"{source}/*.parquet")), target=target)
        client.gather(futures)
    return found


def _copy(path: str, target: str) -> int:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path, memory_map=False).read(use_threads=False)
    pq.write_table(table, os.path.join(target, os.path.basename(path)))
    return table.num_rows


@contextlib.contextmanager
def cluster(n_workers: int, memory_limit: str, *, plain: bool = False) -> Iterator[object]:
    """Workers of one thread, as ``dask-anon run --workers`` starts them, or as Dask does."""
    import dask
    from distributed import Client, LocalCluster

    from dask_anon.cli._machines import ALLOCATOR

    for name in ALLOCATOR:
        # Dask leaves what it gave to the workers before in this process, where it would win.
        os.environ.pop(name, None)
    with (
        dask.config.set(
            {
                # The default buffer is larger than a small worker.
                "distributed.p2p.comm.buffer": "64MiB",
                "distributed.p2p.storage.buffer": "64MiB",
            }
            | ({} if plain else {"distributed.nanny.pre-spawn-environ": ALLOCATOR})
        ),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as local,
        Client(local) as client,
    ):
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="2GiB")
    parser.add_argument("--directory", default=None, help="where the data goes; kept if given")
    parser.add_argument("--format", action="append", help="default: bounds and interval")
    given = parser.parse_args()
    home = given.directory or tempfile.mkdtemp(prefix="anon-benchmark-")
    source = os.path.join(home, f"people-{given.rows}")
    if not os.path.exists(source):
        write_people(source, given.rows)
    try:
        warm = write_people(os.path.join(home, "warm"), 400_000, 200_000)
        # Compiled code and imports of the workers are not what is compared.
        with cluster(given.workers, given.memory_limit, plain=True) as client:
            shuffled(warm, os.path.join(home, "warm-shuffled"))
            copy = copied(client, source, os.path.join(home, "copy"))
            shuffle = shuffled(source, os.path.join(home, "shuffled"))
        shutil.rmtree(os.path.join(home, "shuffled"))
        with cluster(given.workers, given.memory_limit):
            anonymized(warm, os.path.join(home, "warm-out"))
            for format in given.format or ["bounds", "interval"]:
                target = os.path.join(home, f"release-{format}")
                own, phases = anonymized(source, target, format)
                _print(given.rows, format, own, phases, shuffle, copy)
    finally:
        if given.directory is None:
            shutil.rmtree(home, ignore_errors=True)


def _print(
    rows: int, format: str, own: Measured, phases: Phases, shuffle: Measured, copy: Measured
) -> None:
    spent = ", ".join(f"{stage} {s:.1f}" for stage, s in phases.seconds.items())
    parts = [
        f"{rows:,} rows, {format}: {own.seconds:.1f} s",
        f" = {own.seconds / shuffle.seconds:.2f} x shuffle ({shuffle.seconds:.1f} s)",
        f" = {own.seconds / copy.seconds:.2f} x copy ({copy.seconds:.1f} s);",
        f" CPU {own.cpu_seconds:.1f} s = {own.cpu_seconds / shuffle.cpu_seconds:.2f} x shuffle",
        f" = {own.cpu_seconds / copy.cpu_seconds:.2f} x copy;",
        f" peak memory {own.peak / 2**20:,.0f} MiB in all",
        f" ({own.peak / shuffle.peak:.2f} x shuffle),",
        f" {own.peak_of_one / 2**20:,.0f} MiB in one process; seconds: {spent}",
    ]
    print("".join(parts), flush=True)


class Run:
    """asv: the ratio to a plain copy."""

    timeout = 600
    unit = "x copy"

    def setup_cache(self) -> str:
        return write_people(os.path.join(os.getcwd(), "people"), 2_000_000)

    def track_bounds_to_copy(self, source: str) -> float:
        with cluster(2, "2GiB") as client, tempfile.TemporaryDirectory() as home:
            anonymized(source, os.path.join(home, "warm"))
            copy = copied(client, source, os.path.join(home, "copy"))
            own, _ = anonymized(source, os.path.join(home, "release"))
        return own.seconds / copy.seconds


if __name__ == "__main__":
    main()
