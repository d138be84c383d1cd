"""A risk says how sure it is; the interval is Wilson's."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import AnonError
from dask_anon.metrics._risk_value import Risk, wilson_interval


def test_the_interval_is_the_published_one():
    # Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0000, 0.1611), abs=5e-5)
    assert wilson_interval(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_a_risk_is_a_sentence():
    risk = Risk.of_trials(3, 10, baseline=0.1, confidence=0.9)
    assert risk.value == 0.3
    assert str(risk) == (
        "risk 30.0 % (90 % confidence: 12.7 % to 55.8 %), 10.0 % without the release"
    )
    assert str(Risk(0.5, (0.4, 0.6))) == "risk 50.0 % (95 % confidence: 40.0 % to 60.0 %)"
    assert pickle.loads(pickle.dumps(risk)) == risk


def test_without_trials_nothing_is_known():
    assert Risk.of_trials(0, 0) == Risk(0.0, (0.0, 1.0))


@pytest.mark.parametrize("hits, trials", [(2, 1), (-1, 3)])
def test_hits_are_some_of_the_trials(hits, trials):
    with pytest.raises(AnonError, match="hits are some of the trials"):
        wilson_interval(hits, trials)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence):
    with pytest.raises(AnonError, match="confidence must be above 0 and below 1"):
        wilson_interval(1, 2, confidence=confidence)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.5, 0.99))
@settings(max_examples=30, deadline=None)
def test_the_share_is_inside_and_more_trials_tell_more(hits, misses, confidence):
    trials = hits + misses
    low, high = wilson_interval(hits, trials, confidence=confidence)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= hits / trials <= high
        more = wilson_interval(4 * hits, 4 * trials, confidence=confidence)
        assert more[1] - more[0] < high - low
        # Hits and misses are two words for one thing.
        assert wilson_interval(misses, trials, confidence=confidence) == pytest.approx(
            (1 - high, 1 - low), abs=1e-12
        )
