"""What the engine knows of its input: a schema, its size, and parts that stand alone.

    Source ──parts──▶ Reader, Reader, …  ──read(columns)──▶ pyarrow.Table

A `Source` lives on the driver. Its readers are small, travel to the workers and give the same rows
every time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self

import pyarrow as pa

from dask_anon.engine.sources._files import File, fingerprint
from dask_anon.errors import DataError, nearest

if TYPE_CHECKING:
    from dask_anon.hierarchy import Summary


class Reader(Protocol):
    """One part of the input."""

    @property
    def n_rows(self) -> int | None:
        """How many rows the part has, if that is known without reading it."""

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Those columns in that order; without any, a table that only knows its length."""


class Source(ABC):
    """A table in files, in parts."""

    kind: ClassVar[Literal["parquet", "csv"]]

    schema: pa.Schema
    files: tuple[File, ...]

    @property
    @abstractmethod
    def parts(self) -> list[Reader]:
        """The parts in the order of the input; without rows, one part that is empty."""

    @property
    @abstractmethod
    def rows_of_parts(self) -> list[int]:
        """How many rows each part has."""

    @abstractmethod
    def regroup(self, part_rows: int) -> Self:
        """The same table in parts of about `part_rows` rows; nothing is read."""

    def footer_summary(self, column: str) -> Summary | None:
        """What is known of a column without reading it, or None."""
        return None

    def value_bytes(self, columns: Sequence[str]) -> dict[str, int]:
        """About how many bytes a value takes in memory, for columns of no fixed width.

        Here: the bytes that the files have a row, in equal shares.
        """
        share = self.n_bytes // max(1, self.n_rows * len(columns))
        return dict.fromkeys(columns, share)

    @property
    def n_rows(self) -> int:
        return sum(self.rows_of_parts)

    @property
    def n_parts(self) -> int:
        return len(self.rows_of_parts)

    @property
    def n_bytes(self) -> int:
        """Bytes of the files as they are stored."""
        return sum(file.size for file in self.files)

    @property
    def fingerprint(self) -> str:
        """Changes when a file comes, goes, is renamed or grows."""
        return fingerprint(self.files)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.files)} files, {self.n_rows:,} rows, "
            f"{len(self.schema)} columns, {self.n_parts} parts)"
        )


def gather(rows: Sequence[int], part_rows: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbours ``[start, stop)`` of about `part_rows` rows each.

    A run ends where one more piece would take it further from `part_rows` than it is; a piece is
    never split.

    >>> list(gather([4, 4, 4, 30, 1], part_rows=10))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    if part_rows < 1:
        raise ValueError(f"part_rows is {part_rows}; a part needs at least one row")
    start, size = 0, 0
    for i, n in enumerate(rows):
        if i > start and size + n - part_rows > part_rows - size:
            yield start, i
            start, size = i, 0
        size += n
    if start < len(rows):
        yield start, len(rows)


def check_columns(columns: Sequence[str], schema: pa.Schema) -> None:
    """Refuse a column that the input does not have."""
    for column in columns:
        if column not in schema.names:
            close = nearest(column, schema.names)
            hint = f" Did you mean {close!r}?" if close else ""
            raise DataError(f"column {column!r} is not in the input.{hint}", column=column)
