"""What the tests of whole runs share: a table on disk, a policy, and what a release consists of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dask_anon import Policy
from dask_anon.engine import execute

# Parts and regions so small that every stage has several tasks.
SMALL = {"anon.rows.partition": 500, "anon.rows.region": 900}
STAGES = ("domains", "encode", "tree", "regroup", "finish", "write", "count")


def write_people(directory: Path, n_records: int = 4_000, n_files: int = 8) -> Path:
    """A table of numbers, labels and missing values in `n_files` Parquet files."""
    directory.mkdir(parents=True)
    n = n_records // n_files
    for i in range(n_files):
        draw = np.random.default_rng([7, i])
        age = draw.integers(17, 91, n)
        people = {
            "age": pa.array(age, mask=draw.random(n) < 0.01),
            "zip": draw.integers(0, 10_000, n).astype(np.int32),
            "weight": draw.normal(70, 12, n).round(1),
            "town": pa.array(draw.choice(["Bath", "Cork", "Oslo", "Rome", "Ulm"], n)),
            "diagnosis": pa.array(draw.choice(["angina", "asthma", "flu"], n)),
            "note": pa.array([f"note {i}-{j}" for j in range(n)]),
        }
        pq.write_table(pa.table(people), directory / f"{i:03d}.parquet")
    return directory


def policy_for(source: Path, target: Path, **changes: Any) -> Policy:
    """k = 5 over the four quasi-identifiers of `write_people`."""
    asked: dict[str, Any] = {
        "columns": dict.fromkeys(["age", "zip", "weight", "town"], "quasi-identifier")
        | {"diagnosis": "sensitive", "note": "insensitive"},
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "seed": 3,
        "input": {"path": str(source)},
        "output": {"path": str(target)},
    }
    return Policy(**asked | changes)


def contents(directory: Path | str) -> dict[str, str]:
    """SHA-256 of every file below a directory, hidden ones too; the manifest tells the time."""
    directory = Path(directory)
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def released(target: Path) -> dict[str, str]:
    """The files of a release and of its recoding."""
    return contents(target) | {
        f"recoding/{name}": sha256 for name, sha256 in contents(f"{target}.recoding").items()
    }


Tasks = Callable[[str, int, Callable[..., Any]], Callable[..., Any]]


@contextmanager
def tasks_replaced(replace: Tasks) -> Iterator[None]:
    """Let `replace` choose what runs instead of a task, given its stage, number and function.

    Functions defined inside a function travel by value, so that a worker need not import the tests.
    """
    original = execute._tasks

    def replaced(stage: str, calls: Any) -> Any:
        return original(stage, [(replace(stage, i, f), *a) for i, (f, *a) in enumerate(calls)])

    execute._tasks = replaced
    try:
        yield
    finally:
        execute._tasks = original


class Stages:
    """Notes the stages of a run: [name, tasks, advances]."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    def start(self, stage: str, n_tasks: int) -> None:
        self.seen.append([stage, n_tasks, 0])

    def advance(self, stage: str) -> None:
        self.seen[-1][2] += 1

    def finish(self, stage: str) -> None:
        pass


def small() -> Any:
    """Settings under which a small table makes many tasks."""
    return dask.config.set(SMALL)
