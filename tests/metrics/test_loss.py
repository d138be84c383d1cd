"""How much of the original's domain released cells cover, by hand, by the engine, and as laws."""

from __future__ import annotations

from unittest import mock

import dask
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import LAW, frames, quasi_identifiers

import dask_anon as anon
from dask_anon.engine import fit
from dask_anon.errors import AnonError, DataError
from dask_anon.metrics.loss import (
    ambiguity,
    generalization_intensity,
    global_certainty_penalty,
    granularity,
    n_lost_records,
    normalized_certainty_penalty,
    precision,
    suppressed_cell_rate,
)

ORIGINAL = pd.DataFrame({"age": [20, 25, 30, 40], "zip": ["a", "b", "c", None]})
RELEASED = pd.DataFrame(
    {
        "age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"],
        "zip": ["{a, b}", "{a, b}", "c | missing", "c | missing"],
    }
)
BOTH = ["age", "zip"]
CITIES = [["Linz", "Austria", "*"], ["Graz", "Austria", "*"], ["Rome", "Italy", "*"]]


def penalty(original, released, **options):
    ((_, found),) = normalized_certainty_penalty(
        pd.DataFrame({"x": released}),
        pd.DataFrame({"x": original}),
        quasi_identifiers=["x"],
        **options,
    ).items()
    return found


# -- by hand -------------------------------------------------------------------------------------


def test_a_small_release_can_be_counted():
    found = normalized_certainty_penalty(RELEASED, ORIGINAL, quasi_identifiers=BOTH)
    # Ages span 20: 5, 5, 10, 10 of it. Of 4 labels, with the missing one, each set shows 1 more.
    assert found == {"age": pytest.approx(30 / 80), "zip": pytest.approx(1 / 3)}
    whole = global_certainty_penalty(RELEASED, ORIGINAL, quasi_identifiers=BOTH)
    assert whole == pytest.approx((30 / 80 + 1 / 3) / 2)
    assert global_certainty_penalty(found) == whole


@pytest.mark.parametrize(
    "original, released, expected",
    [
        ([20, 40], ["[20, 40]", "20"], 0.5),
        ([20, 40], ["*", "*"], 1.0),
        ([20, 40], [None, None], 1.0),  # nothing is missing there: suppressed
        ([20, 40, None], ["20 | missing", "40", None], (21 / 21) / 3),
        ([0.0, 1.0, np.nan], ["0 | missing", "[0, 0.5]", None], (1 + 0.5) / 3),
        (["a", "b"], ["{a, b}", "a"], 0.5),
        (["a", "b", None], ["{a, b} | missing", "a | missing", None], (1 + 0.5) / 3),
        ([7, 7], ["7", "*"], 0.0),  # one value: nothing to lose
        ([20, 40], ["[0, 100]", "[0, 30]"], 0.75),  # what lies beyond costs nothing more
        ([20, 40], [25.0, 30.5], 0.0),  # a midpoint covers one value
    ],
)
def test_a_penalty_is_the_share_of_the_domain_that_a_cell_covers(original, released, expected):
    assert penalty(original, released) == pytest.approx(expected)


def test_a_node_costs_by_its_leaves_though_some_occur_nowhere():
    found = penalty(["Linz", "Rome"], ["Austria", "Italy"], hierarchies={"x": CITIES})
    assert found == pytest.approx(((2 - 1) / (3 - 1) + 0) / 2)


def test_bounds_cost_what_labels_cost():
    bounds = pd.DataFrame({"age_min": [20, 20, 30, 30], "age_max": [25, 25, 40, 40]})
    asked = {"quasi_identifiers": ["age"]}
    assert normalized_certainty_penalty(bounds, ORIGINAL, **asked) == normalized_certainty_penalty(
        RELEASED, ORIGINAL, **asked
    )


def test_a_record_left_out_costs_everything():
    """A mean over the released records alone looks better the more of them are dropped."""
    found = normalized_certainty_penalty(RELEASED[:2], ORIGINAL, quasi_identifiers=["age"])
    assert found["age"] == pytest.approx((2 * 5 / 20 + 2) / 4)
    assert n_lost_records(RELEASED[:2], ORIGINAL, quasi_identifiers=["age"]) == 2


def test_granularity_weighs_a_column_by_its_values():
    original = pd.DataFrame({"sex": ["f", "m"], "n": [1, 5]})
    released = pd.DataFrame({"sex": ["*", "*"], "n": ["[1, 3]", "5"]})
    asked = {"quasi_identifiers": ["sex", "n"]}
    # Shares: 1 and 1 of sex, 3/5 and 1/5 of n; at best 1/2 and 1/5.
    mean_share, best = ((1 + 1) / 2 + (3 / 5 + 1 / 5) / 2) / 2, (1 / 2 + 1 / 5) / 2
    expected = 1 - (mean_share - best) / (1 - best)
    assert granularity(released, original, **asked) == pytest.approx(expected)
    assert granularity(released, original, **asked, by_column=True) == pytest.approx(
        {"sex": 0.0, "n": 0.75}
    )


def test_levels_are_those_of_nodes_and_sets_stand_below_what_they_have_in_common():
    original = pd.DataFrame({"city": ["Linz", "Graz", "Rome", "Rome", "Linz"]})
    released = pd.DataFrame({"city": ["Austria", "Graz", "*", "{Graz, Linz}", "{Linz, Rome}"]})
    asked = {"quasi_identifiers": ["city"], "hierarchies": {"city": CITIES}}
    levels = [1 / 2, 0, 1, 1 / 2, 1]
    assert generalization_intensity(released, original, **asked) == pytest.approx(np.mean(levels))
    assert precision(released, original, **asked) == pytest.approx(1 - np.mean(levels))
    assert precision(released, original, **asked, by_column=True) == {
        "city": pytest.approx(1 - np.mean(levels))
    }


def test_ambiguity_multiplies_what_the_cells_may_stand_for():
    found = ambiguity(RELEASED, ORIGINAL, quasi_identifiers=BOTH)
    assert found == pytest.approx((6 * 2 + 6 * 2 + 11 * 2 + 11 * 2) / 4)
    by_column = ambiguity(RELEASED, ORIGINAL, quasi_identifiers=BOTH, by_column=True)
    assert by_column == {"age": 8.5, "zip": 2.0}
    # Two records left out may be any of 21 ages with any of 3 labels or none.
    found = ambiguity(RELEASED[:2], ORIGINAL, quasi_identifiers=BOTH)
    assert found == pytest.approx((12 + 12 + 2 * 21 * 4) / 4)


def test_cells_and_records_that_show_nothing_are_counted():
    released = pd.DataFrame({"age": ["20", "*", "[20, 40]", "*"], "zip": ["*", "a", "*", "*"]})
    assert suppressed_cell_rate(released, ORIGINAL, quasi_identifiers=BOTH) == 6 / 8
    by_column = suppressed_cell_rate(released, ORIGINAL, quasi_identifiers=BOTH, by_column=True)
    assert by_column == {"age": 0.75, "zip": 0.75}
    assert n_lost_records(released, ORIGINAL, quasi_identifiers=BOTH) == 2


def test_tables_without_records_lose_nothing():
    empty = ORIGINAL[:0]
    assert global_certainty_penalty(empty, empty, quasi_identifiers=BOTH) == 0
    assert granularity(empty, empty, quasi_identifiers=BOTH) == 1
    assert ambiguity(empty, empty, quasi_identifiers=BOTH) == 1
    assert n_lost_records(empty, empty, quasi_identifiers=BOTH) == 0


# -- what cannot be measured ---------------------------------------------------------------------


def test_mistakes_get_a_sentence():
    floats = pd.DataFrame({"age": [0.5, 1.5]})
    with pytest.raises(AnonError, match="measured against the original"):
        global_certainty_penalty(RELEASED)
    with pytest.raises(AnonError, match="no column to measure"):
        granularity(RELEASED, ORIGINAL, quasi_identifiers=[])
    with pytest.raises(DataError, match=r"'agee' is not in the table\. Did you mean 'age'"):
        granularity(RELEASED, ORIGINAL, quasi_identifiers=["agee"])
    with pytest.raises(AnonError, match=r"levels are those of a hierarchy, and \['zip'\] have"):
        precision(RELEASED, ORIGINAL, quasi_identifiers=["zip"], hierarchies={})
    with pytest.raises(AnonError, match="'age' has floating-point numbers"):
        ambiguity(floats, floats, quasi_identifiers=["age"])
    with pytest.raises(AnonError, match=r"not measured: \['zip'\]"):
        granularity(RELEASED, ORIGINAL, quasi_identifiers=["age"], hierarchies={"zip": CITIES})
    with pytest.raises(AnonError, match="a pandas or a Dask DataFrame is measured, found list"):
        granularity([1], ORIGINAL, quasi_identifiers=["age"])


# -- the engine agrees ---------------------------------------------------------------------------


@settings(LAW, max_examples=15)
@given(frame=frames(objects=True), format=st.sampled_from(["interval", "bounds"]))
def test_the_penalty_read_back_is_the_one_that_fitting_found(frame, format):
    names = quasi_identifiers(frame)
    policy = anon.Policy(
        columns=dict.fromkeys(names, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": 2}],
        recoding={"format": format},
    )
    found = []

    def keep(*args, **options):
        found.append(fit_parts(*args, **options))
        return found[-1]

    fit_parts = fit.fit_parts
    with mock.patch.object(fit, "fit_parts", keep), dask.config.set(scheduler="synchronous"):
        released = anon.anonymize(frame, policy)
    measured = normalized_certainty_penalty(released, frame, quasi_identifiers=names)
    assert measured == pytest.approx(found[0].certainty, rel=1e-9, abs=1e-12)


# -- laws ----------------------------------------------------------------------------------------

LABELS = list("abcdef")


@st.composite
def releases(draw):
    """Numbers and labels with gaps, and their classes: a grouping of the records."""
    n = draw(st.integers(1, 12))
    column = st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=n, max_size=n)
    numbers, letters = draw(column), draw(column)
    original = pd.DataFrame(
        {
            "n": pd.array(numbers, "Int64"),
            "q": pd.Series([None if i is None else LABELS[i % 6] for i in letters], dtype="str"),
        }
    )
    return original, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


def shown(original, classes):
    """Each record shown as its class: the interval and the set that hold its members."""
    released = original.astype(object)
    for members in pd.Series(range(len(original))).groupby(np.array(classes)).groups.values():
        for column in original:
            values = original[column].iloc[members]
            present = sorted(set(values.dropna()))
            if column == "n":
                ends = [
                    str(v) for v in (present[:1] + present[-1:] if len(present) > 1 else present)
                ]
                text = f"[{', '.join(ends)}]" if len(ends) > 1 else "".join(ends)
            else:
                text = f"{{{', '.join(present)}}}" if len(present) > 1 else "".join(present)
            if values.isna().any():
                text = f"{text} | missing" if text else None
            released.iloc[members, list(original).index(column)] = text
    return released


@settings(max_examples=20, deadline=None)
@given(releases())
def test_merging_classes_never_lowers_a_loss(drawn):
    original, classes = drawn
    merged = [min(number, 1) for number in classes]
    asked = {"quasi_identifiers": ["n", "q"]}
    fine, coarse = shown(original, classes), shown(original, merged)
    for loss in (global_certainty_penalty, ambiguity, suppressed_cell_rate):
        assert loss(coarse, original, **asked) >= loss(fine, original, **asked) - 1e-12
    assert granularity(coarse, original, **asked) <= granularity(fine, original, **asked) + 1e-12


@settings(max_examples=20, deadline=None)
@given(releases())
def test_losses_lie_between_the_original_and_nothing(drawn):
    original, classes = drawn
    asked = {"quasi_identifiers": ["n", "q"]}
    released = shown(original, classes)
    everything = pd.DataFrame("*", original.index, original.columns)
    losses = (
        lambda frame: global_certainty_penalty(frame, original, **asked),
        lambda frame: 1 - granularity(frame, original, **asked),
        lambda frame: suppressed_cell_rate(frame, original, **asked),
    )
    for loss in losses:
        assert 0 <= loss(released) <= 1
        assert loss(original) == 0
    has_more_than_one = [original[c].nunique(dropna=False) > 1 for c in original]
    assert losses[0](everything) == pytest.approx(np.mean(has_more_than_one))
    assert losses[1](everything) == pytest.approx(float(any(has_more_than_one)))
    assert ambiguity(original, original, **asked) == 1
    assert losses[0](released[:0]) == 1
