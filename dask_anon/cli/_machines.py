"""Where a command computes: threads of this process, local processes, or a running scheduler."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

# Tasks work on arrays of some megabytes. The C library would map each anew, and a fifth of a run's
# CPU time would go into page faults; below this size it reuses what it has.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": 2**28, "MALLOC_TRIM_THRESHOLD_": 2**28}


@contextmanager
def computing(
    scheduler: str | None = None, workers: int | None = None, memory_limit: str | None = None
) -> Iterator[None]:
    """Make Dask use what the options name while the block runs, and report progress on stderr."""
    from dask_anon.cli._progress import progress
    from dask_anon.engine.execute import reporting_to

    if scheduler is not None and (workers is not None or memory_limit is not None):
        raise click.UsageError(
            "--scheduler uses the workers that are there; "
            "leave out --workers and --memory-limit, or leave out --scheduler."
        )
    limit = _bytes(memory_limit)
    if scheduler is not None:
        where: Any = _client(scheduler)
    elif workers is not None or limit is not None:
        where = _local(workers, limit)
    else:
        where = _threads()
    with where, progress() as report, reporting_to(report):
        yield


def _threads() -> Any:
    import dask

    return dask.config.set(scheduler="threads")


@contextmanager
def _client(address: str) -> Iterator[None]:
    import dask
    from distributed import Client

    from dask_anon.errors import AnonError

    try:
        # Were it the default at once, one that cannot connect would stay Dask's choice.
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise AnonError(
            f"no Dask scheduler answers at '{address}'. Check the address "
            "(such as tcp://host:8786) and that it is running."
        ) from error
    with client, client.as_current(), dask.config.set(scheduler=client):
        yield


@contextmanager
def _local(workers: int | None, memory_limit: int | None) -> Iterator[None]:
    import dask
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    # One thread each: the memory limit is a worker's, and a task then knows what it may use.
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": ALLOCATOR}),
        LocalCluster(
            n_workers=workers or CPU_COUNT,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit or "auto",
            dashboard_address=":0",  # any free port: the usual one may be somebody else's cluster
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster, set_as_default=True),
    ):
        yield


def _bytes(size: str | None) -> int | None:
    if size is None:
        return None
    from dask.utils import parse_bytes

    try:
        n_bytes = int(parse_bytes(size))
    except (ValueError, OverflowError):
        n_bytes = 0
    if n_bytes < 1:
        raise click.BadParameter("must be a size such as 2GiB.", param_hint="--memory-limit")
    return n_bytes
