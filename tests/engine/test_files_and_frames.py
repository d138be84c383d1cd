"""Files and frames take different ways through the engine and come to one release."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dask_anon as anon

NAMES = ["whole", "float", "text", "flag", "moment", "price", "nothing"]


@pytest.fixture(scope="module")
def table():
    n, rng = 400, np.random.default_rng(0)
    moments = [
        dt.datetime(2020, 1, 1) + dt.timedelta(seconds=s)
        for s in rng.integers(0, 10**7, n).tolist()
    ]
    return pa.table(
        {
            "whole": pa.array(rng.integers(0, 50, n), pa.int32(), mask=rng.random(n) < 0.2),
            "float": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "text": pa.array(rng.choice(["a", "b, c", "d"], n), mask=rng.random(n) < 0.1),
            "flag": pa.array(rng.random(n) < 0.3),
            "moment": pa.array(moments, pa.timestamp("ms", tz="UTC")),
            "price": pa.array([Decimal(c) / 100 for c in rng.integers(-500, 500, n).tolist()]),
            "nothing": pa.nulls(n, pa.int64()),
            "payload": pa.array(range(n)),
        }
    )


@pytest.mark.parametrize("ties", ["left", "either", "divide"])
@pytest.mark.parametrize("format", ["interval", "bounds", "midpoint"])
def test_a_run_releases_what_anonymize_gives(table, tmp_path, ties, format):
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=90)
    asked = anon.Policy(
        columns=dict.fromkeys(NAMES, "quasi-identifier"),
        default_role="insensitive",
        privacy=[{"model": "k-anonymity", "k": 3}],
        algorithm={"name": "mondrian", "ties": ties},
        recoding={"format": format},
        order="keep",
        input={"path": str(tmp_path / "table.parquet")},
        output={"path": str(tmp_path / "release")},
    )
    expected = anon.anonymize(table.to_pandas(types_mapper=pd.ArrowDtype), asked)
    small = {"anon.rows.partition": 90, "anon.rows.region": 60, "anon.tree.bins": 8}
    with dask.config.set(small):
        release = anon.run(asked)
    written = pq.read_table(tmp_path / "release" / "data")
    assert len(release.files) > 1
    assert release.holds
    assert written.column_names == list(expected)
    shown = pa.Table.from_pandas(expected, preserve_index=False)
    assert written.to_pydict() == shown.to_pydict()
    assert written.column("payload").equals(table.column("payload"))


@pytest.mark.parametrize("row_groups", [0, 1])
def test_an_empty_file_gives_an_empty_release(table, tmp_path, row_groups):
    with pq.ParquetWriter(tmp_path / "table.parquet", table.schema) as writer:
        for _ in range(row_groups):
            writer.write_table(table.slice(0, 0))
    release = anon.run(
        anon.Policy(
            columns=dict.fromkeys(NAMES, "quasi-identifier"),
            default_role="insensitive",
            privacy=[{"model": "k-anonymity", "k": 3}],
            input={"path": str(tmp_path / "table.parquet")},
            output={"path": str(tmp_path / "release")},
        )
    )
    assert (release.n_records, release.counts.n_classes) == (0, 0)
    anon.verify(release.path).raise_if_failed()
    written = pq.read_table(tmp_path / "release" / "data")
    assert written.column_names == table.column_names
