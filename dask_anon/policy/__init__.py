"""What is asked: roles of columns, privacy models, recoding, requirements, files.

    policy.yaml ──load──▶ Policy ──bind(columns of the data)──▶ Bound
    flags ───────from_flags──┘

A :class:`Policy` is frozen and knows nothing about the data; binding it to the column names of a
table finds every contradiction between the two at once.
"""

from __future__ import annotations

from dask_anon.policy._bind import Bound
from dask_anon.policy._columns import Column, Hierarchy, Role
from dask_anon.policy._policy import Policy
from dask_anon.policy._privacy import (
    MODELS,
    AlphaKAnonymity,
    AverageRisk,
    BasicBetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    PrivacyModel,
    PrivacyModelBase,
    RecursiveCLDiversity,
    SampleUniqueness,
    StrictAverageRisk,
    TCloseness,
)
from dask_anon.policy._sections import (
    Algorithm,
    Input,
    Limit,
    Missing,
    Output,
    Recoding,
    Require,
)

__all__ = [
    "MODELS",
    "Algorithm",
    "AlphaKAnonymity",
    "AverageRisk",
    "BasicBetaLikeness",
    "Bound",
    "Column",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "Hierarchy",
    "Input",
    "KAnonymity",
    "KMap",
    "Limit",
    "Missing",
    "Output",
    "Policy",
    "PopulationUniqueness",
    "PrivacyModel",
    "PrivacyModelBase",
    "Recoding",
    "RecursiveCLDiversity",
    "Require",
    "Role",
    "SampleUniqueness",
    "StrictAverageRisk",
    "TCloseness",
]
