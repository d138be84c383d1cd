"""Both sides of every cut keep the rules, and the kernel cuts as the plain reference does."""

from __future__ import annotations

import numpy as np
import privacy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Attribute
from reference import mondrian as reference
from test_mondrian_kernel import DTYPES, TIES, Table, by_key

from dask_anon.kernels import common
from dask_anon.kernels.measures import DISTINCT_VALUES, EQUAL_DISTANCE, Track, facts_of
from dask_anon.kernels.mondrian import mondrian
from dask_anon.kernels.rules import Rules, counts_hold


def rules_for(columns, l, t):
    """At least `l` distinct values in the first column, distance at most `t` in every one."""
    known = [sorted({v for v in column if v is not None}) for column in columns]
    kinds = [DISTINCT_VALUES, *[EQUAL_DISTANCE] * len(columns)]
    of_column = [0, *range(len(columns))]
    n_codes = np.array([len(values) for values in known])
    counts = [np.array([column.count(v) for v in known[c]]) for c, column in enumerate(columns)]
    rules = Rules(
        n_codes, np.concatenate([[0], np.cumsum(n_codes)]), np.array(kinds), np.array(of_column),
        np.zeros(len(kinds)), np.array([float(l), *[0.0] * len(columns)]),
        np.array([np.inf, *[t] * len(columns)]),
    )  # fmt: skip
    codes = [
        [len(known[c]) if v is None else known[c].index(v) for v in column]
        for c, column in enumerate(columns)
    ]
    return (rules, facts_of([Track(counts[c]) for c in of_column])), np.array(codes).T


def classes_under(rules, table, sensitive, k, ties, keys):
    n, d = table.codes.shape
    codes = common.code_table(n, d + sensitive.shape[1], table.dtype)
    rows = np.column_stack([table.codes, sensitive.astype(table.dtype)])
    common.fill_table(rows, rows.shape[1], codes, 0)
    common.number_records(common.record_numbers(codes))
    _, found = mondrian(
        codes, k=k, scale=table.scale, ties=TIES[ties], rules=rules,
        keys=None if keys is None else np.array(keys, np.uint64),
    )  # fmt: skip
    return [np.flatnonzero(found.of_record == c).tolist() for c in range(len(found.size))]


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), ties=st.sampled_from(["left", "either", "divide"]))
def test_kernel_under_rules_equals_reference(dtype, data, ties):
    n, k = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    attributes = [
        Attribute("whole", data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))),
        Attribute("label", data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))),
    ]
    keys = None
    if ties == "divide":
        key = st.integers(0, 3) | st.integers(0, 2**64 - 1)
        attributes, keys = by_key(attributes, data.draw(st.lists(key, min_size=n, max_size=n)))
    # More values than records, too: then they are looked at one by one.
    value = st.none() | st.integers(0, data.draw(st.sampled_from([1, 3, 5_000])))
    columns = [
        data.draw(st.lists(value, min_size=n, max_size=n))
        for _ in range(data.draw(st.integers(1, 2)))
    ]
    l, t = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 100)) / 100
    rules, sensitive = rules_for(columns, l, t)
    found = classes_under(rules, Table(attributes, dtype), sensitive, k, ties, keys)
    models = [{"model": "distinct-l-diversity", "column": 0, "l": l}]
    models += [
        {"model": "t-closeness", "column": c, "t": t, "distance": "equal"}
        for c in range(len(columns))
    ]
    kept = [privacy.keeps(model, dict(enumerate(columns))) for model in models]
    assert found == reference(
        attributes, k, ties=ties, keys=keys, keeps=lambda side: all(keeps(side) for keeps in kept)
    )


def test_a_class_is_judged_by_its_counts_alone():
    """Table a, a, b, c: a class {a, b} has 2 values and lies 1/4 away; {a, a} has one."""
    (rules, facts), _ = rules_for([["a", "a", "b", "c"]], 2, 0.25)
    assert counts_hold(2, np.array([1, 1, 0]), rules, facts)
    assert not counts_hold(2, np.array([2, 0, 0]), rules, facts)
    assert not counts_hold(2, np.array([0, 1, 1]), rules, facts)  # lies 1/2 away
