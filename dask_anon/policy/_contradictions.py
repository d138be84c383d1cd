"""Where columns and privacy models contradict each other.

Looked for also in a policy that has other mistakes, so that all come at once: what cannot be read
is left out here, it has its sentence already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from dask_anon.errors import Problem, nearest
from dask_anon.policy._base import Where
from dask_anon.policy._columns import Column, Role
from dask_anon.policy._privacy import PrivacyModelBase, TCloseness, build_model
from dask_anon.policy._problems import path_of

# A column that cannot be read is None: it is there, but nothing is known of it.
Columns = Mapping[str, Column | None]


def contradictions(data: Mapping[str, Any], context: Any) -> list[Problem]:
    """Every contradiction between the columns and the models of a policy as it was written."""
    columns, models = _columns(data.get("columns"), context), _models(data.get("privacy"), context)
    default = data.get("default_role")
    found: list[tuple[Where, str]] = []
    for i, model in models.items():
        found += _of_sensitive(i, model, columns)
        found += _of_weight(i, model, columns, default)
    found += _repeated(models)
    return [Problem(path_of(("privacy", *where)), text) for where, text in found]


def _columns(written: Any, context: Any) -> Columns:
    columns: dict[str, Column | None] = {}
    for name, value in written.items() if isinstance(written, Mapping) else ():
        try:
            value = {"role": value} if isinstance(value, str) else value
            columns[name] = Column.model_validate(value, context=context)
        except ValidationError:
            columns[name] = None
    return columns


def _models(written: Any, context: Any) -> dict[int, PrivacyModelBase]:
    models = {}
    for i, value in enumerate(written if isinstance(written, Sequence) else ()):
        try:
            models[i] = build_model(value, context)
        except (ValidationError, PydanticCustomError):
            continue
    return models


def _of_sensitive(i: int, model: PrivacyModelBase, columns: Columns) -> Iterator[tuple[Where, str]]:
    name = model.sensitive
    if name is None:
        return
    if name not in columns:
        sensitive = [n for n, c in columns.items() if c is not None and c.role is Role.SENSITIVE]
        yield (i, "column"), f"column '{name}' has no role.{_meant(name, sensitive or columns)}"
        return
    column = columns[name]
    if column is None:
        return
    if column.role is Role.QUASI_IDENTIFIER:
        yield (
            (i, "column"),
            f"column '{name}' is a quasi-identifier: what others know is no secret to protect. "
            "Name a sensitive column.",
        )
    elif column.role is not Role.SENSITIVE:
        yield (
            (i, "column"),
            f"column '{name}' is {_worded(column.role)}. Give it the role sensitive, or name a "
            "column that has it.",
        )
    elif (
        isinstance(model, TCloseness)
        and model.distance == "hierarchical"
        and column.hierarchy is None
    ):
        yield (
            (i, "distance"),
            f"column '{name}' has no hierarchy to measure distances in. Give it one "
            "(hierarchy: {kind: taxonomy, file: …}), or choose another distance.",
        )


def _of_weight(
    i: int, model: PrivacyModelBase, columns: Columns, default: Any
) -> Iterator[tuple[Where, str]]:
    name = model.weighed
    if name is None:
        return
    if name not in columns:
        if default != Role.INSENSITIVE:
            yield (i, "weight"), f"column '{name}' has no role.{_meant(name, columns)}"
        return
    column = columns[name]
    if column is not None and column.role not in (Role.SENSITIVE, Role.INSENSITIVE):
        yield (
            (i, "weight"),
            f"column '{name}' is {_worded(column.role)}, and the release must show the weights as "
            "they are. Name an insensitive or sensitive column.",
        )


def _repeated(models: Mapping[int, PrivacyModelBase]) -> Iterator[tuple[Where, str]]:
    first: dict[Any, int] = {}
    for i, model in models.items():
        earlier = first.setdefault(model.subject, i)
        if earlier != i:
            of = f" of '{model.sensitive}'" if model.sensitive else ""
            yield (i,), f"repeats privacy[{earlier}], {model.model}{of}. Keep one."


def _worded(role: Role) -> str:
    article = {Role.IDENTIFIER: "an ", Role.QUASI_IDENTIFIER: "a "}.get(role, "")
    return f"{article}{role.value}"


def _meant(name: str, names: Any) -> str:
    close = nearest(name[:80], names)
    return f" Did you mean '{close}'?" if close else " Give it one."
