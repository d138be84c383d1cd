"""What the whole table tells about a sensitive column, laid out for compiled figures.

A *track* is one column seen for one figure: the shares of its codes and, where the figure asks for
them, how far neighbouring codes lie apart, which tree they hang in, or which numbers they stand
for. All tracks lie in a few flat arrays:

    share    | track 0: p0 p1 p2 | track 1: p0 p1 | ...
    line     | P, steps so far, steps x P so far, of tracks with an order
    leaf     | the node above each code, of tracks with a tree;   node: height, share
    number   | what each code counts for, of tracks with numbers

The running sums of ``line`` make a class cost its own distinct values, not those of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dask_anon.kernels.common import Array, compiled

# Columns of Facts.first and of Facts.size.
SHARE, LINE, LEAF, NODE, NUMBER = 0, 1, 2, 3, 4
VALUES, NODES = 0, 1
# Columns of Facts.line and of Facts.node.
UP_TO, STEPS, MOVED = 0, 1, 2
HEIGHT, WITHIN = 0, 1


class Facts(NamedTuple):
    """All tracks in flat arrays; see the drawing above.

    Attributes
    ----------
    first : int64 array, (tracks, 5)
        Where a track begins in `share`, `line`, `leaf`, `node` and `number`; -1: it is not there.
    size : int64 array, (tracks, 2)
        Codes and nodes of a track.
    share : float64 array
        The share of the table's records that have a code.
    line : float64 array, (codes, 3)
        The share of codes up to this one; the steps before it; the steps before it, each times the
        share up to its lower end.
    leaf : int64 array
        The node right above a code.
    node_parent : int64 array
        The node above a node, -1 for the root. Nodes come in the order of their height.
    node : float64 array, (nodes, 2)
        The height of a node as a share of the tree's, and the table's share below it.
    number : float64 array
        What a code counts for.
    """

    first: Array
    size: Array
    share: Array
    line: Array
    leaf: Array
    node_parent: Array
    node: Array
    number: Array


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
    first = np.full((len(tracks), 5), -1, np.int64)
    size = np.zeros((len(tracks), 2), np.int64)
    share, line, leaf = _Pile(np.empty(0)), _Pile(np.empty((0, 3))), _Pile(np.empty(0, np.int64))
    parent, node = _Pile(np.empty(0, np.int64)), _Pile(np.empty((0, 2)))
    number = _Pile(np.empty(0))
    known: dict[int, tuple[Array, int]] = {}
    for t, track in enumerate(tracks):
        shares, at = known.get(id(track.counts), (None, -1))
        if shares is None:
            shares = track.counts / max(1, int(track.counts.sum()))
            at = share.put(shares)
            known[id(track.counts)] = shares, at
        first[t, SHARE], size[t, VALUES] = at, len(shares)
        if track.steps is not None:
            first[t, LINE] = line.put(_line_of(track.counts, track.steps))
        if track.branches is not None:
            first[t, LEAF] = leaf.put(track.branches.leaf)
            first[t, NODE] = parent.put(track.branches.parent)
            size[t, NODES] = len(track.branches.parent)
            node.put(_nodes_of(shares, track.branches))
        if track.numbers is not None:
            first[t, NUMBER] = number.put(track.numbers)
    return Facts(
        first, size, share.all(), line.all(), leaf.all(), parent.all(), node.all(), number.all()
    )


def no_facts() -> Facts:
    """No track at all."""
    return facts_of([])


class _Pile:
    """Arrays laid one after the other."""

    def __init__(self, empty: Array) -> None:
        self._parts, self._size = [empty], 0

    def put(self, part: Array) -> int:
        """Add `part`; returns where it begins."""
        begin = self._size
        self._parts.append(np.asarray(part, self._parts[0].dtype))
        self._size += len(part)
        return begin

    def all(self) -> Array:
        """Everything, in one array."""
        return np.ascontiguousarray(np.concatenate(self._parts))


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
