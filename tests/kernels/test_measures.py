"""Every figure of a class is the one of its definition, worked by hand and by a plain reference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import privacy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.kernels.measures import (
    BASIC_BETA,
    COMMONEST,
    DISCLOSURE,
    DISTINCT_VALUES,
    ENHANCED_BETA,
    ENTROPY_VALUES,
    EQUAL_DISTANCE,
    LARGEST_SHARE,
    ORDERED_DISTANCE,
    PRESENCE,
    RECURSIVE_RATIO,
    SIZE,
    TREE_DISTANCE,
    VARIATION,
    WEIGHT,
    Branches,
    Track,
    facts_of,
    figure,
    holds,
    no_facts,
    strictly_below,
    value_of,
    values_of,
)

LAW = settings(max_examples=60, deadline=None)
CLOSE = {"rel": 1e-12, "abs": 1e-12}


def by_rank(*counts):
    m = len(counts)
    return Track(np.array(counts), steps=np.full(max(0, m - 1), 1 / max(1, m - 1)))


def by_value(values, counts):
    steps = np.diff(np.array(values, float)) / float(values[-1] - values[0])
    return Track(np.array(counts), steps=steps)


# -- worked examples ------------------------------------------------------------------------------


def test_the_forms_of_l_of_a_class_of_six():
    """{a, a, a, b, b, c} and {a, b, c, d}, as sdcMicro 5.8 measures them."""
    six, four = [3, 2, 1], [1, 1, 1, 1]
    assert figure(DISTINCT_VALUES, six) == 3
    assert figure(ENTROPY_VALUES, six) == pytest.approx(2.7494592740, abs=1e-10)
    assert figure(ENTROPY_VALUES, four) == pytest.approx(4, **CLOSE)

    def greatest_l(counts, c):
        ratios = [figure(RECURSIVE_RATIO, counts, parameter=l) for l in range(1, len(counts) + 1)]
        return max(l for l, ratio in enumerate(ratios, 1) if holds(ratio, 0, strictly_below(c)))

    assert [greatest_l(six, 2), greatest_l(six, 1)] == [2, 1]
    assert [greatest_l(four, 2), greatest_l(four, 1)] == [4, 3]


def test_a_class_in_which_everybody_has_cancer_has_one_value():
    """Machanavajjhala et al. (TKDD 2007), figure 2, third class; and figure 3, any class."""
    assert figure(DISTINCT_VALUES, [0, 4, 0]) == 1
    assert figure(ENTROPY_VALUES, [0, 4, 0]) == 1
    assert figure(RECURSIVE_RATIO, [0, 4, 0], parameter=2) == math.inf
    diverse = [1, 1, 2]  # heart disease, viral infection, cancer twice
    assert figure(DISTINCT_VALUES, diverse) == 3
    assert figure(ENTROPY_VALUES, diverse) == pytest.approx(2**1.5, **CLOSE)
    assert figure(RECURSIVE_RATIO, diverse, parameter=2) == 1  # 2 / (1 + 1)


def test_salaries_of_three_to_eleven_thousand():
    """Li et al. (ICDE 2007), section IV.A: {3, 4, 5} is 0.375 away, {6, 8, 11} is 0.167."""
    table = by_rank(*[1] * 9)
    assert figure(ORDERED_DISTANCE, [1, 1, 1, 0, 0, 0, 0, 0, 0], table) == pytest.approx(0.375)
    assert figure(ORDERED_DISTANCE, [0, 0, 0, 1, 0, 1, 0, 0, 1], table) == pytest.approx(1 / 6)


def test_diseases_lie_as_far_apart_as_what_they_have_in_common():
    """Li et al. (ICDE 2007), section IV.B: flu and bronchitis 1/3, an embolism 2/3, a cancer 1.

    flu, bronchitis │ pulmonary embolism ║ stomach cancer
    """
    lungs, vessels, stomach, chest, belly, all_ = range(6)
    branches = Branches(
        np.array([lungs, lungs, vessels, stomach]),
        np.array([chest, chest, belly, all_, all_, -1]),
        np.array([1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1]),
    )
    for other, apart in ((1, 1 / 3), (2, 2 / 3), (3, 1)):
        counts = np.array([1, 0, 0, 0])
        counts[other] = 1
        table = Track(counts, branches=branches)
        # Half of the class has to become the other disease.
        assert figure(TREE_DISTANCE, [1, 0, 0, 0], table) == pytest.approx(apart / 2, **CLOSE)


G1_S = Track(np.array([3, 2, 1]))  # x, y, z
G1_N = by_rank(2, 1, 1, 1, 1)  # 1, 2, 3, 5, 10


def test_the_figures_of_six_rows_in_two_classes():
    """a, a, a, a, b, b with s = x, x, y, z, x, y and n = 1, 2, 3, 10, 1, 5, as pycanon has them."""
    a_s, b_s = [2, 1, 1], [1, 1, 0]
    a_n, b_n = [1, 1, 1, 0, 1], [1, 0, 0, 1, 0]

    def worst(kind, table, *classes):
        return max(figure(kind, one, table) for one in classes)

    assert worst(EQUAL_DISTANCE, G1_S, a_s, b_s) == pytest.approx(1 / 6, **CLOSE)
    assert worst(ORDERED_DISTANCE, G1_N, a_n, b_n) == pytest.approx(0.125, **CLOSE)
    assert worst(LARGEST_SHARE, G1_S, a_s, b_s) == 0.5
    assert worst(BASIC_BETA, G1_S, a_s, b_s) == pytest.approx(0.5, **CLOSE)
    assert worst(ENHANCED_BETA, G1_S, a_s, b_s) == pytest.approx(0.5, **CLOSE)
    assert worst(BASIC_BETA, G1_N, a_n, b_n) == pytest.approx(2, **CLOSE)
    assert figure(DISCLOSURE, a_s, G1_S) == pytest.approx(0.4054651081, abs=1e-10)
    assert figure(ENTROPY_VALUES, a_s) == pytest.approx(2.8284271247, abs=1e-10)
    assert figure(ENTROPY_VALUES, b_s) == pytest.approx(2, **CLOSE)


def test_the_widest_distance_in_numbers_is_that_of_wasserstein():
    """n of the six rows by value: 4/27, exactly."""
    table = by_value([1, 2, 3, 5, 10], [2, 1, 1, 1, 1])
    assert figure(ORDERED_DISTANCE, [1, 1, 1, 0, 1], table) < 4 / 27
    assert figure(ORDERED_DISTANCE, [1, 0, 0, 1, 0], table) == pytest.approx(4 / 27, **CLOSE)


TECHNICAL = {"Tech-support", "Craft-repair", "Prof-specialty", "Machine-op-inspct"}
NONTECHNICAL = {"Sales", "Exec-managerial", "Handlers-cleaners"}


def test_the_optima_of_arx_on_adult_hold_and_their_predecessors_do_not(root):
    """ARX 3.9, t = 0.2 of occupation without suppression, full-domain generalization.

    Hierarchical distance: the optimum keeps sex and whether a spouse is present; with the salary as
    well it does not hold. Equal distance: the spouse alone; neither with sex nor with the salary.
    """
    adult = pd.read_parquet(root / "tests/data/adult.parquet")
    adult["spouse"] = adult["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    occupations = sorted(adult["occupation"].unique())
    group = [0 if o in TECHNICAL else 1 if o in NONTECHNICAL else 2 for o in occupations]
    branches = Branches(np.array(group), np.array([3, 3, 3, -1]), np.array([0.5, 0.5, 0.5, 1]))
    counts = adult["occupation"].value_counts()[occupations].to_numpy()
    table = Track(counts, branches=branches)

    def worst(kind, *kept):
        classes = pd.crosstab([adult[c] for c in kept], adult["occupation"])[occupations]
        return max(figure(kind, own, table) for own in classes.to_numpy())

    assert worst(TREE_DISTANCE, "sex", "spouse") == pytest.approx(0.1997832973, abs=1e-10)
    assert worst(TREE_DISTANCE, "sex", "spouse", "salary-class") > 0.2
    assert worst(EQUAL_DISTANCE, "spouse") == pytest.approx(0.1315437553, abs=1e-10)
    assert worst(EQUAL_DISTANCE, "spouse", "sex") > 0.2
    assert worst(EQUAL_DISTANCE, "spouse", "salary-class") > 0.2


# -- values that are missing, absent or everything ------------------------------------------------


def test_a_class_without_a_counted_value_has_no_diversity_and_no_distance():
    table = Track(np.array([3, 2]), steps=np.ones(1), numbers=np.array([0.0, 1.0]))
    zero = (
        DISTINCT_VALUES, ENTROPY_VALUES, LARGEST_SHARE, EQUAL_DISTANCE, ORDERED_DISTANCE,
        BASIC_BETA, ENHANCED_BETA, PRESENCE, WEIGHT, COMMONEST,
    )  # fmt: skip
    for kind in zero:
        assert figure(kind, [0, 0], table) == 0
    assert figure(RECURSIVE_RATIO, [0, 0], table, parameter=2) == math.inf
    assert figure(DISCLOSURE, [0, 0], table) == math.inf


def test_an_absent_value_discloses_that_nobody_has_it():
    assert figure(DISCLOSURE, [5, 5, 0], Track(np.array([5, 5, 1]))) == math.inf
    assert figure(DISCLOSURE, [5, 5, 1], Track(np.array([5, 5, 1]))) == 0
    assert figure(DISCLOSURE, [], Track(np.array([], np.int64))) == 0


def test_enhanced_beta_does_not_hold_for_any_beta_beyond_the_logarithm():
    """p = 1/6: a gain of 2 is more than -ln p = 1.79; basic beta-likeness allows it."""
    table = Track(np.array([5, 1]))
    assert figure(BASIC_BETA, [1, 1], table) == pytest.approx(2, **CLOSE)
    assert figure(ENHANCED_BETA, [1, 1], table) == math.inf
    assert figure(ENHANCED_BETA, [2, 1], table) == pytest.approx(1, **CLOSE)
    # The only value of a column gains nothing, and -ln 1 is nothing.
    assert figure(ENHANCED_BETA, [4], Track(np.array([9]))) == 0


def test_sizes_weights_and_presence_count_records():
    table = Track(np.array([4, 2]), numbers=np.array([0.0, 1.0]))
    assert figure(SIZE, [3, 1], table) == 4
    assert figure(PRESENCE, [3, 1], table) == 0.25
    assert figure(WEIGHT, [3, 1], Track(np.array([4, 2]), numbers=np.array([10.0, 2.5]))) == 32.5
    assert figure(COMMONEST, [3, 1]) == 3
    assert VARIATION == EQUAL_DISTANCE


# -- limits ---------------------------------------------------------------------------------------


def test_limits_are_inclusive_up_to_rounding_and_strict_ones_are_not():
    assert holds(0.1 + 0.2, 0, 0.3)
    assert not holds(0.3 + 1e-11, 0, 0.3)
    assert holds(1e9 * (1 - 1e-13), 1e9, math.inf)
    assert holds(math.inf, 2, math.inf)
    assert not holds(math.nan, -math.inf, math.inf)
    for limit in (0.7, 2.0, 1e6):
        assert not holds(limit, -math.inf, strictly_below(limit))
        assert not holds(math.nextafter(limit, 0), -math.inf, strictly_below(limit))
        assert holds(limit * (1 - 1e-9), -math.inf, strictly_below(limit))


def test_as_many_equally_frequent_values_as_asked_are_enough():
    for n in (3, 7, 1000):
        assert holds(figure(ENTROPY_VALUES, [11] * n), n, math.inf)


# -- the plain reference --------------------------------------------------------------------------

CLASSES = st.integers(1, 7).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(0, 6), min_size=m, max_size=m).filter(any),
        st.lists(st.integers(0, 9), min_size=m, max_size=m),
    )
)


def shares(counts):
    return privacy.shares([v for v, n in enumerate(counts) for _ in range(n)])


@LAW
@given(CLASSES)
def test_figures_are_those_of_their_definitions(pair):
    own, rest = pair
    total = [a + b for a, b in zip(own, rest, strict=True)]
    values = [v for v, n in enumerate(own) for _ in range(n)]
    q, p = shares(own), shares(total)
    assert figure(DISTINCT_VALUES, own) == len(q)
    assert figure(ENTROPY_VALUES, own) == pytest.approx(privacy.entropy_l(values), **CLOSE)
    for l in range(1, 5):
        expected = privacy.recursive_ratio(values, l)
        assert figure(RECURSIVE_RATIO, own, parameter=l) == expected
    table = Track(np.array(total))
    assert figure(LARGEST_SHARE, own, table) == float(max(q.values()))
    expected = float(privacy.equal_distance(q, p))
    assert figure(EQUAL_DISTANCE, own, table) == pytest.approx(expected, **CLOSE)
    gains = {v: (q[v] - p[v]) / p[v] for v in q}
    assert figure(BASIC_BETA, own, table) == pytest.approx(float(max(gains.values())), **CLOSE)
    if set(q) == set(p):
        expected = max(abs(math.log(q[v] / p[v])) for v in q)
        assert figure(DISCLOSURE, own, table) == pytest.approx(expected, **CLOSE)


@LAW
@given(CLASSES, st.data())
def test_distances_on_a_line_are_those_of_their_definition(pair, data):
    own, rest = pair
    total = [a + b + 1 for a, b in zip(own, rest, strict=True)]
    gaps = data.draw(st.lists(st.integers(1, 50), min_size=len(own), max_size=len(own)))
    place = list(itertools.accumulate(gaps))
    q, p = shares(own), shares(total)
    expected = float(privacy.ordered_distance(q, p))
    assert figure(ORDERED_DISTANCE, own, by_rank(*total)) == pytest.approx(expected, **CLOSE)
    if len(own) > 1:
        q, p = ({place[v]: share for v, share in of.items()} for of in (q, p))
        expected = float(privacy.ordered_distance(q, p, by_value=True))
        found = figure(ORDERED_DISTANCE, own, by_value(place, total))
        assert found == pytest.approx(expected, **CLOSE)


@LAW
@given(CLASSES, st.integers(1, 3), st.data())
def test_distance_in_a_tree_is_what_crosses_its_edges(pair, height, data):
    """In a tree whose edges have the length 1 / (2 height), leaves lie their hierarchy's distance
    apart; and what must cross an edge is the difference of the shares below it."""
    own, rest = pair
    total = [a + b for a, b in zip(own, rest, strict=True)]
    paths = [[("leaf", v)] for v in range(len(own))]
    for level in range(1, height):
        group = {path[-1]: data.draw(st.integers(0, 2)) for path in paths}
        for path in paths:
            path.append((level, group[path[-1]]))
    q, p = shares(own), shares(total)
    below = {}
    for v, path in enumerate(paths):
        for node in path:
            below[node] = below.get(node, 0) + q.get(v, 0) - p.get(v, 0)
    expected = sum(abs(net) for net in below.values()) * Fraction(1, 2 * height)
    nodes = [node for level in range(1, height) for node in {path[level]: 0 for path in paths}]
    place = {node: i for i, node in enumerate(nodes)}
    above = {path[i]: path[i + 1] for path in paths for i in range(1, height - 1)}
    branches = Branches(
        np.array([place[path[1]] if height > 1 else 0 for path in paths]),
        np.array([*(place[above[n]] if n in above else len(nodes) for n in nodes), -1]),
        np.array([*(node[0] / height for node in nodes), 1.0]),
    )
    found = figure(TREE_DISTANCE, own, Track(np.array(total), branches=branches))
    assert found == pytest.approx(float(expected), **CLOSE)


@LAW
@given(CLASSES)
def test_a_class_like_the_table_is_no_distance_away(pair):
    own, _ = pair
    doubled = [2 * n for n in own]
    table = by_rank(*doubled)
    for kind in (EQUAL_DISTANCE, ORDERED_DISTANCE, BASIC_BETA, ENHANCED_BETA):
        assert holds(figure(kind, own, table), 0, 0)


# -- many values, many classes --------------------------------------------------------------------


def test_a_hundred_thousand_values_lose_no_digits():
    rng = np.random.default_rng(3)
    m = 100_000
    values = np.cumsum(rng.integers(1, 1_000, m))
    counts = rng.integers(1, 50, m)
    own = np.zeros(m, np.int64)
    own[rng.choice(m, 500, replace=False)] = rng.integers(1, 9, 500)
    share, mine = np.cumsum(counts) / counts.sum(), np.cumsum(own) / own.sum()
    gaps = np.diff(values) / (values[-1] - values[0])
    expected = math.fsum(np.abs(share - mine)[:-1] * gaps)
    table = Track(counts, steps=gaps)
    assert figure(ORDERED_DISTANCE, own, table) == pytest.approx(expected, abs=1e-13)
    assert holds(figure(ORDERED_DISTANCE, counts, table), 0, 0)


def test_many_classes_at_once_are_each_one_alone():
    tracks = [Track(np.array([5, 3, 2])), by_rank(4, 4, 2)]
    facts = facts_of(tracks)
    codes, counts = np.array([0, 2, 1, 0, 1, 2]), np.array([3, 1, 2, 2, 1, 1])
    offsets, sizes = np.array([0, 2, 3, 3, 6]), np.array([4, 2, 1, 4])
    for track, kind in ((0, EQUAL_DISTANCE), (1, ORDERED_DISTANCE), (1, DISTINCT_VALUES)):
        found = values_of(kind, 0.0, sizes, offsets, codes, counts, track, facts)
        alone = [
            value_of(kind, 0.0, size, codes, counts, a, b, track, facts)
            for size, a, b in zip(sizes, offsets[:-1], offsets[1:], strict=True)
        ]
        assert found.tolist() == alone
    assert [len(array) for array in no_facts()] == [0, 0]


def test_tracks_of_one_column_share_what_is_known_of_it():
    counts = np.arange(1, 1_001)
    alone, twice = facts_of([Track(counts)]), facts_of([Track(counts), Track(counts)])
    assert len(twice.real) == len(alone.real) == 1_000
