"""The same sample of records from a pandas frame and from any partitions of it.

    lengths of the partitions ──▶ positions drawn from 0 … n-1 ──▶ those rows of each partition

The draw knows positions only, so it depends on the seed and the order of the records, never on
where a partition ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dask_anon.errors import AnonError, DataError
from dask_anon.metrics._steps import Steps

if TYPE_CHECKING:
    from dask_anon.policy import Policy


@dataclass(frozen=True, eq=False)
class Sample:
    """Records that were drawn, in the order of the table, and how many there were."""

    records: pd.DataFrame
    n_records: int


def sample_of(steps: Steps, frame: Any, columns: Sequence[str], size: int, seed: int) -> Any:
    """Draw at most `size` records without replacement: a `Sample`, or a task that gives one."""
    # Both readings in the same way: Dask joins small files to partitions, and which of them depends
    # on what is done with them.
    counted = steps.parts(frame, columns, after=steps(_nothing))
    lengths = steps(list, [steps(len, part) for part in counted])
    positions = steps(draw, lengths, size, seed)
    parts = steps.parts(frame, columns, after=positions)
    taken = [steps(_take, part, lengths, positions, i) for i, part in enumerate(parts)]
    return steps(_together, taken, lengths)


def _nothing() -> None:
    """What a first reading waits for."""


def draw(lengths: Sequence[int], size: int, seed: int) -> list[NDArray[np.int64]]:
    """Positions of `size` of all records, ascending, as positions within each partition."""
    ends = np.cumsum(lengths, dtype=np.int64)
    n_records = int(ends[-1])
    if n_records > size:
        generator = np.random.default_rng(seed)
        chosen = np.sort(generator.choice(n_records, size, replace=False, shuffle=False))
    else:
        chosen = np.arange(n_records)
    starts = ends - np.asarray(lengths, np.int64)
    cuts = np.searchsorted(chosen, ends[:-1])
    return [part - start for part, start in zip(np.split(chosen, cuts), starts, strict=True)]


def quasi_identifiers_of(policy: Policy | Sequence[str]) -> list[str]:
    """Columns that a policy calls quasi-identifiers, or that are named themselves."""
    if isinstance(policy, str):
        return [policy]
    columns = list(policy) if isinstance(policy, Sequence) else policy.quasi_identifiers
    if not columns:
        raise AnonError("quasi-identifiers are needed, none was given. Name one.")
    return list(dict.fromkeys(columns))


def at_least(name: str, found: float, least: int) -> None:
    """Refuse a number that is too small to measure anything."""
    if found < least:
        raise AnonError(f"{name} must be at least {least}, found {found}.")


def _take(
    part: pd.DataFrame, lengths: list[int], positions: list[NDArray[np.int64]], i: int
) -> pd.DataFrame:
    if len(part) != lengths[i]:
        raise DataError(
            f"partition {i} had {lengths[i]:,} records when it was counted and {len(part):,} when "
            "it was read again. Persist the table, or write it to files first.",
            partition=i,
        )
    return part.iloc[positions[i]]


def _together(parts: list[pd.DataFrame], lengths: list[int]) -> Sample:
    if len(parts) == 1:
        return Sample(parts[0].reset_index(drop=True), int(sum(lengths)))
    from dask.dataframe.dispatch import concat

    return Sample(concat(parts).reset_index(drop=True), int(sum(lengths)))
