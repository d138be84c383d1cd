"""The top of the tree: the driver cuts on merged summaries until every region fits a task.

    all records ──cut age──▶ region ──cut zip──▶ region 0    fits: finished alone by a task
                │                      └───────▶ region 1
                └──────────▶ region ───────────▶ region 2    no cut is allowed: already a class

One pass a level reads the codes of every partition once and brings back counts, extents and
histograms of a bracket in which a sample expects the medians. Where the guess misses or a bin holds
several values, a further pass narrows it: medians are exact, the sample decides how many passes
there are and nothing else.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dask_anon.algorithms.mondrian import (
    Cut,
    Question,
    Rank,
    RankSearch,
    attribute_order,
    attribute_spans,
    find_cut,
    tied_attributes,
)
from dask_anon.engine.encode import Coding, Encoded
from dask_anon.engine.execute import reduce
from dask_anon.kernels import tree as kernels
from dask_anon.kernels.common import EVERY_KEY, Array, Scale
from dask_anon.kernels.measures import Facts
from dask_anon.kernels.rules import Rules, counts_hold
from dask_anon.kernels.vector import LANES
from dask_anon.recoding import CutTree

_REFINE_BINS = 1024
_MIN_BINS = 64


@dataclass(frozen=True)
class Limits:
    """What bounds the work of one task."""

    region_rows: int
    bins: int
    summary_bytes: int


@dataclass
class Top:
    """The cuts made so far. Leaves are numbered in the order of the tree once it is complete."""

    attribute: list[int] = field(default_factory=lambda: [-1])
    threshold: list[int] = field(default_factory=lambda: [0])
    key: list[int] = field(default_factory=lambda: [int(EVERY_KEY)])
    left: list[int] = field(default_factory=lambda: [0])
    right: list[int] = field(default_factory=lambda: [0])
    n_records: list[int] = field(default_factory=lambda: [0])
    extents: dict[int, Extents] = field(default_factory=dict)
    passes: int = 0

    def cut(self, node: int, cut: Cut) -> tuple[int, int]:
        """Cut a leaf; its two children."""
        self.attribute[node], self.threshold[node] = cut.attribute, cut.threshold
        self.key[node] = cut.key
        for side, n in ((self.left, cut.n_left), (self.right, self.n_records[node] - cut.n_left)):
            side[node] = len(self.attribute)
            self.attribute.append(-1)
            self.threshold.append(0)
            self.key.append(int(EVERY_KEY))
            self.left.append(0)
            self.right.append(0)
            self.n_records.append(n)
        return self.left[node], self.right[node]

    def leaves(self) -> Iterator[int]:
        """The leaves, left before right."""
        stack = [0]
        while stack:
            node = stack.pop()
            if self.attribute[node] < 0:
                yield node
            else:
                stack += [self.right[node], self.left[node]]

    def frozen(self, dtype: str) -> CutTree:
        """The tree as arrays, leaves numbered."""
        number = np.full(len(self.attribute), -1, np.int32)
        for i, node in enumerate(self.leaves()):
            number[node] = i
        return CutTree(
            np.array(self.attribute, np.int16),
            np.array(self.threshold, np.dtype(dtype)),
            np.array(self.key, np.uint64),
            np.array(self.left, np.int32),
            np.array(self.right, np.int32),
            number,
        )


@dataclass(frozen=True)
class Extents:
    """What a region that is a class covers."""

    low: Array
    high: Array
    present_high: Array
    labels: tuple[Array, ...]  # codes seen, for nominal attributes; empty for others


@dataclass(frozen=True)
class Ask:
    """How the policy wants regions to be cut."""

    k: int
    ties: int
    region_ties: bool
    distinct_cap: int


Search = Generator[Question | Cut, Any, Cut | None]


def grow(coding: Coding, encoded: Encoded, scale: Scale, ask: Ask, limits: Limits) -> Top:
    """Cut until every region has at most `limits.region_rows` records or is a class."""
    top = Top(n_records=[encoded.total])
    sample = _Sample(encoded.sample)
    level = [0]
    while True:
        level = [
            n
            for n in level
            if top.n_records[n] > limits.region_rows and top.n_records[n] >= 2 * ask.k
        ]
        if not level:
            return top
        children: list[int] = []
        for batch, bins in _batches(level, scale, coding, limits):
            for node, cut in _decide(coding, encoded, scale, ask, top, batch, bins, sample):
                if cut is not None:
                    children += top.cut(node, cut)
                    sample.cut(node, cut, top.left[node], top.right[node])
        level = children


class _Sample:
    """The sampled records of every open region."""

    def __init__(self, rows: Array) -> None:
        self._rows = {0: rows}

    def bracket(self, node: int, j: int, low: int, high: int, bins: int) -> tuple[int, int]:
        """Base and shift of `bins` bins around the median of attribute `j`, by the sample."""
        values = np.sort(self._rows[node][:, j])
        n = len(values)
        if high - low >= bins and n >= 32:
            # Two and a half standard errors of a sample median on either side.
            reach = int(1.25 * n**0.5) + 2
            low = max(low, int(values[max(n // 2 - reach, 0)]))
            high = min(high, int(values[min(n // 2 + reach, n - 1)]))
        high = max(low, high)
        return low, max(0, (high - low).bit_length() - (bins.bit_length() - 1))

    def cut(self, node: int, cut: Cut, left: int, right: int) -> None:
        rows = self._rows.pop(node)
        # Where a key decides, the sample need not follow: it only guides the guess.
        goes_left = rows[:, cut.attribute] <= cut.threshold
        self._rows[left], self._rows[right] = rows[goes_left], rows[~goes_left]


def _batches(
    level: list[int], scale: Scale, coding: Coding, limits: Limits
) -> Iterator[tuple[list[int], int]]:
    """Regions whose summaries are taken in one pass, and the bins they can afford."""
    rules = coding.rules()
    fixed = int(scale.n_codes.sum()) + (16 * int(rules[0].first[-1]) if rules else 0)
    bins = limits.bins
    while (
        bins > _MIN_BINS
        and len(level) * (scale.n_attributes * bins * 4 + fixed) > limits.summary_bytes
    ):
        bins //= 2
    size = max(1, limits.summary_bytes // (scale.n_attributes * bins * 4 + fixed))
    for i in range(0, len(level), size):
        yield level[i : i + size], bins


def _decide(
    coding: Coding, encoded: Encoded, scale: Scale, ask: Ask,
    top: Top, nodes: list[int], bins: int, sample: _Sample,
) -> Iterator[tuple[int, Cut | None]]:  # fmt: skip
    """The cut of every node, or None where it is a class."""
    d, n_parts = scale.n_attributes, len(encoded.n_records)
    base, shift = np.zeros((len(nodes), d), np.uint64), np.zeros((len(nodes), d), np.uint64)
    for s, node in enumerate(nodes):
        for j in range(d):
            base[s, j], shift[s, j] = sample.bracket(
                node, j, int(encoded.low[j]), int(encoded.high[j]), bins
            )
    routing = _Routing(top, nodes, coding.dtype)
    found = reduce(
        "tree",
        [
            (_survey, coding, p, routing, scale, encoded.n_missing > 0, base, shift, bins)
            for p in range(n_parts)
        ],
        _merge_surveys,
    )
    top.passes += 1
    spans = [
        attribute_spans(found.low[s], found.high[s], found.n_labels[s], scale)
        for s in range(len(nodes))
    ]
    distinct: list[dict[int, int] | None] = [None] * len(nodes)
    if ask.region_ties and any(tied_attributes(own) for own in spans):
        distinct = _count_distinct(coding, n_parts, routing, spans, ask.distinct_cap)
        top.passes += 1
    answers = _Answers(coding, n_parts, routing, found, base, shift)
    searches: dict[int, Search] = {}
    for s, node in enumerate(nodes):
        if found.count[s] != top.n_records[node]:
            raise RuntimeError(
                "a region lost or gained records: its partitions were read differently"
            )
        order = attribute_order(spans[s], scale.priority.tolist(), distinct[s])
        searches[s] = find_cut(
            top.n_records[node], k=ask.k, ties=ask.ties, order=order,
            has_rules=bool(coding.sensitive),
        )  # fmt: skip
    cuts = answers.drive(searches)
    top.passes += answers.passes
    for s, node in enumerate(nodes):
        if cuts[s] is None:
            top.extents[node] = found.extents_of(s, scale)
        yield node, cuts[s]


@dataclass(frozen=True)
class _Routing:
    """The tree as tasks need it: arrays, and the slot of every open region."""

    arrays: tuple[Array, ...]
    slot_of_node: Array
    n_slots: int

    def __init__(self, top: Top, nodes: Sequence[int], dtype: str) -> None:
        slots = np.full(len(top.attribute), -1, np.int32)
        slots[list(nodes)] = np.arange(len(nodes))
        object.__setattr__(self, "arrays", top.frozen(dtype).cuts)
        object.__setattr__(self, "slot_of_node", slots)
        object.__setattr__(self, "n_slots", len(nodes))

    def slots(self, coding: Coding, p: int) -> tuple[Array, Array, Array]:
        """Codes, keys and the slots of the records of a partition."""
        codes, keys = coding.codes(p), coding.keys(p)
        slots = np.empty((codes.size - LANES) // coding.n_columns, np.int32)
        kernels.route(codes, coding.n_columns, keys, self.arrays, self.slot_of_node, slots)
        return codes, keys, slots


@dataclass(frozen=True)
class _Survey:
    count: Array
    low: Array
    high: Array
    present_high: Array
    seen: Array  # bits
    below: Array
    histogram: Array
    label_start: Array

    @property
    def n_labels(self) -> Array:
        """Distinct labels of every region and attribute."""
        seen = self._seen()
        starts = self.label_start
        return np.array([[row[a:b].sum() for a, b in pairwise(starts)] for row in seen])

    def _seen(self) -> Array:
        return np.unpackbits(self.seen, axis=1, count=int(self.label_start[-1]))

    def extents_of(self, s: int, scale: Scale) -> Extents:
        seen, starts = self._seen()[s], self.label_start
        labels = tuple(
            np.flatnonzero(seen[starts[j] : starts[j + 1]]) for j in range(scale.n_attributes)
        )
        only_missing = self.low[s] == scale.missing
        present = np.where(self.high[s] == scale.missing, self.present_high[s], self.high[s])
        present = np.where(only_missing, self.low[s] - np.uint64(1), present)
        return Extents(self.low[s], self.high[s], present, labels)


def _survey(
    coding: Coding,
    p: int,
    routing: _Routing,
    scale: Scale,
    has_missing: Array,
    base: Array,
    shift: Array,
    bins: int,
) -> _Survey:
    codes, _, slots = routing.slots(coding, p)
    m, d = routing.n_slots, coding.n_attributes
    blocks = -(-d // LANES)
    label_start = np.concatenate([[0], np.cumsum(scale.n_codes)]).astype(np.int64)
    count, present_high = np.zeros(m, np.int64), np.zeros((m, d), np.uint64)
    extents = np.empty((m, blocks, 2, LANES), codes.dtype)
    extents[:, :, 0], extents[:, :, 1] = np.iinfo(codes.dtype).max, 0
    seen = np.zeros((m, int(label_start[-1])), np.uint8)
    below, histogram = np.zeros((m, d), np.int64), np.zeros((m, d, bins), np.int32)
    kernels.survey(
        codes, coding.n_columns, d, slots, has_missing, scale.missing, label_start,
        base, shift, count, extents.reshape(-1, LANES), present_high, seen, below, histogram,
    )  # fmt: skip
    ends = extents.transpose(2, 0, 1, 3).reshape(2, m, blocks * LANES)[:, :, :d].astype(np.uint64)
    ends[0][count == 0] = 2**64 - 1
    return _Survey(
        count,
        ends[0],
        ends[1],
        present_high,
        np.packbits(seen, axis=1),
        below,
        histogram,
        label_start,
    )


def _merge_surveys(results: list[_Survey]) -> _Survey:
    first, *others = results
    if not others:
        return first
    histogram = first.histogram.astype(np.int64)
    for other in others:
        histogram += other.histogram
    return _Survey(
        np.sum([r.count for r in results], axis=0),
        np.min([r.low for r in results], axis=0),
        np.max([r.high for r in results], axis=0),
        np.max([r.present_high for r in results], axis=0),
        np.bitwise_or.reduce([r.seen for r in results], axis=0),
        np.sum([r.below for r in results], axis=0),
        histogram,
        first.label_start,
    )


class _Answers:
    """Answers the regions' questions: from the survey's brackets, else by shared passes."""

    def __init__(
        self,
        coding: Coding,
        n_parts: int,
        routing: _Routing,
        found: _Survey,
        base: Array,
        shift: Array,
    ) -> None:
        self._coding, self._n_parts, self._routing = coding, n_parts, routing
        self._found, self._base, self._shift = found, base, shift
        self.passes = 0

    def drive(self, searches: dict[int, Search]) -> dict[int, Cut | None]:
        cuts: dict[int, Cut | None] = {}
        open_: dict[int, tuple[Question, RankSearch]] = {}
        proposed: dict[int, Cut] = {}

        def advance(s: int, answer: Rank | bool | None) -> None:
            open_.pop(s, None)
            while True:
                try:
                    # A generator starts with None and is then sent each answer.
                    question = searches[s].send(answer)
                except StopIteration as stop:
                    cuts[s] = stop.value
                    return
                if isinstance(question, Cut):
                    proposed[s] = question
                    return
                search, answer = self._begin(s, question)
                if answer is None:
                    open_[s] = question, search
                    return

        for s in searches:
            advance(s, None)
        while open_ or proposed:
            if open_:
                histogram = self._pass(open_)
                for s, (_, search) in list(open_.items()):
                    answer = search.narrow(histogram[s])
                    if answer is not None:
                        advance(s, answer)
            if proposed:
                # All proposals of all regions so far, so that they share the pass.
                judged = self._judge(proposed)
                proposed.clear()
                for s, holds in judged.items():
                    advance(s, holds)
        return cuts

    def _judge(self, proposed: dict[int, Cut]) -> dict[int, bool]:
        """Whether both sides of each cut keep the rules."""
        m = self._routing.n_slots
        attribute = np.full(m, -1, np.int64)
        threshold, key = np.zeros(m, np.uint64), np.zeros(m, np.uint64)
        for s, cut in proposed.items():
            attribute[s], threshold[s], key[s] = cut.attribute, cut.threshold, cut.key
        self.passes += 1
        arguments = (self._routing, attribute, threshold, key)
        counts = reduce(
            "tree",
            [(_sides, self._coding, p, *arguments) for p in range(self._n_parts)],
            _sum,
        )
        rules, facts = _rules_of(self._coding)
        n_records = self._found.count
        return {
            s: all(
                counts_hold(size, counts[s, side], rules, facts)
                for side, size in enumerate((cut.n_left, int(n_records[s]) - cut.n_left))
            )
            for s, cut in proposed.items()
        }

    def _begin(self, s: int, question: Question) -> tuple[RankSearch, Rank | None]:
        j, found = question.attribute, self._found
        if question.among is not None:
            return RankSearch(question.rank, 0, 2**64 - 1, _REFINE_BINS), None
        search = RankSearch(
            question.rank, int(found.low[s, j]), int(found.high[s, j]), _REFINE_BINS
        )
        answer = search.start_from(
            int(self._base[s, j]),
            int(self._shift[s, j]),
            int(found.below[s, j]),
            found.histogram[s, j],
        )
        return search, answer if isinstance(answer, Rank) else None

    def _pass(self, asked: dict[int, tuple[Question, RankSearch]]) -> Array:
        m = self._routing.n_slots
        attribute, by_key = np.full(m, -1, np.int64), np.zeros(m, np.bool_)
        among, base, shift = (np.zeros(m, np.uint64) for _ in range(3))
        for s, (question, search) in asked.items():
            attribute[s], base[s], shift[s] = question.attribute, search.base, search.shift
            if question.among is not None:
                by_key[s], among[s] = True, question.among
        self.passes += 1
        arguments = (self._routing, attribute, among, by_key, base, shift)
        return reduce(
            "tree",
            [(_histogram, self._coding, p, *arguments) for p in range(self._n_parts)],
            _sum,
        )


def _histogram(
    coding: Coding, p: int, routing: _Routing,
    attribute: Array, among: Array, by_key: Array, base: Array, shift: Array,
) -> Array:  # fmt: skip
    codes, keys, slots = routing.slots(coding, p)
    histogram = np.zeros((routing.n_slots, _REFINE_BINS), np.int64)
    kernels.histogram_of(
        codes, coding.n_columns, slots, keys, attribute, among, by_key, base, shift, histogram
    )
    return histogram


def _rules_of(coding: Coding) -> tuple[Rules, Facts]:
    """The rules, of which there are some where a cut is judged."""
    rules = coding.rules()
    assert rules is not None
    return rules


def _sides(
    coding: Coding, p: int, routing: _Routing, attribute: Array, threshold: Array, key: Array
) -> Array:
    codes, keys, slots = routing.slots(coding, p)
    rules, _ = _rules_of(coding)
    counts = np.zeros((routing.n_slots, 2, int(rules.first[-1])), np.int64)
    kernels.count_sides(
        codes, coding.n_columns, coding.n_attributes, slots, keys,
        attribute, threshold, key, rules.n_codes, rules.first, counts,
    )  # fmt: skip
    return counts


def _sum(results: list[Array]) -> Array:
    return np.sum(results, axis=0)


def _count_distinct(
    coding: Coding, n_parts: int, routing: _Routing, spans: list[list[float]], cap: int
) -> list[dict[int, int] | None]:
    """Distinct values in every region of the attributes whose spans tie, at most `cap`."""
    wanted = [tied_attributes(own) for own in spans]
    sets = reduce(
        "tree",
        [(_distinct, coding, p, routing, wanted, cap) for p in range(n_parts)],
        partial(_merge_distinct, cap=cap),
    )
    return [{j: min(len(values), cap) for j, values in own.items()} for own in sets]


def _distinct(
    coding: Coding, p: int, routing: _Routing, wanted: list[list[int]], cap: int
) -> list[dict[int, Any]]:
    codes, _, slots = routing.slots(coding, p)
    rows = codes[:-LANES].reshape(-1, coding.n_columns)
    # A region with more than `cap` values here has as many in all, whichever of them are kept.
    return [{j: np.unique(rows[slots == s, j])[:cap] for j in own} for s, own in enumerate(wanted)]


def _merge_distinct(results: list[list[dict[int, Any]]], *, cap: int) -> list[dict[int, Any]]:
    return [
        {j: np.unique(np.concatenate([r[s][j] for r in results]))[:cap] for j in own}
        for s, own in enumerate(results[0])
    ]
