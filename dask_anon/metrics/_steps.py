"""One way of working for both kinds of tables: at once on pandas, a graph of tasks beside Dask.

    part ─ count ─▶ ┐
    part ─ count ─▶ ┼─ add up ─▶ figure        pandas: one part, a number; Dask: a lazy one
    part ─ count ─▶ ┘

Equal steps have equal names, so figures that are computed together read and parse a table once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from dask_anon.errors import AnonError, DataError

# Results merged by one task: as many as the engine merges.
_FAN_IN = 16


class Steps:
    """How the functions of one measure are called: at once, or as tasks if a table is Dask's."""

    def __init__(self, *frames: Any) -> None:
        for frame in frames:
            if not isinstance(frame, pd.DataFrame) and not hasattr(frame, "to_delayed"):
                raise AnonError(
                    f"a pandas or a Dask DataFrame is measured, found {type(frame).__name__}."
                )
        self.lazy = any(not isinstance(frame, pd.DataFrame) for frame in frames)

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function gives, or a task that will."""
        if not self.lazy:
            return function(*arguments)
        from dask import delayed

        return delayed(function, pure=True)(*arguments)

    def together(self, figures: dict[str, Any]) -> Any:
        """Figures by name: a dict, or one task of lazy ones of any kind."""
        if not self.lazy:
            return _plain(figures)
        from dask.delayed import Delayed

        tasks = {
            name: figure if isinstance(figure, Delayed) else figure.to_delayed()
            for name, figure in figures.items()
        }
        return self(_plain, tasks)

    def parts(
        self, frame: Any, columns: Sequence[str], *, after: Any = None, joined: bool = True
    ) -> list[Any]:
        """The frame's partitions, these columns of them.

        Those that are compared with a figure of the whole table, `after`, are read when it is
        there, once more if need be: all of them would be held in memory until then.

        Dask joins partitions that few columns of small files are read for, unless it may not.
        """
        chosen = frame[list(columns)]
        if isinstance(frame, pd.DataFrame):
            # Beside a Dask frame it goes into the graph once.
            return [self(_itself, chosen)]
        if after is not None:
            # One task reads and waits, because Dask fuses what it does partition by partition.
            chosen = chosen.map_partitions(
                _itself, after, meta=chosen._meta, enforce_metadata=False
            )
        if not joined:
            return list(chosen.simplify().to_delayed(optimize_graph=False))
        return list(chosen.to_delayed())

    def merged(self, merge: Callable[[list[Any]], Any], results: Sequence[Any]) -> Any:
        """All results as one; `merge` is associative."""
        results = list(results)
        while len(results) > _FAN_IN:
            groups = [results[i : i + _FAN_IN] for i in range(0, len(results), _FAN_IN)]
            results = [self(merge, group) for group in groups]
        return self(merge, results)

    def pairs(
        self,
        original: Any,
        original_columns: Sequence[str],
        released: Any,
        columns: Sequence[str],
        known: Any,
    ) -> list[tuple[Any, Any]]:
        """Parts of two frames whose records stand in the same order, read when `known` is there.

        Raises
        ------
        DataError
            When the frames have not as many records, or are divided into partitions otherwise.
        """
        if not self.lazy and len(original) != len(released):
            raise _not_aligned(f"{len(original):,} and {len(released):,} records")
        left = self.parts(original, original_columns, after=known)
        right = self.parts(released, columns, after=known)
        if len(left) != len(right):
            if isinstance(original, pd.DataFrame) or isinstance(released, pd.DataFrame):
                return self._cut(left, right)
            if original.npartitions == released.npartitions:
                # They were divided alike, and joined otherwise for the columns that are read.
                left = self.parts(original, original_columns, after=known, joined=False)
                right = self.parts(released, columns, after=known, joined=False)
        if len(left) != len(right):
            raise _not_aligned(
                f"{len(left):,} and {len(right):,} partitions, which cannot be laid side by side"
            )
        return list(zip(left, right, strict=True))

    def _cut(self, left: list[Any], right: list[Any]) -> list[tuple[Any, Any]]:
        """Cut the one whole frame as the other is divided."""
        whole_first = len(left) == 1
        whole, parts = (left[0], right) if whole_first else (right[0], left)
        lengths = self(list, [self(len, part) for part in parts])
        pieces = [self(_piece, whole, lengths, i) for i in range(len(parts))]
        return list(
            zip(pieces, parts, strict=True) if whole_first else zip(parts, pieces, strict=True)
        )


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    return {c: f.item() if hasattr(f, "item") else f for c, f in figures.items()}


def _itself(frame: pd.DataFrame, _: Any = None) -> pd.DataFrame:
    return frame


def _piece(whole: pd.DataFrame, lengths: list[int], i: int) -> pd.DataFrame:
    if sum(lengths) != len(whole):
        raise _not_aligned(f"{len(whole):,} and {sum(lengths):,} records")
    start = sum(lengths[:i])
    return whole.iloc[start : start + lengths[i]]


def refuse_unaligned(n_original: int, n_released: int) -> None:
    """Refuse parts that are not equally long."""
    if n_original != n_released:
        raise _not_aligned(f"{n_original:,} and {n_released:,} records in one partition")


def _not_aligned(found: str) -> DataError:
    return DataError(
        f"records are compared one by one, but the original and the release have {found}. "
        "Give both the same records in the same order and the same partitions (`order: keep`, and "
        "no record left out)."
    )
