"""What a release is still good for: counted by hand where a hand can, and the same on Dask."""

from __future__ import annotations

import builtins
import doctest
from decimal import Decimal
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dask_anon as anon
from dask_anon.errors import AnonError, DataError
from dask_anon.hierarchy import Interval, LabelSet, parse_label
from dask_anon.metrics import workload as module
from dask_anon.metrics._attributes import attributes_of
from dask_anon.metrics._queries import Choice, Queries, Range, Workload, answer, counts_of
from dask_anon.metrics._steps import Steps
from dask_anon.metrics.workload import ModelUtility, QueryError, count_query_error, model_utility

PARTITIONS = pytest.mark.parametrize("npartitions", [1, 2, 7])


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def divided(frame: pd.DataFrame, npartitions: int) -> Any:
    return dd.from_pandas(frame, npartitions=1, sort=False).repartition(npartitions=npartitions)


def policy_for(*columns: str, k: int, **sections: Any) -> anon.Policy:
    return anon.Policy(
        columns=dict.fromkeys(columns, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": k}],
        **sections,
    )


# -- learning --------------------------------------------------------------------------------------

# 240 people of 20 to 79; whoever is older than 49 is retired, whoever lives in b earns twice.
PEOPLE = pd.DataFrame(
    {
        "age": [20 + (i * 7) % 60 for i in range(240)],
        "town": [["a", "b", "c"][i % 3] for i in range(240)],
        "born": pd.Timestamp("2000-01-01")
        - pd.to_timedelta([365 * (20 + (i * 7) % 60) for i in range(240)], unit="D"),
    }
).assign(
    retired=lambda people: people.age > 49,
    income=lambda people: np.where(people.town == "b", 2000.0, 1000.0) + people.age,
)
PRICE = pd.ArrowDtype(pa.decimal128(9, 2))
DECADES = PEOPLE.assign(age=[f"[{10 * (a // 10)}, {10 * (a // 10) + 9}]" for a in PEOPLE.age])


def utility(released: Any, target: str, *, original: Any = PEOPLE, **options: Any) -> ModelUtility:
    found = model_utility(original, released, target=target, **{"n_trees": 20} | options)
    assert isinstance(found, ModelUtility)
    return found


def test_a_release_that_keeps_what_matters_is_as_good_as_the_original():
    found = utility(DECADES, "retired", features=["age", "town"])
    assert found.task == "classification"
    assert list(found.original) == ["accuracy", "balanced accuracy", "ROC AUC"]
    assert found.original["accuracy"] == found.released["accuracy"] == 1.0
    assert found.released_on_released["ROC AUC"] == 1.0
    assert (found.n_trained, found.n_tested) == (180, 60)


def test_a_release_that_shows_nothing_is_as_good_as_no_model():
    hidden = PEOPLE.assign(age="[20, 79]", town="{a, b, c}")
    found = utility(hidden, "retired", features=["age", "town"])
    assert found.released["balanced accuracy"] == 0.5
    assert found.released["ROC AUC"] == 0.5
    assert found.trivial["accuracy"] == pytest.approx(found.released["accuracy"])
    assert found.original["accuracy"] == 1.0


def test_the_trivial_scores_are_those_of_the_commonest_label_and_the_mean():
    found = utility(PEOPLE, "town", features=["age"])
    assert found.trivial["balanced accuracy"] == pytest.approx(1 / 3)
    assert "ROC AUC" not in found.trivial
    numbers = utility(PEOPLE, "income", features=["town"])
    assert numbers.trivial["R²"] == pytest.approx(0.0, abs=0.02)


def test_numbers_are_a_regression_and_few_of_them_labels():
    found = utility(DECADES, "income", features=["age", "town"])
    assert found.task == "regression"
    assert found.original["R²"] > 0.9
    assert found.released["R²"] > 0.9
    assert found.trivial["MAE"] > 400
    few = PEOPLE.assign(stars=PEOPLE.age % 3)
    assert utility(few, "stars", original=few).task == "classification"
    assert utility(few, "stars", original=few, task="regression").task == "regression"


def test_errors_of_dates_are_in_days():
    found = utility(PEOPLE, "born", features=["age"])
    assert found.task == "regression"
    # Ages are equal steps of 365 days: the mean is wrong by a quarter of the range on average.
    assert found.trivial["MAE"] == pytest.approx(60 * 365 / 4, rel=0.1)
    decimals = PEOPLE.assign(price=pd.array([Decimal(100 * age) for age in PEOPLE.age], PRICE))
    found = utility(decimals, "price", original=decimals, features=["town"])
    assert found.trivial["MAE"] == pytest.approx(100 * 60 / 4, rel=0.1)


def test_a_generalized_target_counts_by_its_middle_or_by_its_single_label():
    found = utility(DECADES, "age", features=["retired"])
    assert found.task == "regression"
    assert found.released["R²"] == pytest.approx(found.original["R²"], abs=0.05)
    some = PEOPLE.assign(town=PEOPLE.town.where(PEOPLE.town == "b", "{a, c}"))
    found = utility(some, "town", features=["income"])
    assert found.released["balanced accuracy"] == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="'town' shows a single value in too few records"):
        utility(PEOPLE.assign(town="{a, b, c}"), "town")


@pytest.mark.parametrize("format", ["interval", "bounds", "midpoint"])
def test_every_format_of_a_release_is_learnt_from(format):
    policy = policy_for("age", "town", k=5, recoding={"format": format})
    found = utility(anon.anonymize(PEOPLE, policy), "retired", features=["age", "town"])
    assert found.released["accuracy"] > 0.9


def test_numbers_that_are_labels_are_read_in_every_format():
    stars = PEOPLE.assign(stars=pd.array([i % 3 if i % 10 else None for i in range(240)], "Int64"))
    bounds = stars.rename(columns={"stars": "stars_min"}).assign(stars_max=stars.stars)
    for released in (stars, bounds, stars.assign(stars=stars.stars.astype("str"))):
        found = utility(released, "stars", original=stars, features=["town"])
        assert found.task == "classification"
        assert found.released["accuracy"] == found.original["accuracy"] == 1.0
    # A range says nothing, a value that the original does not have neither.
    some = bounds.assign(stars_max=bounds.stars_max.mask(bounds.stars_min.eq(0).fillna(False), 7))
    assert utility(some, "stars", original=stars).released["balanced accuracy"] < 0.7


def test_missing_values_and_other_labels_are_features_too():
    original = PEOPLE.assign(town=PEOPLE.town.where(PEOPLE.town != "a", None))
    released = original.assign(
        town=original.town.map({"b": "b, the big one", "c": "{c}"}),
        age=["[20, 79] | missing" if i % 7 else None for i in range(240)],
    )
    found = utility(released, "income", original=original, features=["town", "age"])
    assert found.original["R²"] > 0.9
    assert np.isfinite(found.released["R²"])


def test_a_hierarchy_is_learnt_by_its_leaves():
    rows = [["a", "coast"], ["b", "inland"], ["c", "coast"]]
    nodes = PEOPLE.assign(town=PEOPLE.town.map({"a": "coast", "b": "inland", "c": "coast"}))
    found = utility(nodes, "income", features=["town"], hierarchies={"town": rows})
    assert found.released["R²"] > 0.9


def test_a_release_with_fewer_records_in_another_order_is_measured():
    shuffled = DECADES.sample(frac=0.8, random_state=2)
    found = utility(shuffled, "retired", features=["age"])
    assert found.released["accuracy"] == 1.0
    assert found.n_trained == 180


def test_equal_seeds_give_equal_scores():
    first = utility(DECADES, "income", seed=1, max_rows=120)
    assert first == utility(DECADES, "income", seed=1, max_rows=120)
    assert first != utility(DECADES, "income", seed=2, max_rows=120)
    assert first.n_trained + first.n_tested == 120


@PARTITIONS
def test_dask_learns_the_same_lazily(npartitions):
    expected = utility(DECADES, "retired", features=["age", "town"], max_rows=100)
    original, released = divided(PEOPLE, npartitions), divided(DECADES, 3)
    with dask.config.set(scheduler=refuse):
        lazy = model_utility(
            original, released, target="retired", features=["age", "town"], max_rows=100, n_trees=20
        )
    assert lazy.compute(scheduler="sync") == expected


def test_scores_stand_side_by_side():
    found = ModelUtility(
        "retired",
        "classification",
        trivial={"accuracy": 0.5},
        original={"accuracy": 0.9},
        released={"accuracy": 0.8},
        released_on_released={"accuracy": 0.85},
        n_trained=3000,
        n_tested=1000,
    )
    assert str(found).splitlines() == [
        "classification of 'retired', 3,000 records learnt from, 1,000 tested",
        "learnt from  tested on  accuracy",
        "nothing      original   0.500",
        "original     original   0.900",
        "release      original   0.800",
        "release      release    0.850",
    ]


def test_adult_of_five_keeps_its_accuracy(adult):
    part = adult[:4000]
    columns = [name for name in part.columns if name != "salary-class"]
    released = anon.anonymize(part, policy_for(*columns, k=5))
    found = model_utility(part, released, target="salary-class", n_trees=20)
    assert found.original["accuracy"] > found.trivial["accuracy"] + 0.04
    assert found.released["accuracy"] > found.original["accuracy"] - 0.03
    assert found.released["ROC AUC"] > 0.8


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    own = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return own(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AnonError, match=r"pip install 'dask-anon\[ml\]'"):
        utility(PEOPLE, "retired")


def test_misuse_of_a_model_gets_a_sentence():
    with pytest.raises(DataError, match="column 'retird' is not in the table"):
        utility(PEOPLE, "retird")
    with pytest.raises(AnonError, match="labels without an order, which no regression predicts"):
        utility(PEOPLE, "town", task="regression")
    with pytest.raises(AnonError, match="found another word"):
        utility(PEOPLE, "town", task="clustering")
    with pytest.raises(AnonError, match="needs a column to learn from beside its target"):
        utility(PEOPLE, "town", features=["town"])
    many = PEOPLE.assign(id=[f"{i:03d}" for i in range(240)])
    with pytest.raises(DataError, match="column 'id' has 240 labels, a classification takes"):
        utility(many, "id", original=many)
    with pytest.raises(DataError, match="the original has fewer than 2 records"):
        utility(PEOPLE[:1], "retired", original=PEOPLE[:1])
    with pytest.raises(DataError, match="column 'age' has 240 records") as caught:
        utility(PEOPLE.assign(age="young"), "retired", features=["age"])
    assert "young" not in str(caught.value)


# -- counting --------------------------------------------------------------------------------------

AGES = pd.DataFrame({"age": [20, 21, 24, 25, 28, 29, 32, 35], "zip": list("aabbccdd")})


def answered(frame: pd.DataFrame, predicates: dict[str, Any], *, values: bool) -> list[float]:
    """What a table counts for hand-written queries over `AGES`."""
    _, attributes = attributes_of(Steps(AGES), AGES, list(predicates))
    n = {len(p.low) if isinstance(p, Range) else p.wanted.shape[1] for p in predicates.values()}
    (n_queries,) = n
    group = Queries(np.arange(n_queries), predicates)
    _, found = answer(Workload(attributes, (group,), n_queries), frame, values=values)
    return counts_of(found).tolist()


def ages(low: int, high: int) -> Range:
    return Range(np.array([(low - 20) / 15]), np.array([(high - 20) / 15]))


def zips(*labels: str) -> Choice:
    return Choice(np.array([[float(label in labels)] for label in "abcd"]))


def test_a_cell_counts_the_share_of_it_that_is_asked_for():
    one = pd.DataFrame({"age": ["[23, 32]"], "zip": ["{a, c}"]})
    # 25 to 30 are 6 of 10 ages, a is one of two towns.
    assert answered(one, {"age": ages(25, 30)}, values=False) == pytest.approx([0.6])
    asked = {"age": ages(25, 30), "zip": zips("a", "b")}
    assert answered(one, asked, values=False) == pytest.approx([0.3])
    assert answered(one, {"age": ages(20, 22)}, values=False) == [0.0]
    assert answered(one, {"age": ages(20, 35)}, values=False) == [1.0]


def test_a_missing_value_weighs_as_one_more():
    one = pd.DataFrame({"age": ["[20, 23] | missing"], "zip": ["a | missing"]})
    assert answered(one, {"age": ages(20, 21)}, values=False) == pytest.approx([2 / 5])
    assert answered(one, {"zip": zips("a")}, values=False) == [0.5]
    point = pd.DataFrame({"age": ["20 | missing"], "zip": ["a"]})
    assert answered(point, {"age": ages(20, 20)}, values=False) == [0.5]


def test_the_original_is_counted_exactly():
    asked = {"age": ages(21, 28), "zip": zips("b", "c")}
    assert answered(AGES, asked, values=True) == [3.0]
    assert answered(AGES, {"age": ages(25, 25)}, values=True) == [1.0]
    assert answered(AGES, {"age": ages(26, 27)}, values=True) == [0.0]


def test_floats_are_counted_by_length():
    floats = pd.DataFrame({"size": [0.0, 1.0, 3.0, 10.0]})
    _, attributes = attributes_of(Steps(floats), floats, ["size"])
    asked = Queries(np.arange(1), {"size": Range(np.array([0.1]), np.array([0.3]))})
    work = Workload(attributes, (asked,), 1)
    released = pd.DataFrame({"size": ["[0, 2]", "[0, 2]", "3", "[3, 10] | missing"]})
    _, found = answer(work, released, values=False)
    # 1 to 2 of 0 to 2, twice; the point; and none of 3 to 10, which the range touches.
    assert counts_of(found).tolist() == pytest.approx([0.5 + 0.5 + 1.0 + 0.0])


def test_a_table_that_is_its_own_release_is_never_off():
    found = count_query_error(AGES, AGES, quasi_identifiers=["age", "zip"])
    assert (found.mean, found.median) == (0.0, 0.0)
    assert found.n_queries == 1000


def test_coarser_labels_are_further_off():
    def off(k: int) -> float:
        released = anon.anonymize(PEOPLE, policy_for("age", "town", k=k))
        return count_query_error(
            PEOPLE, released, quasi_identifiers=["age", "town"], n_queries=300
        ).mean

    # Each age stands in four records, all of one town.

    assert off(2) == 0.0 < off(10) < off(120)


def test_the_selectivity_is_about_what_was_asked():
    released = anon.anonymize(PEOPLE, policy_for("age", "income", k=5))
    found = count_query_error(
        PEOPLE,
        released,
        quasi_identifiers=["age", "income"],
        n_attributes=1,
        selectivity=0.2,
        n_queries=300,
    )
    assert found.selectivity == pytest.approx(0.2, abs=0.03)
    assert found.sanity_bound == pytest.approx(0.24)


def test_a_sensitive_column_is_asked_for_in_every_query():
    released = anon.anonymize(PEOPLE, policy := policy_for("age", "town", k=5))
    without = count_query_error(PEOPLE, released, quasi_identifiers=policy, n_queries=100)
    beside = count_query_error(
        PEOPLE, released, quasi_identifiers=policy, sensitive="retired", n_queries=100
    )
    assert beside != without
    same = count_query_error(
        PEOPLE, PEOPLE, quasi_identifiers=["town"], sensitive="retired", n_attributes=1
    )
    assert same.mean == 0.0


def test_a_small_true_count_is_divided_by_the_sanity_bound():
    original = pd.DataFrame({"age": [20] * 2 + [29] * 8})
    released = pd.DataFrame({"age": ["[20, 29]"] * 10})
    # Ranges of one rank are 20 alone, true 2, or 29 alone, true 8; each is estimated as 1.
    found = count_query_error(
        original, released, quasi_identifiers=["age"], n_attributes=1, selectivity=0.1,
        sanity_bound=0.5, n_queries=51,
    )  # fmt: skip
    assert found.median == pytest.approx(7 / 8)
    n_small = round((7 / 8 - found.mean) / (7 / 8 - 1 / 5) * 51)
    assert 0 < n_small < 26
    assert found.mean == pytest.approx((n_small / 5 + (51 - n_small) * 7 / 8) / 51)


def test_equal_seeds_ask_the_same_queries():
    released = anon.anonymize(PEOPLE, policy := policy_for("age", "town", k=10))

    def off(seed: int) -> QueryError:
        return count_query_error(PEOPLE, released, quasi_identifiers=policy, seed=seed, n_queries=9)

    assert off(1) == off(1)
    assert off(1) != off(2)


@PARTITIONS
def test_dask_counts_the_same_to_the_last_digit_lazily(npartitions):
    released = anon.anonymize(PEOPLE, policy := policy_for("age", "town", "income", k=7))
    options = {"quasi_identifiers": policy, "sensitive": "retired", "n_queries": 200, "seed": 3}
    expected = count_query_error(PEOPLE, released, **options)
    with dask.config.set(scheduler=refuse):
        lazy = count_query_error(divided(PEOPLE, npartitions), divided(released, 3), **options)
    assert lazy.compute(scheduler="sync") == expected


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_estimates_are_those_that_a_reader_would_make(seed):
    random = np.random.default_rng(seed)
    released = pd.DataFrame(
        [_cells(random) for _ in range(random.integers(1, 30))], columns=["age", "zip"]
    )
    low, high = sorted(random.integers(20, 36, 2).tolist())
    wanted = random.choice(list("abcd"), 2).tolist()
    expected = sum(
        _of_interval(parse_label(_or_none(age), pa.int64()), low, high)
        * _of_set(parse_label(_or_none(label), pa.string()), wanted)
        for age, label in zip(released.age, released.zip, strict=True)
    )
    asked = {"age": ages(low, high), "zip": zips(*wanted)}
    # Nulls are suppressed cells here, as the original has no missing values: they show anything.
    assert answered(released, asked, values=False) == pytest.approx([expected], abs=1e-12)


def _cells(random: np.random.Generator) -> tuple[str, str]:
    low, high = sorted(random.integers(20, 36, 2).tolist())
    labels = sorted(set(random.choice(list("abcd"), 3).tolist()))
    tail = " | missing" if random.random() < 0.3 else ""
    interval = f"[{low}, {high}]" if low < high else f"{low}"
    return interval + tail, ("{" + ", ".join(labels) + "}" if len(labels) > 1 else labels[0]) + tail


def _of_interval(label: Any, low: int, high: int) -> float:
    assert isinstance(label, Interval)
    values = range(label.low, label.high + 1)
    return sum(low <= value <= high for value in values) / (len(values) + label.missing)


def _of_set(label: Any, wanted: list[str]) -> float:
    assert isinstance(label, LabelSet)
    return len({*label.labels} & {*wanted}) / (len(label.labels) + label.missing)


def _or_none(value: Any) -> Any:
    return None if pd.isna(value) else value


def test_misuse_of_queries_gets_a_sentence():
    def ask(**options: Any) -> Any:
        return count_query_error(AGES, AGES, **{"quasi_identifiers": ["age", "zip"]} | options)

    with pytest.raises(AnonError, match="over 3 quasi-identifiers needs as many, found 2"):
        ask(n_attributes=3)
    with pytest.raises(AnonError, match="selectivity must be above 0 and at most 1, found 0"):
        ask(selectivity=0)
    with pytest.raises(AnonError, match="sanity_bound must be above 0"):
        ask(sanity_bound=2)
    with pytest.raises(AnonError, match="n_queries must be at least 1"):
        ask(n_queries=0)
    with pytest.raises(DataError, match="no records, so there is nothing to count"):
        count_query_error(AGES[:0], AGES, quasi_identifiers=["age", "zip"])


def test_examples_print_what_they_say():
    results = doctest.testmod(module, extraglobs={"pd": pd})
    assert results.failed == 0
    assert results.attempted > 0
