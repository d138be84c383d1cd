"""Small tables as text, as results print themselves."""

from __future__ import annotations

from collections.abc import Sequence


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as what is in them, two blanks apart.

    Examples
    --------
    >>> print(table_of(["column", "score"], [["age", "0.5"]]))
    column  score
    age     0.5
    """
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
