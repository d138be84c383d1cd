"""Privacy models measured from files alone are those of a plain reading of their definitions."""

from __future__ import annotations

import datetime as dt
import os
from collections import defaultdict
from decimal import Decimal

import numpy as np
import pandas as pd
import privacy
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dask_anon.audit import _buckets, _files
from dask_anon.audit._judged import classes_of, packed
from dask_anon.audit.count import count_classes
from dask_anon.audit.judge import judge_classes
from dask_anon.errors import DataError, PolicyError
from dask_anon.evaluation import check
from dask_anon.policy import Policy

LAW = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MODELS = [
    {"model": "k-anonymity", "k": 2},
    {"model": "alpha-k-anonymity", "column": "s", "alpha": 0.6, "k": 2},
    {"model": "distinct-l-diversity", "column": "s", "l": 2},
    {"model": "entropy-l-diversity", "column": "s", "l": 1.8},
    {"model": "recursive-cl-diversity", "column": "s", "c": 1.5, "l": 2},
    {"model": "t-closeness", "column": "s", "t": 0.3, "distance": "equal"},
    {"model": "t-closeness", "column": "n", "t": 0.2, "distance": "ordered"},
    {"model": "t-closeness", "column": "n", "t": 0.2, "distance": "numeric"},
    {"model": "basic-beta-likeness", "column": "s", "beta": 1},
    {"model": "enhanced-beta-likeness", "column": "n", "beta": 1},
    {"model": "delta-disclosure", "column": "s", "delta": 1.2},
    {"model": "delta-presence", "column": "m", "min": 0.2, "max": 0.8},
]
ROLES = {"a": "quasi-identifier", "b": "quasi-identifier"} | dict.fromkeys("snm", "sensitive")
POLICY = Policy(columns=ROLES, privacy=MODELS)
SCHEMA = pa.schema(
    [("a", pa.int32()), ("b", pa.string()), ("s", pa.string()), ("n", pa.int64()),
     ("m", pa.bool_())]
)  # fmt: skip
TYPES = {field.name: field.type for field in SCHEMA}
CELLS = {
    "a": st.integers(0, 1),
    "b": st.one_of(st.none(), st.sampled_from(["", "x"])),
    "s": st.one_of(st.none(), st.sampled_from(["flu", "hiv", "ulcer"])),
    "n": st.one_of(st.none(), st.sampled_from([-5, 10, 20, 90])),
    "m": st.one_of(st.none(), st.booleans()),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=50)


@pytest.fixture
def small_tasks(monkeypatch):
    """Make every table large: chunks of 8 rows, batches of 3."""
    monkeypatch.setattr(_files, "CHUNK_ROWS", 8)
    monkeypatch.setattr(_buckets, "CHUNK_ROWS", 8)
    monkeypatch.setattr(_files, "BATCH_ROWS", 3)


def write(folder, table: pa.Table, n_files: int, ending: str = "parquet") -> list[str]:
    paths = []
    for i in range(n_files):
        start, stop = (round(j * len(table) / n_files) for j in (i, i + 1))
        part = table.slice(start, stop - start)
        path = os.path.join(folder, f"part-{i}.{ending}")
        if ending == "csv":
            pa_csv.write_csv(part, path)
        else:
            pq.write_table(part, path, row_group_size=5)
        paths.append(path)
    return paths


def classes_in(rows: list[dict]) -> list[list[int]]:
    found = defaultdict(list)
    for i, row in enumerate(rows):
        found[row["a"], row["b"]].append(i)
    return list(found.values())


@given(rows=ROWS, n_files=st.sampled_from([1, 3]), ending=st.sampled_from(["parquet", "csv"]))
@LAW
def test_every_model_is_measured_as_its_definition_reads(
    small_tasks, tmp_path, rows, n_files, ending
):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    files = write(tmp_path, table, n_files, ending)
    judged = judge_classes(files, ["a", "b"], POLICY, types=TYPES, scratch_dir=tmp_path / "s")
    columns = {name: [row[name] for row in rows] for name in SCHEMA.names}
    classes = classes_in(rows)
    keeps = {i: privacy.keeps(model, columns) for i, model in enumerate(MODELS)}
    size_only = [i for i, m in enumerate(MODELS) if m["model"] == "k-anonymity"]
    for (row, finding), model_check in zip(judged.of_values, judged.models.checks, strict=True):
        i = model_check.place
        of_class = [keeps[i](c) or len(c) < MODELS[i].get("k", 0) for c in classes]
        broken = [c for c, ok in zip(classes, of_class, strict=True) if not ok]
        # (alpha, k) is two limits: where a class is too small, the share may hold all the same.
        if MODELS[i]["model"] != "alpha-k-anonymity":
            assert finding.n_classes == len(broken), row
            assert finding.n_records == sum(map(len, broken)), row
            assert row.holds == (not broken)
    broken = [c for c in classes if not all(keep(c) for keep in keeps.values())]
    assert judged.found.n_classes == len(broken)
    assert judged.found.n_records == sum(map(len, broken))
    assert [row.holds for row in judged.of_sizes[:1]] == [
        all(keeps[i](c) for c in classes) for i in size_only
    ]
    assert judged.found.counts == count_classes(files, ["a", "b"])
    assert not os.path.exists(tmp_path / "s") or os.listdir(tmp_path / "s") == []


@given(rows=ROWS)
@LAW
def test_files_and_frames_are_judged_alike(small_tasks, tmp_path, rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    judged = judge_classes(write(tmp_path, table, 2), ["a", "b"], POLICY, types=TYPES)
    found = check(table.to_pandas(types_mapper=pd.ArrowDtype), POLICY)
    assert judged.rows == found.rows
    assert (judged.found.n_classes, judged.found.n_records) == (
        found.n_classes_violating,
        found.n_records_violating,
    )


@pytest.mark.parametrize("nulls", ["ignore", "value"])
def test_a_missing_value_counts_as_the_policy_says(tmp_path, nulls):
    table = pa.table({"a": [1, 1, 2, 2], "s": ["flu", None, "flu", "hiv"]})
    asked = Policy(
        columns={"a": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "distinct-l-diversity", "column": "s", "l": 2}],
        sensitive_nulls=nulls,
    )
    judged = judge_classes(write(tmp_path, table, 1), ["a"], asked, types={"s": pa.string()})
    [(row, finding)] = judged.of_values
    assert (row.found, row.holds) == ((1, False) if nulls == "ignore" else (2, True))
    assert finding.n_records == (2 if nulls == "ignore" else 0)
    with pytest.raises(PolicyError, match="'s' has 1 missing value"):
        judge_classes(
            write(tmp_path, table, 1), ["a"],
            asked.model_copy(update={"sensitive_nulls": "error"}), types={},
        )  # fmt: skip


def of_one_column(array: pa.Array, distance=None) -> tuple[pa.Table, Policy]:
    n = len(array)
    table = pa.table({"a": [i % 2 for i in range(n)], "s": array})
    model = {"model": "t-closeness", "column": "s", "t": 0.4}
    if distance:
        model["distance"] = distance
    return table, Policy(columns={"a": "quasi-identifier", "s": "sensitive"}, privacy=[model])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    "array",
    [
        pa.array([-1, None, 2, 7], pa.int32()),
        pa.array([1, 2, None, 2**64 - 1], pa.uint64()),
        pa.array([0.1, 1e300, None, -2.5]),
        pa.array([True, False, None, True]),
        pa.array([dt.date(2020, 1, 1), None, dt.date(1960, 5, 1), dt.date(2021, 1, 1)]),
        pa.array([1, None, -10**15, 10**15 + 1], pa.timestamp("us")),
        pa.array([1, None, -1000, 5000], pa.timestamp("ms", "UTC")),
        pa.array([1, None, 3000, 2], pa.time32("ms")),
        pa.array([1, None, 3000, 2], pa.duration("s")),
        pa.array([Decimal("1.10"), None, Decimal("-1.10"), Decimal("7.00")]),
        pa.array(["b", None, "", "a, \"b\"\nc"]),
        pa.array(["b", None, "x", "a"]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type) if isinstance(array, pa.Array) else array,
)  # fmt: skip
def test_values_of_every_type_are_read_back_in_it(tmp_path, array, ending):
    table, asked = of_one_column(pa.concat_arrays([array, array.slice(1)]))
    plain = table
    if ending == "csv" and pa.types.is_dictionary(array.type):
        plain = table.set_column(1, "s", table["s"].cast(pa.string()))
    files = write(tmp_path, plain, 2, ending)
    judged = judge_classes(files, ["a"], asked, types={"s": array.type})
    found = check(table.to_pandas(types_mapper=pd.ArrowDtype), asked)
    assert judged.rows == found.rows
    assert judged.rows[0].found is not None


def test_ordered_categories_keep_their_order_in_parquet(tmp_path):
    order = ["low", "middle", "high"]  # not the order of the alphabet
    grade = pd.Categorical(["low", "high", "middle", "high"] * 3, order, ordered=True)
    table, asked = of_one_column(pa.array(grade))
    judged = judge_classes(write(tmp_path, table, 3), ["a"], asked, types={})
    assert judged.rows[0].name == "t-closeness of 's' (ordered)"
    assert judged.rows == check(table.to_pandas(), asked).rows
    assert judged.models.values[0].values.to_pylist() == order


@pytest.mark.parametrize("rows", [[], [{"a": None, "b": None}] * 100])
def test_no_records_and_one_huge_class(small_tasks, tmp_path, rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    judged = judge_classes(write(tmp_path, table, 2), ["a", "b"], POLICY, types=TYPES)
    assert judged.found.counts.n_records == len(rows)
    assert len(judged.of_values) == len(MODELS) - 1
    if not rows:
        assert judged.holds
        assert {row.found for row in judged.rows} == {None}
        assert str(judged.rows[0]) == "k-anonymity k >= 2: found no records, holds"
    no_files = judge_classes([], ["a", "b"], POLICY, types=TYPES)
    assert no_files.holds
    assert len(no_files.rows) == len(judged.rows)


def test_the_average_risk_and_population_uniques_come_from_class_sizes(tmp_path):
    asked = Policy(
        columns={"a": "quasi-identifier"},
        privacy=[
            {"model": "average-risk", "max": 0.5},
            {"model": "strict-average-risk", "average": 0.6, "highest": 0.5, "records_at_risk": 0},
            {"model": "sample-uniqueness", "max": 0.1},
            {"model": "population-uniqueness", "max": 0.5, "sampling_fraction": 0.5,
             "estimator": "zayatz"},
            {"model": "k-map", "k": 5, "population": 100},
        ],
    )  # fmt: skip
    table = pa.table({"a": [1, 2, 3, 3]})  # two uniques and a pair
    judged = judge_classes(write(tmp_path, table, 1), ["a"], asked, types={})
    found = {(row.name, row.asked): (row.found, row.holds) for row in judged.rows}
    assert found["average-risk", "risk <= 0.5"] == (0.75, False)
    assert found["strict-average-risk", "average risk <= 0.6"] == (0.75, False)
    assert found["strict-average-risk", "records with a risk above 0.5 <= 0"] == (0.5, False)
    assert found["sample-uniqueness", "uniques <= 0.1"] == (0.5, False)
    assert found["population-uniqueness", "uniques <= 0.5"] == (pytest.approx(7 / 22), True)
    assert found["k-map", "class size >= 3"] == (1, False)
    # Each of 5 people is in the sample with a chance of 4 in 100: the mean of 0.2.
    assert judged.min_size == 3
    assert (judged.found.n_classes, judged.found.n_records) == (3, 4)


def test_csv_that_is_not_of_its_type_gets_a_sentence_without_the_value(tmp_path):
    (tmp_path / "p.csv").write_text("a,s\n1,3\n1,secret\n")
    _, asked = of_one_column(pa.array([1, 2]))
    with pytest.raises(DataError, match=r"'s' holds values that are not of the type .* int64") as e:
        judge_classes([tmp_path / "p.csv"], ["a"], asked, types={"s": pa.int64()})
    assert "secret" not in str(e.value)


def test_a_sensitive_column_that_is_not_there_has_a_nearest_name(tmp_path):
    files = write(tmp_path, pa.table({"a": [1, 1], "ss": [1, 2]}), 1)
    _, asked = of_one_column(pa.array([1, 2]))
    with pytest.raises(DataError, match=r"'s' is not in .* Did you mean 'ss'\?"):
        judge_classes(files, ["a"], asked, types={})


def test_models_without_sensitive_columns_read_none(tmp_path, monkeypatch):
    files = write(tmp_path, pa.table({"a": [1, 1, 2]}), 1)
    monkeypatch.setattr("dask_anon.audit.judge._count_values", lambda *_: pytest.fail("was read"))
    asked = Policy(columns={"a": "quasi-identifier"}, privacy=[{"model": "k-anonymity", "k": 2}])
    judged = judge_classes(files, ["a"], asked, types={})
    assert (judged.found.n_classes, judged.found.n_records, judged.holds) == (1, 1, False)


@given(
    st.lists(st.tuples(st.integers(0, 3), *[st.integers(0, 4)] * 3), max_size=60),
    st.integers(1, 20),
)
@settings(max_examples=30, deadline=None)
def test_classes_are_those_of_a_dictionary_whatever_the_pieces(rows, piece_rows):
    rng = np.random.default_rng(5)
    hash_of = rng.integers(0, 2**64, (4, 2), dtype=np.uint64)
    table = np.array(rows, np.int64).reshape(-1, 4)
    words = packed(hash_of[table[:, 0]], [table[:, i].astype(np.uint32) for i in (1, 2, 3)])
    n_codes = [5, 4, 2]  # higher codes are not counted
    found = set()
    for some in classes_of([words], n_codes=n_codes, n_shared_bits=0, piece_rows=piece_rows):
        for c, size in enumerate(some.sizes.tolist()):
            columns = []
            for offsets, codes, counts in some.columns:
                inside = slice(offsets[c], offsets[c + 1])
                columns.append((tuple(codes[inside].tolist()), tuple(counts[inside].tolist())))
            found.add((size, tuple(columns)))
    expected = set()
    for number in set(table[:, 0].tolist()):
        own = table[table[:, 0] == number]
        columns = []
        for i, n in enumerate(n_codes, start=1):
            codes, counts = np.unique(own[own[:, i] < n, i], return_counts=True)
            columns.append((tuple(codes.tolist()), tuple(counts.tolist())))
        expected.add((len(own), tuple(columns)))
    assert found == expected
