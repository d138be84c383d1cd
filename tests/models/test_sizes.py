"""What is asked of class sizes alone is found and judged, and implied by the least class size."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.models import Models, class_size_for, size_findings
from dask_anon.policy import Policy

LAW = settings(max_examples=60, deadline=None)

SIZES = {1: 2, 2: 1, 4: 1}  # 4 classes of 8 records, 2 of them alone


def asked(**model) -> Policy:
    model["model"] = model["model"].replace("_", "-")
    return Policy(columns={"age": "quasi-identifier", "illness": "sensitive"}, privacy=[model])


def findings(sizes, estimate=None, **model):
    found = size_findings(asked(**model), sizes, estimate=estimate)
    return [(one.asked, one.found, one.holds) for one in found]


def test_k_is_the_smallest_class():
    assert findings(SIZES, model="k-anonymity", k=2) == [("k >= 2", 1, False)]
    assert findings({2: 1}, model="k-anonymity", k=2) == [("k >= 2", 2, True)]
    alpha = {"model": "alpha-k-anonymity", "column": "illness", "alpha": 0.5}
    assert findings(SIZES, **alpha, k=2) == [("k >= 2", 1, False)]


def test_average_risk_is_classes_over_records():
    assert findings(SIZES, model="average-risk", max=0.5) == [("risk <= 0.5", 0.5, True)]
    assert findings(SIZES, model="average-risk", max=0.49) == [("risk <= 0.49", 0.5, False)]


def test_strict_average_risk_counts_records_in_small_classes_too():
    strict = {"model": "strict-average-risk", "average": 0.6, "highest": 0.5}
    at_risk = "records with a risk above 0.5 <= "
    assert findings(SIZES, **strict) == [
        ("average risk <= 0.6", 0.5, True),
        (f"{at_risk}0", 0.25, False),
    ]
    assert findings(SIZES, **strict, records_at_risk=0.25)[1] == (f"{at_risk}0.25", 0.25, True)
    # One in three is a risk of 1/3, however it is rounded.
    assert findings({3: 5}, **{**strict, "highest": 1 / 3})[1][1:] == (0.0, True)


def test_uniques_of_the_sample_are_counted_and_of_the_population_estimated():
    assert findings(SIZES, model="sample-uniqueness", max=0.2) == [("uniques <= 0.2", 0.25, False)]
    estimated = {"model": "population-uniqueness", "max": 0.1, "sampling_fraction": 0.2}
    assert findings(SIZES, lambda model, sizes: model.sampling_fraction / 4, **estimated) == [
        ("uniques <= 0.1", 0.05, True)
    ]
    assert findings(SIZES, lambda *_: 0.0, **estimated) == [("uniques <= 0.1", 0.0, True)]
    assert findings({2: 4}, **estimated) == [("uniques <= 0.1", 0.0, True)]
    # What was not measured must not pass for something that holds.
    assert findings(SIZES, **estimated) == [("uniques <= 0.1", None, False)]


def test_k_map_of_a_population_asks_for_a_class_size():
    k_map = {"model": "k-map", "k": 5, "population": 800}
    assert findings(SIZES, **k_map) == [("class size >= 3", 1, False)]
    assert findings({4: 2}, **k_map) == [("class size >= 3", 4, True)]
    assert findings({4: 2}, **{**k_map, "population": 7}) == [("class size >= 5", 4, False)]


def test_models_of_sensitive_values_and_weights_ask_nothing_of_sizes():
    assert findings(SIZES, model="distinct-l-diversity", column="illness", l=2) == []
    assert findings(SIZES, model="k-map", k=5, weight="illness") == []


def test_a_table_without_records_holds_everything():
    for model in (
        {"model": "k-anonymity", "k": 2},
        {"model": "average-risk", "max": 0.1},
        {"model": "strict-average-risk", "average": 0.1, "highest": 0.1},
        {"model": "sample-uniqueness", "max": 0},
        {"model": "population-uniqueness", "max": 0, "sampling_fraction": 0.1},
        {"model": "k-map", "k": 5, "population": 800},
    ):
        assert all(holds for _, _, holds in findings({}, **model))


RISK = st.integers(1, 100).map(lambda i: i / 100)
TABLE_LEVEL = st.one_of(
    st.fixed_dictionaries({"model": st.just("average-risk"), "max": RISK}),
    st.fixed_dictionaries(
        {"model": st.just("strict-average-risk"), "average": RISK, "highest": RISK}
    ),
    st.fixed_dictionaries({"model": st.just("sample-uniqueness"), "max": st.just(0.0)}),
    st.fixed_dictionaries(
        {
            "model": st.just("population-uniqueness"),
            "max": st.just(0.0),
            "sampling_fraction": RISK,
        }
    ),
    st.fixed_dictionaries(
        {"model": st.just("k-map"), "k": st.integers(2, 20), "population": st.just(10_000)}
    ),
)


@LAW
@given(TABLE_LEVEL, st.lists(st.integers(0, 30), min_size=1, max_size=9))
def test_the_least_class_size_implies_them(model, extra):
    """Algorithms enforce the size; then the figure of the table holds, whatever else."""
    policy = asked(**model)
    n_records = 9 * 130  # an upper bound; k-map asks for less of fewer
    size = Models.of(policy, {}, n_records=n_records).min_size
    sizes: dict[int, int] = {}
    for more in extra:
        sizes[size + more] = sizes.get(size + more, 0) + 1
    assert all(one.holds for one in size_findings(policy, sizes))


# -- k-map by the size of the population ----------------------------------------------------------


@pytest.mark.parametrize("estimator", ["zero-truncated", "poisson"])
def test_a_sample_of_one_in_a_hundred_needs_classes_of_three(estimator):
    """As ARX 3.9 asks for: k = 5, alpha = 0.01, n / N = 0.01."""
    size = class_size_for(5, n_records=1_000, population=100_000, alpha=0.01, estimator=estimator)
    assert size == 3


def poisson(mean, count):
    return math.exp(-mean) * mean**count / math.factorial(count)


@LAW
@given(
    k=st.integers(2, 40),
    fraction=st.integers(1, 100),
    alpha=st.sampled_from([0.001, 0.01, 0.05, 0.2]),
)
def test_a_class_of_k_people_passes_with_a_chance_of_alpha_at_most(k, fraction, alpha):
    known = {"n_records": fraction, "population": 100, "alpha": alpha}
    mean = k * fraction / 100
    truncated = class_size_for(k, **known, estimator="zero-truncated")
    one_and_others = class_size_for(k, **known, estimator="poisson")
    seen = 1 - poisson(mean, 0)

    def chance_truncated(size):
        return 1 - sum(poisson(mean, count) for count in range(1, size)) / seen

    def chance_of_others(size):
        return 1 - sum(poisson(mean, count) for count in range(size - 1))

    for size, chance in ((truncated, chance_truncated), (one_and_others, chance_of_others)):
        assert 2 <= size <= k
        assert size == k or chance(size) <= alpha + 1e-12
        assert size == 2 or chance(size - 1) > alpha - 1e-12
