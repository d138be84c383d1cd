"""What can go wrong, as sentences.

Every error says what is wrong, where, what was found and what to do. Column names, counts and
positions may appear in a message; a value of the data never does.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class AnonError(Exception):
    """The family: catch this to catch everything that dask_anon raises on purpose.

    The message comes first, so that the error survives the trip from a worker; the parts that a
    caller may act on are kept as attributes.
    """

    exit_code = 2

    def __init__(self, message: str, **parts: Any) -> None:
        super().__init__(message)
        self.parts = parts
        self.__dict__.update(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[AnonError], args: tuple[Any, ...], state: dict[str, Any]) -> AnonError:
    error = kind.__new__(kind)
    Exception.__init__(error, *args)
    error.__dict__.update(state)
    return error


@dataclass(frozen=True)
class Problem:
    """One mistake in a policy: where it stands and what is wrong with it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class PolicyError(AnonError):
    """The policy asks for something impossible or unclear; every mistake is reported at once."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = [Problem("", problems)]
        lines = [str(problem) for problem in problems]
        head = "" if len(lines) == 1 else f"the policy has {len(lines)} mistakes:\n  "
        super().__init__(head + "\n  ".join(lines), problems=tuple(problems))


class DataError(AnonError):
    """The data cannot be read as the policy says."""


class PlanError(AnonError):
    """The work does not fit the machines that were given."""


class OutputError(AnonError):
    """The release cannot be written where the policy says."""


class VerificationError(AnonError):
    """A release does not keep its promise."""

    exit_code = 1


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The closest of `names` to a mistyped `name`, or None."""
    # Upper and lower case are what people mistake first.
    spelled = {known.lower(): known for known in names}
    matches = difflib.get_close_matches(name.lower(), list(spelled), n=1, cutoff=0.6)
    return spelled[matches[0]] if matches else None


def counted(n: int, one: str, many: str) -> str:
    """A number with its noun: ``1 file``, ``1,024 files``."""
    return f"{n:,} {one if n == 1 else many}"
