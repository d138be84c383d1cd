"""Domains: codes keep the order of the values and come back exactly."""

import json
import pickle
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import DataError
from dask_anon.hierarchy import domain_of, merge_summaries, restore_domain, summarize

LAW = settings(max_examples=50, deadline=None)

I64 = st.integers(-(2**63), 2**63 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)


def integers(low, high):
    return st.integers(low, high)


def viewed(raw, type_):
    width = pa.int32() if type_.bit_width == 32 else pa.int64()
    return pa.array(raw, width).view(type_)


TEMPORAL = [
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("ns", "UTC"),
    pa.time32("ms"),
    pa.time64("ns"),
    pa.duration("us"),
]


def domain_for(array):
    return domain_of("x", summarize(array, column="x"))


def check_exact(array, keys):
    """Codes of `array` sort as `keys` do (None: missing), also when the domain is stored."""
    domain = domain_for(array)
    codes = domain.encode(array)
    assert codes.dtype == domain.code_dtype
    assert len(codes) == len(array)
    present = np.array([key is not None for key in keys], bool)
    assert (codes[~present] == domain.missing_code).all()
    assert domain.has_missing == (not present.all())
    shown = [int(code) for code in codes[present]]
    known = [key for key in keys if key is not None]
    assert sorted(range(len(known)), key=known.__getitem__) == sorted(
        range(len(shown)), key=shown.__getitem__
    )
    assert len(set(shown)) == len(set(known))
    if shown:
        assert domain.min_code == min(shown)
        assert domain.max_code == max(shown) < domain.missing_code
    stored = json.loads(json.dumps(domain.describe()))
    assert restore_domain(stored, domain.labels) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain
    # However the column is cut into chunks, the codes are the same.
    cut = len(array) // 2
    chunked = pa.chunked_array([array.slice(0, cut), array.slice(0, 0), array.slice(cut)])
    assert (domain.encode(chunked) == codes).all()
    return domain, domain.values(codes[present])


@LAW
@given(st.lists(st.none() | I64))
def test_int64_over_its_whole_range(rows):
    known = [row for row in rows if row is not None]
    if known and max(known) - min(known) > 2**64 - 2:
        return
    _, values = check_exact(pa.array(rows, pa.int64()), rows)
    assert values.to_pylist() == known


@LAW
@given(st.lists(st.none() | integers(0, 2**64 - 2)))
def test_uint64_over_its_whole_range(rows):
    _, values = check_exact(pa.array(rows, pa.uint64()), rows)
    assert values.to_pylist() == [row for row in rows if row is not None]


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("sign", ["", "u"])
def test_narrow_integers_including_their_extremes(sign, width):
    type_ = pa.type_for_alias(f"{sign}int{width}")
    low, high = (0, 2**width - 1) if sign else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    rows = [high, None, low, 0, 1, high - 1]
    domain, values = check_exact(pa.array(rows, type_), rows)
    assert values.type == type_
    assert values.to_pylist() == [row for row in rows if row is not None]
    assert domain.n_codes == 2**width


@LAW
@given(st.sampled_from(TEMPORAL), st.data())
def test_dates_and_times_of_any_unit(type_, data):
    # 2**62: two of them still differ by less than 2**64 - 2.
    base = I32 if type_.bit_width == 32 else integers(-(2**62), 2**62)
    raw = data.draw(st.lists(st.none() | base))
    array = viewed(raw, type_)
    _, values = check_exact(array, raw)
    assert values.equals(array.drop_null())


@LAW
@given(
    st.sampled_from([pa.decimal128(38, 2), pa.decimal256(76, 5), pa.decimal128(18, 0)]),
    integers(-(10**17), 10**17),
    st.lists(st.none() | integers(0, 2**63)),
)
def test_decimals_beyond_64_bits(type_, base, steps):
    base = base * 10 ** (type_.precision - 20) if type_.precision > 20 else base // 10
    steps = [step if step is None or type_.precision > 20 else step % 10**10 for step in steps]
    rows = [None if step is None else base + step for step in steps]
    array = pa.array(
        [
            None if r is None else Decimal((r < 0, tuple(map(int, str(abs(r)))), -type_.scale))
            for r in rows
        ],
        type_,
    )
    _, values = check_exact(array, rows)
    assert values.equals(array.drop_null())


@LAW
@given(st.sampled_from([16, 32, 64]), st.data())
def test_floats_of_every_width_with_subnormals_and_negatives(width, data):
    floats = st.floats(width=width, allow_infinity=False, allow_nan=False)
    rows = data.draw(st.lists(st.none() | st.just(float("nan")) | floats))
    type_ = {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}[width]
    array = pa.array(
        [None if r is None else np.float64(r).astype(f"f{width // 8}") for r in rows], type_
    )
    keys = [None if r is None or r != r else r for r in rows]
    domain, values = check_exact(array, keys)
    assert values.type == type_
    assert [float(v) for v in values.to_pylist()] == [key for key in keys if key is not None]
    assert (domain.missing_code, domain.code_dtype) == (2**64 - 1, np.dtype("u8"))


def test_minus_zero_is_zero_and_codes_step_through_the_smallest_numbers():
    tiny = 5e-324
    domain = domain_for(pa.array([-1.0, 1.0]))
    codes = domain.encode(pa.array([-tiny, -0.0, 0.0, tiny])).astype(object)
    assert [int(b) - int(a) for a, b in pairwise(codes)] == [2, 0, 1]
    assert np.copysign(1, domain.values(domain.encode(pa.array([-0.0])))[0].as_py()) == 1


@LAW
@given(st.lists(st.none() | st.text(max_size=4)))
def test_text_in_every_layout_has_the_same_codes(rows):
    plain = pa.array(rows, pa.string())
    domain, values = check_exact(plain, rows)
    codes = domain.encode(plain)
    assert values.to_pylist() == [row for row in rows if row is not None]
    starts = range(0, max(len(rows), 1), 2)
    encoded = pa.chunked_array([plain.slice(i, 2).dictionary_encode() for i in starts])
    for other in (plain.cast(pa.large_string()), plain.dictionary_encode(), encoded):
        assert domain_for(other).labels.equals(domain.labels)
        assert (domain.encode(other) == codes).all()
        assert (domain_for(other).encode(other) == codes).all()


def test_true_and_false_are_two_labels():
    rows = [True, None, False, True]
    domain, values = check_exact(pa.array(rows), rows)
    assert domain.labels.to_pylist() == ["False", "True"]
    assert values.to_pylist() == ["True", "False", "True"]
    assert domain_for(pa.array([True])).labels.to_pylist() == ["True"]


def test_categories_of_numbers_are_labels():
    array = pa.array([10, 9, None, 10]).dictionary_encode()
    domain = domain_for(array)
    assert domain.labels.to_pylist() == ["10", "9"]
    assert domain.encode(array).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "type_", [pa.int64(), pa.float32(), pa.string(), pa.bool_(), pa.decimal128(20, 1), pa.null(),
              pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.string(), True)]
)  # fmt: skip
@pytest.mark.parametrize("n", [0, 3])
def test_a_column_without_values_has_the_missing_code_only(type_, n):
    array = pa.nulls(n, type_)
    domain = domain_for(array)
    assert domain.encode(array).tolist() == [domain.missing_code] * n
    assert domain.max_code < domain.min_code
    assert len(domain.values(np.empty(0, domain.code_dtype))) == 0
    assert restore_domain(domain.describe(), domain.labels) == domain


def test_codes_are_as_narrow_as_the_missing_code_allows():
    def dtype(high):
        return domain_for(pa.array([0, high], pa.uint64())).code_dtype

    assert dtype(2**16 - 2) == np.uint16  # the missing code is 2**16 - 1
    assert dtype(2**16 - 1) == np.uint32
    assert dtype(2**32 - 2) == np.uint32
    assert dtype(2**32 - 1) == np.uint64
    assert dtype(2**64 - 2) == np.uint64
    with pytest.raises(DataError, match=r"column 'x' spans more than 2\*\*64 - 2 units"):
        dtype(2**64 - 1)


def test_span_kinds():
    ordered = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]), ordered=True)
    kinds = [
        domain_for(a).span_kind for a in (pa.array([1]), ordered, pa.array([1.0]), pa.array(["a"]))
    ]
    assert kinds == ["difference", "difference", "float", "distinct"]


@pytest.mark.parametrize(
    ("known", "found"),
    [
        (pa.array([0, 9]), pa.array([-1, 3, 10, None])),
        (pa.array([0, 255], pa.uint8()).cast(pa.int64()), pa.array([-1, 256, 4])),
        (pa.array([0.0, 1.0]), pa.array([-0.5, 1.5, float("nan"), 0.5])),
        (pa.array(["a", "b"]), pa.array(["c", "a", None, "d"])),
        (pa.array(["a", "b"]), pa.array(["c", "a", None, "d"]).dictionary_encode()),
        (pa.array([0, 9], pa.decimal128(30, 0)), pa.array([-1, 10, None], pa.decimal128(30, 0))),
        (pa.nulls(1, pa.int8()), pa.array([1, None, 2], pa.int8())),
        (pa.nulls(1, pa.float64()), pa.array([1.0, None, 2.0])),
    ],
)
def test_values_outside_the_domain_are_counted_never_shown(known, found):
    with pytest.raises(DataError, match="column 'x' has 2 values outside the domain"):
        domain_for(known).encode(found)


def test_an_array_of_another_type_is_refused():
    with pytest.raises(DataError, match="column 'x' is of type string here and of type int64"):
        domain_for(pa.array([1])).encode(pa.array(["1"]))


def test_partitions_of_different_widths_share_one_domain():
    parts = [pa.array([1, 2], pa.int8()), pa.array([300, None], pa.int32()), pa.nulls(1)]
    domain = domain_of("x", merge_summaries([summarize(p, column="x") for p in parts]))
    assert domain.type == pa.int32()
    assert [domain.encode(p).tolist() for p in parts] == [[0, 1], [299, 300], [300]]


def test_many_rows_go_through_blocks():
    rows = np.arange(100_000) % 1000 - 500
    null = np.arange(100_000) % 7 == 0
    domain = domain_for(pa.array(rows, mask=null))
    expected = np.where(null, domain.missing_code, rows + 500)
    assert (domain.encode(pa.array(rows, mask=null)) == expected).all()
    reals = pa.array(rows / 4, mask=null)
    codes = domain_for(reals).encode(reals)
    decoded = domain_for(reals).values(codes[~null])
    assert pc.all(pc.equal(decoded, reals.drop_null())).as_py()


def test_stored_labels_must_be_all_there():
    domain = domain_for(pa.array(["a", "b"]))
    with pytest.raises(DataError, match="column 'x' was stored with 2 labels, but 1 were found"):
        restore_domain(domain.describe(), domain.labels.slice(1))
