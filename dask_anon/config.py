"""Settings under ``dask.config`` ``anon.*``, typed.

The defaults and what they mean stand in ``anon.yaml`` beside this module. They are registered when
this module is imported; what the user set before (files, environment, ``dask.config.set``) wins.
Nothing is written to the user's home.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.config
import yaml

from dask_anon.errors import AnonError

COMPRESSIONS = ("snappy", "zstd", "gzip", "lz4", "brotli", "none")

with (Path(__file__).parent / "anon.yaml").open(encoding="utf-8") as _file:
    _DEFAULTS = yaml.safe_load(_file)
dask.config.update_defaults(_DEFAULTS)


@dataclass(frozen=True)
class Settings:
    """The settings of one run: read once by the driver, so that workers cannot disagree.

    Byte sizes are numbers of bytes; None leaves the choice to the plan.
    """

    scratch_directory: str | None
    memory_limit: int | None
    memory_fraction: float
    rows_partition: int | None
    rows_region: int | None
    tree_bins: int
    tree_bytes: int
    parquet_compression: str
    distinct_cap: int
    sensitive_cap: int


def settings() -> Settings:
    """Read the settings that hold now.

    Raises
    ------
    AnonError
        If a setting is not of its kind, with its name.
    """
    return Settings(
        scratch_directory=_get("scratch-directory", _text, "a path", optional=True),
        memory_limit=_get("memory.limit", _bytes, "a size such as 2GiB", optional=True),
        memory_fraction=_get("memory.fraction", _fraction, "a share above 0 and at most 1"),
        rows_partition=_get("rows.partition", _count, "a whole number above 0", optional=True),
        rows_region=_get("rows.region", _count, "a whole number above 0", optional=True),
        tree_bins=_get("tree.bins", _bins, "a whole number of at least 2"),
        tree_bytes=_get("tree.bytes", _bytes, "a size such as 64MiB"),
        parquet_compression=_get(
            "parquet.compression", _compression, f"one of {', '.join(COMPRESSIONS)}"
        ),
        distinct_cap=_get("distinct-cap", _count, "a whole number above 0"),
        sensitive_cap=_get("sensitive-cap", _count, "a whole number above 0"),
    )


def _get(name: str, kind: Callable[[Any], Any], words: str, *, optional: bool = False) -> Any:
    # A `dask.config.set` that was open when this module was imported takes the defaults that were
    # registered inside it with it when it closes, so they are kept here as well.
    default = dask.config.get(f"anon.{name}", config=_DEFAULTS)
    value = dask.config.get(f"anon.{name}", default)
    if value is None and optional:
        return None
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise AnonError(
            f"the setting anon.{name} must be {words}{' or null' if optional else ''}. "
            "Look where Dask's configuration sets it (a file, DASK_ANON__… or dask.config.set)."
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def _bins(value: Any) -> int:
    if _count(value) < 2:
        raise ValueError
    return int(value)


def _bytes(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    from dask.utils import parse_bytes

    n_bytes = int(parse_bytes(value))
    if n_bytes < 1:
        raise ValueError
    return n_bytes


def _fraction(value: Any) -> float:
    if isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ValueError
    return float(value)


def _compression(value: Any) -> str:
    if value not in COMPRESSIONS:
        raise ValueError
    return str(value)
