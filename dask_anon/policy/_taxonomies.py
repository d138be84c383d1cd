"""The rows of a taxonomy: from its file, or as they stand in the policy.

Tech-support;Technical;*        one row a leaf: the value, what it belongs to, …, everything
Sales;Nontechnical;*
"""

from __future__ import annotations

import csv
import io

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy._columns import Column

Rows = tuple[tuple[str, ...], ...]

# Far above any taxonomy; a wrong path to a table is noticed before it is parsed.
MAX_BYTES = 2**26


def read_rows(name: str, column: Column) -> Rows:
    """The rows of the taxonomy of a column."""
    hierarchy = column.hierarchy
    if hierarchy is None:
        raise PolicyError([Problem(f"columns.{name}", "has no hierarchy. Give it one.")])
    if hierarchy.rows is not None:
        return hierarchy.rows
    assert hierarchy.file is not None
    try:
        return rows_of_file(hierarchy.file)
    except ValueError as error:
        where = f"columns.{name}.hierarchy.file"
        raise PolicyError([Problem(where, f"the taxonomy cannot be read: {error}.")]) from None


def rows_of_file(path: str) -> Rows:
    """The rows of a taxonomy file; its delimiter is the one that cuts all rows."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8") from None
    except OSError as error:
        raise ValueError(error.strerror or "unknown reason") from None
    if len(raw) > MAX_BYTES:
        raise ValueError("it is larger than 64 MiB")
    cut = [_cut(text, delimiter) for delimiter in ";,\t"]
    # Labels may hold the other delimiter, but hardly in every row.
    return max(cut, key=lambda rows: min((len(row) for row in rows), default=0))


def _cut(text: str, delimiter: str) -> Rows:
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return tuple(tuple(cell.strip() for cell in row) for row in rows if row)
    except csv.Error as error:
        raise ValueError(str(error)) from None
