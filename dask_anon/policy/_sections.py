"""The sections of a policy beside columns and privacy models: one small frozen class each."""

from __future__ import annotations

import codecs
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dask_anon.policy._base import FilePath, Part, sentence
from dask_anon.policy._columns import Format
from dask_anon.policy._numbers import number


class Algorithm(Part):
    """Which algorithm finds the classes, and its choices.

    ``ties`` says where records equal to the median go, ``span_ties`` where distinct values are
    counted when two attributes are equally wide.
    """

    name: Literal["mondrian"] = "mondrian"
    ties: Literal["left", "either", "divide"] = "either"
    span_ties: Literal["domain", "region"] = "domain"


class Recoding(Part):
    """How a class shows the values of its quasi-identifiers."""

    method: Literal["generalization"] = "generalization"
    format: Format = "interval"


class Missing(Part):
    """What a missing value is: a value of its own, or an error."""

    quasi_identifiers: Literal["own-value", "error"] = Field(
        default="own-value", alias="quasi-identifiers"
    )


class Limit(Part):
    """The highest value that a figure may have."""

    max: float


class RiskLimit(Limit):
    """The highest risk: a share above 0, since a risk of 0 cannot hold."""

    max: Annotated[float, number(0, 1, open_low=True)]


class LossLimit(Limit):
    """The highest loss: a share."""

    max: Annotated[float, number(0, 1)]


class SizeLimit(Limit):
    """The largest average class size."""

    max: Annotated[float, number(0, open_low=True)]


class Require(Part):
    """Figures of the release that must hold besides the privacy models."""

    prosecutor_risk: RiskLimit | None = None
    global_certainty_penalty: LossLimit | None = None
    average_class_size: SizeLimit | None = None


def _delimiter(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    value = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(value) != 1 or value in '"\r\n\0' or ord(value) > 127:
        raise sentence(
            "must be a single ASCII character (tab for a tabulator), not a quote or a line end."
        )
    return value


def _encoding(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        "".encode(value)
        codecs.lookup(value)
    except (LookupError, ValueError):
        raise sentence(
            f"'{value[:40]}' is not a text encoding that Python knows. "
            "Try utf-8, cp1252 or latin-1."
        ) from None
    return value


class Input(Part):
    """Where the original is and how it is written; CSV choices left out are found from the file."""

    path: FilePath
    format: Literal["parquet", "csv"] | None = None
    delimiter: Annotated[str, BeforeValidator(_delimiter)] | None = None
    encoding: Annotated[str, BeforeValidator(_encoding)] | None = None
    null_values: Annotated[tuple[str, ...], Field(strict=False)] = ("",)


class Output(Part):
    """Where the release goes, and in which format."""

    path: FilePath
    format: Literal["parquet", "csv"] = "parquet"
