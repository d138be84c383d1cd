"""The quick look never calls good what cannot be read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.audit._labels import _can_be_read
from dask_anon.audit._spelling import DATE, FLOAT, INTEGER, WORDS, plainly_good
from dask_anon.classes._hashing import text_bytes

KINDS = [
    (INTEGER, pa.int64()),
    (FLOAT, pa.float64()),
    (DATE, pa.date32()),
    (WORDS, pa.string()),
]
PARTS = st.sampled_from(
    [
        *"[]{},-.e+@ ",
        ", ",
        " | missing",
        "missing",
        '"',
        "0",
        "1",
        "23",
        "07",
        "1.5",
        "1e5",
        *"aä\u00a0",
        "2020-01-02",
        "2020-02-30",
        "b c",
    ]
)


def good(texts: list[str | None], spelling: int) -> list[bool]:
    found: np.ndarray = plainly_good(*text_bytes(pa.array(texts, pa.string())), spelling)
    return found.tolist()


@pytest.mark.parametrize("spelling, kind", KINDS)
@given(texts=st.lists(st.lists(PARTS, max_size=9).map("".join), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_what_is_plainly_good_can_be_read(spelling, kind, texts):
    for text, is_good in zip(texts, good(texts, spelling), strict=True):
        assert not is_good or _can_be_read(text, kind), text


def labels(low: object, high: object) -> list[str]:
    return [f"{low}", f"[{low}, {high}]", f"[{low}, {high}] | missing", f"{high} | missing"]


@given(st.integers(-(10**14), 10**14), st.integers(1, 10**6))
@settings(max_examples=50, deadline=None)
def test_intervals_of_integers_are_plainly_good(low, width):
    assert all(good(labels(low, low + width), INTEGER))
    assert not any(good([f"[{low + width}, {low}]"], INTEGER))


@pytest.mark.parametrize(
    "spelling, low, high",
    [
        (FLOAT, "-1.5", "2"),
        (FLOAT, "-2e+10", "1.25e-05"),
        (DATE, "1999-12-28", "2000-01-01"),
    ],
)
def test_other_intervals_are_plainly_good_in_their_order_only(spelling, low, high):
    assert all(good(labels(low, high), spelling))
    assert not any(good([f"[{high}, {low}]"], spelling))


def test_words_and_sets_are_plainly_good():
    assert all(good(["a", "{a, b}", "{a, b c} | missing", "x y", "missing1"], WORDS))
    assert not any(good(["", "{a}", "{a, }", "{a,b}", "{a, b", "missing", "a,b", " a"], WORDS))
