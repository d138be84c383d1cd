"""Every cut of a CSV file gives the records that Python's csv module reads."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.engine.sources._csv import CsvSource
from dask_anon.engine.sources._files import File
from dask_anon.errors import DataError

TEXTS = st.text(st.sampled_from('ab,"\n\rö'), max_size=6)


def tables(max_columns: int = 3):
    return st.integers(1, max_columns).flatmap(
        lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), max_size=12)
    )


def open_bytes(data: bytes, folder, **sizes) -> CsvSource:
    path = folder / "t.csv"
    path.write_bytes(data)
    file = File(str(path), "t.csv", len(data))
    return CsvSource.open([file], delimiter=",", null_values=(), types={}, **sizes)


def rows_of(source: CsvSource) -> list[list[str]]:
    names = source.schema.names
    table = pa.concat_tables([part.read(names) for part in source.parts])
    assert [part.read([]).num_rows for part in source.parts] == source.rows_of_parts
    return [list(row.values()) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scan")


@settings(max_examples=60, deadline=None)
@given(
    table=tables(),
    block=st.integers(1, 64),
    step=st.integers(1, 64),
    line_break=st.sampled_from(["\n", "\r\n", "\r"]),
    last=st.booleans(),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_every_cut_reads_what_was_written(folder, table, block, step, line_break, last, quoting):
    names = [f"c{i}" for i in range(len(table[0]) if table else 1)]
    if any("\r" in value for row in table for value in row):
        quoting = csv.QUOTE_ALL  # Python 3.11 writes a lone CR without quotes
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=line_break, quoting=quoting)
    writer.writerows([names, *table])
    data = text.getvalue().encode()
    if not last and len(table) > 0:
        data = data[: -len(line_break)]
    names_as_text = {"text": names}
    source = open_bytes(data, folder, block_bytes=block, step_bytes=step, **names_as_text)
    assert rows_of(source) == table
    assert rows_of(source.regroup(3)) == table
    assert source.n_rows == len(table)


@settings(max_examples=60, deadline=None)
@given(data=st.text(st.sampled_from('a,"\n\r'), max_size=60), block=st.integers(1, 20))
def test_any_bytes_are_read_or_refused_alike_whatever_the_blocks(folder, data, block):
    raw = b"x,y\n" + data.encode()

    def outcome(**sizes):
        try:
            return rows_of(open_bytes(raw, folder, text=["x", "y"], **sizes))
        except DataError as error:
            return str(error)

    whole = outcome()
    assert "not what it was" not in whole  # pyarrow and the scan agree on what a record is
    assert outcome(block_bytes=block, step_bytes=1) == whole


@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 13, 64])
def test_lines_are_counted_through_quotes_and_blanks(folder, block):
    data = b'x,y\n1,"a\nb\r\nc"\n\n2,3\n4,5,6\n7\n'
    with pytest.raises(DataError, match=r"line 7 of 't.csv' has 3 fields, the header has 2"):
        open_bytes(data, folder, block_bytes=block)
    data = b'x,y\n1,"a\nb"\n\n2,3\nseven,4\n'
    with pytest.raises(DataError, match=r"first text at line 6 of t.csv"):
        open_bytes(data, folder, block_bytes=block)


@pytest.mark.parametrize("block", [1, 4, 9, 64])
def test_a_record_that_spans_blocks_is_checked(folder, block):
    data = b'x,y\n1,"' + b"long\n" * 9 + b'",3\n4,5\n'
    with pytest.raises(DataError, match=r"line 2 of 't.csv' has 3 fields"):
        open_bytes(data, folder, block_bytes=block)


@pytest.mark.parametrize("block", [1, 4, 9, 64])
def test_an_open_quote_is_found_where_it_opens(folder, block):
    data = b'x,y\n1,2\n3,"4\n5,6\n7,8\n'
    with pytest.raises(DataError, match=r"begins in the record at line 3 of 't.csv' is never"):
        open_bytes(data, folder, block_bytes=block)


@pytest.mark.parametrize("block", [1, 4, 64])
def test_a_quote_inside_a_plain_value_is_a_character(folder, block):
    source = open_bytes(b'x,y\n5" pipe,a\n"b"c,"d ""e"""\n', folder, block_bytes=block)
    assert rows_of(source) == [['5" pipe', "a"], ["bc", 'd "e"']]


def test_regroup_cuts_at_known_records_without_scanning_again(folder, monkeypatch):
    data = b"x\n" + b"".join(b"%d\n" % (i % 10) for i in range(1000))
    source = open_bytes(data, folder, block_bytes=500, step_bytes=50)
    monkeypatch.setattr("dask_anon.engine.sources._csv.compute", None)
    assert len(source.rows_of_parts) == 4
    parts = source.regroup(100).rows_of_parts
    assert sum(parts) == 1000
    assert all(90 <= n <= 110 for n in parts)
    assert source.regroup(10**9).rows_of_parts == [1000]
