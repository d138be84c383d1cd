"""From a summary to a domain, and a domain to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dask_anon.errors import DataError
from dask_anon.hierarchy._domain import Domain, FloatDomain, IntegerDomain, infinities
from dask_anon.hierarchy._labelled import NominalDomain, OrdinalDomain
from dask_anon.hierarchy._summary import Summary
from dask_anon.hierarchy._types import type_from_name

_KINDS = {"integer": IntegerDomain, "float": FloatDomain}
_LABELLED = {"nominal": NominalDomain, "ordinal": OrdinalDomain}


def domain_of(column: str, summary: Summary) -> Domain:
    """The domain of a column, from the summary of all its rows.

    Raises
    ------
    DataError
        For infinite values, a range beyond 2**64 - 2 units, or category orders that contradict each
        other.
    """
    has_missing = summary.n_missing is None or summary.n_missing > 0
    if summary.kind in _KINDS:
        if summary.n_infinite:
            raise infinities(column, summary.n_infinite)
        kind = _KINDS[summary.kind]
        return kind(column, summary.type, has_missing, summary.minimum, summary.maximum)
    labels = summary.labels if summary.labels is not None else pa.array([], pa.string())
    if summary.kind == "nominal":
        return NominalDomain(column, summary.type, has_missing, labels)
    return OrdinalDomain(column, summary.type, has_missing, _in_order(column, summary, labels))


def _in_order(column: str, summary: Summary, used: pa.Array) -> pa.Array:
    if len(summary.orders) > 1:
        raise DataError(
            f"column {column!r} has ordered categories whose order differs between partitions "
            f"({len(summary.orders)} orders, none of which contains the others). "
            "Give every partition the same categories.",
            column=column,
        )
    order = summary.orders[0] if summary.orders else ()
    occurs = set(used.to_pylist())
    places = [place for place, label in enumerate(order) if label in occurs]
    within = order[places[0] : places[-1] + 1] if places else ()
    return pa.array(within, pa.string())


def restore_domain(described: Mapping[str, Any], labels: pa.Array | None = None) -> Domain:
    """The domain that ``domain.describe()`` and ``domain.labels`` came from."""
    kind = described["kind"]
    head = (described["column"], type_from_name(described["type"]), described["has_missing"])
    if kind in _KINDS:
        return _KINDS[kind](*head, described["minimum"], described["maximum"])
    if labels is None or len(labels) != described["n_labels"]:
        raise DataError(
            f"column {head[0]!r} was stored with {described['n_labels']} labels, but "
            f"{0 if labels is None else len(labels)} were found. Store the recoding again.",
            column=head[0],
        )
    return _LABELLED[kind](*head, labels.cast(pa.string()))
