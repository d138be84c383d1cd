"""Parquet input: parts, schemas that agree, footers."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dask_anon.engine.sources import open_source
from dask_anon.errors import DataError
from dask_anon.hierarchy import domain_of


def read(source, columns=None):
    columns = source.schema.names if columns is None else columns
    return pa.concat_tables([part.read(columns) for part in source.parts])


def write(tmp_path, *tables, **options):
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"part.{i}.parquet", **options)
    return tmp_path


def test_parts_are_row_groups_gathered_across_files(tmp_path):
    one, two = pa.table({"x": range(10)}), pa.table({"x": range(10, 15)})
    source = open_source(write(tmp_path, one, two, row_group_size=4))
    assert (source.kind, source.n_rows, source.n_parts) == ("parquet", 15, 5)
    assert source.rows_of_parts == [4, 4, 2, 4, 1]
    assert source.regroup(7).rows_of_parts == [8, 7]
    assert source.regroup(1).rows_of_parts == [4, 4, 2, 4, 1]
    assert source.regroup(1000).rows_of_parts == [15]
    assert open_source(tmp_path, part_rows=1000).n_parts == 1
    for part_rows in (1, 7, 1000):
        regrouped = source.regroup(part_rows)
        assert read(regrouped)["x"].to_pylist() == list(range(15))
        assert [part.n_rows for part in regrouped.parts] == regrouped.rows_of_parts
        assert [part.read([]).num_rows for part in regrouped.parts] == regrouped.rows_of_parts


def test_a_reader_gives_the_columns_as_asked_after_a_journey(tmp_path):
    table = pa.table({"a": [1, 2], "b": ["x", None], "a.b": [0.5, 1.5]})
    (part,) = open_source(write(tmp_path, table)).parts
    part = pickle.loads(pickle.dumps(part))
    assert part.read(["b", "a"]).to_pydict() == {"b": ["x", None], "a": [1, 2]}
    assert part.read(["a"]).column_names == ["a"]
    with pytest.raises(DataError, match=r"column 'aa' is not in the input. Did you mean 'a'?"):
        part.read(["aa"])


@pytest.mark.parametrize("name", [None, "__null_dask_index__"])
def test_an_unnamed_index_and_pandas_metadata_do_not_ride_along(tmp_path, name):
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index([7, 8], name=name))
    frame.to_parquet(tmp_path / "a.parquet")
    source = open_source(tmp_path)
    assert source.schema.names == ["x"]
    assert source.schema.metadata is None
    assert read(source).schema.metadata is None


def test_categoricals_keep_their_categories_and_order(tmp_path):
    levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame(
        {"level": pd.Categorical(["high", "low"], dtype=levels), "kind": pd.Categorical(["b", "a"])}
    )
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1)
    table = read(open_source(tmp_path))
    assert table.schema.field("level").type.ordered
    assert not table.schema.field("kind").type.ordered
    assert table["level"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]
    assert table.to_pydict() == {"level": ["high", "low"], "kind": ["b", "a"]}


def test_harmless_differences_between_files_are_settled(tmp_path):
    one = pa.table(
        [pa.array(["x"]).dictionary_encode(), pa.array(["p"]), pa.array([1]), pa.nulls(1)],
        schema=pa.schema(
            [
                ("s", pa.dictionary(pa.int32(), pa.string())),
                ("l", pa.string()),
                pa.field("i", pa.int64(), nullable=False),
                ("n", pa.null()),
            ]
        ),
    )
    two = pa.table(
        {"n": ["v"], "i": pa.array([None], pa.int64()), "l": pa.array(["q"], pa.large_string())}
    ).append_column("s", pa.array(["y"]))
    table = read(open_source(write(tmp_path, one, two)).regroup(10))
    assert table.to_pylist() == [
        {"s": "x", "l": "p", "i": 1, "n": None},
        {"s": "y", "l": "q", "i": None, "n": "v"},
    ]
    assert table.schema.types == [pa.string(), pa.large_string(), pa.int64(), pa.string()]


def test_dictionaries_of_different_width_are_settled(tmp_path):
    tables = [
        pa.table({"d": pa.array([v]).dictionary_encode().cast(pa.dictionary(index, pa.string()))})
        for v, index in (("x", pa.int8()), ("y", pa.int16()))
    ]
    table = read(open_source(write(tmp_path, *tables)))
    assert table.schema.field("d").type == pa.dictionary(pa.int32(), pa.string())
    assert table["d"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    "a, b, types",
    [
        (pa.array([1]), pa.array(["x"]), "int64 in .*0.parquet' and string in .*1.parquet'"),
        (pa.array([1]), pa.array([1.5]), "int64 in .* and double in"),
        (pa.array([1], pa.int32()), pa.array([1], pa.int64()), "int32 in .* and int64 in"),
        (pa.array([1], pa.timestamp("ms")), pa.array([1], pa.timestamp("us")), r"timestamp\[ms\]"),
    ],
)
def test_a_column_of_two_types_is_refused(tmp_path, a, b, types):
    write(tmp_path, pa.table({"age": a}), pa.table({"age": b}))
    pattern = "column 'age' is " + types.replace("in .*0", "in file 'part.0").replace(
        "in .*1", "in file 'part.1"
    )
    with pytest.raises(DataError, match=pattern):
        open_source(tmp_path)


def test_an_order_of_categories_does_not_mix_with_plain_text(tmp_path):
    ordered = pa.array(["x"]).dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(ordered.indices, ordered.dictionary, ordered=True)
    write(tmp_path, pa.table({"level": ordered}), pa.table({"level": ["x"]}))
    with pytest.raises(DataError, match=r"column 'level' is dictionary.* and string in file"):
        open_source(tmp_path)


def test_a_column_that_one_file_lacks_is_refused(tmp_path):
    write(tmp_path, pa.table({"a": [1], "b": [1]}), pa.table({"a": [1]}))
    with pytest.raises(DataError, match=r"'b' is in file 'part.0.parquet' and not in file 'part.1"):
        open_source(tmp_path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match=r"more than one column named 'a'"):
        open_source(write(tmp_path, table))


def test_a_damaged_file_is_named_when_opened_and_when_read(tmp_path):
    write(tmp_path, pa.table({"a": list(range(5000))}), compression="snappy")
    path = tmp_path / "part.0.parquet"
    whole = path.read_bytes()
    source = open_source(tmp_path)
    path.write_bytes(whole[:100] + b"\0" * 2000 + whole[2100:])
    with pytest.raises(DataError, match=r"'part.0.parquet' is not a readable Parquet file"):
        read(source)
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"'part.0.parquet' is not a readable Parquet file"):
        open_source(tmp_path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=r"'part.0.parquet' is not a readable Parquet file"):
        open_source(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"cannot be found now. On a cluster"):
        read(source)


def test_an_empty_table_has_one_empty_part(tmp_path):
    source = open_source(write(tmp_path, pa.table({"a": pa.array([], pa.int64())})))
    assert (source.n_rows, source.n_parts, source.regroup(5).n_parts) == (0, 1, 1)
    assert read(source).schema == pa.schema([("a", pa.int64())])
    assert read(source, []).num_rows == 0


def test_footers_know_bounds_and_missing_values(tmp_path):
    day = dt.date(2020, 1, 1)
    table = pa.table(
        {
            "i": pa.array([3, None, -1, 7], pa.int64()),
            "u": pa.array([2**63 + 1, 0, 1, 2], pa.uint64()),
            "d": pa.array([day, None, None, dt.date(1969, 1, 1)]),
            "t": pa.array([5, 1, None, 2], pa.timestamp("ns")),
            "m": pa.array([Decimal("1.50"), Decimal("-2.25"), None, None]),
            "none": pa.array([None] * 4, pa.int32()),
            "f": [0.5, 1.5, 2.5, float("nan")],
            "s": ["a", "b", "c", "d"],
        }
    )
    source = open_source(write(tmp_path, table, table.slice(0, 1), row_group_size=2))
    assert source.n_rows == 5
    whole = read(source)
    for name in ("i", "u", "d", "t", "m"):
        domain = domain_of(name, source.footer_summary(name))
        column = whole[name]
        assert domain.type == column.type
        codes = domain.encode(column)
        assert codes.min() == 0
        assert sorted(set(codes))[-1] == (domain.missing_code if column.null_count else 2**63 + 1)
        assert domain.has_missing == (column.null_count > 0)
    assert domain_of("none", source.footer_summary("none")).has_missing
    assert source.footer_summary("f") is None
    assert source.footer_summary("s") is None
    with pytest.raises(DataError, match=r"'age' is not in the input"):
        source.footer_summary("age")


def test_footers_without_statistics_say_nothing(tmp_path):
    source = open_source(write(tmp_path, pa.table({"i": [1]}), write_statistics=False))
    assert source.footer_summary("i") is None
