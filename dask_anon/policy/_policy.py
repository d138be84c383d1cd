"""The policy: one frozen value that says what is asked of a release."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy import _bind, _files
from dask_anon.policy._base import Part, sentence, word_as
from dask_anon.policy._columns import Column, Format, Role
from dask_anon.policy._contradictions import contradictions
from dask_anon.policy._paths import anchored, file_problems
from dask_anon.policy._privacy import PrivacyModel, TCloseness
from dask_anon.policy._problems import kind_of, problems_of
from dask_anon.policy._sections import Algorithm, Input, Missing, Output, Recoding, Require


def _version(value: Any) -> Any:
    if value != 1 or isinstance(value, bool):
        raise sentence("must be 1, the only version of policies that this dask_anon reads.")
    return 1


def _seed(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise sentence("must be a whole number from 0 to 2**64 - 1.")
    return value


class Policy(Part):
    """What is asked: who is who among the columns, what must hold, how values are shown, where.

    Parameters
    ----------
    columns : mapping of str to Column
        The role of each column; a bare word stands for the role. One at least is a
        quasi-identifier.
    privacy : sequence of PrivacyModel
        What every equivalence class must satisfy.
    default_role : {"error", "insensitive", "identifier"}, optional
        The role of columns that are not named. Left out, it is an error in a run from files, and
        insensitive for tables in memory.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        What a missing sensitive value is to the privacy models: nothing, a value of its own, or an
        error.
    algorithm, recoding, missing, require, order, seed, input, output
        The sections of the policy file of the same names.

    Raises
    ------
    PolicyError
        With every mistake at once, each with its path.

    Examples
    --------
    >>> policy = Policy(
    ...     columns={"age": "quasi-identifier", "disease": "sensitive"},
    ...     privacy=[{"model": "k-anonymity", "k": 5}],
    ... )
    >>> policy.k, policy.quasi_identifiers
    (5, ['age'])
    """

    version: Annotated[int, BeforeValidator(_version)] = 1
    columns: dict[str, Annotated[Column, word_as("role")]]
    default_role: Literal["error", "insensitive", "identifier"] | None = None
    privacy: Annotated[tuple[PrivacyModel, ...], Field(strict=False)]
    sensitive_nulls: Literal["ignore", "value", "error"] = "ignore"
    algorithm: Annotated[Algorithm, word_as("name")] = Algorithm()
    recoding: Annotated[Recoding, word_as("method")] = Recoding()
    missing: Missing = Missing()
    require: Require = Require()
    order: Literal["shuffle", "keep"] = "shuffle"
    seed: Annotated[int, BeforeValidator(_seed)] = 0
    input: Annotated[Input, word_as("path")] | None = None
    output: Annotated[Output, word_as("path")] | None = None

    if TYPE_CHECKING:
        # Columns may be bare words and sections plain mappings, which the fields' types do not say.
        def __init__(self, **sections: Any) -> None: ...

    @field_validator("columns")
    @classmethod
    def _somebody_to_protect(cls, columns: dict[str, Column]) -> dict[str, Column]:
        if not any(column.role is Role.QUASI_IDENTIFIER for column in columns.values()):
            raise sentence(
                "no column is a quasi-identifier. "
                "Give that role to what others could know about a person."
            )
        return columns

    @field_validator("privacy")
    @classmethod
    def _something_to_satisfy(cls, models: tuple[Any, ...]) -> tuple[Any, ...]:
        if not models:
            raise sentence("needs at least one privacy model, such as {model: k-anonymity, k: 5}.")
        return models

    @model_validator(mode="wrap")
    @classmethod
    def _mistakes_at_once(
        cls, data: Any, handler: ModelWrapValidatorHandler[Policy], info: ValidationInfo
    ) -> Policy:
        if not isinstance(data, Mapping | Policy):
            raise PolicyError(f"a policy must be a mapping, found {kind_of(data)}.")
        problems: list[Problem] = []
        try:
            policy = handler(data)
        except ValidationError as error:
            problems += problems_of(error, cls, data)
        if isinstance(data, Mapping):
            problems += contradictions(data, info.context)
        if problems:
            raise PolicyError(problems)
        return policy

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file, YAML or TOML.

        Relative paths in it are relative to the folder of the file, so that a policy works from
        anywhere; URLs (``s3://…``) are left alone.

        Raises
        ------
        PolicyError
            With every mistake at once, each with its path and the nearest known word.
        """
        path = os.fspath(path)
        data, problems = _files.read(path)
        try:
            policy = cls.model_validate(data)
        except PolicyError as error:
            problems.extend(error.problems)
        if problems:
            raise PolicyError(problems)
        return anchored(policy, os.path.dirname(os.path.abspath(path)))

    @classmethod
    def from_flags(cls, base: Policy | None = None, **flags: Any) -> Policy:
        """Make a policy from short options, or change `base` by them; a flag wins over the file.

        Parameters
        ----------
        base : Policy, optional
            The policy to change.
        **flags
            quasi_identifiers, sensitive, identifiers: columns by role, a sequence of names each;
            l and t: distinct l-diversity and t-closeness of every sensitive column;
            k, ties, span_ties, format, order, seed, default_role, input, output, input_format,
            output_format, delimiter, encoding: the values of the policy with these names. None
            leaves what is there.

        Examples
        --------
        >>> Policy.from_flags(quasi_identifiers=["age", "zip"], k=5).quasi_identifiers
        ['age', 'zip']
        """
        from dask_anon.policy._flags import from_flags

        return from_flags(cls, base, **flags)

    @classmethod
    def from_manifest(cls, section: Mapping[str, Any]) -> Policy:
        """Restore what :meth:`to_manifest` wrote; files and keys are not in it."""
        return cls.model_validate(dict(section), context={"manifest": True})

    def __str__(self) -> str:
        algorithm, recoding = self.algorithm, self.recoding
        return (
            f"{'; '.join(map(str, self.privacy))} over {_bind.listed(self.quasi_identifiers)} "
            f"({algorithm.name}, ties {algorithm.ties}; {recoding.method}, {recoding.format})"
        )

    @property
    def k(self) -> int:
        """The fewest records that a class may have for the privacy models to hold, at least 1."""
        return max(model.min_size for model in self.privacy)

    @property
    def quasi_identifiers(self) -> list[str]:
        """The quasi-identifiers in the order of the policy."""
        return [n for n, column in self.columns.items() if column.role is Role.QUASI_IDENTIFIER]

    @property
    def sensitive(self) -> list[str]:
        """The columns that are named as sensitive, in the order of the policy."""
        return [n for n, column in self.columns.items() if column.role is Role.SENSITIVE]

    def role(self, name: str) -> Role:
        """Role of a column; of one that is not named, what ``default_role`` says, else an error."""
        if name in self.columns:
            return self.columns[name].role
        if self.default_role in (None, "error"):
            raise PolicyError([Problem("columns", f"column '{name}' has no role. Give it one.")])
        return Role(self.default_role)

    def format_of(self, name: str) -> Format:
        """How the classes of a quasi-identifier are printed."""
        column = self.columns.get(name)
        return (column.format if column else None) or self.recoding.format

    def key_of(self, name: str) -> bytes:
        """Read the key of a pseudonymized column from where the policy says."""
        from dask_anon.policy._keys import read_key

        return read_key(name, self.columns[name])

    def taxonomy_of(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The rows of a column's taxonomy, read from where the policy says."""
        from dask_anon.policy._taxonomies import read_rows

        return read_rows(name, self.columns[name])

    def bind(
        self, names: Sequence[str], *, default_role: _bind.DefaultRole | None = None
    ) -> _bind.Bound:
        """Give every column of a table its role.

        Parameters
        ----------
        names : sequence of str
            The columns of the data, in its order.
        default_role : {"error", "insensitive", "identifier"}, optional
            What the caller takes for columns that are not named where the policy leaves it open.

        Raises
        ------
        PolicyError
            With every contradiction at once: columns that are not in the data, names that stand
            twice, columns without a role, two released columns of one name.
        """
        return _bind.bind(self, names, default_role)

    def check_files(self, *, writes: bool = True) -> None:
        """Raise if a run from files cannot start: no input, no output, or one inside the other.

        Without `writes`, the output may be left open.
        """
        problems = file_problems(self.input, self.output, writes=writes)
        if problems:
            raise PolicyError(problems)

    def to_manifest(self) -> dict[str, Any]:
        """Write the policy as plain JSON without files and keys: what may travel with a release.

        A taxonomy that a distance is measured in travels row by row, so that whoever verifies the
        release can measure it again; where its file lies does not.

        Raises
        ------
        PolicyError
            If the file of such a taxonomy cannot be read.
        """
        measured = {
            model.column
            for model in self.privacy
            if isinstance(model, TCloseness) and model.distance == "hierarchical"
        }
        section = self.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude={"input", "output"}
        )
        for name, column in section["columns"].items():
            if column.pop("hierarchy", None) and name in measured:
                rows = [list(row) for row in self.taxonomy_of(name)]
                column["hierarchy"] = {"kind": "taxonomy", "rows": rows}
            column.pop("key_file", None)
            column.pop("key_env", None)
            if column["role"] != Role.IDENTIFIER:
                column.pop("action")
        return section
