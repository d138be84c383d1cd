"""dask_anon: anonymization of tables larger than memory, on Dask.

>>> import dask_anon as anon
>>> policy = anon.Policy(
...     columns={"age": "quasi-identifier"}, privacy=[{"model": "k-anonymity", "k": 2}]
... )

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dask_anon.errors import (
    AnonError,
    DataError,
    OutputError,
    PlanError,
    PolicyError,
    VerificationError,
)

if TYPE_CHECKING:
    from dask_anon import metrics
    from dask_anon.audit.verify import Verification, verify
    from dask_anon.classes import equivalence_classes
    from dask_anon.engine.fit import anonymize, fit
    from dask_anon.engine.plan import Plan, plan
    from dask_anon.evaluation import Check, Evaluation, check, evaluate
    from dask_anon.hierarchy import parse_label
    from dask_anon.measures import Measures, measure
    from dask_anon.policy import Policy
    from dask_anon.recoding import Recoding
    from dask_anon.release import Release, run

__version__ = "0.1.0"

_HOMES = {
    "Check": "evaluation",
    "Evaluation": "evaluation",
    "Measures": "measures",
    "Plan": "engine.plan",
    "Policy": "policy",
    "Recoding": "recoding",
    "Release": "release",
    "Verification": "audit.verify",
    "anonymize": "engine.fit",
    "check": "evaluation",
    "equivalence_classes": "classes",
    "evaluate": "evaluation",
    "fit": "engine.fit",
    "measure": "measures",
    "metrics": "",
    "parse_label": "hierarchy",
    "plan": "engine.plan",
    "run": "release",
    "verify": "audit.verify",
}

__all__ = [
    "AnonError",
    "Check",
    "DataError",
    "Evaluation",
    "Measures",
    "OutputError",
    "Plan",
    "PlanError",
    "Policy",
    "PolicyError",
    "Recoding",
    "Release",
    "Verification",
    "VerificationError",
    "anonymize",
    "check",
    "equivalence_classes",
    "evaluate",
    "fit",
    "measure",
    "metrics",
    "parse_label",
    "plan",
    "run",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dask_anon' has no attribute {name!r}")
    if not home:
        return importlib.import_module(f"dask_anon.{name}")
    return getattr(importlib.import_module(f"dask_anon.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
