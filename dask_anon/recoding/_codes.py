"""From records to codes and keys; and the domains on disk, which say how."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dask_anon.hierarchy import Domain, restore_domain
from dask_anon.kernels.common import Array


def encode_table(table: pa.Table, domains: Sequence[Domain], dtype: np.dtype[Any]) -> Array:
    """Codes of a table, shape (records, attributes)."""
    rows = np.empty((table.num_rows, len(domains)), dtype)
    for j, domain in enumerate(domains):
        rows[:, j] = domain.encode(table.column(domain.column))
    return rows


def record_keys(table: pa.Table, columns: Sequence[str], seed: int) -> Array:
    """A key for every record, from all that is released of it and the seed.

    Equal records have equal keys, whatever partition they are in; nothing else decides who among
    equals goes where.
    """
    key = np.full(table.num_rows, seed, np.uint64)
    for column in columns:
        key = _mixed(key * np.uint64(31) + _hashed(table.column(column)))
    return key


def _hashed(column: pa.ChunkedArray) -> Array:
    """Hashes of values that depend on the value alone, not on how Arrow happens to store it."""
    if not _has_text(column.type):
        spelled = np.array([repr(value) for value in column.to_pylist()], object)
        return pd.util.hash_array(spelled, categorize=False)
    encoded = column.combine_chunks().dictionary_encode() if not _is_dictionary(column) else column
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    text = encoded.dictionary.cast(pa.string()).to_numpy(zero_copy_only=False)
    # One hash more than values: a missing value takes the last.
    hashes = np.append(pd.util.hash_array(np.asarray(text, object), categorize=False), np.uint64(1))
    at = encoded.indices.fill_null(len(text)).to_numpy(zero_copy_only=False)
    return hashes[at]


def _has_text(type_: pa.DataType) -> bool:
    """Whether Arrow can write every value as text; it cannot for lists, structs, maps and bytes."""
    value = type_.value_type if pa.types.is_dictionary(type_) else type_
    is_binary = pa.types.is_binary(value) or pa.types.is_large_binary(value)
    return not (is_binary or pa.types.is_fixed_size_binary(value) or pa.types.is_nested(value))


def _is_dictionary(column: pa.ChunkedArray) -> bool:
    return pa.types.is_dictionary(column.type)


def _mixed(key: Array) -> Array:
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def save_domains(path: str, domains: Sequence[Domain]) -> None:
    """Write domains into the directory `path`: descriptions as JSON, labels as Parquet."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "domains.json"), "w", encoding="utf-8") as file:
        json.dump([domain.describe() for domain in domains], file, indent=1)
    for j, domain in enumerate(domains):
        if domain.labels is not None:
            table = pa.table({"label": domain.labels})
            pq.write_table(table, os.path.join(path, f"labels.{j}.parquet"))


def load_domains(path: str) -> tuple[Domain, ...]:
    """Read what `save_domains` wrote."""
    with open(os.path.join(path, "domains.json"), encoding="utf-8") as file:
        described = json.load(file)
    return tuple(_restored(path, j, each) for j, each in enumerate(described))


def _restored(path: str, j: int, described: dict[str, Any]) -> Domain:
    file = os.path.join(path, f"labels.{j}.parquet")
    labels = None
    if os.path.exists(file):
        labels = pq.read_table(file).column("label").combine_chunks()
    return restore_domain(described, labels)
