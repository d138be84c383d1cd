"""What privacy models cost over k-anonymity alone: ``python -m benchmarks.models``.

The same files are anonymized with k alone, then with a further model, on two workers of one thread;
the release is verified each time. Printed are the ratios of the whole run, and of Mondrian in it:
from the sensitive values' counts to the finished regions.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._data import QUASI_IDENTIFIERS, people
from benchmarks.run import Phases, cluster, measured
from dask_anon import Policy
from dask_anon.engine.execute import reporting_to

K = 10
MODELS: dict[str, list[dict[str, Any]]] = {
    "distinct l=5 of 20 codes": [{"model": "distinct-l-diversity", "column": "code", "l": 5}],
    "t=0.4 equal, 20 codes": [
        {"model": "t-closeness", "column": "code", "t": 0.4, "distance": "equal"}
    ],
    "t=0.2 ordered, 1,000 salaries": [
        {"model": "t-closeness", "column": "salary", "t": 0.2, "distance": "ordered"}
    ],
}
_MONDRIAN = ("values", "domains", "encode", "tree", "regroup", "finish")


def write_files(directory: str, n_records: int, rows_per_file: int = 1_000_000) -> str:
    """People with a salary in thousands; returns the directory."""
    os.makedirs(directory, exist_ok=True)
    for i, start in enumerate(range(0, n_records, rows_per_file)):
        n = min(rows_per_file, n_records - start)
        draw = np.random.default_rng(9_000 + i)
        salary = np.minimum(draw.lognormal(4, 0.9, n), 999).astype(np.int32)
        table = people(n, i).append_column("salary", pa.array(salary))
        pq.write_table(table, os.path.join(directory, f"part.{i:05d}.parquet"))
    return directory


def anonymized(source: str, target: str, models: list[dict[str, Any]]) -> tuple[float, Phases]:
    """Seconds of a run, and of its stages."""
    import dask_anon as anon

    policy = Policy(
        columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier")
        | {"code": "sensitive", "salary": "sensitive"},
        default_role="insensitive",
        privacy=[{"model": "k-anonymity", "k": K}, *models],
        recoding={"format": "bounds"},
        input={"path": source},
        output={"path": target},
    )
    phases = Phases()
    with measured() as found, reporting_to(phases):
        anon.run(policy, overwrite=True)
    return found.seconds, phases


def _mondrian_seconds(phases: Phases) -> float:
    return sum(phases.seconds.get(stage, 0.0) for stage in _MONDRIAN)


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anon-bench-") as directory:
        source = write_files(f"{directory}/in", asked.rows)
        with cluster(asked.workers, "2GiB"):
            anonymized(source, f"{directory}/out", [])  # compile, and fill the page cache
            whole, alone = anonymized(source, f"{directory}/out", [])
            print(
                f"{asked.rows:,} rows, k={K} alone: {whole:.1f} s, "
                f"Mondrian {_mondrian_seconds(alone):.1f} s"
            )
            for name, models in MODELS.items():
                anonymized(source, f"{directory}/out", models)
                seconds, phases = anonymized(source, f"{directory}/out", models)
                stages = ", ".join(f"{s} {t:.1f}" for s, t in phases.seconds.items())
                ratio = _mondrian_seconds(phases) / _mondrian_seconds(alone)
                print(
                    f"{name}: Mondrian {ratio:.2f} x k alone, run {seconds / whole:.2f} x "
                    f"({seconds:.1f} s: {stages})"
                )


if __name__ == "__main__":
    main()
