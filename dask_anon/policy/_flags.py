"""A policy from command line options, alone or on top of a policy file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy._columns import Role
from dask_anon.policy._paths import MISSING

if TYPE_CHECKING:
    from dask_anon.policy._policy import Policy

# Where a mistake stands for somebody who wrote options, not a file.
FLAG_OF = {
    "privacy": "-k",
    "columns": "--quasi-identifier",
    "algorithm.ties": "--ties",
    "algorithm.span_ties": "--span-ties",
    "recoding.format": "--format",
    "order": "--order",
    "seed": "--seed",
    "default_role": "--default-role",
    "input.path": "--input",
    "input.format": "--input-format",
    "input.delimiter": "--delimiter",
    "input.encoding": "--encoding",
    "output.path": "--output",
    "output.format": "--output-format",
}


def from_flags(
    cls: type[Policy],
    base: Policy | None,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    k: Any = None,
    l: Any = None,
    t: Any = None,
    ties: str | None = None,
    span_ties: str | None = None,
    format: str | None = None,
    order: str | None = None,
    seed: int | None = None,
    default_role: str | None = None,
    input: Any = None,
    output: Any = None,
    input_format: str | None = None,
    output_format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Policy:
    """Build a policy; see :meth:`Policy.from_flags`."""
    data: dict[str, Any] = {} if base is None else base.model_dump()
    roles = {
        Role.QUASI_IDENTIFIER: quasi_identifiers,
        Role.SENSITIVE: sensitive,
        Role.IDENTIFIER: identifiers,
    }
    problems = _two_roles(roles)
    data["columns"] = _columns(data.get("columns", {}), roles)
    secrets = [name for name, value in data["columns"].items() if _is_sensitive(value)]
    for flag, value in (("-l", l), ("-t", t)):
        if value is not None and not secrets:
            problems.append(Problem(flag, "needs a sensitive column. Name one with --sensitive."))
    models, flags = _models(data.get("privacy", ()), secrets, {"k": k, "l": l, "t": t})
    if models:
        data["privacy"] = models
    _set(data, "algorithm", ties=ties, span_ties=span_ties)
    _set(data, "recoding", format=format)
    _set(data, "input", path=input, format=input_format, delimiter=delimiter, encoding=encoding)
    _set(data, "output", path=output, format=output_format)
    given = {"order": order, "seed": seed, "default_role": default_role}
    data.update({key: value for key, value in given.items() if value is not None})
    try:
        policy = cls.model_validate(data)
    except PolicyError as error:
        problems += [_as_flag(problem, flags) for problem in error.problems]
    if problems:
        # One option may stand for the models of several columns.
        raise PolicyError(list(dict.fromkeys(problems)))
    return policy


def missing_files(base: Policy | None, flags: Mapping[str, Any], *, writes: bool) -> list[Problem]:
    """Find the files that neither the policy file nor the options name."""
    return [
        Problem(f"--{section}", MISSING[section])
        for section in (("input", "output") if writes else ("input",))
        if flags.get(section) is None and (base is None or getattr(base, section) is None)
    ]


def _two_roles(roles: dict[Role, Sequence[str]]) -> list[Problem]:
    flags: dict[str, list[str]] = {}
    for role, names in roles.items():
        for name in names:
            flags.setdefault(name, []).append(f"--{role.value}")
    return [
        Problem(
            f"columns.{name}",
            f"column '{name}' has two roles ({' and '.join(given)}). Keep one."
            if len(set(given)) > 1
            else f"column '{name}' is given twice with {given[0]}. Keep one.",
        )
        for name, given in flags.items()
        if len(given) > 1
    ]


def _columns(named: dict[str, Any], roles: dict[Role, Sequence[str]]) -> dict[str, Any]:
    columns, given = dict(named), set[str]()
    for role, names in roles.items():
        for name in names:
            if name in given:
                continue  # reported as a column with two roles; its first one stands meanwhile
            given.add(name)
            old = columns.get(name, {})
            # What belongs to the old role goes with it; the type of the column stays.
            columns[name] = (
                old if old.get("role") == role else {"role": role, "type": old.get("type")}
            )
    return columns


def _is_sensitive(column: Any) -> bool:
    return bool((column["role"] if isinstance(column, Mapping) else column) == Role.SENSITIVE)


def _models(
    models: Sequence[dict[str, Any]], secrets: Sequence[str], given: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The models with those of the options, and the options by the paths of their values."""
    made, flags = list(models), dict[str, str]()
    for key, name in (("k", "k-anonymity"), ("l", "distinct-l-diversity"), ("t", "t-closeness")):
        value = given[key]
        if value is None:
            continue
        of = [{}] if key == "k" else [{"column": column} for column in secrets]
        for subject in of:
            old = [m for m in made if m["model"] == name and subject.items() <= m.items()]
            for model in old or [{}]:
                new = {**model, "model": name, **subject, key: value}
                if model:
                    made[made.index(model)] = new
                elif key == "k":
                    made.insert(0, new)
                else:
                    made.append(new)
    options = {"k-anonymity": "k", "distinct-l-diversity": "l", "t-closeness": "t"}
    for i, model in enumerate(made):
        key = options.get(model["model"], "")
        if given.get(key) is not None:
            flags[f"privacy[{i}].{key}"] = f"-{key}"
    return made, flags


def _set(data: dict[str, Any], section: str, **given: Any) -> None:
    given = {key: value for key, value in given.items() if value is not None}
    if given:
        data[section] = {**(data.get(section) or {}), **given}


def _as_flag(problem: Problem, flags: Mapping[str, str]) -> Problem:
    path = flags.get(problem.path) or FLAG_OF.get(problem.path, problem.path)
    message = problem.message
    if path == "-k" and message == "is missing.":
        message = "is missing. Say how many records must look alike at least, such as -k 5."
    return Problem(path, message)
