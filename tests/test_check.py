"""Is this table k-anonymous, l-diverse, t-close? Without anonymizing it."""

from __future__ import annotations

import json

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import privacy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError, DataError, PolicyError
from dask_anon.evaluation import check
from dask_anon.policy import Policy

PEOPLE = pd.DataFrame(
    {
        "zip": ["021", "021", "021", "100", "100", None],
        "age": [30, 30, 30, 50, 50, 50],
        "illness": ["flu", "hiv", "flu", "flu", "flu", "hiv"],
    }
)
MODELS = [
    {"model": "k-anonymity", "k": 2},
    {"model": "distinct-l-diversity", "column": "illness", "l": 2},
]


def lazily(frame: pd.DataFrame, npartitions: int | None):
    return frame if npartitions is None else dd.from_pandas(frame, npartitions=npartitions)


def computed(table) -> pd.DataFrame:
    return table if isinstance(table, pd.DataFrame) else table.compute()


@pytest.mark.parametrize("npartitions", [None, 1, 2, 7])
def test_it_says_yes_or_no_and_names_the_classes(npartitions):
    found = check(lazily(PEOPLE, npartitions), MODELS, ["zip", "age"])
    assert not found.holds
    assert [(row.asked, row.found, row.holds) for row in found.rows] == [
        ("k >= 2", 1, False),
        ("l >= 2", 1.0, False),
    ]
    assert (found.n_classes, found.n_records) == (3, 6)
    # The class without a zip is too small, and that of 100 has one illness.
    assert (found.n_classes_violating, found.n_records_violating) == (2, 3)
    violating = computed(found.violating_classes)
    assert sorted(violating["size"]) == [1, 2]
    assert list(violating.columns) == ["zip", "age", "size", "illness", "violates"]
    one = violating[violating["size"] == 2]
    assert one["illness"].tolist() == [[{"value": "flu", "n": 2}]]
    assert one["zip"].tolist() == ["100"]
    assert one["violates"].tolist() == ["distinct-l-diversity of 'illness' with l=2"]
    assert violating["zip"].isna().sum() == 1


def test_it_prints_as_sentences():
    assert str(check(PEOPLE, MODELS, ["zip", "age"])).splitlines() == [
        "k-anonymity k >= 2: found 1, FAILS.",
        "distinct-l-diversity of 'illness' l >= 2: found 1, FAILS.",
        "2 of 3 equivalence classes break a model, with 3 of 6 records.",
    ]
    assert str(check(PEOPLE[:3], MODELS, ["zip", "age"])).splitlines() == [
        "k-anonymity k >= 2: found 3, holds.",
        "distinct-l-diversity of 'illness' l >= 2: found 2, holds.",
    ]


def test_as_json_it_holds_no_value_of_the_data():
    told = json.dumps(check(PEOPLE, MODELS, ["zip", "age"]).to_json())
    assert json.loads(told)["n_classes_violating"] == 2
    assert "flu" not in told
    assert "021" not in told


def test_a_policy_says_the_same_as_its_models():
    policy = Policy(
        columns={"zip": "quasi-identifier", "age": "quasi-identifier", "illness": "sensitive"},
        privacy=MODELS,
    )
    assert check(PEOPLE, policy).rows == check(PEOPLE, MODELS, ["zip", "age"]).rows
    assert check(PEOPLE, policy.privacy, ["zip", "age"]).rows == check(PEOPLE, policy).rows


@pytest.mark.parametrize("npartitions", [None, 1])
def test_a_table_without_records_keeps_every_model(npartitions):
    nobody = lazily(PEOPLE[:0], npartitions)
    found = check(nobody, MODELS, ["zip", "age"])
    assert found.holds
    assert (found.n_classes, found.n_classes_violating) == (0, 0)
    assert len(computed(found.violating_classes)) == 0
    assert "found no records, holds" in str(found)


def test_an_empty_partition_changes_nothing():
    some = dd.concat([lazily(PEOPLE[:3], 1), lazily(PEOPLE[:0], 1), lazily(PEOPLE[3:], 1)])
    assert check(some, MODELS, ["zip", "age"]).rows == check(PEOPLE, MODELS, ["zip", "age"]).rows


def test_what_not_even_the_whole_table_holds_is_found_not_raised():
    model = {"model": "distinct-l-diversity", "column": "illness", "l": 7}
    found = check(PEOPLE, [model], ["zip", "age"])
    assert (found.rows[0].found, found.n_classes_violating) == (1, 3)


def test_missing_sensitive_values_add_no_diversity():
    people = pd.DataFrame({"q": [1, 1, 2, 2], "s": ["flu", None, "flu", "hiv"]})
    model = {"model": "distinct-l-diversity", "column": "s", "l": 2}
    found = check(people, [model], ["q"])
    assert (found.rows[0].found, found.n_records_violating) == (1, 2)
    policy = Policy(
        columns={"q": "quasi-identifier", "s": "sensitive"},
        privacy=[model],
        sensitive_nulls="value",
    )
    assert check(people, policy).holds


def test_an_average_that_fails_blames_no_class():
    found = check(PEOPLE, [{"model": "average-risk", "max": 0.3}], ["zip", "age"])
    assert (found.rows[0].found, found.holds) == (0.5, False)
    assert (found.n_classes_violating, len(found.violating_classes)) == (0, 0)


def test_weights_of_a_k_map_are_summed():
    people = PEOPLE.assign(weight_of=[10, 10, 1, 2, 2, 90])
    found = check(people, [{"model": "k-map", "k": 5, "weight": "weight_of"}], ["zip", "age"])
    assert (found.rows[0].name, found.rows[0].found) == ("k-map of 'weight_of'", 4)
    assert found.n_records_violating == 2


def test_a_dask_table_is_read_once_and_its_violating_classes_are_lazy():
    read = []

    def part(i):
        read.append(i)
        return PEOPLE.iloc[2 * i : 2 * i + 2]

    lazy = dd.from_map(part, range(3), meta=PEOPLE.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        found = check(lazy, MODELS, ["zip", "age"])
        assert sorted(read) == [0, 1, 2]
        assert found.n_classes_violating == 2
        assert len(found.violating_classes.compute()) == 2
    assert sorted(read) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "models, quasi_identifiers, error, sentence",
    [
        (MODELS, None, AnonError, "which columns others could know is not said"),
        (MODELS, ["zip", "illness"], PolicyError, "'illness' is a quasi-identifier: what others"),
        (MODELS, ["zipp"], DataError, "Did you mean 'zip'?"),
        (
            [{"model": "t-closeness", "column": "illness", "t": 2}],
            ["zip"],
            PolicyError,
            "at most 1",
        ),
        ([{"model": "l-diversity"}], ["zip"], PolicyError, "not a known privacy model"),
        (
            [{"model": "t-closeness", "column": "illness", "t": 0.1, "distance": "ordered"}],
            ["zip"],
            PolicyError,
            "2 of its 2 distinct values are no numbers",
        ),
        (
            [{"model": "distinct-l-diversity", "column": "ilness", "l": 2}],
            ["zip"],
            DataError,
            "Did you mean 'illness'?",
        ),
    ],
)
def test_what_cannot_be_asked_gets_a_sentence(models, quasi_identifiers, error, sentence):
    with pytest.raises(error) as caught:
        check(PEOPLE, models, quasi_identifiers)
    assert sentence in str(caught.value)
    assert "flu" not in str(caught.value)


def test_a_policy_needs_no_further_quasi_identifiers():
    policy = Policy(columns={"zip": "quasi-identifier"}, privacy=MODELS[:1])
    with pytest.raises(AnonError, match="Leave out quasi_identifiers"):
        check(PEOPLE, policy, ["zip"])


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 60),
    npartitions=st.sampled_from([None, 3]),
    l=st.integers(2, 3),
    t=st.floats(0, 0.6),
)
@settings(max_examples=15, deadline=None)
def test_violating_classes_are_those_that_break_the_definitions(seed, n, npartitions, l, t):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "q": rng.integers(0, 6, n),
            "s": rng.choice(["a", "b", "c"], n),
            "n": rng.integers(0, 9, n),
        }
    )
    models = [
        {"model": "k-anonymity", "k": 3},
        {"model": "distinct-l-diversity", "column": "s", "l": l},
        {"model": "t-closeness", "column": "n", "t": t, "distance": "ordered"},
    ]
    table = {name: frame[name].tolist() for name in frame}
    keeps = [privacy.keeps(model, table) for model in models]
    broken = {
        q
        for q in frame["q"].unique()
        if not all(keep(np.flatnonzero(frame["q"] == q).tolist()) for keep in keeps)
    }
    with dask.config.set(scheduler="synchronous"):
        found = check(lazily(frame, npartitions), models, ["q"])
        assert set(computed(found.violating_classes)["q"]) == broken
    assert found.holds == (not broken)
    assert found.n_classes_violating == len(broken)
