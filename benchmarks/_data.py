"""Generated tables, the same for the same seed, written chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUASI_IDENTIFIERS = [f"q{j}" for j in range(6)]


def people(n: int, seed: int) -> pa.Table:
    """Six integer quasi-identifiers of 2 to 4,000,000 values, and two other columns.

    Birth day, postal code, income, sex, years of education, hours a week; a code and a measurement.
    """
    r = np.random.default_rng(1000 + seed)
    hours = np.where(r.random(n) < 0.47, 40, np.round(r.normal(40, 14, n)))
    return pa.table(
        {
            "q0": r.integers(0, 36_500, n).astype(np.int32),
            "q1": r.integers(0, 50_000, n).astype(np.int32),
            "q2": np.minimum(r.lognormal(10.8, 0.8, n), 4_000_000).astype(np.int64),
            "q3": r.integers(0, 2, n).astype(np.int8),
            "q4": np.clip(np.round(r.normal(10, 2.6, n)), 1, 16).astype(np.int8),
            "q5": np.clip(hours, 1, 99).astype(np.int8),
            "code": r.integers(0, 20, n).astype(np.int32),
            "measurement": r.random(n),
        }
    )


def write_people(directory: str, n_records: int, rows_per_file: int = 1_000_000) -> str:
    """Write `n_records` people as Parquet files of one row group each; returns the directory."""
    os.makedirs(directory, exist_ok=True)
    for i, n in enumerate(_sizes(n_records, rows_per_file)):
        pq.write_table(people(n, i), os.path.join(directory, f"part.{i:05d}.parquet"))
    return directory


def _sizes(n_records: int, rows_per_file: int) -> Iterator[int]:
    for start in range(0, n_records, rows_per_file):
        yield min(rows_per_file, n_records - start)


def adult_like(n: int, seed: int = 0) -> list[np.ndarray]:
    """Six integer columns with the cardinalities and skews of the Adult table."""
    r = np.random.default_rng(seed)
    shares = np.array([14, 13, 13, 12, 11, 10, 7, 6, 5, 4, 3, 1, 0.6, 0.3, 0.1]) / 100
    hours = np.where(r.random(n) < 0.47, 40, np.round(r.normal(40, 14, n)))
    return [
        np.clip(r.gamma(6, 6.5, n).astype(np.int64) + 17, 17, 90),
        np.clip(np.round(r.normal(10, 2.6, n)), 1, 16).astype(np.int64),
        np.clip(hours, 1, 99).astype(np.int64),
        r.choice(5, n, p=[0.85, 0.1, 0.03, 0.01, 0.01]).astype(np.int64),
        r.choice(15, n, p=shares).astype(np.int64),
        np.minimum(r.zipf(2.2, n), 42).astype(np.int64),
    ]
