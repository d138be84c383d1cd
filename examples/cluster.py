"""The same job on a Dask cluster: whatever client is current does the work.

Here the cluster is two local processes with a memory limit. With ``Client("tcp://scheduler:8786")``
instead, nothing else changes, as long as all workers see the same files.
Run it with ``python examples/cluster.py``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import dask_anon as anon


def write_trips(directory: Path, n_files: int = 8, n_records: int = 25_000) -> None:
    """Write some made-up taxi trips: 200,000 in eight files."""
    rng = np.random.default_rng(2)
    directory.mkdir()
    for i in range(n_files):
        table = pd.DataFrame(
            {
                "pickup_x": rng.integers(0, 10_000, n_records),
                "pickup_y": rng.integers(0, 10_000, n_records),
                "minute": rng.integers(0, 1_440, n_records),
                "fare": rng.gamma(2.0, 8.0, n_records).round(2),
            }
        )
        table.to_parquet(directory / f"trips-{i}.parquet", index=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        write_trips(home / "trips")
        policy = anon.Policy(
            columns={
                "pickup_x": {"role": "quasi-identifier"},
                "pickup_y": {"role": "quasi-identifier"},
                "minute": {"role": "quasi-identifier"},
                "fare": {"role": "insensitive"},
            },
            privacy=[{"model": "k-anonymity", "k": 10}],
            recoding={"format": "bounds"},
            input={"path": str(home / "trips" / "*.parquet")},
            output={"path": str(home / "release")},
        )
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="1GiB",
                dashboard_address=":0",
                local_directory=str(home / "spill"),
            ) as cluster,
            Client(cluster),
        ):
            release = anon.run(policy)
            print(release)
            print(anon.verify(home / "release"))


if __name__ == "__main__":
    main()
