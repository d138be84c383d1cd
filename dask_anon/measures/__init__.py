"""Every figure of risk and utility of a table, ours or not, before and after it was anonymized.

    data, released ──class tables──▶ figures of sizes, of sensitive values, of labels ──▶ Measures

All that is lazy is computed together, so each table is read once (once more for what its labels
cover).
"""

from __future__ import annotations

from dask_anon.measures._files import is_release_directory, open_table
from dask_anon.measures._measure import measure
from dask_anon.measures._measures import Measure, Measures

__all__ = ["Measure", "Measures", "is_release_directory", "measure", "open_table"]
