"""The plan says what a run will do from what is known without reading a row."""

from __future__ import annotations

import json

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dask_anon as anon


@pytest.fixture
def asked():
    return anon.Policy(
        columns={"a": "quasi-identifier", "b": "quasi-identifier", "name": "identifier"},
        privacy=[{"model": "k-anonymity", "k": 5}],
    )


@pytest.fixture
def frame():
    n = 1_000
    return pd.DataFrame(
        {"a": np.arange(n), "b": np.arange(n) % 7, "name": "x", "s": np.arange(n) / 2}
    )


@pytest.fixture
def files(frame, tmp_path):
    for i in range(4):
        pq.write_table(
            pa.Table.from_pandas(frame.iloc[i * 250 : i * 250 + 250]),
            tmp_path / f"{i}.parquet",
            row_group_size=100,
        )
    return tmp_path / "*.parquet"


def from_files(asked, files):
    return asked.model_copy(
        update={
            "input": anon.Policy.from_flags(asked, input=str(files)).input,
            "default_role": "insensitive",
        }
    )


def test_a_pandas_frame(frame, asked):
    found = anon.plan(frame, asked)
    assert (found.n_records, found.n_partitions) == (1_000, 1)
    assert found.quasi_identifiers == ("a", "b")
    assert found.columns_used == ("a", "b", "s")
    assert found.columns_dropped == ("name",)
    assert [s.name for s in found.stages] == [
        "domains", "encode", "regroup", "finish", "write", "verify",
    ]  # fmt: skip
    assert found.n_tasks == sum(s.tasks for s in found.stages)
    assert found.peak_memory == max(s.task_memory for s in found.stages)


def test_a_dask_frame_is_not_computed(frame, asked):
    def refuse(*_, **__):
        raise AssertionError("the plan computed something")

    with dask.config.set(scheduler=refuse):
        found = anon.plan(dd.from_pandas(frame, npartitions=3), asked)
    assert found.n_records is None
    assert found.n_partitions == 3
    assert "unknown" in str(found)


def test_files_by_their_footers(files, asked):
    with dask.config.set({"anon.rows.partition": 200, "anon.rows.region": 125}):
        found = anon.plan(from_files(asked, files))
    assert found.n_records == 1_000
    assert found.code_bytes == 2  # 1,000 values
    assert found.region_rows == 125
    assert found.partition_rows <= 250
    # The footers tell the domains; 1,000 records need three levels to be 125.
    assert "domains" not in [s.name for s in found.stages]
    stages = {s.name: s for s in found.stages}
    assert stages["encode"].bytes_moved == 1_000 * 2 * 2
    assert stages["tree"].bytes_moved == 3 * 1_000 * 2 * 2
    assert stages["finish"].tasks == 8
    assert found.passes == 5


def test_it_prints_as_a_table_and_as_json(frame, asked):
    found = anon.plan(frame, asked)
    text = str(found)
    assert text.splitlines()[0].startswith("rows           1,000 in 1 partition")
    assert all(s.name in text for s in found.stages)
    stored = json.loads(json.dumps(found.to_json()))
    assert stored["n_records"] == 1_000
    assert stored["peak_memory"] == found.peak_memory
    assert len(stored["stages"]) == len(found.stages)


def test_more_records_need_more_levels_and_no_more_memory(frame, asked):
    small, large = frame.iloc[:200], frame
    with dask.config.set({"anon.rows.region": 50}):
        few, many = anon.plan(small, asked), anon.plan(large, asked)
    assert many.passes == few.passes + 3  # 200 / 50 = 2**2, 1,000 / 50 <= 2**5
    finish = [next(s for s in p.stages if s.name == "finish").task_memory for p in (few, many)]
    assert finish[0] == finish[1]


def test_memory_that_is_too_small_is_refused(frame, asked):
    with (
        dask.config.set({"anon.memory.limit": "300MiB"}),
        pytest.raises(anon.PlanError, match="at least 512 MiB a thread"),
    ):
        anon.plan(frame, asked)


def test_a_frame_needs_a_policy(frame):
    with pytest.raises(anon.AnonError, match="needs a policy"):
        anon.plan(frame)
