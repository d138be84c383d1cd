"""Equivalence classes of frames: pandas in, pandas out; Dask in, lazy Dask out; nulls are kept.

The plain reference is a groupby, in pandas, of the values as Python has them.
"""

from __future__ import annotations

import datetime as dt
import doctest
import importlib
from collections import Counter
from decimal import Decimal

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.classes import equivalence_classes, released_columns
from dask_anon.classes._grouping import counts_by_class, number_equal
from dask_anon.errors import AnonError, DataError
from dask_anon.policy import Policy

POLICY = Policy(
    columns={"age": "quasi-identifier", "zip": "quasi-identifier"},
    privacy=[{"model": "k-anonymity", "k": 2}],
)
RELEASED = pd.DataFrame(
    {
        "age": ["[1, 2]", "[1, 2]", None, None, "3", "3"],
        "zip": ["021", "021", "021", "021", None, "022"],
        "disease": list("abcdef"),
    }
)


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def as_sets(classes: pd.DataFrame) -> set[tuple]:
    plain = classes.astype(object).where(classes.notna(), None)
    return set(plain.itertuples(index=False, name=None))


EXPECTED = {("[1, 2]", "021", 2), (None, "021", 2), ("3", None, 1), ("3", "022", 1)}


def test_classes_keep_missing_values():
    classes = equivalence_classes(RELEASED, POLICY)
    assert list(classes.columns) == ["age", "zip", "size"]
    assert classes["size"].dtype == np.int64
    assert as_sets(classes) == EXPECTED


@pytest.mark.parametrize("npartitions", [1, 2, 6])
@pytest.mark.parametrize("split_out", [1, 3])
def test_dask_gives_the_same_lazily_with_exact_meta(npartitions, split_out):
    lazy = dd.from_pandas(RELEASED, npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        classes = equivalence_classes(lazy, POLICY, split_out=split_out)
    assert isinstance(classes, dd.DataFrame)
    found = classes.compute()
    assert as_sets(found) == EXPECTED
    assert dict(found.dtypes) == dict(classes._meta.dtypes)


@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, 2.0, None]), st.sampled_from(["x", "", None])),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=25, deadline=None)
def test_sizes_are_those_of_a_plain_count(rows):
    table = pd.DataFrame(rows, columns=["a", "b"]).astype({"a": "float64", "b": "string"})
    expected: dict[tuple, int] = {}
    for row in rows:
        expected[row] = expected.get(row, 0) + 1
    classes = equivalence_classes(table, ["a", "b"])
    assert as_sets(classes) == {(*row, n) for row, n in expected.items()}


def test_categories_that_nobody_has_are_no_classes():
    table = pd.DataFrame({"q": pd.Categorical(["a", None], categories=["a", "b"])})
    assert as_sets(equivalence_classes(table, ["q"])) == {("a", 1), (None, 1)}
    lazy = dd.from_pandas(table, npartitions=1)
    assert as_sets(equivalence_classes(lazy, ["q"]).compute()) == {("a", 1), (None, 1)}


def test_released_names_are_found_as_labels_or_bounds():
    names = ["age_min", "age_max", "age_missing", "zip", "disease"]
    assert released_columns(names, ["age", "zip"]) == ["age_min", "age_max", "age_missing", "zip"]
    assert released_columns(["zip", "age"], ["age", "zip"]) == ["age", "zip"]


def test_bounds_make_classes():
    table = pd.DataFrame({"age_min": [1, 1, 2], "age_max": [2, 2, 2], "zip": ["a", "a", "a"]})
    assert as_sets(equivalence_classes(table, POLICY)) == {(1, 2, "a", 2), (2, 2, "a", 1)}


@pytest.mark.parametrize("names", [["zip"], ["zip", "age_min"], ["zip", "Age"]])
def test_a_quasi_identifier_that_is_not_there_gets_a_sentence(names):
    with pytest.raises(DataError, match="'age' is not in the table, neither as 'age' nor as"):
        released_columns(names, ["age", "zip"])


# ------------------------------------------------------------------ every type of pandas

N = None
ARROW = {
    "float with NaN": pd.array([1.5, float("nan"), N, 1.5], dtype=pd.ArrowDtype(pa.float64())),
    "arrow categories": pd.array(
        ["x", N, "y", "x"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    ),
    "arrow decimal": pd.array(
        [Decimal("1.1"), N, Decimal("2"), Decimal("1.1")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))
    ),
    "arrow text": pd.array(["x", N, "", "x"], dtype=pd.ArrowDtype(pa.large_string())),
    "nothing": pd.array([N] * 4, dtype=pd.ArrowDtype(pa.null())),
}
DAYS = pd.to_datetime(pd.Series(["2020-01-01", N, "2020-01-02", "2020-01-01"]))
COLUMNS = {
    **{name: pd.Series(array) for name, array in ARROW.items()},
    "float": pd.Series([1.0, np.nan, 0.0, 1.0]),
    "two zeros": pd.Series([0.0, -0.0, np.nan, 1.0], dtype="float32"),
    "half": pd.Series([0.5, np.nan, 0.0, -0.0], dtype="float16"),
    "integer": pd.Series([1, 2, 1, -1]),
    "nullable": pd.Series([1, N, 2, 1], dtype="Int8"),
    "nullable float": pd.Series([1, N, 2, 1], dtype="Float64"),
    "truth": pd.Series([True, False, True, True]),
    "nullable truth": pd.Series([True, N, False, True], dtype="boolean"),
    "text": pd.Series(["x", N, "", "x"], dtype="string"),
    "object": pd.Series(["x", N, "", "x"], dtype=object),
    "numbers as objects": pd.Series([1, N, 2**70, 1], dtype=object),
    "categories": pd.Series(["x", N, "y", "x"], dtype="category"),
    "categories of numbers": pd.Series([3, N, 1, 3], dtype="category"),
    "ordered": pd.Series(pd.Categorical(["b", N, "a", "b"], categories=["b", "a"], ordered=True)),
    "intervals": pd.Series(pd.cut([1, 9, 2, 1], [0, 1, 5, 10])),
    "days": DAYS,
    "days somewhere": DAYS.dt.tz_localize("Europe/Berlin"),
    "durations": DAYS - DAYS[0],
    "months": DAYS.dt.to_period("M"),
    "dates": pd.Series([dt.date(2020, 1, 1), N, dt.date(2020, 1, 2), dt.date(2020, 1, 1)]),
    "decimals": pd.Series([Decimal("1.1"), N, Decimal("2"), Decimal("1.10")]),
    "complex": pd.Series([1 + 1j, 2, 1 + 1j, np.nan]),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1, 2])),
}


def plain(value):
    """A value as Python has it, and one missing value."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    return value + 0.0 if isinstance(value, float) else value


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_makes_classes(name):
    table = COLUMNS[name].rename("q").to_frame()
    expected = Counter(plain(value) for value in table["q"])
    classes = equivalence_classes(table, ["q"])
    assert classes["q"].dtype == table["q"].dtype
    assert {plain(v): n for v, n in zip(classes["q"], classes["size"], strict=True)} == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_partitions_of_any_type_make_the_same_classes(name):
    table = COLUMNS[name].rename("q").to_frame()
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_pandas(table, npartitions=3)
        found = equivalence_classes(lazy, ["q"], sensitive=[], split_out=2)
        assert dict(found.dtypes) == dict(found.compute().dtypes)
    expected = Counter(plain(value) for value in table["q"])
    assert Counter(found.compute()["size"]) == Counter(expected.values())


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"numbers as objects", "nothing"}))
def test_values_of_any_type_are_counted(name):
    table = pd.DataFrame({"q": [1, 1, 1, 1], "s": COLUMNS[name]})
    (found,) = equivalence_classes(table, ["q"], sensitive=["s"])["s"]
    counts = {plain(pair["value"]): pair["n"] for pair in found}
    expected = Counter(plain(value) for value in table["s"])
    spelled = "intervals" in name or name in ("months", "complex")
    as_read = {str(v) if spelled and v is not None else v: n for v, n in expected.items()}
    assert counts == as_read
    values = [pair["value"] for pair in found]
    assert None not in values[:-1]
    if name != "ordered":
        assert values[: len(values) - (None in values)] == sorted(
            v for v in values if v is not None
        )


def test_objects_of_several_kinds_are_told_apart():
    values = [1, "1", 1.0, Decimal("0.5"), 0.5, ("a", 1), frozenset([1, 2]), None, float("inf")]
    table = pd.DataFrame({"q": pd.Series(values, dtype=object)})
    assert len(equivalence_classes(table, ["q"])) == len(set(values))
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_pandas(pd.concat([table, table]).reset_index(drop=True), npartitions=9)
        found = equivalence_classes(lazy, ["q"]).compute()
    assert sorted(found["size"]) == sorted([2] * 5 + [4, 4])
    with pytest.raises(DataError, match=r"'q' mixes types .*Decimal, float, frozenset, int, str"):
        equivalence_classes(table.assign(k=1), ["k"], sensitive=["q"])


def test_values_that_cannot_be_compared_get_a_sentence():
    table = pd.DataFrame({"q": [[1], [2]], "k": [1, 1]})
    with pytest.raises(DataError, match="'q' holds values that cannot be compared, such as lists"):
        equivalence_classes(table, ["q"])
    with pytest.raises(DataError, match=r"'q' mixes types or holds no plain values \(list\)"):
        equivalence_classes(table, ["k"], sensitive=["q"])


# ------------------------------------------------------------------ what is counted

TABLE = pd.DataFrame(
    {
        "age": [1, 1, 2, None, 1, 2],
        "zip": ["x", "x", None, "x", "x", None],
        "s": ["flu", None, "flu", "hiv", "flu", None],
        "n": [2, 1, 2, 2, 3, 1],
        "w": [1.5, 2, 1, 1, 1, 0.5],
    }
)


def values_of(lists):
    return [[(pair["value"], pair["n"]) for pair in one] for one in lists]


def test_a_class_has_its_values_with_their_counts():
    classes = equivalence_classes(TABLE, ["age", "zip"], sensitive=["s", "n"], weight="w")
    assert list(classes.columns) == ["age", "zip", "size", "weight", "s", "n"]
    assert classes["size"].tolist() == [3, 2, 1]
    assert classes["weight"].tolist() == [4.5, 1.5, 1.0]
    assert values_of(classes["s"]) == [
        [("flu", 2), (None, 1)],
        [("flu", 1), (None, 1)],
        [("hiv", 1)],
    ]
    assert values_of(classes["n"]) == [[(1, 1), (2, 1), (3, 1)], [(1, 1), (2, 1)], [(2, 1)]]
    pair = pa.struct([("value", pa.int64()), ("n", pa.int64())])
    assert classes["n"].dtype == pd.ArrowDtype(pa.list_(pair))
    assert classes.index.equals(pd.RangeIndex(3))


def test_without_labels_the_rest_stays():
    classes = equivalence_classes(TABLE, ["age", "zip"], sensitive=["s"], labels=False)
    assert list(classes.columns) == ["size", "s"]
    assert classes["size"].tolist() == [3, 2, 1]
    assert values_of(classes["s"])[0] == [("flu", 2), (None, 1)]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("npartitions", [1, 2, 7])
@pytest.mark.parametrize("split_out", [None, 1, 3])
def test_dask_counts_the_same(npartitions, split_out, labels):
    lazy = dd.from_pandas(TABLE, npartitions=1).repartition(npartitions=npartitions)
    options = {"sensitive": ["s", "n"], "weight": "w", "labels": labels}
    with dask.config.set(scheduler=refuse):
        classes = equivalence_classes(lazy, ["age", "zip"], split_out=split_out, **options)
    assert split_out in (None, classes.npartitions)
    found = classes.compute().sort_values("size", ascending=False)
    expected = equivalence_classes(TABLE, ["age", "zip"], **options)
    assert dict(found.dtypes) == dict(classes._meta.dtypes)
    assert list(found.columns) == list(expected.columns)
    assert found["size"].tolist() == expected["size"].tolist()
    assert found["weight"].tolist() == expected["weight"].tolist()
    assert values_of(found["s"]) == values_of(expected["s"])
    assert values_of(found["n"]) == values_of(expected["n"])
    if labels:
        assert as_sets(found[["age", "zip"]]) == as_sets(expected[["age", "zip"]])


KEYS = st.sampled_from(["a", "b", None])
VALUES = st.sampled_from([1, 2, 5, None])


@given(st.lists(st.tuples(KEYS, VALUES), max_size=30), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_counts_are_those_of_a_plain_count(rows, npartitions, split_out):
    table = pd.DataFrame(rows, columns=["q", "s"]).astype({"q": "string", "s": "Int16"})
    expected: dict = {}
    for key, value in rows:
        expected.setdefault(key, Counter())[value] += 1
    lazy = dd.from_pandas(table, npartitions=npartitions)
    for classes in (
        equivalence_classes(table, ["q"], sensitive=["s"]),
        equivalence_classes(lazy, ["q"], sensitive=["s"], split_out=split_out).compute(),
    ):
        keys = [None if key is pd.NA else key for key in classes["q"]]
        assert dict(zip(keys, map(dict, values_of(classes["s"])), strict=True)) == expected
        assert classes["size"].tolist() == [expected[key].total() for key in keys]


def test_classes_come_as_they_are_first_seen():
    r = np.random.default_rng(0)
    table = pd.DataFrame({"a": r.integers(0, 40, 3000), "b": r.integers(0, 40, 3000)})
    sizes = table.groupby(["a", "b"], sort=False).size().reset_index(name="size")
    pd.testing.assert_frame_equal(equivalence_classes(table, ["a", "b"]), sizes)


def test_many_values_of_few_classes_are_added_up_over_partitions():
    r = np.random.default_rng(1)
    table = pd.DataFrame({"q": r.integers(0, 3, 4000), "s": r.integers(0, 500, 4000)})
    lazy = dd.from_pandas(table, npartitions=5)
    found = equivalence_classes(lazy, ["q"], sensitive=["s"]).compute().sort_values("q")
    for (_, rows), lists in zip(table.groupby("q"), values_of(found["s"]), strict=True):
        assert lists == sorted(Counter(rows["s"]).items())


def test_tables_and_partitions_without_records_have_no_class():
    empty = equivalence_classes(TABLE[:0], ["age"], sensitive=["s"], weight="w")
    assert list(empty.columns) == ["age", "size", "weight", "s"]
    assert len(empty) == 0
    assert empty["size"].dtype == np.int64
    lazy = dd.from_pandas(TABLE, npartitions=3)
    none = equivalence_classes(lazy[lazy["n"] > 9], ["age"], sensitive=["s"]).compute()
    assert len(none) == 0
    some = equivalence_classes(lazy[lazy["n"] == 3], ["age"], sensitive=["s"]).compute()
    assert values_of(some["s"]) == [[("flu", 1)]]


def test_categories_may_differ_between_partitions():
    first = pd.DataFrame({"q": pd.Categorical(["a", "b"]), "s": pd.Categorical(["x", "y"])})
    second = pd.DataFrame({"q": pd.Categorical(["b", "c"]), "s": pd.Categorical(["z", "x"])})
    lazy = dd.from_delayed(
        [dask.delayed(first), dask.delayed(second)], meta=first, verify_meta=False
    )
    found = equivalence_classes(lazy, ["q"], sensitive=["s"], split_out=1).compute()
    assert found["q"].tolist() == ["a", "b", "c"]
    assert values_of(found["s"]) == [[("x", 1)], [("y", 1), ("z", 1)], [("x", 1)]]


def test_ordered_categories_keep_their_order_and_must_agree_on_it():
    scale = ["low", "mid", "high"]
    table = pd.DataFrame({"q": [1, 1, 1], "s": pd.Categorical(scale, scale, ordered=True)})
    for classes in (
        equivalence_classes(table, ["q"], sensitive=["s"]),
        equivalence_classes(dd.from_pandas(table, npartitions=3), ["q"], sensitive=["s"]).compute(),
    ):
        assert values_of(classes["s"]) == [[("low", 1), ("mid", 1), ("high", 1)]]
        type_ = classes["s"].dtype.pyarrow_dtype.value_type.field("value").type
        assert type_.ordered
    other = table.assign(s=table["s"].cat.reorder_categories(scale[::-1]))
    lazy = dd.from_delayed(
        [dask.delayed(table), dask.delayed(other)], meta=table, verify_meta=False
    )
    with pytest.raises(DataError, match="ordered categories whose order differs"):
        equivalence_classes(lazy, ["q"], sensitive=["s"], split_out=1).compute()


def test_partitions_of_another_type_than_described_are_converted_or_refused():
    parts = [dask.delayed(TABLE[["n"]][:3]), dask.delayed(TABLE[["n"]][3:].astype("int32"))]
    lazy = dd.from_delayed(parts, meta=TABLE[["n"]], verify_meta=False)
    assert sorted(equivalence_classes(lazy, ["n"])["size"].compute()) == [1, 2, 3]
    halves = TABLE[["n"]][3:] + 0.5
    lazy = dd.from_delayed([parts[0], dask.delayed(halves)], meta=TABLE[["n"]], verify_meta=False)
    with pytest.raises(DataError, match="'n' is of type int64 by the table's description"):
        equivalence_classes(lazy, ["n"]).compute()
    words = TABLE[["n", "s"]].rename(columns={"n": "s", "s": "n"})[:3]
    described = TABLE[["n", "s"]]
    lazy = dd.from_delayed([dask.delayed(words)], meta=described, verify_meta=False)
    with pytest.raises(DataError, match="sensitive column 'n' is of type int64 by the table's"):
        equivalence_classes(lazy, ["s"], sensitive=["n"]).compute()


# ------------------------------------------------------------------ the graph


def test_two_figures_of_one_table_share_its_tasks(tmp_path):
    log = tmp_path / "log"

    def noted(part):
        with open(log, "a") as file:
            file.write("x")
        return part

    lazy = dd.from_pandas(TABLE, npartitions=3).map_partitions(noted, meta=TABLE[:0])
    classes = equivalence_classes(lazy, ["age"], sensitive=["s"])
    log.unlink(missing_ok=True)
    n_classes, n_records = dask.compute(classes["size"].count(), classes["size"].sum())
    assert (n_classes, n_records) == (3, 6)
    assert log.read_text() == "xxx"


def test_buckets_grow_with_the_partitions_between_limits():
    lazy = dd.from_pandas(TABLE, npartitions=6)
    assert equivalence_classes(lazy, ["age"]).npartitions == 6
    assert equivalence_classes(lazy, ["age"], split_out=5).npartitions == 5
    wide = dd.from_map(lambda i: TABLE, range(40), meta=TABLE)
    assert equivalence_classes(wide, ["age"]).npartitions == 20
    assert equivalence_classes(wide, ["age"], labels=False).npartitions == 10


def test_a_graph_of_many_partitions_is_made_at_once():
    wide = dd.from_map(lambda i: TABLE, range(400), meta=TABLE)
    classes = equivalence_classes(wide, ["age"], sensitive=["s"], labels=False)
    # A task a partition, a task a bucket, and a piece for each pair of them.
    assert classes.npartitions == 100
    assert len(classes.__dask_graph__()) < 1.02 * (400 * 100 + 2 * 100 + 2 * 400)


def test_pieces_say_how_much_memory_they_hold():
    from dask.sizeof import sizeof

    from dask_anon.classes._pieces import pieces_of
    from dask_anon.classes._table import _layout

    table = pd.DataFrame({"q": np.arange(10_000), "s": np.arange(10_000)})
    (piece,) = pieces_of(table, _layout(table, ["q"], ["s"], None, True), 1)
    # A class: 16 bytes of hash, 8 of size, 8 of label, 12 of the value's place, 8 of the value.
    assert 52 * 10_000 <= sizeof(piece) < 54 * 10_000


def test_two_tables_have_keys_and_names_of_their_own():
    lazy = dd.from_pandas(TABLE, npartitions=2)
    one, two = (equivalence_classes(lazy, ["age"]) for _ in range(2))
    assert one._name != two._name
    both = dd.concat([one, two]).compute()
    assert sorted(both["size"]) == [1, 1, 2, 2, 3, 3]


# ------------------------------------------------------------------ the kernels


@given(st.lists(st.integers(0, 40), max_size=200))
@settings(max_examples=25, deadline=None)
def test_equal_hashes_get_one_number(words):
    hashes = np.array([[7, word] for word in words], np.uint64).reshape(-1, 2)
    numbers, first = number_equal(hashes)
    codes, distinct = pd.factorize(np.array(words))
    assert numbers.tolist() == codes.tolist()
    assert [words[i] for i in first] == distinct.tolist()


def test_a_table_of_hashes_grows():
    r = np.random.default_rng(0)
    hashes = r.integers(0, 2**63, (100_000, 2)).astype(np.uint64)
    numbers, first = number_equal(np.concatenate([hashes, hashes]))
    assert (first == np.arange(100_000)).all()
    assert (numbers == np.tile(np.arange(100_000), 2)).all()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(1, 3)), max_size=150))
@settings(max_examples=25, deadline=None)
def test_counts_of_equal_values_are_added_up(triples):
    expected = Counter()
    for c, code, n in triples:
        expected[c, code] += n
    table = np.array(triples, np.int64).reshape(-1, 3)
    classes, codes, n = (np.ascontiguousarray(table[:, i]) for i in range(3))
    offsets, codes, n = counts_by_class(classes, codes, n, 3)
    found = [
        ((c, int(codes[i])), int(n[i])) for c in range(3) for i in range(offsets[c], offsets[c + 1])
    ]
    assert found == sorted(expected.items())


def test_every_example_is_what_it_prints():
    for name in ("_table", "_counts", "_columns", "_grouping"):
        module = importlib.import_module(f"dask_anon.classes.{name}")
        results = doctest.testmod(module, extraglobs={"pd": pd, "np": np})
        assert results.attempted > 0
        assert results.failed == 0, name


# ------------------------------------------------------------------ sentences


def test_a_column_that_is_not_there_gets_a_sentence_with_the_nearest_name():
    with pytest.raises(DataError, match="Did you mean 'zip'"):
        equivalence_classes(RELEASED, ["zipp"])


def test_a_quasi_identifier_named_size_gets_a_sentence():
    with pytest.raises(DataError, match="named 'size' cannot be"):
        equivalence_classes(pd.DataFrame({"size": [1]}), ["size"])


@pytest.mark.parametrize(
    "columns, options, match",
    [
        ([], {}, "no column to tell equivalence classes by"),
        (["age"], {"sensitive": ["age"]}, "'age' is a quasi-identifier, so each class has one"),
        (["age"], {"sensitive": ["S"]}, "'S' is not in the table. Did you mean 's'"),
        (["age"], {"sensitive": ["size"]}, "named 'size' cannot be a sensitive column"),
        (["age"], {"weight": "age"}, "'age' is a quasi-identifier, so each class has one"),
        (["age"], {"weight": "s"}, "weight column 's' is of type .*, which cannot be summed"),
        (["age"], {"weight": "m"}, "weight column 'm' has no value in 1 record of a partition"),
        (["weight"], {"weight": "w"}, "named 'weight' cannot be in a class table that sums"),
        (["age"], {"split_out": 0}, "at least 1, found 0"),
    ],
)
def test_what_cannot_stand_in_a_class_table_gets_a_sentence(columns, options, match):
    table = TABLE.assign(size=1, weight=1, m=[1, None, 1, 1, 1, 1])
    with pytest.raises(AnonError, match=match):
        equivalence_classes(table, columns, **options)


def test_a_column_that_is_there_twice_gets_a_sentence():
    table = pd.concat([TABLE, TABLE[["age"]]], axis=1)
    with pytest.raises(DataError, match="'age' is 2 times in the table"):
        equivalence_classes(table, ["age"])
