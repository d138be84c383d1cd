"""What is asked: roles of columns, privacy models, recoding, requirements, files.

    policy.yaml ──load──▶ Policy ──bind(columns of the data)──▶ Bound
    flags ───────from_flags──┘

A :class:`Policy` is frozen and knows nothing about the data; binding it to the column names of a
table finds every contradiction between the two at once.
"""

from __future__ import annotations

from dask_anon.policy._bind import Bound
from dask_anon.policy._columns import Column, Role
from dask_anon.policy._policy import Policy
from dask_anon.policy._privacy import KAnonymity, PrivacyModel
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
    "Algorithm",
    "Bound",
    "Column",
    "Input",
    "KAnonymity",
    "Limit",
    "Missing",
    "Output",
    "Policy",
    "PrivacyModel",
    "Recoding",
    "Require",
    "Role",
]
