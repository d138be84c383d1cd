"""Which files an input is, and what is said when it is none."""

from __future__ import annotations

import bz2
import gzip
import lzma

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dask_anon.engine.sources import _files, column_names, open_source
from dask_anon.errors import DataError

TABLE = pa.table({"age": [1, 2, 3], "zip": ["02134", "02139", None]})


def rows(source):
    names = source.schema.names
    return pa.concat_tables([part.read(names) for part in source.parts]).to_pylist()


def test_a_directory_is_read_in_natural_order_without_hidden_files(tmp_path):
    for i in (0, 2, 10):
        pq.write_table(pa.table({"x": [i]}), tmp_path / f"part.{i}.parquet")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    (tmp_path / ".part.crc").write_bytes(b"x")
    (tmp_path / "_temporary").mkdir()
    pq.write_table(pa.table({"x": [99]}), tmp_path / "_temporary" / "part.3.parquet")
    assert [row["x"] for row in rows(open_source(tmp_path))] == [0, 2, 10]


def test_a_glob_takes_what_it_matches(tmp_path):
    for name in ("a1.csv", "a2.csv", "b1.csv"):
        (tmp_path / name).write_text(f"x\n{name[1]}\n")
    assert rows(open_source(str(tmp_path / "a*.csv"))) == [{"x": 1}, {"x": 2}]


def test_a_name_with_brackets_that_exists_is_no_glob(tmp_path):
    (tmp_path / "x[1].csv").write_text("x\n5\n")
    assert rows(open_source(tmp_path / "x[1].csv")) == [{"x": 5}]


def test_subdirectories_belong_to_a_directory(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "sub" / "b.csv").write_text("x\n2\n")
    assert sorted(row["x"] for row in rows(open_source(tmp_path))) == [1, 2]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_file_behind_a_url_gives_the_same_rows(format):
    fs = fsspec.filesystem("memory")
    path = f"/sources-{format}/people.{format}"
    with fs.open(path, "wb") as handle:
        if format == "csv":
            handle.write(b"age,zip\n1,02134\n2,02139\n3,\n")
        else:
            pq.write_table(TABLE, handle)
    for url in (f"memory:/{path}", f"memory://sources-{format}", f"memory://sources-{format}/*"):
        assert rows(open_source(url)) == TABLE.to_pylist()
    with pytest.raises(DataError, match=r"no file matches"):
        open_source(f"memory://sources-{format}/*.nothing")
    with pytest.raises(DataError, match=r"no file or directory"):
        open_source("memory://sources-nowhere/x.csv")


def test_a_file_url_is_a_local_path(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    source = open_source(f"file://{tmp_path / 'a.csv'}")
    assert source.files[0].is_local
    assert rows(source) == [{"x": 1}]


def test_a_relative_path_is_made_absolute_for_the_workers(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    source = open_source("a.csv")
    monkeypatch.chdir("/")
    assert rows(source) == [{"x": 1}]


@pytest.mark.parametrize(
    "ending, pack", [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_packed_csv_is_unpacked(tmp_path, ending, pack, monkeypatch):
    path = tmp_path / f"people.csv{ending}"
    path.write_bytes(pack(b"age,zip\n1,02134\n2,02139\n3,\n"))
    source = open_source(path)
    assert rows(source) == TABLE.to_pylist()
    assert source.n_parts == 1
    path.write_bytes(pack(b"age,zip\n1,02134\n2,02139\n3,\n")[:-12])
    with pytest.raises(DataError, match=r"'people.csv.\w+' cannot be unpacked"):
        open_source(path)
    path.write_bytes(pack(b"age\n" + b"1\n" * 100_000))
    monkeypatch.setattr(_files, "MAX_UNPACKED_BYTES", 1 << 17)
    with pytest.raises(DataError, match=r"larger than 0 MiB when unpacked.*Unpack it, or use"):
        open_source(path)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file or directory '.*people.csv'. Give a file"):
        open_source(tmp_path / "people.csv")
    with pytest.raises(DataError, match=r"no file matches '.*\*.csv'. Check the pattern"):
        open_source(str(tmp_path / "*.csv"))
    with pytest.raises(DataError, match=r"directory '.*' holds no data files"):
        open_source(tmp_path)


def test_a_directory_of_two_formats_is_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("x\n1\n")
    (tmp_path / "c.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"mixes 1 Parquet and 2 CSV files.*Give a glob"):
        open_source(tmp_path)
    assert open_source(str(tmp_path / "*.csv")).n_rows == 2


def test_an_unknown_ending_asks_for_the_format(tmp_path):
    pq.write_table(TABLE, tmp_path / "000000_0")
    with pytest.raises(DataError, match=r"the ending of the file says neither.*Name the format"):
        open_source(tmp_path)
    assert open_source(tmp_path, format="parquet").n_rows == 3
    with pytest.raises(DataError, match=r"format 'feather' is not known"):
        open_source(tmp_path, format="feather")


def test_folders_that_hold_a_column_are_refused_without_their_values(tmp_path):
    pq.write_to_dataset(pa.table({"x": [1, 2], "town": ["Ulm", "Köln"]}), tmp_path, ["town"])
    for path in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/**/*.parquet"):
        with pytest.raises(DataError, match=r"folders named 'town=…'") as caught:
            open_source(path)
        assert "Ulm" not in str(caught.value)


def test_the_fingerprint_follows_names_and_sizes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    before = open_source(path).fingerprint
    assert open_source(path).fingerprint == before
    path.write_text("x\n12\n")
    assert open_source(path).fingerprint != before
    assert open_source(path).n_bytes == 5


def test_column_names_come_from_headers_and_footers_alone(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("age;zip\n1;2;3;4\n")  # ragged: not looked at
    assert column_names(tmp_path / "a.parquet") == ["age", "zip"]
    assert column_names(tmp_path / "a.csv") == ["age", "zip"]
