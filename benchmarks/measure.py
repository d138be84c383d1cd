"""What measuring costs: ``python -m benchmarks.measure``.

    classes   all figures of class sizes and of a sensitive column, of a Dask table of six released
              quasi-identifiers and half as many classes as records, against counting the sizes
              alone with ``groupby(...).size(split_out=...)``; two workers of one thread
    pycanon   its nine figures of the Adult sample against the same ones of ours, side by side

pycanon wants other versions of pandas than we do: ``--pycanon PYTHON`` names an interpreter that
has it. Without one it is left out, and said to be.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._data import QUASI_IDENTIFIERS
from benchmarks.run import Measured, cluster, measured

# Values of the six quasi-identifiers; a class is one of their combinations.
RADICES = (73, 16, 5, 99, 42, 4)
SAMPLE = os.path.join(os.path.dirname(__file__), os.pardir, "dask_anon", "samples", "adult.csv")


def released(n: int, n_records: int, seed: int) -> pa.Table:
    """A part of a table of `n_records` in half as many classes, with a sensitive code of 20."""
    r = np.random.default_rng(2000 + seed)
    # Of 0.63 n classes drawn n times, half of n occur.
    drawn = r.integers(0, max(1, int(0.63 * n_records)), n)
    # Neighbouring numbers to distant combinations.
    spread = drawn * 7_368_787 % int(np.prod(RADICES))
    columns = np.unravel_index(spread, RADICES)
    table = dict(
        zip(QUASI_IDENTIFIERS, (column.astype(np.int64) for column in columns), strict=True)
    )
    return pa.table(table | {"code": r.integers(0, 20, n), "measurement": r.random(n)})


def write_released(directory: str, n_records: int, rows_per_file: int = 1_000_000) -> str:
    """Write it as Parquet files of one row group each; returns the directory."""
    os.makedirs(directory, exist_ok=True)
    for i, start in enumerate(range(0, n_records, rows_per_file)):
        part = released(min(rows_per_file, n_records - start), n_records, i)
        pq.write_table(part, os.path.join(directory, f"part.{i:05d}.parquet"))
    return directory


def figures(frame: Any) -> dict[str, Any]:
    """All figures of class sizes and of the code, computed together."""
    import dask

    from dask_anon.classes import equivalence_classes
    from dask_anon.metrics import risk, utility
    from dask_anon.metrics.diversity import diversity_figures

    classes = equivalence_classes(frame, QUASI_IDENTIFIERS, sensitive=["code"], labels=False)
    wanted = {
        "n_classes": utility.n_classes(classes),
        "smallest_class": risk.smallest_class(classes),
        "average_class_size": utility.average_class_size(classes),
        "discernibility": utility.discernibility(classes),
        "prosecutor_risk": risk.prosecutor_risk(classes),
        "average_prosecutor_risk": risk.average_prosecutor_risk(classes),
        **diversity_figures(classes, column="code"),
    }
    return dict(dask.compute(wanted)[0])


def sizes(frame: Any) -> int:
    """The largest class, by a groupby."""
    groups = frame.groupby(QUASI_IDENTIFIERS)
    return int(groups.size(split_out=frame.npartitions).max().compute())


def compared(source: str, n_workers: int, memory_limit: str) -> str:
    """A line of ratios."""
    import dask.dataframe as dd

    with cluster(n_workers, memory_limit, plain=True):
        frame = dd.read_parquet(source)
        # Compiled code and imports of the workers are not what is compared.
        figures(frame.partitions[:1])
        sizes(frame.partitions[:1])
        with measured() as own:
            found = figures(frame)
        with measured() as peer:
            sizes(frame)
    n_records = len(frame)
    return (
        f"{n_records:,} rows, {found['n_classes']:,} classes: {len(found)} figures in "
        f"{own.seconds:.1f} s = {own.seconds / peer.seconds:.2f} x groupby.size "
        f"({peer.seconds:.1f} s); CPU {own.cpu_seconds:.1f} s = "
        f"{own.cpu_seconds / peer.cpu_seconds:.2f} x; peak memory of a worker "
        f"{_mebibytes(own)} MiB ({_mebibytes(peer)} MiB)"
    )


def _mebibytes(found: Measured) -> str:
    return f"{found.peak_of_one / 2**20:,.0f}"


# ------------------------------------------------------------------ pycanon

TABLES = {
    "sex, age, race": (["sex", "age", "race"], None),
    "sex, age by 10 years": (["sex", "age"], 10),
}

# Run by the other interpreter: what pycanon's report holds, and how long it took.
PEER = """
import json, sys, time, warnings
import numpy as np, pandas as pd
warnings.simplefilter("ignore")
from pycanon.report.base import get_report_values
path, columns, width = json.loads(sys.argv[1])
table = pd.read_csv(path, sep=";")
if width:
    table["age"] = table["age"] // width
began = time.perf_counter()
k, (alpha, _), l, entropy, (c, cl), beta, enhanced, delta, t = get_report_values(
    table, columns, ["occupation"]
)
seconds = time.perf_counter() - began
found = [k, alpha, l, entropy, c, beta, enhanced, delta, t]
print("\\n" + json.dumps([seconds, [float(value) for value in found]]))
"""

NINE = (
    "k", "alpha", "distinct l", "entropy l", "recursive c",
    "basic beta", "enhanced beta", "delta", "t",
)  # fmt: skip


def adult(width: int | None) -> pd.DataFrame:
    """The sample, with the age as it is or in steps of `width` years."""
    table = pd.read_csv(SAMPLE, sep=";")
    return table if width is None else table.assign(age=table["age"] // width)


def own_nine(columns: list[str], width: int | None) -> tuple[float, list[float]]:
    """Seconds, and the nine figures in pycanon's order."""
    from dask_anon.classes import equivalence_classes
    from dask_anon.metrics.diversity import diversity_figures
    from dask_anon.metrics.risk import smallest_class

    table = adult(width)
    began = time.perf_counter()
    classes = equivalence_classes(table, columns, sensitive=["occupation"], labels=False)
    k = smallest_class(classes)
    found = diversity_figures(classes, column="occupation")
    seconds = time.perf_counter() - began
    names = (
        "alpha_k_anonymity", "distinct_l_diversity", "entropy_l_diversity", "recursive_c",
        "basic_beta_likeness", "enhanced_beta_likeness", "delta_disclosure", "t_closeness",
    )  # fmt: skip
    return seconds, [float(k), *(float(found[name]) for name in names)]


def peer_nine(
    python: str, columns: list[str], width: int | None
) -> tuple[float, list[float]] | None:
    """The same of pycanon, or None where the interpreter does not have it."""
    if subprocess.run([python, "-c", "import pycanon"], capture_output=True).returncode:
        return None
    asked = json.dumps([os.path.abspath(SAMPLE), columns, width])
    done = subprocess.run([python, "-c", PEER, asked], check=True, capture_output=True, text=True)
    seconds, found = json.loads(done.stdout.splitlines()[-1])
    return seconds, found


def nine_figures(python: str) -> Iterator[str]:
    """A line of ratios a table, and the figures."""
    for name, (columns, width) in TABLES.items():
        own_nine(columns, width)  # compiles, or reads what was compiled before
        seconds, own = own_nine(columns, width)
        line = f"nine figures of Adult, {name}: {1000 * seconds:.1f} ms"
        peer = peer_nine(python, columns, width)
        if peer is None:
            yield f"{line}; pycanon is not installed"
            continue
        yield f"{line} = 1/{peer[0] / seconds:,.0f} of pycanon ({peer[0]:.1f} s)"
        for figure, ours, theirs in zip(NINE, own, peer[1], strict=True):
            note = "" if np.isclose(ours, theirs, equal_nan=True) else "   differs"
            yield f"    {figure:13} {ours:14.9g} {theirs:14.9g}{note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="2GiB")
    parser.add_argument("--rows-per-file", type=int, default=1_000_000)
    parser.add_argument("--pycanon", default=sys.executable, help="an interpreter that has it")
    given = parser.parse_args()
    home = tempfile.mkdtemp(prefix="anon-benchmark-")
    try:
        source = write_released(os.path.join(home, "released"), given.rows, given.rows_per_file)
        print(compared(source, given.workers, given.memory_limit), flush=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    for line in nine_figures(given.pycanon):
        print(line, flush=True)


class Measure:
    """asv: the ratio to a groupby of the same table."""

    timeout = 600
    unit = "x groupby.size"

    def setup_cache(self) -> str:
        return write_released(os.path.join(os.getcwd(), "released"), 2_000_000)

    def track_figures_to_groupby(self, source: str) -> float:
        import dask.dataframe as dd

        frame = dd.read_parquet(source)

        def seconds(call: Callable[[Any], Any]) -> float:
            call(frame.partitions[:1])
            began = time.perf_counter()
            call(frame)
            return time.perf_counter() - began

        with cluster(2, "2GiB", plain=True):
            return seconds(figures) / seconds(sizes)


if __name__ == "__main__":
    main()
