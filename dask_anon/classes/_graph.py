"""The tasks of a class table: one a partition, one a bucket, and the pieces between them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from operator import getitem
from typing import Any

import pandas as pd
import pyarrow as pa

from dask_anon.classes._gather import class_table
from dask_anon.classes._pieces import Layout, Piece, pieces_of


class Graph(Mapping[Any, Any]):
    """Tasks under a name of their own: Dask need not read them all to tell two tables apart.

    No dict, of which Dask would read every task.
    """

    def __init__(self, tasks: dict[Any, Any], name: str) -> None:
        self._tasks, self._name = tasks, name

    def __getitem__(self, key: Any) -> Any:
        return self._tasks[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __dask_tokenize__(self) -> tuple[str, str]:
        return "anon-tasks", self._name


def table_graph(released: Any, layout: Layout, n_buckets: int) -> tuple[Graph, list[Any]]:
    """The tasks, and the keys of the class table's partitions.

    Written as a graph because what travels are pieces, of which Dask's own shuffles would have to
    make frames.
    """
    # Blockwise, so that Dask reads a partition and cuts it into pieces in one task.
    scattered = released.map_partitions(
        _scatter, layout, n_buckets, meta=("pieces", "object"), enforce_metadata=False
    ).optimize()
    tasks = dict(scattered.__dask_graph__())
    parts = scattered.__dask_keys__()
    name = uuid.uuid4().hex
    keys = []
    for bucket in range(n_buckets):
        pieces = [(f"piece-{name}", bucket, i) for i in range(len(parts))]
        tasks.update(
            {piece: (getitem, part, bucket) for piece, part in zip(pieces, parts, strict=True)}
        )
        keys.append((f"bucket-{name}", bucket))
        tasks[keys[-1]] = (_gather, pieces, layout)
    return Graph(tasks, name), keys


def _scatter(part: pd.DataFrame, layout: Layout, n_buckets: int) -> list[Piece]:
    try:
        return pieces_of(part, layout, n_buckets)
    finally:
        # Arrow keeps what it was given, which the next task would have on top of its own.
        pa.default_memory_pool().release_unused()


def _gather(pieces: list[Piece], layout: Layout) -> pd.DataFrame:
    try:
        return class_table(pieces, layout)
    finally:
        pa.default_memory_pool().release_unused()
