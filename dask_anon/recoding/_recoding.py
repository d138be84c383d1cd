"""A recoding: from a record's quasi-identifiers to its equivalence class and what is shown of it.

    record ──encode──▶ codes ──top of the tree──▶ region ──subtree──▶ class ──▶ labels

What `fit` learned is frozen here. The top of the tree is small and in memory; the regions' subtrees
and classes stay in a directory, written by the tasks that made them, and are read when records fall
into them. It belongs to the data holder: it says more about the people than the release does.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dask_anon.errors import AnonError, DataError
from dask_anon.hierarchy import Domain
from dask_anon.kernels.common import Array
from dask_anon.kernels.mondrian import Subtree
from dask_anon.kernels.tree import route_subtree
from dask_anon.policy import Policy
from dask_anon.recoding import _classes
from dask_anon.recoding._codes import encode_table, load_domains, record_keys, save_domains
from dask_anon.recoding._labels import as_series, bounds_of_records, released
from dask_anon.recoding._pseudonyms import pseudonyms
from dask_anon.recoding._tables import table_from_frame
from dask_anon.recoding._tree import CutTree

FORMAT = 1


@dataclass(frozen=True)
class Recoding:
    """What `fit` learned: apply it to put records into their equivalence classes.

    Attributes
    ----------
    policy : Policy
    columns : tuple of str
        The columns of the data it was fitted on, in order.
    domains : tuple of Domain
        One a quasi-identifier, in policy order.
    n_records, n_classes, passes : int
        Records and classes found, and passes over the codes that the tree took.
    path : str
        Directory of the regions' subtrees and classes.

    Notes
    -----
    `apply` is O(records x depth of the tree) and reads each region's classes once a partition.
    """

    policy: Policy
    columns: tuple[str, ...]
    domains: tuple[Domain, ...] = field(repr=False)
    dtype: str
    key_columns: tuple[str, ...] = field(repr=False)
    tree: CutTree = field(repr=False)
    n_records: int
    n_classes: int
    smallest_class: int
    passes: int
    path: str
    owner: Any = field(default=None, repr=False, compare=False)  # keeps a temporary directory alive

    def __str__(self) -> str:
        return (
            f"{self.n_records:,} records in {self.n_classes:,} equivalence classes "
            f"(smallest {self.smallest_class:,}); {self.tree.n_regions:,} regions, "
            f"{self.passes:,} passes over the codes"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "owner": None}

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return type(self).__name__, self.path, *_version(self.path)

    def apply(self, data: Any) -> Any:
        """Replace the quasi-identifiers of a table by what their classes show.

        Parameters
        ----------
        data : pandas or Dask DataFrame
            Records like those the recoding was fitted on.

        Returns
        -------
        pandas or Dask DataFrame
            As `data`: rows in order, with their index; identifiers are dropped or pseudonymized. A
            Dask frame stays lazy and keeps its divisions.

        Raises
        ------
        DataError
            A column is missing, or records lie outside the classes that `fit` found.
        """
        if isinstance(data, pd.DataFrame):
            return self._apply_frame(data)
        if hasattr(data, "map_partitions"):
            return data.map_partitions(self._apply_frame, meta=self._apply_frame(data._meta))
        raise AnonError(f"apply takes a pandas or a Dask DataFrame, found {type(data).__name__}.")

    def classes_of(self, table: pa.Table) -> list[tuple[int, Array, Array]]:
        """(region, records, their class in the region) for every region that records fall into."""
        rows = encode_table(table, self.domains, np.dtype(self.dtype))
        self._refuse_new_missing(rows)
        keys = np.empty(0, np.uint64)
        if self.key_columns:
            keys = record_keys(table, self.key_columns, self.policy.seed)
        regions = self.tree.regions_of(rows, keys)
        found = []
        n_outside = [0] * len(self.domains)
        for region in np.unique(regions):
            records = np.flatnonzero(regions == region)
            subtree, region_classes, class_of_node = self._region(int(region))
            classes = np.empty(len(rows), np.int64)
            route_subtree(
                rows, keys, subtree.attribute, subtree.threshold, subtree.key, subtree.right,
                class_of_node, records, classes,
            )  # fmt: skip
            found.append((int(region), records, classes[records]))
            for j, bounds in enumerate(region_classes.bounds):
                n_outside[j] += bounds.n_outside(
                    rows[records, j], classes[records], self.domains[j].missing_code
                )
        self._refuse_outside(n_outside)
        return found

    def _apply_frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        _same_columns(self.columns, list(frame.columns))
        table = table_from_frame(frame, self._needed())
        regions = [
            (records, classes, self._region(region)[1])
            for region, records, classes in self.classes_of(table)
        ]
        bounds = bounds_of_records(regions, len(frame), self.domains)
        shown = {
            domain.column: released(domain, self.policy.format_of(domain.column), own)
            for domain, own in zip(self.domains, bounds, strict=True)
        }
        bound = self.policy.bind(self.columns, default_role="insensitive")
        columns: dict[str, Any] = {}
        for name in bound.released:
            if name in shown:
                for array, field_ in zip(shown[name].arrays, shown[name].fields, strict=True):
                    columns[field_.name] = as_series(array, field_, frame.index)
            elif name in bound.identifiers_pseudonymized:
                values = table_from_frame(frame, [name]).column(name)
                hidden = pseudonyms(values, self.policy.key_of(name))
                field_ = pa.field(name, hidden.type)
                columns[name] = as_series(hidden, field_, frame.index)
            else:
                columns[name] = frame[name]
        return pd.DataFrame(columns, index=frame.index)

    def _refuse_new_missing(self, rows: Array) -> None:
        # No class says that it holds missing values there, so the release would hide them.
        counts = {
            domain.column: np.count_nonzero(rows[:, j] == domain.missing_code)
            for j, domain in enumerate(self.domains)
            if not domain.has_missing
        }
        found = [f"{column!r} ({n:,})" for column, n in counts.items() if n]
        if found:
            raise DataError(
                f"the data has missing values where there were none: {', '.join(found)}, compared "
                "with the data the recoding was fitted on. Fill them, or fit again."
            )

    def _refuse_outside(self, n_outside: Sequence[int]) -> None:
        # Classes show what their members had; a label that does not hold its record would lie.
        found = [
            f"{domain.column!r} ({n:,})"
            for domain, n in zip(self.domains, n_outside, strict=True)
            if n
        ]
        if found:
            raise DataError(
                f"the data has records that their equivalence classes do not cover: "
                f"{', '.join(found)}. The recoding was fitted without them: fit again."
            )

    def _region(self, region: int) -> tuple[Subtree, _classes.RegionClasses, Array]:
        nominal = tuple(domain.kind == "nominal" for domain in self.domains)
        return _region(self.path, _version(self.path), region, nominal)

    def _needed(self) -> list[str]:
        return list(dict.fromkeys([*(d.column for d in self.domains), *self.key_columns]))

    def save(self, path: str) -> None:
        """Write the recoding into the directory `path`, which must not exist."""
        shutil.copytree(self.path, path)
        self.write_description(path)

    def write_description(self, path: str) -> None:
        """Write what is not per region into `path`: ``recoding.json`` and the domains."""
        save_domains(os.path.join(path, "domains"), self.domains)
        description = {
            "format": FORMAT,
            "policy": self.policy.to_manifest(),
            "columns": list(self.columns),
            "dtype": self.dtype,
            "key_columns": list(self.key_columns),
            "n_records": self.n_records,
            "n_classes": self.n_classes,
            "smallest_class": self.smallest_class,
            "passes": self.passes,
            "tree": self.tree.to_json(),
        }
        with open(os.path.join(path, "recoding.json"), "w", encoding="utf-8") as file:
            json.dump(description, file, indent=1)

    @classmethod
    def load(cls, path: str, policy: Policy | None = None) -> Recoding:
        """Read a recoding from its directory.

        Parameters
        ----------
        path : str
            ``<release>.recoding``.
        policy : Policy, optional
            Needed where identifiers are pseudonymized: a recoding never holds a key.
        """
        file = os.path.join(path, "recoding.json")
        try:
            with open(file, encoding="utf-8") as stream:
                stored = json.load(stream)
            return cls(
                policy=policy or Policy.from_manifest(stored["policy"]),
                columns=tuple(stored["columns"]),
                domains=load_domains(os.path.join(path, "domains")),
                dtype=str(np.dtype(stored["dtype"])),
                key_columns=tuple(stored["key_columns"]),
                tree=CutTree.from_json(stored["tree"], stored["dtype"]),
                n_records=stored["n_records"],
                n_classes=stored["n_classes"],
                smallest_class=stored["smallest_class"],
                passes=stored["passes"],
                path=path,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AnonError(
                f"{path!r} is not a recoding: {file!r} cannot be read ({type(error).__name__}). "
                "Name the directory that a run left beside its release."
            ) from error


def _version(path: str) -> tuple[int, int]:
    """Tells a recoding from another that stood at this path before."""
    found = os.stat(os.path.join(path, "recoding.json"))
    return found.st_ino, found.st_mtime_ns


@lru_cache(maxsize=8)
def _region(
    path: str, version: tuple[int, int], region: int, nominal: tuple[bool, ...]
) -> tuple[Subtree, _classes.RegionClasses, Array]:
    subtree, classes = _classes.load_region(path, region, nominal)
    return subtree, classes, _classes.class_of_nodes(subtree)


def _same_columns(expected: Sequence[str], found: Sequence[str]) -> None:
    missing = [name for name in expected if name not in set(found)]
    added = [name for name in found if name not in set(expected)]
    if missing or added:
        said = [f"lacks {missing}"] if missing else []
        said += [f"has {added} more"] if added else []
        raise DataError(
            f"the data {' and '.join(said)} compared with the data the recoding was fitted on. "
            "Give it the same columns."
        )
