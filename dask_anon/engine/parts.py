"""The rows of a partition as an Arrow table: from a reader of files, or from a pandas frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from dask_anon.recoding import table_from_frame


def table_of(part: Any, columns: Sequence[str]) -> pa.Table:
    """The columns of a partition: `part` is a Reader of a file or a pandas frame."""
    if isinstance(part, pd.DataFrame):
        return table_from_frame(part, columns)
    return part.read(columns)
