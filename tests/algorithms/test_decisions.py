"""Mondrian's decisions from summaries: order statistics, the order of attributes, the first cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.algorithms.mondrian import (
    Cut,
    Question,
    Rank,
    RankSearch,
    attribute_order,
    find_cut,
    priority_of,
    tied_attributes,
)
from dask_anon.kernels.common import DIVIDE, EITHER, EVERY_KEY, LEFT

LAW = settings(max_examples=60, deadline=None)
ALL = int(EVERY_KEY)


def rank_of(values, rank):
    value = sorted(values)[rank]
    return Rank(value, sum(v < value for v in values), sum(v <= value for v in values))


def histogram(values, base, shift, n_bins):
    counts = np.zeros(n_bins, np.int64)
    for v in values:
        if v >= base and (v - base) >> shift < n_bins:
            counts[(v - base) >> shift] += 1
    return counts


codes = st.lists(
    st.integers(0, 2**64 - 1) | st.integers(0, 5) | st.integers(2**63 - 3, 2**63 + 3),
    min_size=1,
    max_size=40,
)


@LAW
@given(values=codes, data=st.data(), bits=st.integers(1, 10))
def test_a_search_finds_every_rank(values, data, bits):
    rank = data.draw(st.integers(0, len(values) - 1))
    search = RankSearch(rank, min(values), max(values), 1 << bits)
    n_passes, found = 0, None
    while found is None:
        found = search.narrow(histogram(values, search.base, search.shift, 1 << bits))
        n_passes += 1
    assert found == rank_of(values, rank)
    assert n_passes <= max(1, -(-(max(values) - min(values)).bit_length() // bits))


@LAW
@given(values=codes, data=st.data(), bits=st.integers(1, 10))
def test_a_wrong_guess_costs_a_pass_and_changes_nothing(values, data, bits):
    rank = data.draw(st.integers(0, len(values) - 1))
    base = data.draw(st.sampled_from(values) | st.integers(0, 2**64 - 1))
    shift, n_guessed = data.draw(st.integers(0, 63)), data.draw(st.sampled_from([2, 16, 512]))
    search = RankSearch(rank, min(values), max(values), 1 << bits)
    counts = histogram(values, base, shift, n_guessed)
    below = sum(v < base for v in values)
    found = search.start_from(base, shift, below, counts)
    inside = below <= rank < below + counts.sum()
    assert (found is False) == (not inside)
    while not isinstance(found, Rank):
        found = search.narrow(histogram(values, search.base, search.shift, 1 << bits))
    assert found == rank_of(values, rank)


def decide(columns, k, ties, order, keys=()):
    """Drive `find_cut` with the records' own order statistics; the cut and the questions asked."""
    search, asked, answer = find_cut(len(columns[0]), k=k, ties=ties, order=order), [], None
    while True:
        try:
            question = search.send(answer)
        except StopIteration as stop:
            return stop.value, asked
        asked.append(question)
        values = columns[question.attribute]
        if question.among is not None:
            values = [key for v, key in zip(values, keys, strict=True) if v == question.among]
        answer = rank_of(values, question.rank)


def test_the_first_allowed_cut_is_taken():
    columns = [[1, 1, 1, 1, 1, 2], [1, 2, 3, 4, 5, 6]]
    cut, asked = decide(columns, 3, EITHER, [0, 1])
    assert cut == Cut(attribute=1, threshold=3, key=ALL, n_left=3)
    assert asked == [Question(0, 2), Question(1, 2)]  # the lower median: rank (6 - 1) // 2


@pytest.mark.parametrize("ties, cut", [(LEFT, None), (EITHER, Cut(0, 0, ALL, 2))])
def test_below_the_median_is_tried_unless_ties_go_left(ties, cut):
    assert decide([[0, 0, 1, 1, 1, 1]], 2, ties, [0])[0] == cut


def test_ties_are_divided_at_the_median_of_the_keys():
    assert decide([[7, 7, 7, 7]], 2, DIVIDE, [0], keys=[4, 3, 2, 1])[0] == Cut(0, 7, 2, 2)
    # Equal keys stay together: up to the median's key is not allowed, below it is.
    assert decide([[7] * 6], 2, DIVIDE, [0], keys=[1, 1, 5, 5, 5, 5])[0] == Cut(0, 7, 4, 2)
    assert decide([[7] * 4], 2, DIVIDE, [0], keys=[9] * 4)[0] is None
    # All of the median's records go left: the key no longer matters.
    assert decide([[7, 7, 8, 8]], 2, DIVIDE, [0], keys=[1, 2, 3, 4])[0] == Cut(0, 7, ALL, 2)
    # None of them: the threshold is the code below.
    assert decide([[6, 6, 8, 8, 8]], 2, DIVIDE, [0], keys=[1, 2, 3, 3, 3])[0] == Cut(0, 7, ALL, 2)


def test_fewer_than_2k_records_are_a_class_without_a_question():
    assert decide([[1, 2, 3, 4, 5]], 3, EITHER, [0]) == (None, [])


def test_attributes_go_by_span_then_distinct_values_then_policy_order():
    assert priority_of([3, 9, 3, 9]) == [1, 3, 0, 2]
    spans = [0.5, 1.0, 0.5, -1.0, 0.5]
    assert attribute_order(spans, [4, 0, 2, 1, 3]) == [1, 4, 0, 2]
    assert attribute_order(spans, [4, 0, 2, 1, 3], {0: 2, 2: 7, 4: 2}) == [1, 2, 0, 4]
    assert tied_attributes(spans) == [0, 2, 4]  # constant attributes (-1) tie with nobody
