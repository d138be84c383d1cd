"""Domains: what values each quasi-identifier takes in the whole table, before encoding.

Parquet footers tell the bounds of numbers and dates for free, and floats need none; only for what
is left are the partitions read, once for all columns, and their summaries merged on the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from dask_anon.engine.execute import reduce
from dask_anon.engine.parts import table_of
from dask_anon.hierarchy import Domain, FloatDomain, Summary, domain_of, merge_summaries, summarize


def find_domains(
    parts: Sequence[Any],
    columns: Sequence[str],
    *,
    types: dict[str, pa.DataType],
    footer: Callable[[str], Summary | None],
) -> list[Domain]:
    """The domain of every column, in order.

    Parameters
    ----------
    parts : sequence of Reader or Delayed frame
    columns : sequence of str
        The quasi-identifiers.
    types : dict
        Types of the columns, as far as they are known.
    footer : callable
        What the file's footers tell about a column, or None.
    """
    known = {column: _without_reading(column, types.get(column), footer) for column in columns}
    wanted = tuple(column for column, domain in known.items() if domain is None)
    if wanted and parts:
        summaries = reduce("domains", [(_summarize, part, wanted) for part in parts], _merge)
    else:
        summaries = {c: summarize(pa.array([], types.get(c, pa.null())), column=c) for c in wanted}
    return [known[column] or domain_of(column, summaries[column]) for column in columns]


def needs_pass(
    columns: Sequence[str],
    *,
    types: dict[str, pa.DataType],
    footer: Callable[[str], Summary | None],
) -> bool:
    """Whether finding the domains reads the partitions."""
    return any(_without_reading(c, types.get(c), footer) is None for c in columns)


def _without_reading(
    column: str, type_: pa.DataType | None, footer: Callable[[str], Summary | None]
) -> Domain | None:
    if type_ is not None and pa.types.is_floating(type_):
        # The image of a float needs no bounds; encoding counts missing values and refuses
        # infinities.
        return FloatDomain.unbounded(column, type_)
    summary = footer(column)
    return None if summary is None else domain_of(column, summary)


def _summarize(part: Any, columns: tuple[str, ...]) -> dict[str, Summary]:
    table = table_of(part, columns)
    return {column: summarize(table.column(column), column=column) for column in columns}


def _merge(results: list[dict[str, Summary]]) -> dict[str, Summary]:
    return {column: merge_summaries([r[column] for r in results]) for column in results[0]}
