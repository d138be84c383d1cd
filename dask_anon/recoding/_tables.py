"""Columns of a pandas frame as an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from dask_anon.errors import DataError


def table_from_frame(frame: pd.DataFrame, columns: Sequence[str]) -> pa.Table:
    """These columns of a frame, without its index.

    Raises
    ------
    DataError
        When a column mixes types, or holds objects that are no data.
    """
    if not columns:
        return pa.table({"": pa.nulls(len(frame))}).select([])
    arrays = [_chunked(frame[column]) for column in columns]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _chunked(column: pd.Series) -> pa.ChunkedArray:
    try:
        array: Any = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Arrow's message quotes the value, so it does not go on.
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        raise DataError(
            f"column {column.name!r} mixes types or holds no plain values ({', '.join(kinds)}). "
            "Convert it to one type before anonymizing.",
            column=column.name,
        ) from None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
