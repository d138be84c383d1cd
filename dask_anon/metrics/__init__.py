"""Figures of a release, one formula a function.

Each takes a class table (one row an equivalence class, with its `size`): a pandas frame gives a
number, a Dask frame a lazy scalar.
"""

from dask_anon.metrics.risk import (
    average_prosecutor_risk,
    n_records_below,
    prosecutor_risk,
    smallest_class,
)
from dask_anon.metrics.utility import (
    average_class_size,
    average_equivalence_class_size,
    discernibility,
    global_certainty_penalty,
    n_classes,
)

__all__ = [
    "average_class_size",
    "average_equivalence_class_size",
    "average_prosecutor_risk",
    "discernibility",
    "global_certainty_penalty",
    "n_classes",
    "n_records_below",
    "prosecutor_risk",
    "smallest_class",
]
