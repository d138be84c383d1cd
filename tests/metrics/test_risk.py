"""Three attackers: worked examples, Adult's figures, suppressed records, and pandas = Dask."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.risk import (
    THRESHOLDS,
    average_journalist_risk,
    average_prosecutor_risk,
    journalist_risk,
    marketer_risk,
    n_records_at_risk,
    n_records_below,
    n_suppressed_records,
    prosecutor_risk,
    records_at_risk,
    sample_uniqueness,
    smallest_class,
)

# Classes of 1, 2 and 5 records, of 2, 10 and 20 persons like them.
CLASSES = pd.DataFrame({"q": ["a", "b", "c"], "size": [1, 2, 5], "population": [2, 10, 20]})

EXAMPLE = [
    (prosecutor_risk, {}, 1),
    (average_prosecutor_risk, {}, 3 / 8),
    (n_records_at_risk, {"threshold": 0.2}, 3),
    (n_records_at_risk, {"threshold": 0.19}, 8),
    (n_records_at_risk, {"threshold": 1}, 0),
    (n_records_at_risk, {"threshold": 0.09, "population": "population"}, 3),
    (n_records_at_risk, {"threshold": 0.2, "sampling_fraction": 0.5}, 3),
    (records_at_risk, {"threshold": THRESHOLDS["k=5"]}, 3 / 8),
    (records_at_risk, {"threshold": 0.05, "population": "population"}, 3 / 8),
    (journalist_risk, {}, 1 / 2),
    (journalist_risk, {"sampling_fraction": 0.1}, 1 / 10),
    (average_journalist_risk, {}, (1 / 2 + 2 / 10 + 5 / 20) / 8),
    (average_journalist_risk, {"sampling_fraction": 0.1}, 3 / 80),
    (marketer_risk, {}, (1 / 2 + 2 / 10 + 5 / 20) / 8),
    (marketer_risk, {"sampling_fraction": 0.1}, 3 / 80),
    (sample_uniqueness, {}, 1 / 8),
    (n_suppressed_records, {}, 0),
]


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("metric, options, value", EXAMPLE)
def test_a_table_that_can_be_counted(metric, options, value):
    assert metric(CLASSES, **options) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_gives_the_same_lazily(npartitions):
    lazy = dd.from_pandas(CLASSES, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        figures = [metric(lazy, **options) for metric, options, _ in EXAMPLE]
    expected = [value for _, _, value in EXAMPLE]
    assert dask.compute(*figures) == pytest.approx(expected, rel=1e-15)


def test_no_records_have_no_risk():
    nobody = dd.from_pandas(CLASSES[:0], npartitions=1)
    assert [metric(CLASSES[:0], **options) for metric, options, _ in EXAMPLE] == [0] * len(EXAMPLE)
    lazy = [metric(nobody, **options) for metric, options, _ in EXAMPLE]
    assert dask.compute(*lazy) == (0,) * len(EXAMPLE)


# Columns, sample uniques, average risk and share of records above 0.09: ARX 3.9.2 on Adult.
ADULT = [
    (["sex", "age", "race"], 0.0020555666, 0.0175054705, 0.0388899940),
    (["sex", "age", "race", "education"], 0.0399840859, 0.1045023540, 0.2387109608),
]


@pytest.mark.parametrize("columns, uniques, average, above", ADULT)
def test_adult_has_the_figures_of_arx(adult, columns, uniques, average, above):
    classes = adult.groupby(columns).size().rename("size").reset_index()
    assert sample_uniqueness(classes) == pytest.approx(uniques, abs=1e-10)
    assert average_prosecutor_risk(classes) == pytest.approx(average, abs=1e-10)
    assert records_at_risk(classes, threshold=THRESHOLDS["0.09"]) == pytest.approx(above, abs=1e-10)
    # The mean of one over the group's size is the same average.
    of_record = 1 / adult.groupby(columns)["age"].transform("size")
    assert average_prosecutor_risk(classes) == pytest.approx(of_record.mean(), rel=1e-12)


def test_presets_say_which_class_is_small_enough_to_be_at_risk():
    def smallest_safe(threshold: float) -> int:
        at_risk = [
            n_records_at_risk(pd.DataFrame({"size": [k]}), threshold=threshold) > 0
            for k in range(1, 30)
        ]
        return at_risk.index(False) + 1

    assert {name: smallest_safe(value) for name, value in THRESHOLDS.items()} == {
        "0.05": 20,
        "0.09": 12,
        "0.2": 5,
        "0.33": 4,
        "k=5": 5,
        "k=11": 11,
    }


# -- from records to risk, without a class table in between ---------------------------------------

RECORDS = pd.DataFrame(
    {
        "age": ["<50", "<50", "<50", "<50", "*"],
        "zip": ["81", "81", "82", "82", "*"],
        "persons": [2.5, 2.5, 1, 3, 1],
    }
)


@pytest.mark.parametrize("npartitions", [0, 1, 3])
def test_a_released_table_is_measured_as_well(npartitions):
    records = dd.from_pandas(RECORDS, npartitions=npartitions) if npartitions else RECORDS
    columns = {"quasi_identifiers": ["age", "zip"]}
    persons = {**columns, "population": "persons"}
    with dask.config.set(scheduler=refuse):
        figures = [
            smallest_class(records, **columns),
            n_records_below(records, k=2, **columns),
            prosecutor_risk(records, **columns),
            prosecutor_risk(records, suppressed="record", **columns),
            average_prosecutor_risk(records, **columns),
            n_suppressed_records(records, **columns),
            sample_uniqueness(records, **columns),
            records_at_risk(records, threshold=0.2, **columns),
            records_at_risk(records, threshold=0.2, **persons),
            journalist_risk(records, **persons),
            marketer_risk(records, **persons),
            average_journalist_risk(records, **persons),
        ]
    expected = [1, 1, 0.5, 1, 0.5, 1, 0, 1, 0.5, 0.25, 0.9 / 4, 0.9 / 4]
    assert dask.compute(*figures) == pytest.approx(expected, rel=1e-15)


# -- suppressed records ---------------------------------------------------------------------------

# <50,f,81 and <50,m,81, two records each, and one record of which nothing is shown.
RELEASE = pd.DataFrame(
    {
        "age": ["<50", "<50", "*"],
        "sex": ["f", "m", "*"],
        "zip": ["81", "81", "*"],
        "size": [2, 2, 1],
    }
)
AS_CATEGORIES = {"age": "category", "sex": "category", "zip": "category"}
AS_ARROW = dict.fromkeys(["age", "sex", "zip"], pd.ArrowDtype(pa.string()))
AS_CODES = dict.fromkeys(
    ["age", "sex", "zip"], pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
)


@pytest.mark.parametrize("dtypes", [{}, AS_CATEGORIES, AS_ARROW, AS_CODES])
@pytest.mark.parametrize("npartitions", [0, 1, 2])
def test_a_suppressed_record_is_reported_apart(dtypes, npartitions):
    classes = RELEASE.astype(dtypes)
    if npartitions:
        classes = dd.from_pandas(classes, npartitions=npartitions)
    figures = [
        n_suppressed_records(classes),
        prosecutor_risk(classes),
        average_prosecutor_risk(classes),
        sample_uniqueness(classes),
        records_at_risk(classes, threshold=0.5),
        marketer_risk(classes),
        journalist_risk(classes, sampling_fraction=0.5),
    ]
    assert list(dask.compute(*figures)) == [1, 0.5, 0.5, 0, 0, 0.5, 0.25]


@pytest.mark.parametrize("npartitions", [0, 1, 2])
def test_a_suppressed_record_counts_as_one_where_that_is_asked(npartitions):
    classes = dd.from_pandas(RELEASE, npartitions=npartitions) if npartitions else RELEASE
    figures = [
        prosecutor_risk(classes, suppressed="record"),
        average_prosecutor_risk(classes, suppressed="record"),
        sample_uniqueness(classes, suppressed="record"),
        records_at_risk(classes, threshold=0.5, suppressed="record"),
    ]
    assert list(dask.compute(*figures)) == [1, 3 / 5, 1 / 5, 1 / 5]


def test_a_record_with_any_value_is_not_suppressed():
    for change in ({"age": ["<50", "<50", "30"]}, {"age": [30, 31, 32]}, {"sex": ["f", "m", None]}):
        assert n_suppressed_records(RELEASE.assign(**change)) == 0
        assert prosecutor_risk(RELEASE.assign(**change)) == 1
    # All values missing is a class like any other.
    hidden = RELEASE.replace("*", None)
    assert n_suppressed_records(hidden) == 0
    assert prosecutor_risk(hidden) == 1


def test_counts_of_sensitive_values_and_of_persons_are_no_quasi_identifiers():
    counts = pd.ArrowDtype(pa.list_(pa.struct([("value", pa.string()), ("n", pa.int64())])))
    values = pd.Series([[{"value": "flu", "n": 1}]] * 3, dtype=counts)
    classes = RELEASE.assign(diagnosis=values, persons=[4, 8, 1])
    assert n_suppressed_records(RELEASE.assign(diagnosis=values)) == 1
    assert journalist_risk(classes, population="persons") == 1 / 4


# -- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric, options, message",
    [
        (prosecutor_risk, {"suppressed": "no"}, "suppressed must be 'apart' or 'record'"),
        (records_at_risk, {"threshold": 5}, "threshold must be between 0 and 1, found 5"),
        (journalist_risk, {"sampling_fraction": 0}, "above 0 and at most 1, found 0"),
        (marketer_risk, {"sampling_fraction": 0}, "above 0 and at most 1, found 0"),
        (journalist_risk, {"population": "people"}, "column 'people' .* is not in the class table"),
        (
            average_journalist_risk,
            {"population": "population", "sampling_fraction": 0.1},
            "the population is told twice",
        ),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(metric, options, message):
    with pytest.raises(AnonError, match=message):
        metric(CLASSES, **options)


def test_a_journalist_needs_a_population():
    with pytest.raises(AnonError, match="nothing tells how large that is"):
        journalist_risk(CLASSES[["size"]])
    # A marketer without one has a register of the table's own people: the worst case.
    assert marketer_risk(CLASSES[["size"]]) == average_prosecutor_risk(CLASSES)


@pytest.mark.parametrize("population", [[0.5, 10, 20], [None, 10, 20]])
def test_a_population_smaller_than_its_sample_is_refused(population):
    classes = CLASSES.assign(population=population)
    with pytest.raises(DataError, match="fewer persons than records in 1 class,"):
        journalist_risk(classes)
    lazy = journalist_risk(dd.from_pandas(classes, npartitions=2))
    with pytest.raises(DataError, match="fewer persons than records in 1 class,"):
        lazy.compute()


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 100)), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_an_attacker_who_knows_less_finds_less(pairs):
    classes = pd.DataFrame(
        {"size": [f for f, _ in pairs], "population": [f + more for f, more in pairs]}
    )
    assert marketer_risk(classes) <= average_journalist_risk(classes) + 1e-12
    assert average_journalist_risk(classes) <= average_prosecutor_risk(classes) + 1e-12
    assert journalist_risk(classes) <= prosecutor_risk(classes)
    assert marketer_risk(classes) <= journalist_risk(classes) + 1e-12
    for threshold in THRESHOLDS.values():
        by_journalist = records_at_risk(classes, threshold=threshold, population="population")
        assert by_journalist <= records_at_risk(classes, threshold=threshold)
