"""The kernel alone, against umbra-k 0.1.0: ``python -m benchmarks.kernel``.

umbra-k partitions 100,000 Adult-like records (its own data frame, k = 5); the kernel partitions
1M and 10M records of six numeric quasi-identifiers from codes that are there. CPU seconds of one
thread, so that a busy machine does not decide. Without umbra-k installed the kernel is measured
alone, and said to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks._data import adult_like
from dask_anon.kernels import common
from dask_anon.kernels.common import Scale
from dask_anon.kernels.mondrian import mondrian

K = 5
PEER_ROWS = 100_000


def scale_of(columns: list[np.ndarray]) -> Scale:
    """Spans by difference; columns begin at 0."""
    d = len(columns)
    distinct = [len(np.unique(column)) for column in columns]
    return Scale(
        kind=np.full(d, common.DIFFERENCE),
        width=np.array([float(column.max()) for column in columns]),
        offset=np.zeros(d),
        missing=np.full(d, 2**64 - 1, np.uint64),
        top=np.zeros(d),
        priority=np.array(sorted(range(d), key=lambda j: -distinct[j])),
        n_codes=np.zeros(d, np.int64),
    )


def coded(n: int) -> list[np.ndarray]:
    """Adult-like columns that begin at 0."""
    return [column - column.min() for column in adult_like(n)]


def table_of(columns: list[np.ndarray], dtype: type[np.unsignedinteger]) -> np.ndarray:
    """A numbered code table."""
    rows = np.column_stack(columns).astype(dtype)
    table = common.code_table(*rows.shape, np.dtype(dtype))
    common.fill_table(rows, rows.shape[1], table, 0)
    common.number_records(common.record_numbers(table))
    return table


def rate_of_kernel(n: int, dtype: type[np.unsignedinteger] = np.uint16, repeat: int = 3) -> float:
    """Records a CPU second, the best of a few runs."""
    columns = coded(n)
    scale = scale_of(columns)
    return n / min(
        _cpu_seconds(lambda table: mondrian(table, k=K, scale=scale), table_of(columns, dtype))
        for _ in range(repeat)
    )


def rate_of_peer() -> float | None:
    """Records a CPU second that umbra-k partitions, or None where it is not installed."""
    try:
        from umbra_k import MondrianAnonymizer
    except ImportError:
        return None
    import pandas as pd

    names = [f"q{j}" for j in range(6)]
    frame = pd.DataFrame(dict(zip(names, adult_like(PEER_ROWS), strict=True)))
    peer = MondrianAnonymizer(k=K, quasi_id=names)
    # Its recursion over row labels is the partitioning; writing the labels comes after it.
    peer._partitions = []
    return PEER_ROWS / _cpu_seconds(peer._partition, frame)


def _cpu_seconds(call: Callable[[object], object], argument: object) -> float:
    began = time.thread_time()
    call(argument)
    return time.thread_time() - began


def main() -> None:
    rate_of_kernel(10_000, repeat=1)  # compiles, or reads what was compiled before
    million, ten_million = rate_of_kernel(1_000_000), rate_of_kernel(10_000_000, repeat=1)
    hundred_thousand = rate_of_kernel(PEER_ROWS)
    peer = rate_of_peer()
    against = (
        "umbra-k is not installed"
        if peer is None
        else f"{million / peer:,.0f} x umbra-k ({peer:,.0f} records/s at {PEER_ROWS:,}), "
        f"{hundred_thousand / peer:,.0f} x at the same {PEER_ROWS:,}"
    )
    print(
        f"kernel, 6 numeric quasi-identifiers, k={K}: {million / 1e6:.1f} M records/s at 1M, "
        f"{ten_million / 1e6:.1f} at 10M ({million / ten_million:.2f} x apart); {against}"
    )


class Kernel:
    """asv: seconds to partition."""

    params = ([100_000, 1_000_000], ["uint16", "uint32", "uint64"])
    param_names = ("records", "codes")

    def setup(self, n: int, dtype: str) -> None:
        columns = coded(n)
        self.scale = scale_of(columns)
        self.table = table_of(columns, np.dtype(dtype).type)
        mondrian(table_of(coded(1000), np.dtype(dtype).type), k=K, scale=scale_of(coded(1000)))

    def time_mondrian(self, n: int, dtype: str) -> None:
        mondrian(self.table.copy(), k=K, scale=self.scale)


if __name__ == "__main__":
    main()
