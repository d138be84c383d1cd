"""What can be refused before a record is read.

Types that have no place, keys that are not there, fewer records than k.
A run takes hours on a large table; what its first minute can know must not wait for the last stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from dask_anon.errors import AnonError, DataError, PolicyError, Problem
from dask_anon.hierarchy import domain_of, released_fields, summarize
from dask_anon.models import check_models
from dask_anon.policy import Bound, KAnonymity, Policy


@contextmanager
def reaching(path: str, what: str, kind: type[AnonError]) -> Iterator[None]:
    """Say in one sentence that a URL cannot be reached; each file system has errors of its own."""
    try:
        yield
    except AnonError:
        raise
    except Exception as error:
        if "://" not in path:
            raise
        scheme = path.split("://")[0]
        shown = re.sub(r"://[^/@]*@", "://", path)  # a password may stand there
        raise kind(
            f"the {what} {shown!r} cannot be reached ({type(error).__name__}). Check the address "
            f"and the credentials, and that the package that opens {scheme}:// is installed."
        ) from error


def check_keys(bound: Bound, policy: Policy) -> None:
    """Raise if a pseudonym's key cannot be read; says so of every column at once."""
    problems: list[Problem] = []
    for name in bound.identifiers_pseudonymized:
        try:
            policy.key_of(name)
        except PolicyError as error:
            problems += error.problems
    if problems:
        raise PolicyError(problems)


def check_types(schema: pa.Schema, bound: Bound, policy: Policy) -> None:
    """Raise if a column's type does not go with its role, a model, or the files of the release."""
    check_models(policy, {field.name: field.type for field in schema})
    for name in bound.quasi_identifiers:
        # A domain of no values: refuses types without order and labels, and formats that do not go.
        nothing = pa.array([], schema.field(name).type)
        released_fields(domain_of(name, summarize(nothing, column=name)), policy.format_of(name))
    for name in bound.identifiers_pseudonymized:
        type_ = schema.field(name).type
        if not _has_text(type_):
            raise DataError(
                f"column {name!r} is of type {type_}, which cannot be pseudonymized. "
                "Convert it to text, or drop it (action: drop).",
                column=name,
            )
    if policy.output is None or policy.output.format != "csv":
        return
    for name in bound.payload:
        type_ = schema.field(name).type
        if not _has_text(type_):
            raise DataError(
                f"column {name!r} is of type {type_}, which CSV cannot hold. Write Parquet "
                "(output format: parquet), convert it to text, or drop it (role: identifier).",
                column=name,
            )


def check_size(n_records: int, policy: Policy) -> None:
    """Raise if there are fewer records than one class needs; no record at all is fine."""
    if n_records == 0 or n_records >= policy.k:
        return
    if n_records == 1:
        raise DataError(
            f"k={policy.k} cannot hold: the table has 1 row, and nobody hides alone. "
            "Bring more rows."
        )
    if not any(isinstance(m, KAnonymity) and m.k == policy.k for m in policy.privacy):
        raise DataError(
            f"the privacy models cannot hold: they need classes of {policy.k:,} records, the table "
            f"has {n_records:,} rows. Ask for less (l, a risk), or bring more rows."
        )
    raise DataError(
        f"k={policy.k} cannot hold: the table has {n_records:,} rows. "
        f"Lower k to at most {n_records:,}, or bring more rows."
    )


def _has_text(type_: pa.DataType) -> bool:
    """Whether every value of the type has one spelling as text."""
    if pa.types.is_dictionary(type_):
        return _has_text(type_.value_type)
    return bool(
        pa.types.is_null(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or (pa.types.is_temporal(type_) and not pa.types.is_interval(type_))
        or type_ in (pa.string(), pa.large_string(), pa.string_view())
    )
