"""What a manifest promises of the classes, and what of it a release can show by itself.

The policy in a manifest is untrusted like the rest: it is read by the rules for every policy, must
fit the columns that the manifest names, and may not lead to a file of whoever verifies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from dask_anon.audit.manifest import Manifest
from dask_anon.errors import DataError, PolicyError, VerificationError
from dask_anon.models import columns_of
from dask_anon.policy import Policy, PrivacyModelBase, TCloseness


@dataclass(frozen=True)
class Promises:
    """The privacy models of a manifest that can be measured again.

    Attributes
    ----------
    policy : Policy or None
        With these models; None if there is none, or if it cannot be read.
    types : mapping of str to pyarrow.DataType
        The types that the sensitive columns had.
    problems, notes : tuple of str
        What is wrong with the promises, and which of them cannot be measured.
    """

    policy: Policy | None
    types: Mapping[str, pa.DataType]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, manifest: Manifest) -> Promises:
        """Read the promises of a manifest."""
        try:
            policy = Policy.from_manifest(manifest.policy)
        except PolicyError as error:
            mistakes = "; ".join(f"{problem.path}: {problem.message}" for problem in error.problems)
            return cls(None, {}, (f"the policy in the manifest is none: {mistakes}",))
        problems = [*_contradictions(policy, manifest), *_leading_out(policy)]
        needed = columns_of(policy)
        types = {name: type_ for name, type_ in manifest.types.items() if name in needed}
        problems += [
            f"column '{column.name}' has a type in the manifest that is not known."
            for column in manifest.columns
            if column.name in needed and column.name not in types
        ]
        if problems:
            return cls(None, {}, tuple(problems))
        lost = orders_lost(policy, types) if manifest.data_format == "csv" else {}
        notes = tuple(f"{model} is promised as well: {why}" for model, why in lost.items())
        return cls(without(policy, lost), types, (), notes)


def policy_of(manifest: Manifest) -> Policy:
    """The policy of a manifest, with the models that can be measured.

    Raises
    ------
    VerificationError
        If there is none.
    """
    promises = Promises.of(manifest)
    if promises.policy is None:
        problems = promises.problems or promises.notes
        raise VerificationError(" ".join(problems), problems=problems)
    return promises.policy


def _contradictions(policy: Policy, manifest: Manifest) -> list[str]:
    shown = {column.name for column in manifest.quasi_identifiers}
    problems = [
        f"the policy in the manifest makes '{name}' a quasi-identifier, its columns do not."
        for name in policy.quasi_identifiers
        if name not in shown
    ]
    released = {column.name for column in manifest.columns if column.released == (column.name,)}
    problems += [
        f"column '{name}' is not in the release, and a privacy model in the manifest looks at it."
        for name in columns_of(policy)
        if name not in released
    ]
    return problems


def _leading_out(policy: Policy) -> list[str]:
    return [
        f"the policy in the manifest names a file for column '{name}'; a manifest never does."
        for name, column in policy.columns.items()
        if column.key_file or (column.hierarchy is not None and column.hierarchy.file)
    ]


def orders_lost(policy: Policy, types: Mapping[str, pa.DataType]) -> dict[PrivacyModelBase, str]:
    """Models that ask for an order of categories, which CSV does not keep; and a sentence why."""
    lost: dict[PrivacyModelBase, str] = {}
    for model in policy.privacy:
        if isinstance(model, TCloseness) and model.distance in (None, "ordered", "numeric"):
            type_ = types.get(model.column)
            if type_ is not None and pa.types.is_dictionary(type_) and type_.ordered:
                lost[model] = (
                    f"the categories of '{model.column}' had an order, which CSV does not keep, "
                    "so it cannot be measured again."
                )
    return lost


def without(policy: Policy, models: Mapping[PrivacyModelBase, str]) -> Policy | None:
    """The policy without some models; None if none is left."""
    left = tuple(model for model in policy.privacy if model not in models)
    return policy.model_copy(update={"privacy": left}) if left else None


def refuse_what_cannot_be_verified(policy: Policy, types: Mapping[str, pa.DataType]) -> None:
    """Raise before work starts if a release in CSV could not be verified."""
    if policy.output is None or policy.output.format != "csv":
        return
    for model, why in orders_lost(policy, types).items():
        raise DataError(
            f"{model}: {why} Write Parquet (output format: parquet), or ask for `distance: equal`."
        )
