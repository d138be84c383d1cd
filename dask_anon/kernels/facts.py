"""What the whole table tells about a sensitive column, laid out for compiled figures.

A *track* is one column seen for one figure: the shares of its codes and, where the figure asks for
them, how far neighbouring codes lie apart, which tree they hang in, or which numbers they stand
for. All tracks lie in two flat arrays:

    whole   | where track 0 has what | where track 1 has what | ... | above each code | above nodes
    real    | shares | line: P, steps so far, steps x P so far | nodes: height, share | numbers

Two, because compiled code counts the references of every array that it passes on, in each call.
The running sums of the line make a class cost its own distinct values, not those of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dask_anon.kernels.common import Array, compiled

# What `whole` holds of each track: how many codes it has, how many of them occur, how many nodes;
# where the share of code 0, the line of code 0, the node 0 and the number of code 0 are in `real`,
# and where the node above code 0 and the node above node 0 are in `whole`.
N_CODES, N_VALUES, N_NODES, SHARE, LINE, NODE, NUMBER, LEAF, PARENT = range(9)
FIELDS = 9
# A line has three numbers a code: the share of codes up to this one; the steps before it; the same,
# each times the share up to its lower end.
UP_TO, STEPS, MOVED = 0, 1, 2
# A node has two: its height as a share of the tree's, and the share of the table below it.
HEIGHT, WITHIN = 0, 1


class Facts(NamedTuple):
    """All tracks; see the drawing above."""

    whole: Array  # int64
    real: Array  # float64


@dataclass(frozen=True)
class Branches:
    """A tree over codes, for hierarchical distances.

    Attributes
    ----------
    leaf : int64 array
        The node right above each code.
    parent : int64 array
        The node above each node, -1 for the root, which is the last. Nodes come after those below.
    height : float64 array
        The height of each node as a share of the tree's: 1 for the root.
    """

    leaf: Array
    parent: Array
    height: Array


@dataclass(frozen=True, eq=False)
class Track:
    """One sensitive column as one figure sees it.

    Attributes
    ----------
    counts : int64 array
        Records of the whole table with each code.
    steps : float64 array, optional
        How far each code lies from the next one, as a share of the whole range.
    branches : Branches, optional
        The tree over the codes.
    numbers : float64 array, optional
        What each code counts for.
    """

    counts: Array
    steps: Array | None = None
    branches: Branches | None = None
    numbers: Array | None = None


def facts_of(tracks: Sequence[Track]) -> Facts:
    """The tracks in flat arrays; tracks with the very same `counts` share them."""
    places = np.full((len(tracks), FIELDS), -1, np.int64)
    whole, real = _Pile(places.size, np.int64), _Pile(0, np.float64)
    known: dict[int, int] = {}
    for place, track in zip(places, tracks, strict=True):
        shares = track.counts / max(1, int(track.counts.sum()))
        if id(track.counts) not in known:
            known[id(track.counts)] = real.put(shares)
        place[SHARE], place[N_NODES] = known[id(track.counts)], 0
        place[N_CODES], place[N_VALUES] = len(shares), np.count_nonzero(shares)
        if track.steps is not None:
            place[LINE] = real.put(_line_of(track.counts, track.steps))
        if track.branches is not None:
            place[N_NODES] = len(track.branches.parent)
            place[LEAF] = whole.put(track.branches.leaf)
            place[PARENT] = whole.put(track.branches.parent)
            place[NODE] = real.put(_nodes_of(shares, track.branches))
        if track.numbers is not None:
            place[NUMBER] = real.put(track.numbers)
    return Facts(np.concatenate([places.reshape(-1), whole.all()]), real.all())


def no_facts() -> Facts:
    """No track at all."""
    return facts_of([])


class _Pile:
    """Arrays laid one after the other, the first of them at `begin`."""

    def __init__(self, begin: int, dtype: type) -> None:
        self._end = begin
        self._parts: list[Array] = [np.empty(0, dtype)]

    def put(self, part: Array) -> int:
        """Add `part`; returns where it begins."""
        begin = self._end
        self._parts.append(np.asarray(part, self._parts[0].dtype).reshape(-1))
        self._end += self._parts[-1].size
        return begin

    def all(self) -> Array:
        """Everything, in one array."""
        return np.concatenate(self._parts)


def _line_of(counts: Array, steps: Array) -> Array:
    # Counts are summed as integers, so that a class that mirrors the table has exactly its shares.
    up_to = np.cumsum(counts) / max(1, int(counts.sum()))
    line = np.zeros((len(counts), 3))
    line[:, UP_TO] = up_to
    running_sums(np.asarray(steps, np.float64), line[1:, STEPS])
    running_sums(steps * up_to[:-1], line[1:, MOVED])
    return line


def _nodes_of(shares: Array, branches: Branches) -> Array:
    node = np.zeros((len(branches.parent), 2))
    node[:, HEIGHT] = branches.height
    np.add.at(node[:, WITHIN], branches.leaf, shares)
    for n, above in enumerate(branches.parent):
        if above >= 0:
            node[above, WITHIN] += node[n, WITHIN]
    return node


@compiled
def running_sums(values, out):
    """out[i] = sum of values[: i + 1], compensated (Neumaier, 1974): many terms lose nothing."""
    total, lost = 0.0, 0.0
    for i in range(values.size):
        value = values[i]
        new = total + value
        lost += (total - new) + value if abs(total) >= abs(value) else (value - new) + total
        total = new
        out[i] = total + lost
