"""The count from files is exact, whatever the files, chunks, dictionaries and types."""

from __future__ import annotations

import datetime as dt
import itertools
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dask_anon.audit import _buckets, _files, _tables
from dask_anon.audit.count import count_classes
from dask_anon.classes._hashing import Keys, hash_rows
from dask_anon.errors import DataError

slow_fixture = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def small_tasks(monkeypatch):
    """Make every table large: chunks of 8 rows, batches of 3."""
    monkeypatch.setattr(_files, "CHUNK_ROWS", 8)
    monkeypatch.setattr(_buckets, "CHUNK_ROWS", 8)
    monkeypatch.setattr(_files, "BATCH_ROWS", 3)


def cut(table: pa.Table, n: int) -> list[pa.Table]:
    ends = [round(i * len(table) / n) for i in range(n + 1)]
    return [table.slice(a, b - a) for a, b in itertools.pairwise(ends)]


def write(folder, parts, *, row_group_size=5, ending="parquet") -> list[str]:
    paths = []
    for i, part in enumerate(parts):
        path = os.path.join(folder, f"part-{i}.{ending}")
        if ending == "csv":
            pa_csv.write_csv(part, path)
        else:
            pq.write_table(part, path, row_group_size=row_group_size)
        paths.append(path)
    return paths


def sizes(frame: pd.DataFrame) -> dict[int, int]:
    if not len(frame):
        return {}
    by = frame.groupby(list(frame.columns), dropna=False, observed=True).size()
    return {int(s): int(n) for s, n in by.value_counts().items()}


CELLS = {
    "i": st.one_of(st.none(), st.integers(-2, 2)),
    "t": st.one_of(st.none(), st.sampled_from(["", "a", "missing", "ä, b", "a longer label"])),
    "b": st.one_of(st.none(), st.booleans()),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), max_size=60)
SCHEMA = pa.schema([("i", pa.int32()), ("t", pa.string()), ("b", pa.bool_())])


@given(rows=ROWS, n_files=st.sampled_from([1, 2, 7]))
@slow_fixture
def test_counts_are_those_of_a_groupby(tmp_path, rows, n_files):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    files = write(tmp_path, cut(table, n_files))
    found = count_classes(files, SCHEMA.names)
    assert found.sizes == sizes(table.to_pandas(types_mapper=pd.ArrowDtype))
    assert found.n_records == len(rows)


@given(rows=ROWS, n_files=st.sampled_from([1, 2, 7]))
@slow_fixture
def test_counts_through_scratch_are_the_same(small_tasks, tmp_path, rows, n_files):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    files = write(tmp_path, cut(table, n_files))
    found = count_classes(files, SCHEMA.names, scratch_dir=tmp_path / "scratch")
    assert found.sizes == sizes(table.to_pandas(types_mapper=pd.ArrowDtype))
    scratch = tmp_path / "scratch"
    assert not scratch.exists() or os.listdir(scratch) == []


@given(rows=ROWS, n_files=st.sampled_from([1, 2]))
@slow_fixture
def test_csv_counts_as_parquet_does(small_tasks, tmp_path, rows, n_files):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    files = write(tmp_path, cut(table, n_files), ending="csv")
    found = count_classes(files, SCHEMA.names, scratch_dir=tmp_path)
    assert found.sizes == sizes(table.to_pandas(types_mapper=pd.ArrowDtype))


def test_a_class_larger_than_a_task_is_counted(small_tasks, tmp_path):
    table = pa.table({"q": ["a"] * 100 + ["b"] * 3})
    found = count_classes(write(tmp_path, cut(table, 3)), ["q"], scratch_dir=tmp_path)
    assert found.sizes == {100: 1, 3: 1}


def test_scratch_is_removed_when_a_task_fails(small_tasks, tmp_path):
    files = write(tmp_path, cut(pa.table({"q": ["a"] * 40}), 2))
    with open(files[1], "r+b") as file:  # the footer is sound, a row group is not
        file.seek(4)
        file.write(b"\xff" * 40)
    scratch = tmp_path / "scratch"
    with pytest.raises(DataError, match="cannot read the released columns"):
        count_classes(files, ["q"], scratch_dir=scratch)
    assert not scratch.exists() or os.listdir(scratch) == []


def hashes(array: pa.Array, keys: Keys) -> list[tuple[int, int]]:
    return [tuple(row) for row in hash_rows([array], len(array), keys).tolist()]


KEYS = Keys.draw(1)
LABELS = ["[1, 2]", "", None, "missing", "ein Etikett, länger als acht Bytes", "[1, 2]"]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(LABELS, pa.large_string()),
        pa.array(LABELS, pa.string()).dictionary_encode(),
        pa.array(LABELS, pa.string()).dictionary_encode(null_encoding="encode"),
        pa.DictionaryArray.from_arrays(
            pa.array([3, 1, None, 2, 0, 3], pa.int8()),
            pa.array([LABELS[4], LABELS[1], LABELS[3], LABELS[0], "nobody"], pa.large_string()),
        ),
        pa.array(["x", *LABELS, "y"], pa.string()).slice(1, 6),
        pa.array(["x", *LABELS, "y"], pa.string()).dictionary_encode().slice(1, 6),
    ],
    ids=["large", "dictionary", "null in dictionary", "other order", "slice", "dictionary slice"],
)
def test_hashes_do_not_depend_on_how_text_is_stored(array):
    assert hashes(array, KEYS) == hashes(pa.array(LABELS, pa.string()), KEYS)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None, -1, 2**31 - 1, 1], pa.int32()),
        pa.array([1, None, 255, 0, 1], pa.uint8()),
        pa.array([2**64 - 1, None, 0, 1, 2**64 - 1], pa.uint64()),
        pa.array([1.5, None, float("inf"), -1.5, 1.5], pa.float32()),
        pa.array([np.float16(1.5), None, np.float16(2), np.float16(0), np.float16(1.5)]),
        pa.array([True, None, False, None, True]),
        pa.array([dt.date(2020, 1, 1), None, dt.date(1960, 1, 1), None, dt.date(2020, 1, 1)]),
        pa.array([1, None, -1, 2, 1], pa.timestamp("us", "UTC")),
        pa.array([1, None, 3, 2, 1], pa.time32("s")),
        pa.array([1, None, -3, 2, 1], pa.duration("ns")),
        pa.array([Decimal("1.10"), None, Decimal("-1.10"), Decimal("0.00"), Decimal("1.10")]),
        pa.array([Decimal(10) ** 60, None, Decimal(1), Decimal(0), Decimal(10) ** 60]),
        pa.array([b"a", None, b"\x00", b"", b"a"], pa.binary()),
        pa.array([b"ab", None, b"\x00\x00", b"xx", b"ab"], pa.binary(2)),
    ],
    ids=lambda array: str(array.type),
)
def test_values_of_every_type_are_told_apart_whatever_the_chunk(array):
    whole = hashes(array, KEYS)
    assert len(set(whole)) == len(set(array.to_pylist()))
    assert whole[0] == whole[4]
    pieces = [hash_ for i in range(5) for hash_ in hashes(array.slice(i, 1), KEYS)]
    assert pieces == whole
    assert hashes(array.dictionary_encode(), KEYS) == whole


def test_null_missing_and_the_empty_text_are_different_classes(tmp_path):
    table = pa.table({"q": [None, None, "missing", "", "", ""]})
    assert count_classes(write(tmp_path, [table]), ["q"]).sizes == {1: 1, 2: 1, 3: 1}
    files = write(tmp_path, [table], ending="csv")
    assert count_classes(files, ["q"]).sizes == {1: 1, 2: 1, 3: 1}


def test_null_is_not_the_value_that_lies_under_it():
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([0, 0]).tobytes())]
    )
    zero, null = hashes(hidden, KEYS)
    assert zero != null
    assert null == hashes(pa.array([None], pa.int64()), KEYS)[0]


def test_negative_zero_is_zero_and_all_nan_are_one_value_but_not_the_null():
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64)
    nans = hashes(pa.array(bits.view(np.float64)), KEYS)
    assert nans[0] == nans[1] != hashes(pa.array([None], pa.float64()), KEYS)[0]
    zeros = hashes(pa.array([0.0, -0.0]), KEYS)
    assert zeros[0] == zeros[1]


def test_values_do_not_wander_between_columns():
    keys = Keys.draw(2)
    one, two = pa.array(["ab", "a"]), pa.array(["c", "bc"])
    assert len({tuple(row) for row in hash_rows([one, two], 2, keys).tolist()}) == 2
    nulls = pa.array([None, 1], pa.int8()), pa.array([1, None], pa.int8())
    assert len({tuple(row) for row in hash_rows(list(nulls), 2, keys).tolist()}) == 2


def test_every_count_draws_its_own_key():
    array = pa.array([1])
    assert hashes(array, Keys.draw(1)) != hashes(array, Keys.draw(1))


def test_both_lanes_tell_many_rows_apart():
    numbers = pa.array(np.arange(200_000))
    rows = hash_rows([numbers, numbers], len(numbers), Keys.draw(2))
    assert len(np.unique(rows[:, 0])) == len(np.unique(rows[:, 1])) == 200_000


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 50))
@settings(max_examples=50, deadline=None)
def test_tables_count_what_a_dictionary_counts(values, piece_rows):
    rows = hash_rows([pa.array(values, pa.int64())], len(values), KEYS)
    found = _tables.count_equal([rows], n_shared_bits=0, piece_rows=piece_rows)
    expected = pd.Series(values, dtype="int64").value_counts().value_counts()
    assert dict(zip(*(part.tolist() for part in found), strict=True)) == expected.to_dict()


@pytest.mark.parametrize("n_words", [2, 3, 5])
@pytest.mark.parametrize("n_buckets", [1, 2, 64])
def test_scatter_orders_by_bits_and_keeps_the_order_within(n_buckets, n_words):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**64, (1000, n_words), dtype=np.uint64)
    out = np.empty_like(rows)
    begins = _tables.scatter(rows, 50, n_buckets, out)
    bucket = ((rows[:, 0] >> np.uint64(50)) & np.uint64(n_buckets - 1)).astype(int)
    assert (out == rows[np.argsort(bucket, kind="stable")]).all()
    assert np.diff(begins).tolist() == np.bincount(bucket, minlength=n_buckets).tolist()


def test_a_missing_column_gets_a_sentence_with_the_nearest_name(tmp_path):
    for ending in ("parquet", "csv"):
        files = write(tmp_path, [pa.table({"zip_code": ["a"]})], ending=ending)
        with pytest.raises(DataError, match=r"'zipcode' is not in .* Did you mean 'zip_code'\?"):
            count_classes(files, ["zipcode"])


def test_files_that_disagree_on_types_get_a_sentence(tmp_path):
    files = write(tmp_path, [pa.table({"q": [1]}), pa.table({"q": ["1"]})])
    with pytest.raises(DataError, match=r"column 'q' is int64 in .* and text in .*must agree"):
        count_classes(files, ["q"])


def test_columns_of_other_types_get_a_sentence(tmp_path):
    files = write(tmp_path, [pa.table({"q": [[1], [2]]})])
    with pytest.raises(DataError, match="cannot be counted by a column of type list"):
        count_classes(files, ["q"])


def test_no_files_have_no_classes():
    found = count_classes([], ["q"])
    assert (found.n_records, found.n_classes, found.smallest, found.largest) == (0, 0, 0, 0)
    assert str(found) == "0 records"


def test_a_ragged_csv_row_shows_no_value(tmp_path):
    path = tmp_path / "part.csv"
    path.write_text('q,r\n"a","b"\n"secret"\n')
    with pytest.raises(DataError) as caught:
        count_classes([path], ["q"])
    assert "secret" not in str(caught.value)
