"""Individual risk: published values, the integral it stands for, brute force, and pandas = Dask."""

from __future__ import annotations

from itertools import pairwise, product

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics._posterior import approximate_risk, exact_risk
from dask_anon.metrics.household import household_risk
from dask_anon.metrics.individual import (
    expected_reidentifications,
    frequency_counts,
    global_risk,
    individual_risk,
    individual_risk_threshold,
)

# Seven people: two alike, one whose zip is not known, weights of 4 to 60, three homes.
PEOPLE = pd.DataFrame(
    {
        "zip": ["021", "021", "021", None, "100", "100", "100"],
        "age": [30.0, 30.0, 40.0, 30.0, 40.0, np.nan, 50.0],
        "w": [10, 20.5, 5, 60, 4, 8, 30],
        "home": ["a", "a", "b", "b", "b", "c", "c"],
    },
    index=[7, 7, 7, 0, 1, 2, 3],
)
KEYS = ["zip", "age"]
SIZES = [2, 2, 1, 1, 1, 1, 1]
WEIGHTS = [30.5, 30.5, 5, 60, 4, 8, 30]


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def in_parts(frame: pd.DataFrame, npartitions: int) -> dd.DataFrame:
    """A Dask frame with the rows in their order; of 7 parts some are empty."""
    step = max(2, -(-len(frame) // npartitions))
    cuts = np.minimum(np.arange(npartitions + 1) * step, len(frame))
    parts = [frame.iloc[a:b] for a, b in pairwise(cuts)]
    return dd.from_map(lambda part: part, parts, meta=frame[:0])


# -- the risk of f and F --------------------------------------------------------------------------


@pytest.mark.parametrize("risk_of", [exact_risk, approximate_risk])
def test_risks_of_one_and_two_are_those_of_sdcmicro(risk_of):
    f = np.array([2, 2, 1, 1, 1, 1.0])
    F = np.array([110, 84.5, 17, 541, 8, 5])
    assert risk_of(f, F) == pytest.approx(
        [
            0.0171442615962852,
            0.0220423261832562,
            0.1770758340035135,
            0.0116544801460120,
            0.2970630773828337,
            0.4023594781085251,
        ],
        abs=1e-14,
    )


def test_more_are_approximated_as_in_sdcmicro():
    # 3 records of 149 persons, 4 of 194.5, 3 of 563.
    found = approximate_risk(np.array([3, 4, 3.0]), np.array([149, 194.5, 563]))
    expected = [0.00996677740863787, 0.00680851063829787, 0.00265721877767936]
    assert found == pytest.approx(expected, abs=1e-16)


def test_the_risk_is_the_integral():
    # ∫ p v^(f-1) / (p + q v) dv, by Gauss and Legendre where it is smooth: v = p/q (e^t - 1), and
    # t = s² for roots of v at 0.
    x, weights = np.polynomial.legendre.leggauss(200)
    sizes = [1, 2, 3, 4, 7, 49, 50, 51, 400, 1.5, 2.3, 3.999, 10.25]
    for f, p in product(sizes, [0.999999, 0.7, 0.5, 0.34, 0.33, 0.2, 0.01, 1e-4]):
        end = np.sqrt(-np.log(p))
        s = (x + 1) / 2 * end
        v = p / (1 - p) * np.expm1(s**2)
        expected = (weights * end * s * v ** (f - 1)).sum() * p / (1 - p)
        found = exact_risk(np.array([float(f)]), np.array([f / p]))[0]
        assert found == pytest.approx(expected, rel=1e-9), (f, p)
    everybody = np.array(sizes)
    assert exact_risk(everybody, everybody) == pytest.approx(1 / everybody, rel=1e-15)


@given(st.integers(1, 60), st.floats(1, 1e6))
@settings(max_examples=30, deadline=None)
def test_a_risk_is_between_one_in_all_and_one_in_the_sample(f, more):
    risk = exact_risk(np.array([float(f)]), np.array([f * more]))[0]
    assert 1 / (f * more) * (1 - 1e-12) <= risk <= 1 / f * (1 + 1e-12)


# -- whole tables ---------------------------------------------------------------------------------


def test_a_table_that_can_be_counted():
    counts = frequency_counts(PEOPLE, KEYS, weight="w")
    assert counts["size"].tolist() == SIZES
    assert counts["weight"].tolist() == WEIGHTS
    assert counts.index.tolist() == PEOPLE.index.tolist()
    risk = individual_risk(PEOPLE, KEYS, weight="w")
    assert risk.index.tolist() == PEOPLE.index.tolist()
    assert risk.to_numpy() == pytest.approx(
        exact_risk(np.array(SIZES, float), np.array(WEIGHTS)), rel=1e-15
    )
    assert expected_reidentifications(PEOPLE, KEYS, weight="w") == pytest.approx(risk.sum())
    assert global_risk(PEOPLE, KEYS, weight="w") == pytest.approx(risk.mean())
    assert list(frequency_counts(PEOPLE, KEYS).columns) == ["size"]


def test_adult_has_the_risks_of_sdcmicro(adult):
    columns = ["sex", "age", "race", "education"]
    options = {"sampling_fraction": 0.1, "method": "approximate"}
    risk = individual_risk(adult, columns, **options)
    assert risk.sum() == pytest.approx(560.933003786, abs=1e-8)
    assert risk.max() == pytest.approx(0.25584278811, abs=1e-11)
    weighted = adult[columns].assign(w=10)
    found = expected_reidentifications(weighted, columns, weight="w", method="approximate")
    assert found == pytest.approx(560.933003786, abs=1e-8)
    # A sample that is the population: one over the class size.
    everybody = global_risk(adult, columns, sampling_fraction=1)
    assert everybody == pytest.approx(0.104502353955, abs=1e-12)
    q8 = [*columns, "marital-status", "native-country", "workclass", "occupation"]
    found = expected_reidentifications(adult, q8, **options)
    assert found == pytest.approx(4186.02046511, abs=1e-7)


MEASURES = [
    (expected_reidentifications, {"weight": "w"}),
    (global_risk, {"sampling_fraction": 0.2}),
    (global_risk, {"weight": "w", "missing": "wildcard", "alpha": 0.5}),
    (individual_risk_threshold, {"weight": "w", "global_risk": 0.1}),
    (individual_risk_threshold, {"weight": "w", "global_risk": 0.9}),
]


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_measures_the_same_lazily(npartitions):
    parts = in_parts(PEOPLE, npartitions)
    with dask.config.set(scheduler=refuse):
        lazy = [measure(parts, KEYS, split_out=2, **options) for measure, options in MEASURES]
    expected = [measure(PEOPLE, KEYS, **options) for measure, options in MEASURES]
    assert dask.compute(*lazy) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("npartitions, split_out", [(1, 1), (2, 3), (7, 2)])
@pytest.mark.parametrize("missing", ["own-value", "wildcard"])
def test_dask_tells_each_record_in_its_place(npartitions, split_out, missing):
    lazy = in_parts(PEOPLE, npartitions)
    options = {"weight": "w", "missing": missing}
    with dask.config.set(scheduler=refuse):
        risk = individual_risk(lazy, KEYS, split_out=split_out, **options)
        counts = frequency_counts(lazy, KEYS, split_out=split_out, **options)
    # Record for record: duplicated labels of the index must not be told apart by it.
    expected = individual_risk(PEOPLE, KEYS, **options)
    pd.testing.assert_series_equal(risk.compute(), expected, rtol=1e-13)
    pd.testing.assert_frame_equal(counts.compute(), frequency_counts(PEOPLE, KEYS, **options))
    assert risk.npartitions == npartitions
    assert risk._meta.dtype == counts._meta["size"].dtype == np.float64


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_types_of_columns_make_no_difference(dtype):
    people = PEOPLE.astype({"zip": dtype, "age": "Float64"})
    expected = individual_risk(PEOPLE, KEYS, weight="w")
    pd.testing.assert_series_equal(individual_risk(people, KEYS, weight="w"), expected)
    lazy = individual_risk(in_parts(people, 3), KEYS, weight="w", split_out=2)
    pd.testing.assert_series_equal(lazy.compute(), expected)


def test_no_records_have_no_risk():
    nobody = PEOPLE[:0]
    for measure, options in MEASURES:
        assert measure(nobody, KEYS, **options) == 0
        assert measure(in_parts(nobody, 1), KEYS, **options).compute() == 0
    assert len(individual_risk(nobody, KEYS, weight="w")) == 0
    assert len(household_risk(nobody, KEYS, weight="w", household="home")) == 0


# -- wildcards -----------------------------------------------------------------------------------


def test_a_missing_value_fits_any():
    # The fourth may live anywhere, the sixth be of any age; they do not fit each other's records
    # of another value, but each other.
    counts = frequency_counts(PEOPLE, KEYS, weight="w", missing="wildcard")
    assert counts["size"].tolist() == [3, 3, 1, 4, 2, 4, 2]
    assert counts["weight"].tolist() == [90.5, 90.5, 5, 98.5, 12, 102, 38]
    half = frequency_counts(PEOPLE, KEYS, missing="wildcard", alpha=0.5)
    assert half["size"].tolist() == [2.5, 2.5, 1, 3.5, 1.5, 3.5, 1.5]
    none = frequency_counts(PEOPLE, KEYS, missing="wildcard", alpha=0)
    assert none["size"].tolist() == [2, 2, 1, 3, 1, 3, 1]


@given(
    st.lists(
        st.tuples(*[st.sampled_from([None, "x", "y"])] * 3, st.integers(1, 9)),
        min_size=1,
        max_size=14,
    ),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_wildcards_count_as_brute_force_does(rows, alpha):
    def factor(one, other):
        if one == other:
            return 1.0
        if all(a == b or None in (a, b) for a, b in zip(one, other, strict=True)):
            return alpha if None in other else 1.0
        return 0.0

    keys = [row[:3] for row in rows]
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "w"]).astype({"a": object})
    found = frequency_counts(frame, ["a", "b", "c"], weight="w", missing="wildcard", alpha=alpha)
    sizes = [sum(factor(one, other) for other in keys) for one in keys]
    weights = [
        sum(factor(one, other) * row[3] for other, row in zip(keys, rows, strict=True))
        for one in keys
    ]
    assert found["size"].to_numpy() == pytest.approx(sizes, rel=1e-12)
    assert found["weight"].to_numpy() == pytest.approx(weights, rel=1e-12)


# -- thresholds and households --------------------------------------------------------------------


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.floats(0.001, 1.2))
@settings(max_examples=30, deadline=None)
def test_the_threshold_gives_the_global_risk_that_was_asked(weights, wanted):
    frame = pd.DataFrame({"q": range(len(weights)), "w": weights})
    risk = individual_risk(frame, ["q"], weight="w")
    found = individual_risk_threshold(frame, ["q"], weight="w", global_risk=wanted)
    if risk.mean() <= wanted:
        assert found == risk.max()
    else:
        assert risk.clip(upper=found).mean() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("npartitions", [0, 1, 2, 7])
def test_who_finds_one_finds_the_household(npartitions):
    r = individual_risk(PEOPLE, KEYS, weight="w").to_numpy()
    expected = [
        1 - (1 - r[0]) * (1 - r[1]),
        1 - (1 - r[2]) * (1 - r[3]) * (1 - r[4]),
        1 - (1 - r[5]) * (1 - r[6]),
    ]
    frame = in_parts(PEOPLE, npartitions) if npartitions else PEOPLE
    with dask.config.set(scheduler=refuse):
        homes = household_risk(frame, KEYS, weight="w", household="home", split_out=2)
    homes = dask.compute(homes)[0].sort_index()
    assert homes.index.tolist() == ["a", "b", "c"]
    assert homes.index.name == "home"
    assert homes["size"].tolist() == [2, 3, 2]
    assert homes["risk"].to_numpy() == pytest.approx(expected, rel=1e-14)


def test_a_member_who_is_certain_gives_the_household_away():
    people = pd.DataFrame({"q": [1, 2], "w": [1, 500], "home": [3, 3]})
    homes = household_risk(people, ["q"], weight="w", household="home")
    assert homes["risk"].tolist() == [1.0]


# -- what cannot be ------------------------------------------------------------------------------


def test_weights_below_one_are_refused_with_their_number():
    people = PEOPLE.assign(w=[0.5, 1, 1, 1, 0, -3, 1])
    with pytest.raises(DataError, match="weight column 'w' is below 1 in 3 records"):
        individual_risk(people, KEYS, weight="w")
    lazy = individual_risk(in_parts(people, 1), KEYS, weight="w")
    with pytest.raises(DataError, match="weight column 'w' is below 1 in 3 records"):
        lazy.compute()


def test_people_without_a_household_are_refused_with_their_number():
    people = PEOPLE.assign(home=["a", None, None, "b", "b", "b", "c"])
    with pytest.raises(DataError, match="household column 'home' has no value in 2 records"):
        household_risk(people, KEYS, weight="w", household="home")
    with pytest.raises(DataError, match="Did you mean 'home'"):
        household_risk(people, KEYS, weight="w", household="hom")


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "found neither"),
        ({"weight": "w", "sampling_fraction": 0.1}, "found both"),
        ({"sampling_fraction": 0}, "above 0 and at most 1, found 0"),
        ({"weight": "w", "method": "series"}, "method must be 'exact' or 'approximate'"),
        ({"weight": "w", "missing": "any"}, "missing must be 'own-value' or 'wildcard'"),
        ({"weight": "w", "alpha": 2}, "alpha must be between 0 and 1, found 2"),
        ({"weight": "weigth"}, "weigth"),
        ({"weight": "home"}, "home"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(options, message):
    with pytest.raises(AnonError, match=message):
        individual_risk(PEOPLE, KEYS, **options)


def test_a_global_risk_of_nothing_is_refused():
    with pytest.raises(AnonError, match="global_risk must be above 0, found 0"):
        individual_risk_threshold(PEOPLE, KEYS, weight="w", global_risk=0)
