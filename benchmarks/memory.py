"""Memory of every process, by rows: ``python -m benchmarks.memory [--rows 1000000,10000000]``.

A table is written chunk by chunk, then anonymized on workers of one thread with a memory limit. The
resident memory of the workers and of the client is read every few milliseconds and given to the
stage that runs. Beside it stands what the plan says of that stage: the measured figure must stay
below it, and both must stop growing with the rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

import dask_anon as anon
from benchmarks._data import QUASI_IDENTIFIERS, write_people
from dask_anon.cli._machines import ALLOCATOR
from dask_anon.engine.execute import reporting_to

MIB = 2**20


@dataclass
class Watch:
    """Reads the resident memory of workers and client while stages come and go.

    Attributes
    ----------
    workers : list of int
        Process ids.
    peak : dict
        Bytes by stage and process; the client is process 0.
    seconds : dict
        By stage.
    """

    workers: Sequence[int]
    every: float = 0.005
    peak: dict[str, dict[int, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    _stage: str = "idle"
    _since: float = 0.0

    def start(self, stage: str, n_tasks: int) -> None:
        self._stage, self._since = stage, time.perf_counter()

    def advance(self, stage: str) -> None:
        pass

    def finish(self, stage: str) -> None:
        spent = time.perf_counter() - self._since
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
        self._stage = "idle"

    def peak_of(self, process: int) -> int:
        """The most that a process held in any stage."""
        return max(stage.get(process, 0) for stage in self.peak.values())

    def worst(self, stage: str) -> int:
        """The most that any worker held in a stage."""
        return max((n for p, n in self.peak.get(stage, {}).items() if p), default=0)

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """Watch while the block runs."""
        processes = {pid: psutil.Process(pid) for pid in self.workers} | {0: psutil.Process()}
        over = threading.Event()

        def look() -> None:
            while not over.wait(self.every):
                own = self.peak.setdefault(self._stage, {})
                for pid, process in processes.items():
                    own[pid] = max(own.get(pid, 0), process.memory_info().rss)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            with reporting_to(self):
                yield self
        finally:
            over.set()
            thread.join()


def policy_of(source: str, target: str, k: int, format: str) -> anon.Policy:
    """Six quasi-identifiers and two other columns, released in `format`."""
    return anon.Policy(
        columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier"),
        default_role="insensitive",
        privacy=[{"model": "k-anonymity", "k": k}],
        recoding={"method": "generalization", "format": format},
        input={"path": source},
        output={"path": target},
    )


def measure(
    source: str, target: str, n_workers: int, limit: str, k: int, format: str
) -> tuple[anon.Release, Watch, float]:
    """One run in fresh processes: the release, what was watched, and wall seconds."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": ALLOCATOR}),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, memory_limit=limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        pids = list(client.run(os.getpid).values())
        with Watch(pids).watching() as watch:
            began = time.perf_counter()
            release = anon.run(policy_of(source, target, k, format))
            seconds = time.perf_counter() - began
    return release, watch, seconds


def report(n_records: int, release: anon.Release, watch: Watch, seconds: float, limit: int) -> bool:
    """Print what one run held; False if a stage held more than was planned."""
    print(f"\n{n_records:,} rows: {seconds:.1f} s, {seconds / n_records * 1e6:.2f} µs a row")
    print(f"  {'stage':<10}{'planned':>10}{'measured':>10}{'client':>10}{'seconds':>9}")
    planned = {stage.name: stage.task_memory for stage in release.plan.stages}
    fits = True
    for name, own in watch.peak.items():
        stage = "verify" if name.startswith("count") else name
        most, plan = watch.worst(name), planned.get(stage, 0)
        fits &= not plan or most <= plan
        print(
            f"  {name:<10.10}{plan / MIB or float('nan'):>6.0f} MiB{most / MIB:>6.0f} MiB"
            f"{own[0] / MIB:>6.0f} MiB{watch.seconds.get(name, 0):>9.1f}"
            f"{'   more than planned' if plan and most > plan else ''}"
        )
    workers = ", ".join(f"{watch.peak_of(pid) / MIB:.0f}" for pid in watch.workers)
    print(
        f"  peaks: workers {workers} of {limit / MIB:.0f} MiB, client {watch.peak_of(0) / MIB:.0f}"
    )
    return fits


def main() -> None:
    """Measure and print."""
    from dask.utils import parse_bytes

    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--rows", default="1000000,10000000,50000000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="2GiB")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--format", default="bounds", choices=["bounds", "interval", "midpoint"])
    parser.add_argument("--directory", help="where the tables and releases go")
    asked = parser.parse_args()
    limit, lines, fit = parse_bytes(asked.memory_limit), [], True
    with tempfile.TemporaryDirectory(dir=asked.directory) as home:
        for n in (int(text) for text in asked.rows.split(",")):
            source = write_people(f"{home}/table", n)
            release, watch, seconds = measure(
                source, f"{home}/release", asked.workers, asked.memory_limit, asked.k, asked.format
            )
            fit &= report(n, release, watch, seconds, limit)
            worst = max(watch.peak_of(pid) for pid in watch.workers)
            lines.append(
                f"{n:>13,}{release.plan.peak_memory / MIB:>8.0f} MiB{worst / MIB:>8.0f} MiB"
                f"{watch.peak_of(0) / MIB:>8.0f} MiB{seconds:>9.1f}{seconds / n * 1e6:>10.2f}"
            )
            for path in (source, release.path, release.recoding_path):
                shutil.rmtree(path)
    print(
        f"\n{'rows':>13}{'planned':>12}{'a worker':>12}{'client':>12}{'seconds':>9}{'µs a row':>10}"
    )
    print("\n".join(lines))
    print("every stage within its plan" if fit else "a stage held more than its plan")


class Memory:
    """asv: the most that a worker and the client hold, by rows."""

    timeout = 600
    unit = "MiB"
    param_names = ("rows",)
    params = ([1_000_000, 4_000_000],)

    def _watch(self, n: int) -> Watch:
        with tempfile.TemporaryDirectory() as home:
            source = write_people(f"{home}/table", n)
            return measure(source, f"{home}/release", 2, "1GiB", 10, "bounds")[1]

    def track_a_worker(self, n: int) -> float:
        watch = self._watch(n)
        return max(watch.peak_of(pid) for pid in watch.workers) / MIB

    def track_the_client(self, n: int) -> float:
        return self._watch(n).peak_of(0) / MIB


if __name__ == "__main__":
    main()
