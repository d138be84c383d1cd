"""What every part of a policy has in common: frozen, strict, its mistakes collected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

Where = tuple[str | int, ...]


class Part(BaseModel):
    """A mapping of the policy: only known keys, only the right types, frozen once it is read."""

    # strict: `k: "5"` and `seed: true` are mistakes of the author, not numbers.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


def sentence(text: str) -> PydanticCustomError:
    """Say a mistake in our own words; braces in `text` are kept."""
    return PydanticCustomError("sentence", "{text}", {"text": text})


def reject(title: str, mistakes: Sequence[tuple[Where, str]]) -> None:
    """Raise all `mistakes` (where below this part, what is wrong) together; none is fine."""
    if mistakes:
        raise ValidationError.from_exception_data(
            title,
            [InitErrorDetails(type=sentence(text), loc=loc, input=None) for loc, text in mistakes],
        )


def _as_path(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value == "":
        raise sentence("is empty. Name a file, a directory, a glob or a URL.")
    if isinstance(value, str) and "\0" in value:
        raise sentence("contains a NUL character, which no file name can.")
    return value


FilePath = Annotated[str, BeforeValidator(_as_path)]


def word_as(key: str) -> BeforeValidator:
    """Let a bare word stand for the mapping that holds it under `key`: `age: sensitive`."""

    def expand(value: Any) -> Any:
        return {key: value} if isinstance(value, str | os.PathLike) else value

    return BeforeValidator(expand)
