"""How finely records are told apart, under our names and under those that scripts know."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.utility import (
    average_equivalence_class_size,
    calculate_avg_equivalence_class_size,
    distinctness,
)

PEOPLE = pd.DataFrame({"age": ["23", "23", "24-25", "24-25"], "zip": ["1", "1", "2", "2"]})


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def test_the_average_class_size_has_the_name_and_arguments_that_scripts_use():
    assert calculate_avg_equivalence_class_size(PEOPLE, 2, ["age", "zip"]) == 1.0
    assert calculate_avg_equivalence_class_size(df=PEOPLE, k=1, quasi_id=["age"]) == 2.0
    assert calculate_avg_equivalence_class_size(PEOPLE[:0], 2, ["age"]) == 0.0


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_records_without_a_key_are_counted_with_their_class(missing):
    """Where a group-by drops them, 6 records in 1 class would give 3.0 for k = 2."""
    released = pd.DataFrame({"q": ["a"] * 4 + [missing] * 2})
    assert calculate_avg_equivalence_class_size(released, 2, ["q"]) == 1.5


def test_it_is_the_figure_of_the_class_table():
    classes = pd.DataFrame({"size": [2, 2]})
    found = calculate_avg_equivalence_class_size(PEOPLE, 2, ["age", "zip"])
    assert found == average_equivalence_class_size(classes, k=2)
    with pytest.raises(AnonError, match="k must be at least 1"):
        calculate_avg_equivalence_class_size(PEOPLE, 0, ["age"])
    with pytest.raises(DataError, match="column 'agee' is not in the table"):
        calculate_avg_equivalence_class_size(PEOPLE, 2, ["agee"])


def test_distinctness_counts_distinct_records():
    frame = pd.DataFrame({"a": [1, 1, 2, 2, None, None], "b": [1, 2, 1, 1, 3, 3]})
    assert distinctness(frame) == 4 / 6
    assert distinctness(frame, ["a"]) == 3 / 6
    assert distinctness(frame, by_column=True) == {"a": 3 / 6, "b": 3 / 6}
    assert distinctness(frame[:0]) == 0
    assert distinctness(pd.DataFrame({"q": list("aaaabb")})) == pytest.approx(0.3333333333)


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_gives_the_same_lazily(npartitions):
    people = pd.concat([PEOPLE] * 4, ignore_index=True)
    lazy = dd.from_pandas(people, npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        size = calculate_avg_equivalence_class_size(lazy, 2, ["age", "zip"])
        whole, by_column = distinctness(lazy), distinctness(lazy, by_column=True)
    with dask.config.set(scheduler="synchronous"):
        assert size.compute() == 4.0
        assert whole.compute() == 2 / 16
        assert by_column.compute() == {"age": 2 / 16, "zip": 2 / 16}
