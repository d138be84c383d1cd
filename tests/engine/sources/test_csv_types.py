"""Which type a CSV column has, and what is said when it has none."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.engine.sources import open_source
from dask_anon.engine.sources._values import Kind, examine
from dask_anon.errors import DataError

UTC = dt.timezone.utc  # noqa: UP017


@pytest.fixture
def column_of(tmp_path):
    def read(values, *, type=None, text=(), null_values=("",)):
        path = tmp_path / "people.csv"
        path.write_text("age,other\n" + "".join(f"{value},x\n" for value in values))
        types = {} if type is None else {"age": type}
        source = open_source(path, types=types, text=text, null_values=null_values)
        column = pa.concat_tables([part.read(["age"]) for part in source.parts])["age"]
        assert column.type == source.schema.field("age").type
        return column

    return read


def spelled(values):
    kinds, found = examine(pa.array(values, pa.string()))
    return [Kind(kind) for kind in kinds], found.tolist()


@pytest.mark.parametrize(
    "values, type, result",
    [
        (["1", "-7", ""], pa.int64(), [1, -7, None]),
        (["9223372036854775807", "-9223372036854775808"], pa.int64(), [2**63 - 1, -(2**63)]),
        (["1", "2.5", "-1e-3", ".5"], pa.float64(), [1.0, 2.5, -0.001, 0.5]),
        (["0.1", "", "1e300"], pa.float64(), [0.1, None, 1e300]),
        (["True", "false", "TRUE", ""], pa.bool_(), [True, False, True, None]),
        (["2020-02-29", ""], pa.date32(), [dt.date(2020, 2, 29), None]),
        (["1969-12-31", "0001-01-01"], pa.date32(), [dt.date(1969, 12, 31), dt.date(1, 1, 1)]),
        (
            ["2020-01-01 10:00", "2020-01-01T10:00:00.25", "2020-01-02"],
            pa.timestamp("us"),
            [
                dt.datetime(2020, 1, 1, 10),
                dt.datetime(2020, 1, 1, 10, 0, 0, 250_000),
                dt.datetime(2020, 1, 2),
            ],
        ),
        (
            ["2020-01-01T10:00:00Z", "2020-01-01 10:00:00+02:00"],
            pa.timestamp("us", "UTC"),
            [dt.datetime(2020, 1, 1, 10, tzinfo=UTC), dt.datetime(2020, 1, 1, 8, tzinfo=UTC)],
        ),
        (["a", "b", ""], pa.string(), ["a", "b", None]),
        (["", ""], pa.string(), [None, None]),
        (["yes", "True"], pa.string(), ["yes", "True"]),
        (["+5", "+6"], pa.string(), ["+5", "+6"]),
        ([" 5", "6 "], pa.string(), [" 5", "6 "]),
        (["2021-02-30", "2021-03-02"], pa.string(), ["2021-02-30", "2021-03-02"]),
        (["2020-01-01", "soon"], pa.string(), ["2020-01-01", "soon"]),
        (["2020-01-01 25:00"], pa.string(), ["2020-01-01 25:00"]),
        (["2020-01-01 10:00:00.1234567"], pa.string(), ["2020-01-01 10:00:00.1234567"]),
        (["nan", "inf"], pa.string(), ["nan", "inf"]),
    ],
)
def test_a_column_is_what_all_its_values_are(column_of, values, type, result):
    column = column_of(values)
    assert column.type == type
    assert column.to_pylist() == result


def test_a_leading_zero_keeps_the_whole_column_as_text(column_of):
    assert column_of(["02134", "02134", "2134"]).to_pylist() == ["02134", "02134", "2134"]
    assert column_of(["02134", "unknown", "7"]).to_pylist() == ["02134", "unknown", "7"]


def test_integers_beyond_64_bits_stay_text_so_that_no_two_merge(column_of):
    values = ["12345678901234567890", "12345678901234567891", "3"]
    assert column_of(values).to_pylist() == values


def test_numbers_among_text_are_an_error_with_count_and_line(column_of):
    with pytest.raises(DataError, match=r"column 'age' mixes 3 numbers with 1 text value ") as e:
        column_of(["1", "2", "", "x17", "3"])
    assert "(first text at line 5 of people.csv)" in str(e.value)
    assert "declare `type: text`" in str(e.value)
    assert "x17" not in str(e.value)


def test_numbers_among_text_are_fine_when_text_is_declared_or_untouched(column_of):
    values = ["1", "2", "x"]
    assert column_of(values, type="text").to_pylist() == values
    assert column_of(values, text=["age"]).to_pylist() == values
    assert column_of(values, null_values=["", "x"]).to_pylist() == [1, 2, None]


@pytest.mark.parametrize("spelling", ["nan", "NaN", "inf", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_an_error(column_of, spelling):
    with pytest.raises(DataError, match=r"mixes 2 numbers with 1 value that is not finite.*line 3"):
        column_of(["1.5", spelling, "2"])
    with pytest.raises(DataError, match=r"is declared float, but 1 value .* 1 value not finite"):
        column_of(["1.5", spelling, "2"], type="float")
    assert column_of(["1.5", spelling], null_values=[spelling]).to_pylist() == [1.5, None]


@pytest.mark.parametrize(
    "type, values, line",
    [
        ("integer", ["3.9", "", "2147483646"], 2),
        ("integer", ["1", "+2"], 3),
        ("integer", ["1", "99999999999999999999"], 3),
        ("float", ["1.5", "1,5".replace(",", ";")], 3),
        ("boolean", ["True", "1"], 3),
        ("date", ["2021-03-02", "2021-02-30"], 3),
        ("date", ["2021-03-02", "", "02.03.2021"], 4),
        ("timestamp", ["2021-03-02", "2021-03-02 24:00"], 3),
        ("timestamp", ["2021-03-02 10:00", "2021-03-02 10:00Z"], 3),
    ],
)
def test_a_value_of_another_type_than_declared_is_an_error(column_of, type, values, line):
    with pytest.raises(
        DataError, match=rf"is declared {type}, but 1 value .*line {line} of people"
    ):
        column_of(values, type=type)


def test_an_impossible_date_is_called_so(column_of):
    with pytest.raises(DataError, match=r"among them 1 day or hour that does not exist"):
        column_of(["2021-02-30"], type="date")


def test_declared_types_accept_what_they_say(column_of):
    assert column_of(["007", "-5", ""], type="integer").to_pylist() == [7, -5, None]
    assert column_of(["1", "02.5".lstrip("0")], type="float").to_pylist() == [1.0, 2.5]
    assert column_of(["1", ""], type="float").type == pa.float64()
    assert column_of(["2021-03-02"], type="timestamp").to_pylist() == [dt.datetime(2021, 3, 2)]
    assert column_of(["1", "2"], type="text").to_pylist() == ["1", "2"]
    assert column_of([], type="date").type == pa.date32()


def test_a_type_that_does_not_exist_is_refused(column_of):
    with pytest.raises(DataError, match=r"type 'int' of column 'age' is not one of integer"):
        column_of(["1"], type="int")


def test_all_columns_that_cannot_be_typed_are_told_at_once(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,q,r\n1,x,y\nz,2,w\n")
    with pytest.raises(DataError, match=r"2 columns cannot be typed") as caught:
        open_source(path)
    assert caught.value.parts["columns"] == ["p", "q"]


def test_the_first_place_is_named_across_files(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "b.csv").write_text("x\n1\nq\n")
    (tmp_path / "c.csv").write_text("x\nq\n")
    with pytest.raises(
        DataError, match=r"3 numbers with 2 text values \(first text at line 3 of b"
    ):
        open_source(tmp_path)


def test_types_of_columns_that_are_not_there_are_passed_over(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert open_source(tmp_path, types={"y": "integer"}, text=["z"]).schema.names == ["x"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(2**64), 2**64)))
def test_integers_are_read_exactly(numbers):
    kinds, values = spelled([str(n) for n in numbers])
    for n, kind, value in zip(numbers, kinds, values, strict=True):
        fits = -(2**63) <= n < 2**63
        assert (kind, value) == ((Kind.INTEGER, n) if fits else (Kind.BIG, 0))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True)))
def test_floats_as_python_writes_them_are_numbers_if_finite(numbers):
    kinds, _ = spelled([repr(x) for x in numbers])
    for x, kind in zip(numbers, kinds, strict=True):
        assert kind == (Kind.DECIMAL if math.isfinite(x) else Kind.NONFINITE)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.datetimes()), st.sampled_from(" T"))
def test_moments_are_read_exactly(moments, separator):
    kinds, values = spelled([m.isoformat(separator) for m in moments])
    assert all(kind == Kind.TIMESTAMP for kind in kinds)
    assert pa.array(values, pa.timestamp("us")).to_pylist() == moments
    kinds, values = spelled([m.date().isoformat() for m in moments])
    assert all(kind == Kind.DATE for kind in kinds)
    assert pa.array(values, pa.int32()).cast(pa.date32()).to_pylist() == [m.date() for m in moments]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2100), st.integers(0, 19), st.integers(0, 39))
def test_a_date_is_one_that_the_calendar_has(year, month, day):
    try:
        dt.date(year, month, day)
        expected = Kind.DATE
    except ValueError:
        expected = Kind.IMPOSSIBLE
    assert spelled([f"{year:04d}-{month:02d}-{day:02d}"])[0] == [expected]


@settings(max_examples=80, deadline=None)
@given(st.text(st.sampled_from("0123456789+-.eE:TZ naifty"), max_size=14))
def test_what_is_called_a_number_is_one_for_python_too(text):
    (kind,), (value,) = spelled([text])
    if kind in (Kind.INTEGER, Kind.CODE):
        assert int(text) == value
        assert (str(int(text)) == text) == (kind == Kind.INTEGER)
    elif kind == Kind.DECIMAL:
        assert math.isfinite(float(text))
        assert pa.array([text]).cast(pa.float64())[0].as_py() == float(text)
    elif kind == Kind.TEXT and not text.startswith("+") and text == text.strip():
        try:
            number = float(text)
        except ValueError:
            return
        assert text.lstrip("-").startswith("0") and math.isfinite(number)  # noqa: PT018
