"""Privacy models, ready to be checked: one definition for algorithms, `measure` and `verify`.

    policy ──columns_of──▶ which sensitive columns to count
    policy + ValueCounts ──Models.of──▶ Models: checks of a class, as arrays for compiled code
                                        └ refused here, where not even the whole table holds
    class sizes ──size_findings──▶ what is asked of sizes alone, and whether it holds

A class is one class of `kernels.measures`: sparse counts of codes. The codes are those of
``Models.values``, a missing value the last.
"""

from __future__ import annotations

from dask_anon.models._checks import Check, limits_of, orders_text, track_of
from dask_anon.models._early import check_models, require_monotone
from dask_anon.models._models import Models, columns_of, settled
from dask_anon.models._population import class_size_for, class_size_of
from dask_anon.models._sizes import SizeFinding, size_findings

__all__ = [
    "Check",
    "Models",
    "SizeFinding",
    "check_models",
    "class_size_for",
    "class_size_of",
    "columns_of",
    "limits_of",
    "orders_text",
    "require_monotone",
    "settled",
    "size_findings",
    "track_of",
]
