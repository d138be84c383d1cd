"""Equivalence classes of frames: pandas in, pandas out; Dask in, lazy Dask out; nulls are kept."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.classes import equivalence_classes, released_columns
from dask_anon.errors import DataError
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
    table = pd.DataFrame(rows, columns=["a", "b"]).astype({"a": "float64", "b": "str"})
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


def test_a_column_that_is_not_there_gets_a_sentence_with_the_nearest_name():
    with pytest.raises(DataError, match="Did you mean 'zip'"):
        equivalence_classes(RELEASED, ["zipp"])


def test_a_quasi_identifier_named_size_gets_a_sentence():
    with pytest.raises(DataError, match="named 'size' cannot be"):
        equivalence_classes(pd.DataFrame({"size": [1]}), ["size"])
