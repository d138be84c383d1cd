"""Files to files: a directory of Parquet becomes a release directory, which is then verified.

Run it with ``python examples/files_to_release.py``. It works in a temporary directory.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dask_anon as anon

HERE = Path(__file__).resolve().parent


def write_people(directory: Path, n_files: int = 4, n_records: int = 500) -> None:
    """Write some made-up hospital records, a few hundred to a file."""
    rng = np.random.default_rng(0)
    directory.mkdir()
    for i in range(n_files):
        days = pd.to_timedelta(rng.integers(0, 365, n_records), unit="D")
        table = pd.DataFrame(
            {
                "name": [f"person {i}-{j}" for j in range(n_records)],
                "age": rng.integers(18, 90, n_records),
                "zip": [f"{zip_code:05d}" for zip_code in rng.integers(2100, 2140, n_records)],
                "admitted": (pd.Timestamp("2025-01-01") + days).date,
                "diagnosis": rng.choice(["flu", "asthma", "angina"], n_records),
            }
        )
        table.to_parquet(directory / f"part-{i}.parquet", index=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        write_people(Path("people"))
        shutil.copy(HERE / "policy.yaml", ".")
        policy = anon.Policy.load("policy.yaml")  # paths in it begin where the file lies

        print("The plan, before anything is read or written:\n")
        print(anon.plan(policy))

        release = anon.run(policy)
        print(f"\n{release}")

        # Anybody who has the directory can do this; nothing but the released files is used.
        verification = anon.verify("release/")
        verification.raise_if_failed()
        print(f"\n{verification}")

        released = pd.read_parquet("release/data")
        print("\nThe first rows of the release:\n")
        print(released.head().to_string(index=False))

        sizes = released.groupby(["age_min", "age_max", "zip", "admitted"], dropna=False).size()
        print(f"\nCounted once more with pandas: {len(sizes)} classes, smallest {sizes.min()}.")


if __name__ == "__main__":
    main()
