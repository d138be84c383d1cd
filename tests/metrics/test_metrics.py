"""The worked example: classes a,a,a,a,b,b. pandas is the reference, a Dask frame stays lazy."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon import metrics
from dask_anon.classes import ClassCounts
from dask_anon.errors import AnonError, DataError

CLASSES = pd.DataFrame({"q": ["a", "b"], "size": [4, 2]})

EXAMPLE = [
    (metrics.n_classes, {}, 2),
    (metrics.smallest_class, {}, 2),
    (metrics.average_class_size, {}, 3.0),
    (metrics.average_equivalence_class_size, {"k": 2}, 1.5),
    (metrics.discernibility, {}, 20),
    (metrics.discernibility, {"n_suppressed": 2}, 20 + 2 * 8),
    (metrics.prosecutor_risk, {}, 0.5),
    (metrics.average_prosecutor_risk, {}, 2 / 6),
    (metrics.n_records_below, {"k": 3}, 2),
    (metrics.n_records_below, {"k": 2}, 0),
]


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("metric, options, value", EXAMPLE)
def test_the_worked_example_has_its_published_figures(metric, options, value):
    assert metric(CLASSES, **options) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("metric, options, value", EXAMPLE)
@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_gives_the_same_lazily(metric, options, value, npartitions):
    lazy = dd.from_pandas(CLASSES, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        result = metric(lazy, **options)
    assert result.compute() == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("metric, options, _value", EXAMPLE)
def test_no_records_have_no_risk_and_no_loss(metric, options, _value):
    options = {name: value for name, value in options.items() if name == "k"}
    empty = CLASSES[:0]
    assert metric(empty, **options) == 0
    assert metric(dd.from_pandas(empty, npartitions=1), **options).compute() == 0


def test_empty_partitions_change_nothing():
    lazy = dd.from_pandas(CLASSES, npartitions=2)
    lazy = lazy[lazy["size"] < 3]
    assert metrics.smallest_class(lazy).compute() == 2
    assert metrics.prosecutor_risk(lazy).compute() == 0.5


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_class_counts_and_class_tables_agree(sizes):
    classes = pd.DataFrame({"size": sizes})
    counts = ClassCounts({size: sizes.count(size) for size in sizes})
    assert counts.n_classes == metrics.n_classes(classes)
    assert counts.n_records == sum(sizes)
    assert counts.smallest == metrics.smallest_class(classes)
    assert counts.sum_of_squares == metrics.discernibility(classes)
    for k in (1, 2, 10, 100):
        assert counts.n_records_below(k) == metrics.n_records_below(classes, k=k)
    assert counts.share_of_records_up_to(max(sizes)) == 1.0


def test_the_global_penalty_is_the_mean_of_the_attributes():
    assert metrics.global_certainty_penalty({"age": 0.25, "zip": 0.75}) == 0.5
    assert metrics.global_certainty_penalty({}) == 0.0


def test_a_table_without_sizes_gets_a_sentence():
    with pytest.raises(DataError, match="has a column 'size', this one has none"):
        metrics.discernibility(pd.DataFrame({"q": [1]}))


def test_k_must_be_a_divisor():
    with pytest.raises(AnonError, match="k must be at least 1"):
        metrics.average_equivalence_class_size(CLASSES, k=0)
