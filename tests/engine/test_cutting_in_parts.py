"""However partitions and regions cut a table up, its classes are those of the reference."""

from __future__ import annotations

from contextlib import contextmanager

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Attribute
from reference import mondrian as reference

import dask_anon as anon
from dask_anon.recoding import record_keys, table_from_frame

KINDS = {"heavy": "whole", "wide": "whole", "float": "float", "label": "label", "flag": "label"}


def policy(quasi_identifiers, k=3, **algorithm):
    return anon.Policy(
        columns=dict.fromkeys(quasi_identifiers, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": k}],
        algorithm={"name": "mondrian", **algorithm},
        seed=11,
    )


@contextmanager
def small_tasks(*, region=50, bins=64, summaries="64MiB", **more):
    """Regions, histograms and messages so small that the driver has to cut many times."""
    own = {"anon.rows.region": region, "anon.tree.bins": bins, "anon.tree.bytes": summaries}
    with dask.config.set({**own, **more}):
        yield


def table(n, seed=0):
    """Five attributes: heavy values, 62 bits, floats, labels, a flag; most may be missing."""
    rng = np.random.default_rng(seed)
    heavy = pd.array(np.minimum(rng.geometric(0.4, n), 6), dtype="Int64")
    heavy[rng.random(n) < 0.1] = pd.NA
    floats = np.round(rng.normal(size=n), 1)
    floats[rng.random(n) < 0.1] = np.nan
    labels = rng.choice(["a", "b", "c", "é", None], n, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    return pd.DataFrame(
        {
            "heavy": heavy,
            "wide": rng.integers(-(2**61), 2**61, n),
            "float": floats,
            "label": pd.Series(labels, dtype="str"),
            "flag": pd.array(rng.random(n) < 0.9, dtype="boolean"),
            "payload": np.arange(n),
        }
    )


def in_parts(frame, ends):
    """A Dask frame whose partitions end at these rows; equal ends make empty partitions."""
    starts = [0, *ends]
    parts = [frame.iloc[a:b] for a, b in zip(starts, [*ends, len(frame)], strict=True)]
    return dd.from_map(lambda i: parts[i], list(range(len(parts))), meta=frame.iloc[:0])


def classes_of(recoding, frame):
    """Record numbers by class, in the order of the tree."""
    columns = list(dict.fromkeys([*recoding.policy.quasi_identifiers, *recoding.key_columns]))
    found = []
    for _, records, classes in recoding.classes_of(table_from_frame(frame, columns)):
        found += [records[classes == c].tolist() for c in np.unique(classes)]
    return found


def expected_classes(frame, asked, cap=65_536):
    attributes = []
    for name in asked.quasi_identifiers:
        values = [None if pd.isna(v) else v for v in frame[name].tolist()]
        if KINDS[name] == "label":
            values = [None if v is None else str(v) for v in values]
        attributes.append(Attribute(KINDS[name], values))
    keys = record_keys(table_from_frame(frame, list(frame)), list(frame), asked.seed).tolist()
    ties, span_ties = asked.algorithm.ties, asked.algorithm.span_ties
    return reference(
        attributes, asked.k, ties=ties, span_ties=span_ties, keys=keys, distinct_cap=cap
    )


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_cutting_up_equals_the_reference(data):
    k = data.draw(st.integers(2, 4))
    n = data.draw(st.integers(k, 100))
    frame = table(n, data.draw(st.integers(0, 10_000)))
    names = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4, unique=True))
    ties = data.draw(st.sampled_from(["left", "either", "divide"]))
    asked = policy(names, k, ties=ties, span_ties=data.draw(st.sampled_from(["domain", "region"])))
    if data.draw(st.booleans()):
        frame["payload"] = 0  # records equal in everything: their keys are equal as well
    cap = data.draw(st.sampled_from([1, 3, 65_536]))
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    with small_tasks(
        region=data.draw(st.integers(3, 30)),
        bins=data.draw(st.sampled_from([2, 4, 100, 512])),
        summaries=data.draw(st.sampled_from([1, "10kB", "1MB"])),
        **{"anon.distinct-cap": cap, "scheduler": "synchronous"},
    ):
        recoding = anon.fit(in_parts(frame, ends), asked)
    assert classes_of(recoding, frame) == expected_classes(frame, asked, cap)


@pytest.fixture(scope="module")
def large():
    return table(2_000, seed=3)


@pytest.fixture(scope="module")
def whole(large):
    """The release of the table in one partition and one region, by the ways of treating ties."""
    return {
        (ties, span_ties): anon.anonymize(large, policy(KINDS, k=5, ties=ties, span_ties=span_ties))
        for ties in ("left", "either", "divide")
        for span_ties in ("domain", "region")
    }


@pytest.mark.parametrize(
    "npartitions, ties",
    [(1, "either"), (2, "left"), (2, "divide"), (7, "either"), (7, "divide"), (64, "either")],
)
def test_partitions_do_not_change_the_release(large, whole, ties, npartitions):
    lazy = dd.from_pandas(large, npartitions=npartitions)
    span_ties = "domain" if npartitions % 2 else "region"
    asked = policy(KINDS, k=5, ties=ties, span_ties=span_ties)
    region = 100 if npartitions < 64 else 500
    with small_tasks(region=region, bins=16, summaries="200kB"):
        released = anon.anonymize(lazy, asked)
    pd.testing.assert_frame_equal(released.compute(), whole[ties, span_ties])


@pytest.mark.parametrize("bins", [2, 4, 64, 512])
@pytest.mark.parametrize("summaries", [1, "64MiB"])
def test_histograms_change_the_passes_and_nothing_else(large, whole, bins, summaries):
    with small_tasks(region=300, bins=bins, summaries=summaries):
        recoding = anon.fit(dd.from_pandas(large, npartitions=3), policy(KINDS, k=5))
    assert recoding.tree.n_regions > 6
    pd.testing.assert_frame_equal(recoding.apply(large), whole["either", "domain"])


def test_empty_partitions_change_nothing(large, whole):
    lazy = in_parts(large, [0, 0, 1_000, 1_000, 1_999, 2_000, 2_000])
    with small_tasks(region=200):
        released = anon.anonymize(lazy, policy(KINDS, k=5))
    pd.testing.assert_frame_equal(released.compute(), whole["either", "domain"])


@pytest.mark.parametrize("ties", ["left", "either", "divide"])
def test_permuted_rows_give_the_same_release(large, whole, ties):
    moved = large.sample(frac=1, random_state=1)
    with small_tasks(region=300):
        released = anon.anonymize(
            dd.from_pandas(moved, npartitions=3, sort=False), policy(KINDS, k=5, ties=ties)
        )
    pd.testing.assert_frame_equal(released.compute().sort_index(), whole[ties, "domain"])


def test_heavy_values_leave_regions_that_no_task_can_cut(large):
    """Nine tenths are equal records: a class that is far larger than a region may be."""
    frame = pd.DataFrame({"heavy": [1] * 900 + list(range(2, 102)), "label": ["a"] * 1_000})
    asked = policy(["heavy", "label"], k=4)
    with small_tasks(region=50):
        recoding = anon.fit(dd.from_pandas(frame, npartitions=4), asked)
    sizes = sorted(len(c) for c in classes_of(recoding, frame))
    assert sizes[-1] == 900
    assert classes_of(recoding, frame) == expected_classes(frame, asked)
    released = recoding.apply(frame)
    assert set(released["heavy"][:900]) == {"1"}
    pd.testing.assert_frame_equal(released, anon.anonymize(frame, asked))


@pytest.mark.parametrize("values", [[None] * 40, [None] * 20 + [5] * 20, [5] * 40])
@pytest.mark.parametrize("dtype", ["Int64", "float64", "str"])
@pytest.mark.parametrize("format", ["interval", "bounds"])
def test_classes_of_the_driver_are_released_like_those_of_a_task(values, dtype, format):
    """A region that cannot be cut further comes from summaries, never from its records."""
    frame = pd.DataFrame({"a": pd.Series(values, dtype=dtype), "b": [1] * 40})
    asked = anon.Policy.from_flags(policy(["a", "b"], k=15), format=format)
    expected = anon.anonymize(frame, asked)
    with small_tasks(region=1):
        released = anon.anonymize(dd.from_pandas(frame, npartitions=3), asked)
    pd.testing.assert_frame_equal(released.compute(), expected)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_change_nothing(large, whole, scheduler):
    with dask.config.set(scheduler=scheduler), small_tasks(region=500):
        released = anon.anonymize(dd.from_pandas(large, npartitions=4), policy(KINDS, k=5))
        pd.testing.assert_frame_equal(released.compute(), whole["either", "domain"])


@pytest.mark.parametrize("processes", [False, True])
def test_a_cluster_changes_nothing(large, whole, processes):
    from distributed import Client, LocalCluster

    asked = policy(KINDS, k=5, ties="divide")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=None
        ) as cluster,
        Client(cluster),
        small_tasks(region=500),
    ):
        released = anon.anonymize(dd.from_pandas(large, npartitions=2), asked)
        # What the cluster computes outlives the frame that it was asked for.
        persisted = released.persist()
        del released
        pd.testing.assert_frame_equal(persisted.compute(), whole["divide", "domain"])
