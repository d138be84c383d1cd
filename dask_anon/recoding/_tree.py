"""The top of the tree of cuts as arrays: small enough for the driver, and for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dask_anon.kernels.common import Array
from dask_anon.kernels.tree import route
from dask_anon.kernels.vector import LANES


@dataclass(frozen=True)
class CutTree:
    """Cuts from the root down to regions, both children named.

    Records whose (code, key) is <= (threshold, key) go left. A leaf has attribute -1 and the
    `number` of its region, counted from left to right.
    """

    attribute: Array
    threshold: Array
    key: Array
    left: Array
    right: Array
    number: Array

    @property
    def cuts(self) -> tuple[Array, ...]:
        """What routing needs."""
        return self.attribute, self.threshold, self.key, self.left, self.right

    @property
    def n_regions(self) -> int:
        """Number of leaves."""
        return int(self.number.max()) + 1

    def regions_of(self, rows: Array, keys: Array) -> Array:
        """Region of every record; `rows` is (records, attributes), `keys` may be empty."""
        flat = np.concatenate([rows.reshape(-1), np.zeros(LANES, rows.dtype)])
        regions = np.empty(len(rows), np.int32)
        route(flat, rows.shape[1], keys, self.cuts, self.number, regions)
        return regions

    def to_json(self) -> dict[str, Any]:
        """Plain lists."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, stored: dict[str, Any], dtype: str) -> CutTree:
        """Read what `to_json` gave."""
        types = ("int16", dtype, "uint64", "int32", "int32", "int32")
        names = cls.__dataclass_fields__
        return cls(*(np.array(stored[n], t) for n, t in zip(names, types, strict=True)))
