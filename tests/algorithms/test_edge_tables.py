"""Tables at the edge of what a table is: empty, constant, all missing, larger in k than in rows."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask_anon as anon


def policy(*quasi_identifiers, k=2, **sections):
    return anon.Policy(
        columns=dict.fromkeys(quasi_identifiers, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": k}],
        **sections,
    )


@pytest.mark.parametrize("dtype", ["Int64", "float64", "int8[pyarrow]", "datetime64[us]", object])
def test_a_column_of_missing_values_shows_nothing(dtype):
    frame = pd.DataFrame({"a": pd.Series([None] * 6, dtype=dtype), "b": range(6)})
    released = anon.anonymize(frame, policy("a", "b"))
    assert released["a"].isna().all()
    assert released["b"].tolist() == ["[0, 2]"] * 3 + ["[3, 5]"] * 3


@pytest.mark.parametrize("dtype", ["Int64", "float64", "int8[pyarrow]", "datetime64[us]"])
@pytest.mark.parametrize("format", ["bounds", "midpoint"])
def test_bounds_of_missing_values_are_missing(dtype, format):
    frame = pd.DataFrame({"a": pd.Series([None] * 6, dtype=dtype)})
    released = anon.anonymize(frame, policy("a", recoding={"format": format}))
    assert released["a_missing"].all()
    assert released.drop(columns="a_missing").isna().all(axis=None)


def test_an_ordered_category_of_missing_values_shows_nothing():
    values = pd.Categorical([None] * 4, categories=["low", "high"], ordered=True)
    released = anon.anonymize(pd.DataFrame({"a": values}), policy("a"))
    assert released["a"].isna().all()


@pytest.mark.parametrize("format", ["interval", "bounds", "midpoint"])
def test_an_empty_table_gives_an_empty_release_of_the_same_types(format):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [1, 2], "c": ["x", "y"], "s": [True, False]})
    asked = policy("a", "b", "c", recoding={"format": format})
    expected = anon.anonymize(frame, asked)
    released = anon.anonymize(frame.iloc[:0], asked)
    assert len(released) == 0
    known = [name for name in expected if name in released]
    assert released[known].dtypes.equals(expected[known].dtypes)
    lazy = anon.anonymize(dd.from_pandas(frame.iloc[:0], npartitions=1), asked)
    assert len(lazy) == 0


@pytest.mark.parametrize("n, rows", [(1, "1 row"), (4, "4 rows")])
def test_k_larger_than_the_table_says_how_many_rows_there_are(n, rows):
    frame = pd.DataFrame({"a": range(n)})
    with pytest.raises(anon.DataError, match=rf"k=5 cannot hold: the table has {rows}\b"):
        anon.anonymize(frame, policy("a", k=5))


@pytest.mark.parametrize("values", [[7] * 9, ["x"] * 9, [None] * 9, [1.5] * 9])
def test_a_constant_table_is_one_class(values):
    frame = pd.DataFrame({"a": values})
    recoding = anon.fit(frame, policy("a"))
    assert (recoding.n_classes, recoding.smallest_class) == (1, 9)


def test_columns_that_are_no_quasi_identifiers_may_hold_anything():
    payload = [1, "x", (1, 2), None]
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "s": payload})
    released = anon.anonymize(frame, policy("a"))
    assert released["s"].tolist() == payload
    assert released["a"].tolist() == ["[1, 2]"] * 2 + ["[3, 4]"] * 2
    assert anon.plan(frame, policy("a")).n_records == 4


def test_a_quasi_identifier_of_mixed_types_is_refused_without_its_values():
    frame = pd.DataFrame({"a": [1, "secret", 3, 4]})
    with pytest.raises(anon.DataError, match=r"column 'a' mixes types .*\(int, str\)") as caught:
        anon.anonymize(frame, policy("a"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "payload", [[[1], [2], [], None], [b"\xff", b"a", None, b"b"], [{"x": 1}, {"x": 2}, None, {}]]
)
def test_ties_are_divided_by_columns_of_any_type(payload):
    frame = pd.DataFrame({"a": [1, 5, 5, 5], "b": [1, 1, 1, 1], "s": payload})
    released = anon.anonymize(frame, policy("a", algorithm={"ties": "divide"}))
    assert sorted(released["a"]) == ["5", "5", "[1, 5]", "[1, 5]"]
    assert released["s"].tolist() == payload


INDEXES = {
    "duplicated": [0, 1, 0, 1, 0, 1],
    "dates": pd.date_range("2024-02-28", periods=6),
    "text": list("fedcba"),
    "two levels": pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["u", None]),
    "missing labels": [None, 1.0, None, 2.0, np.nan, 3.0],
}


@pytest.mark.parametrize("name", INDEXES)
def test_the_index_stays_and_decides_nothing(name):
    frame = pd.DataFrame({"a": [6, 5, 4, 3, 2, 1], "s": list("uvwxyz")})
    expected = anon.anonymize(frame, policy("a", k=3))
    assert expected["a"].tolist() == ["[4, 6]"] * 3 + ["[1, 3]"] * 3
    frame.index = pd.Index(INDEXES[name])
    released = anon.anonymize(frame, policy("a", k=3))
    pd.testing.assert_index_equal(released.index, frame.index)
    pd.testing.assert_frame_equal(released.reset_index(drop=True), expected.reset_index(drop=True))


def test_a_column_named_like_a_released_one_is_refused():
    frame = pd.DataFrame({"a": [1, 2], "a_min": [3, 4]})
    with pytest.raises(anon.PolicyError, match="two columns 'a_min'"):
        anon.anonymize(frame, policy("a", recoding={"format": "bounds"}))
    assert "a_min" in anon.anonymize(frame, policy("a"))


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(anon.PolicyError, match="2 columns named 'a'"):
        anon.anonymize(frame, policy("a"))


def test_the_original_is_not_changed():
    frame = pd.DataFrame({"a": [3, 1, None, 2], "s": list("wxyz")})
    before = frame.copy(deep=True)
    anon.anonymize(frame, policy("a"))
    pd.testing.assert_frame_equal(frame, before)


def test_infinities_are_counted_and_refused():
    frame = pd.DataFrame({"a": [np.inf, 1.0, -np.inf, 2.0]})
    with pytest.raises(anon.DataError, match="'a' has 2 infinite values"):
        anon.anonymize(frame, policy("a"))


def test_whole_numbers_of_64_bits_are_exact():
    values = np.array([0, 2**64 - 2, 2**63, 2**63 + 1], np.uint64)
    released = anon.anonymize(pd.DataFrame({"a": values}), policy("a"))
    low, high = f"[0, {2**63}]", f"[{2**63 + 1}, {2**64 - 2}]"
    assert released["a"].tolist() == [low, high, low, high]


def test_missing_values_are_refused_where_the_policy_says_so():
    frame = pd.DataFrame({"a": [1, None, 3, None], "b": [1, 2, 3, 4]})
    with pytest.raises(anon.DataError, match=r"missing values: 'a' \(2\)"):
        anon.anonymize(frame, policy("a", "b", missing={"quasi-identifiers": "error"}))


@pytest.mark.parametrize("data", [[1, 2], {"a": [1, 2]}])
def test_only_frames_are_taken(data):
    with pytest.raises((anon.AnonError, AttributeError)):
        anon.anonymize(data, policy("a"))
