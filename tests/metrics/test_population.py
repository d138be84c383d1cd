"""Uniqueness in the population: what others find where they are right, and the truth.

Reference values were made with ARX 3.9.2 on Adult, taken as a sample of a population. Its SNB model
does not converge; the equations here do, and are compared with samples of a known population.
"""

from __future__ import annotations

from math import comb, isnan, lgamma

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.classes import ClassCounts
from dask_anon.errors import AnonError
from dask_anon.metrics._estimators import Sample, _log_shows_one, _shlosser
from dask_anon.metrics._numbers import digamma, root
from dask_anon.metrics.population import population_uniqueness

Q8 = [
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
    "occupation",
]
Q6, Q4, Q3 = Q8[:6], ["sex", "age", "race", "education"], ["sex", "age", "race"]

# Columns, then the estimates for sampling fractions of 0.01, 0.2 and 0.5.
ZAYATZ = [
    (Q3, 2.12317e-5, 2.491253e-4, 7.123623e-4),
    (Q4, 0.0025730382, 0.0124324085, 0.0235571055),
    (Q6, 0.0342775244, 0.0878728854, 0.1252515150),
    (Q8, 0.2235475645, 0.3113177924, 0.3845733002),
]
PITMAN = [
    (Q3, 3.10307e-5, 6.125547e-4, 1.5252760e-3),
    (Q4, 0.0016533888, 0.0135419310, 0.0257649405),
    (Q6, 0.0266040656, 0.0864199260, 0.1239123972),
    (Q8, 0.1198786284, 0.2944487295, 0.3875958538),
]


def sizes_of(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return frame.groupby(columns).size().rename("size").reset_index()


@pytest.mark.parametrize(
    "estimator, table", [("zayatz", ZAYATZ), ("pitman", PITMAN)], ids=["zayatz", "pitman"]
)
def test_adult_has_the_uniques_that_arx_finds(adult, estimator, table):
    for columns, *expected in table:
        classes = sizes_of(adult, columns)
        found = [
            population_uniqueness(classes, sampling_fraction=f, estimator=estimator)
            for f in (0.01, 0.2, 0.5)
        ]
        # To the digits in which the reference was written down.
        assert found == pytest.approx(expected, rel=3e-7, abs=1.5e-10)


# Columns, fraction, snb, zayatz, pitman: Adult is the population, samples with random_state=1.
SAMPLES = [
    (Q4, 0.05, 0.0392, 0.0809, 0.0316),
    (Q4, 0.2, 0.0452, 0.0463, 0.0420),
    (Q4, 0.5, 0.0431, 0.0418, 0.0426),
    (Q6, 0.05, 0.1521, 0.2280, 0.1229),
    (Q6, 0.2, 0.1513, 0.1620, 0.1519),
    (Q6, 0.5, 0.1619, 0.1586, 0.1591),
    (Q8, 0.05, 0.7189, 0.7457, 0.4157),
    (Q8, 0.2, 0.4676, 0.5316, 0.4699),
    (Q8, 0.5, 0.4673, 0.4766, 0.4807),
]


@pytest.mark.parametrize("columns, fraction, snb, zayatz, pitman", SAMPLES)
def test_samples_of_a_known_population_are_told_its_uniques(
    adult, columns, fraction, snb, zayatz, pitman
):
    truth = (sizes_of(adult, columns)["size"] == 1).sum() / len(adult)
    classes = sizes_of(adult.sample(frac=fraction, random_state=1), columns)
    found = {
        name: population_uniqueness(classes, population_size=len(adult), estimator=name)
        for name in ("snb", "zayatz", "pitman", "dankar")
    }
    assert found["snb"] == pytest.approx(snb, abs=5.1e-5)
    assert found["zayatz"] == pytest.approx(zayatz, abs=5.1e-5)
    assert found["pitman"] == pytest.approx(pitman, abs=5.1e-5)
    # The rule of Dankar and others: Pitman for small samples, else the lower of the other two.
    by_rule = pitman if fraction <= 0.1 else min(snb, zayatz)
    assert found["dankar"] == pytest.approx(by_rule, abs=5.1e-5)
    assert found["dankar"] == pytest.approx(truth, rel=0.25)
    if fraction > 0.1:
        assert found["snb"] == pytest.approx(truth, rel=0.14)


def test_shlosser_counts_the_classes_of_the_population(adult):
    sizes, n_of_size = np.unique(
        sizes_of(adult.sample(frac=0.2, random_state=1), Q6)["size"], return_counts=True
    )
    found = _shlosser(Sample(sizes, n_of_size, 0.2))
    assert found == pytest.approx(7142, abs=1)
    assert found == pytest.approx(len(sizes_of(adult, Q6)), rel=0.07)


def test_zayatz_by_hand():
    # 8 persons, 4 asked: two singles and a pair. A class of two shows one of its members to
    # 4 of 7 samples; so 2·½ of the 2·½ + 1·4/7 classes that show one are singles.
    shows = {i: comb(8 - i, 3) * i / comb(8, 4) for i in (1, 2)}
    assert shows == {1: 1 / 2, 2: 4 / 7}
    by_hand = 2 / 4 * (2 * shows[1]) / (2 * shows[1] + 1 * shows[2])
    found = population_uniqueness({1: 2, 2: 1}, population_size=8, estimator="zayatz")
    assert found == pytest.approx(by_hand, rel=1e-14)


def test_pitman_is_the_likeliest():
    # The likelihood of Pitman's formula over a fine grid has its top where the estimate is.
    sizes = {1: 30, 2: 10, 3: 5, 8: 2}
    n, u = 81, 47
    i, j = np.arange(1, u), np.arange(1, n)
    best = (-np.inf, 0.0)
    for alpha in np.linspace(0.1, 0.3, 41):
        for theta in np.linspace(25, 45, 41):
            likelihood = np.log(theta + i * alpha).sum() - np.log(theta + j).sum()
            for size, count in sizes.items():
                likelihood += count * np.log(np.arange(1, size) - alpha).sum()
            uniques = lgamma(theta + 1) - lgamma(theta + alpha) + alpha * np.log(810)
            best = max(best, (likelihood, np.exp(uniques) / 810))
    found = population_uniqueness(sizes, sampling_fraction=0.1, estimator="pitman")
    assert found == pytest.approx(best[1], rel=0.02)


def test_large_classes_are_not_multiplied_out():
    sample = Sample(np.array([1, 2, 50, 20_000, 99_999]), np.ones(5, dtype=np.int64), 1e-4)
    short, long = _log_shows_one(sample), _log_shows_one(sample, exact_below=10**6)
    assert short == pytest.approx(long, abs=1e-10)
    dense = Sample(sample.sizes, sample.n_of_size, 0.5)
    assert np.exp(_log_shows_one(dense))[3:].tolist() == [0, 0]


ESTIMATORS = ["dankar", "zayatz", "pitman", "snb"]
COUNTS = {1: 30, 2: 10, 3: 5, 8: 2}
CLASSES = pd.DataFrame({"size": np.repeat(list(COUNTS), list(COUNTS.values()))})


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.mark.parametrize(
    "npartitions, population",
    [(1, {"sampling_fraction": 0.2}), (2, {"population_size": 405}), (7, {"population_size": 405})],
)
def test_dask_gives_the_same_lazily(npartitions, population):
    def estimates(classes):
        return tuple(
            population_uniqueness(classes, estimator=name, **population) for name in ESTIMATORS
        )

    expected = estimates(COUNTS)
    assert all(0 < share < 1 for share in expected)
    assert estimates(CLASSES) == estimates(ClassCounts(COUNTS)) == expected
    lazy = dd.from_pandas(CLASSES, npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        found = estimates(lazy)
        # Empty partitions change nothing.
        padded = estimates(dd.concat([lazy, lazy[lazy["size"] > 8]]))
    assert dask.compute(*found) == dask.compute(*padded) == expected


def test_a_table_is_measured_as_well():
    records = pd.DataFrame({"zip": ["1", "2", "3", "3"]})
    expected = population_uniqueness({1: 2, 2: 1}, sampling_fraction=0.5)
    options = {"quasi_identifiers": ["zip"], "sampling_fraction": 0.5}
    assert population_uniqueness(records, **options) == expected
    lazy = dd.from_pandas(records, npartitions=2)
    assert population_uniqueness(lazy, **options).compute() == expected


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_sample_uniques_there_are_none(estimator):
    assert population_uniqueness({}, sampling_fraction=0.1, estimator=estimator) == 0
    assert population_uniqueness({2: 5}, sampling_fraction=0.1, estimator=estimator) == 0
    empty = dd.from_pandas(CLASSES[:0], npartitions=1)
    assert population_uniqueness(empty, sampling_fraction=1, estimator=estimator).compute() == 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_whole_population_has_its_own_uniques(estimator):
    found = population_uniqueness(COUNTS, population_size=81, estimator=estimator)
    assert found == 30 / 81


def test_no_shifted_negative_binomial_fits_singles_alone():
    singles = {1: 5}
    assert isnan(population_uniqueness(singles, sampling_fraction=0.2, estimator="snb"))
    # The rule then takes what there is.
    found = population_uniqueness(singles, sampling_fraction=0.2, estimator="dankar")
    assert found == pytest.approx(1)


@given(
    st.dictionaries(st.integers(1, 40), st.integers(1, 50), min_size=1, max_size=8),
    st.floats(0.001, 0.999),
    st.sampled_from(ESTIMATORS),
)
@settings(max_examples=30, deadline=None)
def test_an_estimate_is_a_share_or_there_is_none(counts, fraction, estimator):
    found = population_uniqueness(counts, sampling_fraction=fraction, estimator=estimator)
    assert 0 <= found <= 1 or (estimator == "snb" and isnan(found))


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "found neither"),
        ({"sampling_fraction": 0.1, "population_size": 9}, "found both"),
        ({"sampling_fraction": 0}, "above 0 and at most 1, found 0"),
        ({"sampling_fraction": 20}, "above 0 and at most 1, found 20"),
        ({"population_size": 0}, "at least 1, found 0"),
        ({"population_size": 80}, "found 81 records of 80 persons"),
        ({"sampling_fraction": 0.1, "estimator": "pitmann"}, "Did you mean 'pitman'"),
    ],
)
def test_an_impossible_population_gets_a_sentence(options, message):
    with pytest.raises(AnonError, match=message):
        population_uniqueness(COUNTS, **options)


def test_digamma_is_the_slope_of_log_gamma():
    for x in (1e-3, 0.5, 1.0, 3.7, 25.0, 1e4):
        h = 1e-6 * x
        assert digamma(x) == pytest.approx((lgamma(x + h) - lgamma(x - h)) / (2 * h), rel=1e-5)
    x = np.array([0.3, 2.0, 150.0])
    assert digamma(x + 1) == pytest.approx(digamma(x) + 1 / x, rel=1e-14)


def test_a_root_is_where_the_sign_falls():
    assert root(lambda x: 3 - x, 0, 10) == pytest.approx(3, rel=1e-15)
    assert root(lambda x: 1, 0, 10) == pytest.approx(10)
