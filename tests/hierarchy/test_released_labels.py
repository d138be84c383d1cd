"""Released labels: what is printed, and that reading it gives exactly what was meant."""

import datetime as dt
import re
from decimal import Decimal
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import DataError
from dask_anon.hierarchy import (
    Interval,
    LabelSet,
    domain_of,
    parse_label,
    released_arrays,
    released_fields,
    set_labels,
    summarize,
)
from dask_anon.hierarchy import _released as released

LAW = settings(max_examples=60, deadline=None)


def domain_for(array):
    return domain_of("x", summarize(array, column="x"))


def ordered(*categories):
    index = pa.array([0, len(categories) - 1, None])
    return pa.DictionaryArray.from_arrays(index, pa.array(categories), ordered=True)


def encoded(domain, array):
    if domain.kind != "ordinal":
        return domain.encode(array)
    index = pc.index_in(array, value_set=domain.labels)
    return domain.encode(pa.DictionaryArray.from_arrays(index, domain.labels, ordered=True))


def release(array, format, rows):
    """Released columns of rows (low, high, missing); (None, None, True) is missing only."""
    domain = domain_for(array)
    type_ = pa.string() if domain.kind == "ordinal" else array.type
    ends = [encoded(domain, pa.array([row[end] for row in rows], type_)) for end in (0, 1)]
    only = np.array([row[0] is None for row in rows], bool)
    lo, hi = ends[0].copy(), ends[1].copy()
    hi[only] = 0  # lo > hi: no values
    missing = np.array([row[2] for row in rows], bool)
    arrays = released_arrays(domain, format, lo, hi, missing)
    fields = released_fields(domain, format)
    assert [field.type for field in fields] == [column.type for column in arrays]
    return {f.name: column.to_pylist() for f, column in zip(fields, arrays, strict=True)}


AGES = pa.array([20, 23, 25, 30, None])
ROWS = [(23, 25, False), (23, 23, False), (None, None, True), (23, 30, True), (23, 23, True)]


def test_intervals_are_closed_and_show_missing_values():
    assert release(AGES, "interval", ROWS) == {
        "x": ["[23, 25]", "23", None, "[23, 30] | missing", "23 | missing"]
    }


def test_bounds_keep_the_source_type():
    assert release(AGES.cast(pa.int8()), "bounds", ROWS) == {
        "x_min": [23, 23, None, 23, 23],
        "x_max": [25, 23, None, 30, 23],
        "x_missing": [False, False, True, True, True],
    }
    domain = domain_for(AGES.cast(pa.int8()).drop_null())
    assert released_fields(domain, "bounds") == [
        pa.field("x_min", pa.int8()),
        pa.field("x_max", pa.int8()),
    ]


def test_midpoints():
    assert release(AGES, "midpoint", ROWS) == {
        "x": [24.0, 23.0, None, 26.5, 23.0],
        "x_missing": [False, False, True, True, True],
    }


@pytest.mark.parametrize(
    ("array", "middle", "type_"),
    [
        (pa.array([1, 4], pa.uint64()), 2.5, pa.float64()),
        (pa.array([-(2**62), 2**62]), 0.0, pa.float64()),
        (pa.array([1.0, 2.0], pa.float32()), 1.5, pa.float32()),
        (pa.array([1e308, 1.5e308]), 1.25e308, pa.float64()),
        (pa.array([5e-324, 5e-324]), 5e-324, pa.float64()),
        (pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 4)]), dt.date(2020, 1, 2), pa.date32()),
        (
            pa.array([dt.date(1960, 1, 1), dt.date(1960, 1, 4)], pa.date64()),
            dt.date(1960, 1, 2),
            pa.date64(),
        ),
        (
            pa.array([-1, 0], pa.timestamp("s")),
            dt.datetime(1969, 12, 31, 23, 59, 59),
            pa.timestamp("s"),
        ),
        (pa.array([Decimal("-1.1"), Decimal("1.2")]), Decimal("0.05"), pa.decimal128(3, 2)),
        (
            pa.array([Decimal(0), Decimal(2**63 + 1)], pa.decimal128(38, 0)),
            Decimal(2**62) + Decimal("0.5"),
            pa.decimal256(39, 1),
        ),
    ],
)
def test_midpoints_of_every_kind(array, middle, type_):
    domain = domain_for(array)
    codes = domain.encode(array)
    (result,) = released_arrays(domain, "midpoint", codes[:1], codes[1:], None)
    assert (result.type, result[0].as_py()) == (type_, middle)
    assert released_fields(domain, "midpoint") == [pa.field("x", type_)]


def test_ordinal_columns_show_labels():
    rows = [
        ("low", "high", False),
        ("mid", "mid", True),
        ("mid", "high", False),
        (None, None, True),
    ]
    array = ordered("low", "mid", "high")
    assert release(array, "interval", rows) == {
        "x": ["[low, high]", "mid | missing", "[mid, high]", None]
    }
    assert release(array, "bounds", rows)["x_max"] == ["high", "mid", "high", None]
    assert release(array, "midpoint", rows)["x"] == ["mid", "mid", "mid", None]


def sets(array, *members):
    domain = domain_for(array)
    codes = [np.sort(domain.encode(pa.array(list(labels), pa.string()))) for labels in members]
    offsets = np.cumsum([0] + [len(one) for one in codes])
    flat = np.concatenate(codes) if codes else np.empty(0, domain.code_dtype)
    return set_labels(domain, offsets, flat).to_pylist()


def test_sets_of_labels():
    array = pa.array(["b", "a", None, "c"])
    assert sets(array, "ab", "a", ["a", None], ["c", "a", None], [None], []) == [
        "{a, b}",
        "a",
        "a | missing",
        "{a, c} | missing",
        None,
        None,
    ]
    assert sets(array) == []


def test_labels_that_could_be_misread_are_quoted():
    awkward = ["a,b", "{", "[x]", "a|b", 'say "hi"', "two\nlines", " x", "x ", "", "missing", "\t"]
    plain = ["a b", "C:\\x", "it's", "(x)", "Missing", "missing value", "null", "é", "-1"]
    array = pa.array(awkward + plain)
    texts = sets(array, *([label] for label in awkward))
    assert texts[:2] == ['"a,b"', '"{"']
    assert texts[4:6] == ['"say \\"hi\\""', '"two\\nlines"']
    assert texts[8:10] == ['""', '"missing"']
    assert sets(array, *([label] for label in plain)) == plain


LABELS = st.sampled_from(["a", "b, c", "", "missing", " | missing", "{a, b}", '"', "\\", "[a, b]"])


@LAW
@given(
    st.lists(
        st.lists(st.none() | LABELS | st.text(max_size=3), max_size=5, unique=True), max_size=6
    )
)
def test_sets_are_read_back_exactly(members):
    array = pa.array(list(chain.from_iterable(members)), pa.string())
    for text, labels in zip(sets(array, *members), members, strict=True):
        known = tuple(sorted(label for label in labels if label is not None))
        expected = LabelSet(known, None in labels or not labels)
        assert parse_label(text, pa.string()) == expected


@LAW
@given(st.lists(st.text(max_size=3) | LABELS, min_size=1, max_size=4, unique=True), st.booleans())
def test_ordinal_intervals_are_read_back_exactly(categories, missing):
    array = ordered(*categories)
    domain = domain_for(array)
    last = len(categories) - 1
    lo, hi = np.array([0, last], np.uint16), np.array([last, last], np.uint16)
    (column,) = released_arrays(domain, "interval", lo, hi, np.array([missing] * 2))
    assert [parse_label(text, array.type) for text in column.to_pylist()] == [
        Interval(categories[0], categories[-1], missing),
        Interval(categories[-1], categories[-1], missing),
    ]


def check_read_back(array, expected=None):
    """Every pair of neighbours in `array`, printed and read, is the pair of its Python values."""
    domain = domain_for(array)
    codes = np.sort(domain.encode(array))
    lo, hi = codes, np.roll(codes, -1)
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    missing = np.arange(len(codes)) % 2 == 1
    (column,) = released_arrays(domain, "interval", lo, hi, missing)
    python = expected or (lambda scalar: scalar.as_py())
    low, high = ([python(v) for v in domain.values(c)] for c in (lo, hi))
    for text, *interval in zip(column.to_pylist(), low, high, missing, strict=True):
        result = parse_label(text, array.type)
        assert result == Interval(*interval)


@LAW
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_integers_are_read_back_exactly(rows):
    check_read_back(pa.array(rows, pa.int64()))


@LAW
@given(st.sampled_from([16, 32, 64]), st.data())
def test_floats_are_read_back_exactly_in_their_width(width, data):
    floats = st.floats(width=width, allow_infinity=False, allow_nan=False)
    rows = data.draw(st.lists(floats, min_size=1))
    check_read_back(pa.array(np.array(rows, f"f{width // 8}")))


def test_every_half_precision_number_is_read_back():
    numbers = np.arange(2**16, dtype="u2").view("f2")
    numbers = numbers[np.isfinite(numbers)]
    domain = domain_for(pa.array(numbers))
    codes = np.unique(domain.encode(pa.array(numbers)))
    (column,) = released_arrays(domain, "interval", codes, codes, None)
    texts = column.to_pylist()
    assert len(set(texts)) == len(codes)
    values = domain.values(codes).to_pylist()
    assert [parse_label(t, pa.float16()).low for t in texts] == [float(v) for v in values]


def test_floats_print_the_fewest_digits_of_their_own_width():
    for type_, text in ((pa.float32(), "0.1"), (pa.float64(), "0.1"), (pa.float16(), "0.1")):
        number = np.array([0.1], type_.to_pandas_dtype())
        domain = domain_for(pa.array(number))
        codes = domain.encode(pa.array(number))
        assert released_arrays(domain, "interval", codes, codes, None)[0].to_pylist() == [text]


@LAW
@given(
    st.sampled_from([pa.decimal128(38, 10), pa.decimal128(5, 0), pa.decimal256(60, 30)]),
    st.lists(st.integers(-99999, 99999), min_size=1),
)
def test_decimals_are_read_back_exactly(type_, units):
    rows = [Decimal((u < 0, tuple(map(int, str(abs(u)))), -type_.scale)) for u in units]
    check_read_back(pa.array(rows, type_), lambda scalar: scalar.as_py())


MOMENTS = [
    pa.timestamp("s"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("us", "America/New_York"),
    pa.timestamp("ns", "Asia/Kolkata"),
    pa.timestamp("ns"),
    pa.timestamp("s", "+05:30"),
]


@LAW
@given(
    st.sampled_from(MOMENTS),
    st.lists(
        st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)), min_size=1, max_size=6
    ),
)
def test_moments_are_read_back_exactly(type_, moments):
    whole = type_.unit == "s"
    moments = [m.replace(microsecond=0 if whole else m.microsecond // 1000 * 1000) for m in moments]
    check_read_back(
        pa.array([m.replace(tzinfo=dt.UTC if type_.tz else None) for m in moments], type_)
    )


def test_the_two_hours_of_a_clock_change_are_told_apart():
    # 2021-10-31: 02:30 happens twice in Berlin.
    array = pa.array([1635640200, 1635643800], pa.timestamp("s", "Europe/Berlin"))
    domain = domain_for(array)
    codes = domain.encode(array)
    (column,) = released_arrays(domain, "interval", codes[:1], codes[1:], None)
    assert column.to_pylist() == ["[2021-10-31 02:30:00+02:00, 2021-10-31 02:30:00+01:00]"]
    check_read_back(array)


def test_local_mean_time_keeps_its_seconds():
    array = pa.array([-3_000_000_000], pa.timestamp("s", "Europe/Berlin"))
    domain = domain_for(array)
    (column,) = released_arrays(domain, "interval", *[domain.encode(array)] * 2, None)
    assert column.to_pylist() == ["1874-12-07 19:33:28+00:53:28"]
    check_read_back(array)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array([dt.date(2020, 2, 29)]), "2020-02-29"),
        (pa.array([dt.date(2020, 2, 29)], pa.date64()), "2020-02-29"),
        (pa.array([0], pa.timestamp("ns")), "1970-01-01 00:00:00"),
        (pa.array([1_500_000], pa.timestamp("us", "UTC")), "1970-01-01 00:00:01.500000+00:00"),
        (pa.array([dt.time(1, 2, 3)], pa.time32("s")), "01:02:03"),
        (pa.array([dt.time(1, 2, 3, 4)], pa.time64("us")), "01:02:03.000004"),
        (pa.array([90_061_500], pa.duration("ms")), "P1DT1H1M1.5S"),
        (pa.array([-60], pa.duration("s")), "-P0DT0H1M0S"),
        (pa.array([Decimal("-12.30")]), "-12.30"),
    ],
)
def test_text_of_dates_and_times(array, text):
    domain = domain_for(array)
    (column,) = released_arrays(domain, "interval", *[domain.encode(array)] * 2, None)
    assert column.to_pylist() == [text]
    check_read_back(array)


@LAW
@given(
    st.sampled_from(["s", "ms", "us", "ns"]), st.lists(st.integers(-(10**13), 10**13), min_size=1)
)
def test_durations_are_read_back_exactly(unit, raw):
    check_read_back(pa.array(raw, pa.duration(unit)))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([-(2**31), 2**31 - 1, -719_163, 0, 2_932_897], pa.int32()).view(pa.date32()),
        pa.array([-(2**61), 2**61, 253_402_300_800], pa.timestamp("s")),
        pa.array([-(2**61), 2**61], pa.timestamp("s", "Europe/Berlin")),
        pa.array([1, 86_399_999_999_999], pa.time64("ns")),
    ],
)
def test_what_no_calendar_of_python_holds_is_read_back_as_its_units(array):
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    domain = domain_for(array)
    codes = domain.encode(array)
    (column,) = released_arrays(domain, "interval", codes, codes, None)
    for text, units in zip(column.to_pylist(), array.view(width).to_pylist(), strict=True):
        low = parse_label(text, array.type).low
        known = pa.array([low], width if isinstance(low, int) else array.type).view(width)
        assert known.to_pylist() == [units]


def test_missing_alone_is_a_null_cell():
    assert parse_label(None, pa.int8()) == Interval(None, None, True)
    assert parse_label(None, pa.string()) == LabelSet((), True)
    assert None in parse_label(None, pa.int8())
    assert 3 not in parse_label(None, pa.int8())


def test_membership_of_intervals_and_sets():
    assert 24 in parse_label("[23, 25]", pa.int8())
    assert 26 not in parse_label("[23, 25]", pa.int8())
    assert None in parse_label("{a, b} | missing", pa.string())
    assert "c" not in parse_label("{a, b}", pa.string())


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("[1, 2", pa.int8()),
        ("1, 2", pa.int8()),
        ("[1, 2, 3]", pa.int8()),
        ("[1]", pa.int8()),
        ("1.5", pa.int8()),
        ("x", pa.float64()),
        ("2020-13-01", pa.date32()),
        ("1 hour", pa.duration("s")),
        ("{a}", pa.string()),
        ("{a,b}", pa.string()),
        ('{"a, b}', pa.string()),
        ("a, b", pa.string()),
    ],
)
def test_a_text_that_no_release_prints_is_refused_without_showing_it(text, type_):
    with pytest.raises(DataError, match=re.escape(f"column of type {type_}.")) as caught:
        parse_label(text, type_)
    assert text not in str(caught.value)


def test_an_ordered_column_cannot_be_a_set_and_a_nominal_one_always_is():
    with pytest.raises(DataError, match=r"column 'x' is integer and has an order.*'set'"):
        released_fields(domain_for(AGES), "set")
    text = pa.dictionary(pa.int32(), pa.string())
    for format in ("interval", "bounds", "midpoint", "set"):
        assert released_fields(domain_for(pa.array(["a"])), format) == [pa.field("x", text)]


@LAW
@given(
    st.integers(1, 200),
    st.sampled_from(["table", "hash", "mixture", "float"]),
    st.randoms(use_true_random=False),
)
def test_every_way_of_numbering_gives_each_row_its_own_label(n, way, random):
    size = {"table": 3, "hash": 10**6, "mixture": 2**40, "float": 3}[way]
    values = [0, size]
    domain = domain_for(pa.array([float(v) for v in values] if way == "float" else values))
    pool = [random.randint(0, size) for _ in range(4)]
    picks = [sorted(random.choices(pool, k=2)) for _ in range(n)]
    rows = np.array(picks, float if way == "float" else np.int64)
    lo, hi = (domain.encode(pa.array(rows[:, end])) for end in (0, 1))
    missing = np.array([random.random() < 0.5 for _ in range(n)])
    only = np.array([random.random() < 0.2 for _ in range(n)])
    lo[only], hi[only] = domain.missing_code, 0
    (column,) = released_arrays(domain, "interval", lo, hi, missing)
    for text, (low, high), tail, none in zip(column.to_pylist(), picks, missing, only, strict=True):
        plain = str(low) if low == high else f"[{low}, {high}]"
        assert text == (None if none else plain + (" | missing" if tail else ""))
    used = set(column.indices.drop_null().to_pylist())
    assert used == set(range(len(column.dictionary)))
    assert len(set(column.dictionary.to_pylist())) == len(column.dictionary)


def test_rows_that_a_hash_confuses_are_still_told_apart(monkeypatch):
    domain = domain_for(pa.array([0.0, 1.0]))
    lo = domain.encode(pa.array([0.0, 0.0, 0.5]))
    hi = domain.encode(pa.array([0.5, 1.0, 1.0]))
    honest, calls = released._numbered_by_hash, []

    def confused(key, valid):
        calls.append(len(key))
        return honest(key * np.uint64(0) if len(calls) == 1 else key, valid)

    monkeypatch.setattr(released, "_numbered_by_hash", confused)
    (column,) = released_arrays(domain, "interval", lo, hi, None)
    assert column.to_pylist() == ["[0, 0.5]", "[0, 1]", "[0.5, 1]"]
    assert len(calls) == 2


def test_sets_too_long_for_one_column_are_told_before_they_are_built():
    domain = domain_for(pa.array(["x" * 1000, "y"]))
    codes = np.broadcast_to(np.zeros(1, np.uint16), 3_000_000)
    with pytest.raises(DataError, match=r"labels of column 'x' come to 2\.8 GiB"):
        set_labels(domain, np.array([0, 3_000_000]), codes)
