"""Whatever privacy models a policy names, every class keeps them, and cuts are the reference's."""

from __future__ import annotations

from collections import defaultdict

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import privacy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import Attribute
from reference import mondrian as reference

import dask_anon as anon
from dask_anon.errors import AnonError
from dask_anon.recoding import record_keys, table_from_frame

LAW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUASI_IDENTIFIERS = ["age", "town"]
SENSITIVE = {"illness": ["flu", "hiv", "none", "rare"], "income": [10, 20, 20, 90], "study": None}

T = st.floats(0.05, 1).map(lambda t: round(t, 2))
BETA = st.floats(0.1, 6).map(lambda b: round(b, 2))
SHARE = st.integers(0, 4).map(lambda i: i / 4)
COLUMN = st.sampled_from(["illness", "income"])
MODELS = {
    "alpha-k-anonymity": {"column": COLUMN, "alpha": T, "k": st.integers(2, 4)},
    "distinct-l-diversity": {"column": COLUMN, "l": st.integers(2, 4)},
    "entropy-l-diversity": {"column": COLUMN, "l": st.floats(1.1, 3).map(lambda x: round(x, 1))},
    "recursive-cl-diversity": {"column": COLUMN, "c": BETA, "l": st.integers(2, 3)},
    "t-closeness": {"column": COLUMN, "t": T, "distance": st.just("equal")},
    "basic-beta-likeness": {"column": COLUMN, "beta": BETA},
    "enhanced-beta-likeness": {"column": COLUMN, "beta": BETA},
    "delta-disclosure": {"column": COLUMN, "delta": BETA},
    "delta-presence": {"column": st.just("study"), "min": st.just(0.0), "max": SHARE},
}
LINE = {"column": st.just("income"), "t": T, "distance": st.sampled_from(["ordered", "numeric"])}


@st.composite
def models(draw):
    """A model with its parameters; distances on a line are for numbers alone."""
    name = draw(st.sampled_from(sorted(MODELS)))
    keys = LINE if name == "t-closeness" and draw(st.booleans()) else MODELS[name]
    return {"model": name} | {key: draw(value) for key, value in keys.items()}


def people(n, seed):
    """Ages with heavy values, towns, and three sensitive columns with missing values."""
    rng = np.random.default_rng(seed)
    illness = rng.choice(["flu", "hiv", "none", "rare", None], n, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    income = pd.array(rng.choice([10, 20, 45, 90], n), dtype="Int64")
    income[rng.random(n) < 0.1] = pd.NA
    return pd.DataFrame(
        {
            "age": np.minimum(rng.geometric(0.1, n), 25),
            "town": rng.choice(["Bath", "Cork", "Oslo"], n, p=[0.7, 0.2, 0.1]),
            "illness": pd.Series(illness, dtype="str"),
            "income": income,
            "study": rng.random(n) < 0.4,
        }
    )


def policy(asked, k=2, **algorithm):
    return anon.Policy(
        columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier")
        | dict.fromkeys(SENSITIVE, "sensitive"),
        privacy=[{"model": "k-anonymity", "k": k}, *asked],
        algorithm={"name": "mondrian", **algorithm},
        seed=5,
    )


def plain(frame):
    """Columns as plain values, None where one is missing."""
    return {c: [None if pd.isna(v) else v for v in frame[c].tolist()] for c in frame}


def classes_of(recoding, frame):
    columns = list(dict.fromkeys([*recoding.policy.quasi_identifiers, *recoding.key_columns]))
    found = []
    for _, records, classes in recoding.classes_of(table_from_frame(frame, columns)):
        found += [records[classes == c].tolist() for c in np.unique(classes)]
    return found


def expected_classes(frame, asked, models):
    table = plain(frame)
    attributes = [Attribute("whole", table["age"]), Attribute("label", table["town"])]
    keys = record_keys(table_from_frame(frame, list(frame)), list(frame), asked.seed).tolist()
    kept = [privacy.keeps(model, table) for model in models]
    return reference(
        attributes, asked.k, ties=asked.algorithm.ties, keys=keys,
        keeps=lambda side: all(keeps(side) for keeps in kept),
    )  # fmt: skip


@LAW
@given(
    asked=st.lists(models(), min_size=1, max_size=3, unique_by=lambda m: (m["model"], m["column"])),
    n=st.integers(4, 80),
    seed=st.integers(0, 10_000),
    ties=st.sampled_from(["left", "either", "divide"]),
    region=st.sampled_from([3, 20, 1_000]),
    npartitions=st.integers(1, 4),
)
def test_cuts_under_any_models_are_those_of_the_reference(
    asked, n, seed, ties, region, npartitions
):
    frame = people(n, seed)
    everybody = list(range(n))
    possible = all(privacy.keeps(model, plain(frame))(everybody) for model in asked)
    own = policy(asked, ties=ties)
    settings = {"anon.rows.region": region, "anon.tree.bins": 4, "scheduler": "synchronous"}
    with dask.config.set(settings):
        lazy = dd.from_pandas(frame, npartitions=npartitions, sort=False)
        if not possible or n < own.k:
            with pytest.raises(AnonError, match=r"hold|whole table"):
                anon.fit(lazy, own)
            return
        recoding = anon.fit(lazy, own)
    assert classes_of(recoding, frame) == expected_classes(frame, own, asked)


@LAW
@given(asked=models(), n=st.integers(6, 60), seed=st.integers(0, 10_000))
def test_every_printed_class_keeps_the_models(asked, n, seed):
    frame = people(n, seed)
    keeps = privacy.keeps(asked, plain(frame))
    if not keeps(list(range(n))):
        return
    with dask.config.set(scheduler="synchronous"):
        released = anon.anonymize(frame, policy([asked]))
    printed = defaultdict(list)
    for i, labels in enumerate(released[QUASI_IDENTIFIERS].astype(str).itertuples(index=False)):
        printed[labels].append(i)
    assert all(len(rows) >= 2 and keeps(rows) for rows in printed.values())


HEAVY = [
    {"model": "distinct-l-diversity", "column": "illness", "l": 3},
    {"model": "t-closeness", "column": "income", "t": 0.3, "distance": "ordered"},
]


@pytest.fixture(scope="module")
def large():
    return people(3_000, 1)


@pytest.mark.parametrize(
    "npartitions, ties", [(1, "either"), (2, "divide"), (7, "left"), (64, "either")]
)
def test_partitions_and_row_order_change_nothing_under_models(large, ties, npartitions):
    whole = anon.anonymize(large, policy(HEAVY, 5, ties=ties))
    moved = large.sample(frac=1, random_state=npartitions)
    lazy = dd.from_pandas(moved, npartitions=npartitions, sort=False)
    with dask.config.set({"anon.rows.region": 200 if npartitions < 64 else 1_000}):
        released = anon.anonymize(lazy, policy(HEAVY, 5, ties=ties)).compute()
    pd.testing.assert_frame_equal(released.sort_index(), whole, check_dtype=False)


def test_a_sensitive_column_with_more_values_than_codes_of_two_bytes(large):
    """70,000 incomes beside ages of one byte: rows of codes take the wider type."""
    frame = pd.concat([large] * 24, ignore_index=True)
    frame["income"] = np.arange(len(frame)) * 10
    asked = {"model": "t-closeness", "column": "income", "t": 0.2, "distance": "ordered"}
    recoding = anon.fit(dd.from_pandas(frame, npartitions=2), policy([asked], 50))
    assert recoding.dtype == "uint32"
    assert recoding.n_classes > 1


def test_too_few_rows_for_a_model_are_told_as_such():
    frame = people(3, 0)
    frame["illness"] = ["flu", "hiv", "none"]
    asked = {"model": "average-risk", "max": 0.2}
    own = anon.Policy(columns=dict.fromkeys(QUASI_IDENTIFIERS, "quasi-identifier"), privacy=[asked])
    with pytest.raises(AnonError, match=r"need classes of 5 records, the table has 3 rows"):
        anon.fit(frame, own)
