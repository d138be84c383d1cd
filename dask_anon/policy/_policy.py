"""The policy: one frozen value that says what is asked of a release."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy import _bind, _files
from dask_anon.policy._base import Part, sentence, word_as
from dask_anon.policy._columns import Column, Format, Role
from dask_anon.policy._paths import anchored, file_problems
from dask_anon.policy._privacy import KAnonymity, PrivacyModel
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
    def _each_model_once(cls, models: tuple[Any, ...]) -> tuple[Any, ...]:
        n_k = sum(isinstance(model, KAnonymity) for model in models)
        if n_k != 1:
            found = "none was found" if n_k == 0 else f"{n_k} were found"
            raise sentence(f"needs exactly one k-anonymity model, {found}.")
        return models

    @model_validator(mode="wrap")
    @classmethod
    def _mistakes_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Policy]) -> Policy:
        if not isinstance(data, Mapping | Policy):
            raise PolicyError(f"a policy must be a mapping, found {kind_of(data)}.")
        try:
            return handler(data)
        except ValidationError as error:
            raise PolicyError(problems_of(error, cls, data)) from None

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
            f"k-anonymity with k={self.k} over {_bind.listed(self.quasi_identifiers)} "
            f"({algorithm.name}, ties {algorithm.ties}; {recoding.method}, {recoding.format})"
        )

    @property
    def k(self) -> int:
        """The k of k-anonymity."""
        return next(model.k for model in self.privacy if isinstance(model, KAnonymity))

    @property
    def quasi_identifiers(self) -> list[str]:
        """The quasi-identifiers in the order of the policy."""
        return [n for n, column in self.columns.items() if column.role is Role.QUASI_IDENTIFIER]

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
        """Write the policy as plain JSON without files and keys: what may travel with a release."""
        section = self.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude={"input", "output"}
        )
        for column in section["columns"].values():
            column.pop("key_file", None)
            column.pop("key_env", None)
            if column["role"] != Role.IDENTIFIER:
                column.pop("action")
        return section
