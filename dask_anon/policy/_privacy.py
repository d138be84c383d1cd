"""Privacy models: what every equivalence class must satisfy.

A model is a class with a ``model`` word. To add one, write the class and put it into ``MODELS``:
its keys, its mistakes and the list of known models follow from there.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SerializeAsAny, ValidationInfo

from dask_anon.errors import nearest
from dask_anon.policy._base import Part, sentence
from dask_anon.policy._problems import kind_of


def _whole_k(value: Any) -> Any:
    # bool is an int to Python; numpy's integers are not, but mean one.
    try:
        k = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        k = None
    if k is None or k < 2:
        found = k if k is not None and abs(k) < 10**9 else kind_of(value)
        raise sentence(f"must be a whole number of at least 2, found {found}.")
    return k


class PrivacyModelBase(Part):
    """What all privacy models share: the word that names them."""

    model: str


class KAnonymity(PrivacyModelBase):
    """Every record shares its quasi-identifiers with at least k-1 others (Sweeney, 2002)."""

    model: Literal["k-anonymity"] = "k-anonymity"
    k: Annotated[int, BeforeValidator(_whole_k)]


MODELS: dict[str, type[PrivacyModelBase]] = {"k-anonymity": KAnonymity}


def _known(value: Any) -> type[PrivacyModelBase]:
    known = ", ".join(MODELS)
    if not isinstance(value, dict):
        raise sentence(
            f"must be a mapping such as {{model: k-anonymity, k: 5}}, found {kind_of(value)}."
        )
    name = value.get("model")
    if name is None:
        raise sentence(f"has no key 'model'. Known models: {known}.")
    if not isinstance(name, str):
        raise sentence(f"the model must be one of {known}, found {kind_of(name)}.")
    if name not in MODELS:
        close = nearest(name[:80], MODELS)
        hint = f" Did you mean '{close}'?" if close else ""
        raise sentence(f"{name[:40]!r} is not a known privacy model.{hint} Known models: {known}.")
    return MODELS[name]


def _build(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, PrivacyModelBase):
        return value
    return _known(value).model_validate(value, context=info.context)


# Discriminated by hand: pydantic's unions need two members, and ours names the nearest word.
PrivacyModel = Annotated[SerializeAsAny[PrivacyModelBase], BeforeValidator(_build)]
