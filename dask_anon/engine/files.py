"""One file of a release: written whole and hashed, without any pandas metadata."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dask_anon.engine.scratch import whole_file

# Labels come as dictionaries, so that each is written once; this marks them as the text they are.
# A column of the original may have the same Arrow type and keeps it.
LABEL = {b"anon": b"label"}
# Generalized numbers and dates.
BOUND = {b"anon": b"bound"}


def write(
    table: pa.Table, target: str, name: str, format: str, compression: str
) -> tuple[str, str, int, int]:
    """Write `table` as `target`/`name` plus its ending: name, SHA-256, bytes, rows.

    Fields with the metadata ``LABEL`` are text to those who read the file.
    """
    name = f"{name}.{format}"
    writer = _write_parquet if format == "parquet" else _write_csv
    if "://" in target:
        import fsspec

        buffer = pa.BufferOutputStream()
        writer(table, buffer, compression)
        whole = buffer.getvalue()
        with fsspec.open(f"{target}/{name}", "wb") as remote:
            remote.write(whole)
        return name, hashlib.sha256(whole).hexdigest(), whole.size, table.num_rows
    with whole_file(os.path.join(target, name)) as temporary:
        # Arrow writes by itself, and the file is hashed from the page cache: a Python file between
        # them would wait for the interpreter's lock at every page.
        with pa.OSFile(temporary, "wb") as sink:
            writer(table, sink, compression)
        with open(temporary, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return name, digest, os.path.getsize(temporary), table.num_rows


_DICTIONARY_BYTES = 64 * 2**20


def _write_parquet(table: pa.Table, sink: Any, compression: str) -> None:
    # Most bounds and measurements hardly repeat: a dictionary costs more than it saves. Text does,
    # and so do numbers of one byte, which Parquet would store in four.
    repeating = [field.name for field in table.schema if _repeats(field.type)]
    declared = pa.schema([_declared(field) for field in table.schema])
    metadata = {b"ARROW:schema": base64.b64encode(declared.serialize().to_pybytes())}
    schema = table.schema.remove_metadata()
    # Before pyarrow 17 nothing can be added to a footer; there the schema that comes first counts.
    late = hasattr(pq.ParquetWriter, "add_key_value_metadata")
    if not late:
        schema = schema.with_metadata(metadata)
    with pq.ParquetWriter(
        sink,
        schema,
        compression=compression,
        use_dictionary=repeating or False,
        # Past the default of 1 MiB pages become plain, at five times the cost for readers.
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
        # The extremes of what is generalized in a part help no reader: they are those of the table,
        # nearly, and for labels take as long to find as all of them to write.
        write_statistics=[f.name for f in table.schema if f.metadata not in (LABEL, BOUND)],
        store_schema=not late,
    ) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata), max(1, table.num_rows))
        if late:
            writer.add_key_value_metadata(metadata)


def _repeats(type_: pa.DataType) -> bool:
    return bool(
        type_ in (pa.int8(), pa.uint8())
        or pa.types.is_dictionary(type_)
        or pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
    )


def _declared(field: pa.Field) -> pa.Field:
    type_ = pa.string() if field.metadata == LABEL else field.type
    return pa.field(field.name, type_, field.nullable)


def _write_csv(table: pa.Table, sink: Any, compression: str) -> None:
    plain = pa.table(
        [
            column.cast(pa.string()) if _is_spelled_out(column.type) else column
            for column in table.columns
        ],
        names=table.column_names,
    )
    options = pa.csv.WriteOptions(quoting_style="needed")
    pa.csv.write_csv(plain, sink, options)


def _is_spelled_out(type_: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(type_) or type_ == pa.string_view())
