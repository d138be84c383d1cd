"""CSV input: what is read, and the sentence for what is not."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from dask_anon.engine.sources import open_source
from dask_anon.errors import DataError


@pytest.fixture
def source_of(tmp_path):
    def open_text(data: str | bytes, name: str = "people.csv", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return open_source(path, **options)

    return open_text


def table(source):
    names = source.schema.names
    return pa.concat_tables([part.read(names) for part in source.parts]).to_pydict()


def test_quoted_delimiters_and_line_breaks_belong_to_the_value(source_of):
    source = source_of('name,x\n"bacon, egg",1\n"l1\nl2",2\n')
    assert table(source) == {"name": ["bacon, egg", "l1\nl2"], "x": [1, 2]}


def test_a_reader_converts_only_what_is_asked(source_of):
    (part,) = source_of("a,b\n1,x\n2,\n").parts
    part = pickle.loads(pickle.dumps(part))
    read = part.read(["b", "a"])
    assert read.to_pydict() == {"b": ["x", None], "a": [1, 2]}
    assert read.schema == pa.schema([("b", pa.string()), ("a", pa.int64())])
    assert part.read([]).num_rows == part.n_rows == 2
    with pytest.raises(DataError, match=r"column 'c' is not in the input"):
        part.read(["c"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(source_of, delimiter):
    source = source_of(f"a{delimiter}b\n1{delimiter}2\n")
    assert table(source) == {"a": [1], "b": [2]}


def test_the_delimiter_that_gives_even_records_wins(source_of):
    source = source_of('name;"a,b";c\nx, y;1;2\nz;3;4\n')
    assert source.schema.names == ["name", "a,b", "c"]
    assert source_of("a,b;c\n1,2\n", delimiter=",").schema.names == ["a", "b;c"]


def test_a_delimiter_of_two_characters_is_refused(source_of):
    with pytest.raises(DataError, match=r"delimiter must be one ASCII character"):
        source_of("a,b\n", delimiter="||")


@pytest.mark.parametrize("data", ["a,b,c\n1,2\n3,4,5\n", "a,b,c\r\n1,2\r\n"])
def test_a_short_line_is_an_error_with_its_number(source_of, data):
    with pytest.raises(DataError, match=r"line 2 of 'people.csv' has 2 fields, the header has 3"):
        source_of(data)


def test_a_ragged_line_is_counted_within_its_own_file(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n3\n")
    with pytest.raises(DataError, match=r"line 3 of 'b.csv' has 1 fields"):
        open_source(tmp_path)


def test_a_byte_order_mark_is_no_part_of_the_name(source_of):
    assert source_of("\ufeffage,b\n1,2\n").schema.names == ["age", "b"]


def test_a_name_given_twice_is_refused(source_of):
    with pytest.raises(DataError, match=r"header of 'people.csv' names column 'age' more than"):
        source_of("\ufeffage,age\n1,2\n")


def test_a_column_without_a_name_is_refused(source_of):
    with pytest.raises(DataError, match=r"field 1 of the header of 'people.csv' has no name"):
        source_of(",age\n0,2\n")


def test_headers_must_agree(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(DataError, match=r"'y' is in the header of 'a.csv' and not in that of 'b"):
        open_source(tmp_path)
    (tmp_path / "b.csv").write_text("y,x\n1,2\n")
    with pytest.raises(DataError, match=r"the same columns in different orders"):
        open_source(tmp_path)


@pytest.mark.parametrize("data", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_header_alone_is_an_empty_table(source_of, data):
    source = source_of(data)
    assert (source.n_rows, source.n_parts, source.regroup(10).n_parts) == (0, 1, 1)
    assert table(source) == {"a": [], "b": []}
    assert source_of(data, types={"a": "integer"}).schema.field("a").type == pa.int64()


def test_a_file_without_a_byte_is_refused_unless_others_have_a_header(tmp_path, source_of):
    with pytest.raises(DataError, match=r"'people.csv' is empty, without even a header line"):
        source_of("")
    (tmp_path / "b.csv").write_text("x\n1\n")
    assert table(open_source(tmp_path)) == {"x": [1]}


def test_blank_lines_are_no_records(source_of):
    assert table(source_of("\na,b\n1,2\n\n3,4\n\n\n")) == {"a": [1, 3], "b": [2, 4]}


def test_in_one_column_a_blank_line_is_a_missing_value_but_not_at_the_end(source_of):
    source = source_of("age\n1\nNULL\n\n7\n\n\n", null_values=["", "NULL"])
    assert table(source) == {"age": [1, None, None, 7]}
    assert source.n_rows == 4


def test_undecodable_bytes_are_an_error_with_their_offset(source_of):
    data = "name,x\nJosé,1\n".encode("latin-1")
    with pytest.raises(DataError, match=r"'people.csv' is not utf-8: the byte at offset 10 ") as e:
        source_of(data)
    assert "encoding: latin-1" in str(e.value)
    assert table(source_of(data, encoding="latin-1")) == {"name": ["José"], "x": [1]}
    data = "naïve,x\n1,2\n".encode("latin-1")
    with pytest.raises(DataError, match=r"at offset 2 cannot be decoded"):
        source_of(data)
    assert source_of(data, encoding="latin-1").schema.names == ["naïve", "x"]
    with pytest.raises(DataError, match=r"not cp1252: the byte at offset 2 "):
        source_of(b"a\n\x81\n", encoding="cp1252")


def test_utf16_is_refused_with_the_way_out(source_of):
    with pytest.raises(DataError, match=r"is written in UTF-16. Convert it first: iconv"):
        source_of("a,b\n1,2\n".encode("utf-16"))


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "utf-7", "iso2022_jp", "gb18030"])
def test_encodings_that_hide_delimiters_are_refused(source_of, encoding):
    with pytest.raises(DataError, match=r"cannot be read in parallel.*iconv -f"):
        source_of("a,b\n", encoding=encoding)


def test_an_unknown_encoding_is_refused(source_of):
    with pytest.raises(DataError, match=r"encoding 'utf8000' is not known"):
        source_of("a,b\n", encoding="utf8000")


def test_only_unquoted_spellings_are_missing_and_quotes_keep_text(source_of):
    source = source_of('a,b\nNA,x\n"NA",""\n,\n', null_values=["", "NA"])
    assert table(source) == {"a": [None, "NA", None], "b": ["x", "", None]}


def test_a_quoted_nothing_is_a_missing_number(source_of):
    assert table(source_of('a,b\n"1",x\n"",y\n')) == {"a": [1, None], "b": ["x", "y"]}


def test_text_columns_come_out_as_they_are_written(source_of):
    written = ["007", "1.50", "1e5", " x ", "nan", "2021-02-30", "TRUE", "+1"]
    source = source_of("id,p\n" + "".join(f"1,{v}\n" for v in written), text=["p"])
    assert table(source)["p"] == written
    assert source.schema.field("p").type == pa.string()


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path, source_of):
    source = source_of("a,b\n1,2\n3,4\n")
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"'people.csv' is not what it was"):
        source.parts[0].read(["a"])
    (tmp_path / "people.csv").write_text("a,b\nx,2\n3,4\n")
    with pytest.raises(DataError, match=r"changed while it was read"):
        source.parts[0].read(["a"])


def test_the_source_is_the_same_on_a_cluster(tmp_path, source_of):
    from distributed import Client

    text = "".join(f"{i},{i % 7}\n" for i in range(200))
    here = source_of("a,b\n" + text)
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
        there = source_of("a,b\n" + text)
    assert there == here
