"""Paths of a policy: relative to its file, and never one inside the other."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from dask_anon.errors import Problem

if TYPE_CHECKING:
    from dask_anon.policy._columns import Column
    from dask_anon.policy._policy import Policy
    from dask_anon.policy._sections import Input, Output


MISSING = {
    "input": "is missing. Say where the data is: input: {path: …} in the policy, or --input.",
    "output": "is missing. Say where the release goes: output: {path: …} in the policy, "
    "or --output.",
}


def anchored(policy: Policy, folder: str) -> Policy:
    """Take the relative paths of a policy from `folder`."""
    update: dict[str, Any] = {
        "columns": {name: _anchored(column, folder) for name, column in policy.columns.items()}
    }
    for section in ("input", "output"):
        files = getattr(policy, section)
        if files is not None:
            update[section] = files.model_copy(update={"path": _under(folder, files.path)})
    return policy.model_copy(update=update)


def _anchored(column: Column, folder: str) -> Column:
    update: dict[str, Any] = {}
    if column.key_file:
        update["key_file"] = _under(folder, column.key_file)
    if column.hierarchy is not None and column.hierarchy.file:
        file = _under(folder, column.hierarchy.file)
        update["hierarchy"] = column.hierarchy.model_copy(update={"file": file})
    return column.model_copy(update=update) if update else column


def _under(folder: str, path: str) -> str:
    # "simplecache::s3://…" is a URL as well.
    return path if "://" in path else os.path.join(folder, os.path.expanduser(path))


def file_problems(source: Input | None, target: Output | None, *, writes: bool) -> list[Problem]:
    """Find what keeps a run from files from starting."""
    problems = [
        Problem(f"{section}.path", MISSING[section])
        for section, files in (("input", source), ("output", target))
        if files is None and (writes or section == "input")
    ]
    if source is not None and target is not None and _overlap(source.path, target.path):
        problems.append(
            Problem(
                "output.path",
                "input and output lie in each other, so a run would read or replace its own files. "
                "Choose an output beside the input.",
            )
        )
    return problems


def _overlap(source: str, target: str) -> bool:
    """Whether a run could replace what it reads, or a second run could read the release."""
    given, made = _parts(source), _parts(target)
    fixed = given[: next((i for i, part in enumerate(given) if re.search(r"[*?\[]", part)), None)]
    if given[: len(made)] == made:  # the output is the input or holds it
        return True
    # An output below a directory that is read whole, or below a recursive glob.
    return made[: len(fixed)] == fixed and (given == fixed or "**" in given)


def _parts(path: str) -> list[str]:
    if "://" in path:
        return path.rstrip("/").split("/")
    return os.path.realpath(os.path.expanduser(path)).rstrip(os.sep).split(os.sep)
