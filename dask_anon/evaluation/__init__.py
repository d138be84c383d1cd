"""What was asked of a table, what was found, and whether it holds.

class table, or classes counted from files ──Models──▶ Judged ──require──▶ Evaluation

One definition of every privacy model, whoever counted the classes.
"""

from __future__ import annotations

from dask_anon.evaluation._check import Check, check
from dask_anon.evaluation._evaluation import Evaluation, evaluate
from dask_anon.evaluation._findings import (
    Classes,
    Finding,
    Found,
    Histograms,
    found_in,
    histograms_of,
    merge_found,
    pairs_of,
)
from dask_anon.evaluation._frames import judge_classes
from dask_anon.evaluation._rows import Judged, Requirement, min_size_of, shown
from dask_anon.evaluation._together import together, with_loss

__all__ = [
    "Check",
    "Classes",
    "Evaluation",
    "Finding",
    "Found",
    "Histograms",
    "Judged",
    "Requirement",
    "check",
    "evaluate",
    "found_in",
    "histograms_of",
    "judge_classes",
    "merge_found",
    "min_size_of",
    "pairs_of",
    "shown",
    "together",
    "with_loss",
]
