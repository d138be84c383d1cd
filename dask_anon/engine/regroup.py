"""Regroup: the codes of a region come together, and nothing else moves.

    partition p ──counting sort──▶ segments.p       | region 0 | region 1 | ...   codes
                                   segment-keys.p   likewise, where ties are divided
                                   regions.p        region of every record, in its own order

A record's place in its segment follows from `regions.p`, so no record id travels, and answers that
are written in segment order find back.
"""

from __future__ import annotations

import numpy as np

from dask_anon.engine.encode import Coding
from dask_anon.engine.execute import compute
from dask_anon.kernels.common import Array
from dask_anon.kernels.segments import offsets_of, places_of, scatter_rows
from dask_anon.kernels.vector import LANES
from dask_anon.recoding import CutTree


def regroup(coding: Coding, tree: CutTree, n_parts: int) -> Array:
    """Sort every partition by region.

    Returns
    -------
    int64 array, shape (partitions, regions + 1)
        Where each region's segment begins in each partition.
    """
    offsets = compute("regroup", [(_regroup, coding, tree, p) for p in range(n_parts)])
    return np.array(offsets, np.int64).reshape(n_parts, tree.n_regions + 1)


def region_dtype(n_regions: int) -> np.dtype[np.signedinteger]:
    """Type of a region's number in `regions.p`."""
    return np.dtype(np.int16 if n_regions <= 2**15 else np.int32)


def places(coding: Coding, p: int, offsets: Array) -> Array:
    """Where every record of a partition stands in its segment file."""
    regions = coding.scratch.read(f"regions.{p}", region_dtype(len(offsets) - 1))
    found = np.empty(len(regions), np.uint32)
    places_of(regions, offsets, found)
    return found


def _regroup(coding: Coding, tree: CutTree, p: int) -> Array:
    codes, keys = coding.codes(p), coding.keys(p)
    rows = codes[:-LANES].reshape(-1, coding.n_columns)
    regions = tree.regions_of(rows, keys).astype(region_dtype(tree.n_regions))
    offsets = np.empty(tree.n_regions + 1, np.int64)
    offsets_of(regions, offsets)
    place = np.empty(len(rows), np.uint32)
    places_of(regions, offsets, place)
    segments = np.empty_like(rows)
    scatter_rows(rows, regions, place, segments)
    coding.scratch.publish(f"segments.{p}", segments)
    if keys.size:
        sorted_keys = np.empty_like(keys)
        sorted_keys[place] = keys
        coding.scratch.publish(f"segment-keys.{p}", sorted_keys)
    coding.scratch.publish(f"regions.{p}", regions)
    return offsets
