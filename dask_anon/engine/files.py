"""One file of a release: written whole, hashed as it is written, without any pandas metadata."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dask_anon.engine.scratch import whole_file


def write(
    table: pa.Table, target: str, name: str, format: str, compression: str
) -> tuple[str, str, int, int]:
    """Write `table` as `target`/`name` plus its ending: name, SHA-256, bytes, rows."""
    name = f"{name}.{format}"
    if "://" in target:
        import fsspec

        with fsspec.open(f"{target}/{name}", "wb") as file:
            sink = _write(table, file, format, compression)
    else:
        with whole_file(os.path.join(target, name)) as temporary, open(temporary, "wb") as file:
            sink = _write(table, file, format, compression)
    return name, sink.digest.hexdigest(), sink.n_bytes, table.num_rows


class _Hashing:
    """Passes bytes on to a file and hashes them."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file, self.digest, self.n_bytes = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self.n_bytes += len(data)
        self._file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.n_bytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        pass


def _write(table: pa.Table, file: Any, format: str, compression: str) -> _Hashing:
    sink = _Hashing(file)
    if format == "parquet":
        _write_parquet(table, sink, compression)
    else:
        _write_csv(table, sink)
    return sink


def _write_parquet(table: pa.Table, sink: Any, compression: str) -> None:
    # Bounds and measurements hardly repeat: a dictionary costs more than it saves. Text does.
    text = [field.name for field in table.schema if _is_text(field.type)]
    # Labels come as dictionaries to be written once, and are declared as the text that they are.
    declared = pa.schema([_declared(field) for field in table.schema])
    metadata = {b"ARROW:schema": base64.b64encode(declared.serialize().to_pybytes())}
    pq.write_table(
        table.replace_schema_metadata(metadata),
        pa.PythonFile(sink, mode="w"),
        compression=compression,
        use_dictionary=text or False,
        store_schema=False,
        row_group_size=max(1, table.num_rows),
    )


def _is_text(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_dictionary(type_)
        or pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
    )


def _declared(field: pa.Field) -> pa.Field:
    is_label = field.type == pa.dictionary(pa.int32(), pa.string())
    return field.with_type(pa.string()) if is_label else field


def _write_csv(table: pa.Table, sink: Any) -> None:
    plain = pa.table(
        [
            column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ],
        names=table.column_names,
    )
    options = pa.csv.WriteOptions(quoting_style="needed")
    pa.csv.write_csv(plain, pa.PythonFile(sink, mode="w"), options)
