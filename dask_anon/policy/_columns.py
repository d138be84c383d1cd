"""One column of the data: what role it plays and how it is treated."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from dask_anon.policy._base import FilePath, Part, Where, reject

Format = Literal["interval", "bounds", "set", "midpoint"]
Type = Literal["integer", "float", "text", "boolean", "date", "timestamp"]


class Role(StrEnum):
    """What a column says about a person."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class Hierarchy(Part):
    """What the values of a column belong to: a taxonomy, from a file or row by row.

    One row a value: itself, what it belongs to, and so on up to everything.
    """

    kind: Literal["taxonomy"]
    file: FilePath | None = None
    rows: tuple[tuple[str, ...], ...] | None = None

    @field_validator("rows", mode="before")
    @classmethod
    def _lists_as_rows(cls, rows: Any) -> Any:
        if isinstance(rows, list | tuple):
            return tuple(tuple(row) if isinstance(row, list) else row for row in rows)
        return rows

    @model_validator(mode="after")
    def _one_source(self) -> Hierarchy:
        if (self.file is None) == (self.rows is None):
            found = "none was found" if self.file is None else "both were found"
            reject("Hierarchy", [((), f"needs exactly one of file and rows, {found}.")])
        return self


class Column(Part):
    """The role of one column, and the choices that belong to the role.

    Parameters
    ----------
    role : Role
        identifier, quasi-identifier, sensitive or insensitive.
    action : {"drop", "pseudonymize"}, default "drop"
        What happens to an identifier. A pseudonym is a keyed hash (HMAC), so it needs a key.
    key_file, key_env : str, optional
        Where the key is: a file or an environment variable. Exactly one, for ``pseudonymize`` only.
    type : str, optional
        Type of a CSV column, where a guess from its text would be wrong (ZIP ``02134`` is text).
    format : str, optional
        How this quasi-identifier is printed, where it differs from ``recoding.format``.
    hierarchy : Hierarchy, optional
        What the values of this sensitive column belong to, for hierarchical distances.
    """

    role: Annotated[Role, Field(strict=False)]
    action: Literal["drop", "pseudonymize"] = "drop"
    key_file: FilePath | None = None
    key_env: str | None = None
    type: Type | None = None
    format: Format | None = None
    hierarchy: Hierarchy | None = None

    @model_validator(mode="after")
    def _choices_fit_the_role(self, info: ValidationInfo) -> Column:
        mistakes: list[tuple[Where, str]] = []
        role = self.role.value
        is_identifier = self.role is Role.IDENTIFIER
        pseudonymized = is_identifier and self.action == "pseudonymize"
        if not is_identifier and self.action != "drop":
            mistakes.append(
                (("action",), f"is for identifiers, this column is {role}. Leave it out.")
            )
        if self.format is not None and self.role is not Role.QUASI_IDENTIFIER:
            mistakes.append(
                (("format",), f"is for quasi-identifiers, this column is {role}. Leave it out.")
            )
        if self.hierarchy is not None and self.role is not Role.SENSITIVE:
            mistakes.append(
                (("hierarchy",), f"is for sensitive columns, this column is {role}. Leave it out.")
            )
        keys = [key for key in ("key_file", "key_env") if getattr(self, key) is not None]
        if pseudonymized and len(keys) != 1 and not _from_manifest(info):
            found = "both were found" if keys else "none was found"
            mistakes.append(
                ((), f"action pseudonymize needs exactly one of key_file and key_env, {found}.")
            )
        if not pseudonymized:
            mistakes.extend(
                ((key,), "is for identifiers with action pseudonymize. Leave it out.")
                for key in keys
            )
        # The word is not repeated: somebody may have pasted the key itself here.
        if self.key_env is not None and not re.fullmatch(r"[A-Za-z_]\w*", self.key_env, re.ASCII):
            mistakes.append(
                (
                    ("key_env",),
                    "must be the name of an environment variable "
                    "(letters, digits and _), never the key itself.",
                )
            )
        reject("Column", mistakes)
        return self


def _from_manifest(info: ValidationInfo) -> bool:
    """Tell a manifest: it says that a column was pseudonymized but never where the key is."""
    return bool(info.context and info.context.get("manifest"))
