"""What there is to work with: tasks that run at once, and the memory that one of them may use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import dask
import psutil

from dask_anon.config import Settings
from dask_anon.engine.execute import current_client


@dataclass(frozen=True)
class Resources:
    """Workers as the scheduler knows them.

    Attributes
    ----------
    n_slots : int
        Tasks that run at the same time.
    task_memory : int
        Bytes that one task may use, its process included: the smallest share of any worker.
    """

    n_slots: int
    task_memory: int


def resources(settings: Settings) -> Resources:
    """Look at the current scheduler: a cluster's workers, or this machine's cores and memory."""
    client = current_client()
    if client is not None:
        workers = _workers(client)
        slots = sum(int(worker["nthreads"]) for worker in workers) or 1
        total = psutil.virtual_memory().total
        # A worker without a limit (0) has what this machine has.
        shares = [
            (int(worker["memory_limit"] or 0) or total) // max(1, int(worker["nthreads"]))
            for worker in workers
        ] or [total]
    else:
        slots = int(dask.config.get("num_workers", None) or os.cpu_count() or 1)
        shares = [psutil.virtual_memory().available // slots]
    return Resources(slots, settings.memory_limit or min(shares))


def _workers(client: Any) -> list[dict[str, Any]]:
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # before the number could be limited
        info = client.scheduler_info()
    return list(info["workers"].values())
