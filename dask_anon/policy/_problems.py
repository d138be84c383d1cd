"""From pydantic's complaints to our sentences: where, what was found, what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from dask_anon.errors import Problem, nearest
from dask_anon.policy._base import Where


def kind_of(value: Any) -> str:
    """Say what was found, without repeating it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence):
        return "a list"
    if isinstance(value, float):
        return "a number with a decimal point"
    if isinstance(value, int):
        return "a number"
    return f"a {type(value).__name__}"


def path_of(loc: Where) -> str:
    """``("privacy", 0, "k")`` → ``privacy[0].k``."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def problems_of(error: ValidationError, model: type[BaseModel], data: Any) -> list[Problem]:
    """Every mistake that pydantic found in `data`, as sentences in the order of the policy."""
    return [
        Problem(path_of(mistake["loc"]), _sentence(mistake, model, data))
        for mistake in error.errors(include_url=False)
    ]


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}


def _sentence(mistake: Any, model: type[BaseModel], data: Any) -> str:
    kind, found, context = mistake["type"], mistake["input"], mistake.get("ctx", {})
    if kind == "sentence":
        return str(context["text"])
    if kind == "missing":
        return "is missing."
    if kind in ("literal_error", "enum"):
        return _unknown_word(found, re.findall(r"'([^']*)'|(\d+)", context["expected"]))
    if kind == "extra_forbidden":
        *above, key = mistake["loc"]
        return _unknown_key(str(key), _keys_at(model, tuple(above), data))
    if kind in ("model_type", "model_attributes_type", "dataclass_type"):
        keys = ", ".join(_keys_at(model, mistake["loc"], data))
        return f"must be a mapping (keys: {keys}), found {kind_of(found)}."
    if kind in _EXPECTED:
        quote = " Put it in quotes." if _needs_quotes(kind, found) else ""
        return f"must be {_EXPECTED[kind]}, found {kind_of(found)}.{quote}"
    return f"{mistake['msg'][:1].lower()}{mistake['msg'][1:]}."


def _needs_quotes(kind: str, found: Any) -> bool:
    return kind == "string_type" and isinstance(found, bool | int | float)


def _unknown_word(found: Any, expected: list[tuple[str, str]]) -> str:
    words = [text or number for text, number in expected]
    known = ", ".join(words)
    if isinstance(found, str):
        return f"{_shown(found)} is not known.{_meant(found, words)} Known: {known}."
    if isinstance(found, int) and not isinstance(found, bool) and words[0].isdigit():
        return f"{found if abs(found) < 10**9 else 'this number'} is not known. Known: {known}."
    return f"must be one of {known}, found {kind_of(found)}."


def _unknown_key(key: str, known: Sequence[str]) -> str:
    return f"unknown key.{_meant(key, known)} Known keys: {', '.join(known)}."


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "…")


def _meant(word: str, words: Sequence[str]) -> str:
    close = nearest(word[:80].lower().replace("_", "-"), [w.replace("_", "-") for w in words])
    for candidate in words:
        if close is not None and candidate.replace("_", "-") == close:
            return f" Did you mean '{candidate}'?"
    return ""


def _keys_at(model: Any, loc: Where, data: Any) -> list[str]:
    """List the keys that the mapping at `loc` may have, by following the annotations."""
    from dask_anon.policy._privacy import MODELS, PrivacyModelBase

    for part in loc:
        data = _item(data, part)
        if isinstance(model, type) and issubclass(model, BaseModel):
            model = _member(model.model_fields[_field_name(model, str(part))].annotation)
        else:
            model = _member(get_args(model)[1 if get_origin(model) is dict else 0])
        if model is PrivacyModelBase:
            model = MODELS.get(_item(data, "model"), PrivacyModelBase)
    fields = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
    return [field.alias or name for name, field in fields.items()]


def _field_name(model: type[BaseModel], key: str) -> str:
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            return name
    raise KeyError(key)


def _member(annotation: Any) -> Any:
    """Strip an annotation of its metadata and of ``| None``."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        elif type(None) in get_args(annotation):
            annotation = next(a for a in get_args(annotation) if a is not type(None))
        else:
            return annotation


def _item(data: Any, part: str | int) -> Any:
    try:
        return data[part]
    except (KeyError, IndexError, TypeError):
        return None
