"""The measurements run, and say what they measured in one line of ratios each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def printed(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.stdout


def test_the_whole_run_is_compared_with_a_shuffle_and_a_copy() -> None:
    lines = printed("run", "--rows", "100000", "--workers", "1").splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "100,000 rows, bounds",
        "100,000 rows, interval",
    ]
    assert all(" x shuffle " in line and " x copy " in line for line in lines)
    assert all(" in one process" in line and "finish " in line for line in lines)


def test_measuring_is_compared_with_a_groupby_and_with_pycanon() -> None:
    sizes, raw, coarse = printed(
        "measure", "--rows", "20000", "--rows-per-file", "10000", "--workers", "1"
    ).splitlines()
    assert sizes.startswith("20,000 rows, ")
    assert " x groupby.size " in sizes
    assert "; peak memory of a worker " in sizes
    assert raw.startswith("nine figures of Adult, sex, age, race: ")
    assert coarse.startswith("nine figures of Adult, sex, age by 10 years: ")


def test_importing_loads_nothing_heavy() -> None:
    assert "heavy modules loaded: none" in printed("startup")


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_the_kernel_is_measured_on_tables_that_it_really_partitions(dtype: str) -> None:
    import numpy as np

    from benchmarks.kernel import K, coded, scale_of, table_of
    from dask_anon.kernels.mondrian import mondrian

    columns = coded(2_000)
    _, classes = mondrian(table_of(columns, np.dtype(dtype).type), k=K, scale=scale_of(columns))
    assert classes.size.sum() == 2_000
    assert classes.size.min() >= K
    assert len(classes.size) > 100
