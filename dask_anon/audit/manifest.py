"""The manifest of a release: what was promised, by which files, and how it was made.

    release/manifest.json   policy · columns · files (SHA-256, bytes, rows) · class figures ·
                            recoding hash · versions · seed · evaluation

It holds names, counts and hashes: never a value of the data, never where the original lies. Whoever
reads it may not trust it: sizes, types and paths are checked before anything is used.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    ValidationError,
    model_validator,
)

from dask_anon.audit._files import open_file
from dask_anon.classes import ClassCounts
from dask_anon.errors import VerificationError
from dask_anon.hierarchy import type_from_name

FILE_NAME = "manifest.json"
DATA_DIR = "data"
# 100,000 files take 20 MB.
MAX_BYTES = 64 << 20

_PACKAGES = ("dask", "distributed", "pandas", "numpy", "pyarrow", "numba")


def _inside_data(text: str) -> str:
    parts = text.split("/")
    unsafe = any(part in ("", ".", "..") or part.endswith((" ", ".")) for part in parts)
    strange = any(ord(letter) < 32 or letter in '\\:*?"<>|\x7f' for letter in text)
    if unsafe or strange or len(parts) < 2 or parts[0] != DATA_DIR or len(text) > 1000:
        raise ValueError(f"is not a plain path below {DATA_DIR}/")
    return str(PurePosixPath(text))


Digest = Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
Text = Annotated[str, Field(max_length=1000)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ReleasedFile(_Section):
    """One data file: its path in the release (with /), its hash, size and rows."""

    path: Annotated[Text, AfterValidator(_inside_data)]
    sha256: Digest
    bytes: NonNegativeInt
    rows: NonNegativeInt


class ReleasedColumn(_Section):
    """One column of the original that lives on in the release, and under which names.

    `type` is the Arrow type of the original as text, `format` how a quasi-identifier is shown.
    """

    name: Text
    type: Text
    role: Text
    released: tuple[Text, ...]
    format: Text | None = None


class ClassFigures(_Section):
    """Figures of the equivalence classes as counted from the files."""

    n_classes: NonNegativeInt
    smallest: NonNegativeInt
    largest: NonNegativeInt
    sum_of_squares: NonNegativeInt


class Manifest(_Section):
    """Everything that a release says about itself.

    Attributes
    ----------
    policy : dict
        ``policy.to_manifest()``.
    data_format : {"parquet", "csv"}
        Of the files in ``data/``; `delimiter` is that of CSV.
    recoding_sha256 : str or None
        Hash of the recoding that the data holder keeps, so that the two can be matched.
    evaluation : dict or None
        What was asked and found, as JSON.
    """

    format: Literal["dask-anon release"] = "dask-anon release"
    format_version: Literal[1] = 1
    dask_anon: Text
    created: Text
    policy: dict[str, Any]
    columns: tuple[ReleasedColumn, ...]
    data_format: Literal["parquet", "csv"]
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    files: tuple[ReleasedFile, ...]
    n_records: NonNegativeInt
    classes: ClassFigures
    recoding_sha256: Digest | None = None
    versions: dict[str, Text]
    seed: int
    evaluation: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _each_once(self) -> Manifest:
        if len({file.path for file in self.files}) < len(self.files):
            raise ValueError("names a file twice")
        names = [name for column in self.columns for name in column.released]
        if len(set(names)) < len(names):
            raise ValueError("names a released column twice")
        return self

    @classmethod
    def build(
        cls,
        *,
        policy: dict[str, Any],
        columns: list[ReleasedColumn],
        files: list[ReleasedFile],
        counts: ClassCounts,
        data_format: Literal["parquet", "csv"] = "parquet",
        delimiter: str = ",",
        recoding_sha256: str | None = None,
        seed: int = 0,
        evaluation: dict[str, Any] | None = None,
    ) -> Manifest:
        """Make the manifest of a release that was written just now by this installation."""
        return cls(
            dask_anon=_version("dask-anon"),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            policy=policy,
            columns=tuple(columns),
            data_format=data_format,
            delimiter=delimiter,
            files=tuple(files),
            n_records=counts.n_records,
            classes=ClassFigures(**counts.figures()),
            recoding_sha256=recoding_sha256,
            versions={"python": platform.python_version()}
            | {package: _version(package) for package in _PACKAGES},
            seed=seed,
            evaluation=evaluation,
        )

    @property
    def quasi_identifiers(self) -> tuple[ReleasedColumn, ...]:
        """The quasi-identifiers with their released names."""
        return tuple(column for column in self.columns if column.role == "quasi-identifier")

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types that the columns had before; those that are not known are left out."""
        known = {}
        for column in self.columns:
            with suppress(ValueError, TypeError, AttributeError, pa.ArrowException):
                known[column.name] = type_from_name(column.type)
        return known

    @property
    def k(self) -> tuple[int, ...]:
        """The k of every k-anonymity model that the policy promises."""
        models = self.policy.get("privacy")
        found = []
        for model in models if isinstance(models, list) else []:
            k = model.get("k") if isinstance(model, dict) else None
            named = isinstance(model, dict) and model.get("model") == "k-anonymity"
            if named and isinstance(k, int) and not isinstance(k, bool):
                found.append(k)
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return self.model_dump(mode="json")

    def write(self, release: str | os.PathLike[str]) -> str:
        """Write ``manifest.json`` into a release on a local path; returns its SHA-256."""
        from dask_anon.audit._digest import HashingFile

        path = os.path.join(os.fspath(release), FILE_NAME)
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        with HashingFile(open(f"{path}.part", "wb")) as file:
            file.write(text.encode() + b"\n")
        os.replace(f"{path}.part", path)
        return file.sha256

    @classmethod
    def load(cls, release: str | os.PathLike[str]) -> Manifest:
        """Read the manifest of a release directory (or the file itself), trusting nothing in it.

        Raises
        ------
        VerificationError
            If it is missing, too large, not JSON or not a manifest.
        """
        path = os.fspath(release)
        if not path.endswith(".json"):
            path = f"{path.rstrip('/')}/{FILE_NAME}"
        try:
            with open_file(path) as file:
                text = file.read(MAX_BYTES + 1)
        except OSError:
            raise VerificationError(
                f"{path} cannot be read. Is this the directory of a release?"
            ) from None
        if len(text) > MAX_BYTES:
            raise VerificationError(f"{path} is larger than {MAX_BYTES >> 20} MiB: no manifest.")
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: bytes, path: str = FILE_NAME) -> Manifest:
        """Check and restore a manifest from its bytes; `path` is for the message."""
        try:
            data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise VerificationError(
                f"{path} is not valid JSON, so nothing can be verified."
            ) from None
        try:
            return cls.model_validate_json(json.dumps(data))
        except (ValidationError, ValueError, RecursionError) as error:
            where = _where(error)
            raise VerificationError(f"{path} is not a manifest of a release{where}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _where(error: Exception) -> str:
    """Say which key is wrong and how, without what stands there."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"] if len(str(part)) <= 40)
    message = first["msg"].removeprefix("Value error, ")
    return f": {place + ' ' if place else ''}({message[:200]})"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
