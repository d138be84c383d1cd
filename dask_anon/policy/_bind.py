"""A policy meets the columns of a table: every contradiction at once, then who is who."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dask_anon.errors import PolicyError, Problem, nearest
from dask_anon.policy._columns import Column, Role

if TYPE_CHECKING:
    from dask_anon.policy._policy import Policy

DefaultRole = Literal["error", "insensitive", "identifier"]

# A table may have thousands of columns; a sentence names this many of them.
SHOWN = 20


@dataclass(frozen=True)
class Bound:
    """The columns of a table by what happens to them.

    All in the order of the data, except the quasi-identifiers: those follow the policy, which
    decides between attributes that are equally good to cut.
    """

    columns: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    identifiers_dropped: tuple[str, ...]
    identifiers_pseudonymized: tuple[str, ...]

    @property
    def released(self) -> tuple[str, ...]:
        """Columns that reach the release, in the order of the data."""
        dropped = set(self.identifiers_dropped)
        return tuple(name for name in self.columns if name not in dropped)

    @property
    def payload(self) -> tuple[str, ...]:
        """Released columns that no algorithm looks at."""
        recoded = set(self.quasi_identifiers)
        return tuple(name for name in self.released if name not in recoded)

    def __str__(self) -> str:
        groups = {
            "quasi-identifiers": self.quasi_identifiers,
            "sensitive": self.sensitive,
            "insensitive": self.insensitive,
            "dropped": self.identifiers_dropped,
            "pseudonymized": self.identifiers_pseudonymized,
        }
        return "; ".join(f"{word}: {listed(names)}" for word, names in groups.items() if names)


def bind(policy: Policy, names: Sequence[str], default_role: DefaultRole | None = None) -> Bound:
    """Give every column of a table its role; see :meth:`Policy.bind`."""
    default = policy.default_role or default_role or "error"
    problems = _names(names)
    known = [name for name in names if isinstance(name, str)]
    problems += _unknown(policy, known)
    if default == "error":
        problems += _unnamed(policy, known)
    fallback = Column(role=Role.IDENTIFIER if default == "identifier" else Role.INSENSITIVE)
    columns = {name: policy.columns.get(name, fallback) for name in known}
    problems += _collisions(policy, columns)
    if problems:
        raise PolicyError(problems)

    def having(role: Role, action: str | None = None) -> tuple[str, ...]:
        return tuple(
            name
            for name, column in columns.items()
            if column.role is role and action in (None, column.action)
        )

    return Bound(
        columns=tuple(known),
        quasi_identifiers=tuple(policy.quasi_identifiers),
        sensitive=having(Role.SENSITIVE),
        insensitive=having(Role.INSENSITIVE),
        identifiers_dropped=having(Role.IDENTIFIER, "drop"),
        identifiers_pseudonymized=having(Role.IDENTIFIER, "pseudonymize"),
    )


def listed(names: Sequence[str]) -> str:
    """List the first names, and how many are left."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:SHOWN]) + more


def _names(names: Sequence[str]) -> list[Problem]:
    problems = [
        Problem("", f"column {i} of the data has a name that is not text. Rename it.")
        for i, name in enumerate(names, start=1)
        if not isinstance(name, str)
    ]
    for name, count in Counter(n for n in names if isinstance(n, str)).items():
        if count > 1:
            problems.append(
                Problem("", f"the data has {count} columns named '{name}'. Rename all but one.")
            )
    return problems


def _unknown(policy: Policy, names: Sequence[str]) -> list[Problem]:
    present = set(names)
    problems = []
    for name in policy.columns:
        if name not in present:
            close = nearest(name, names)
            hint = f" Did you mean '{close}'?" if close else ""
            problems.append(
                Problem(
                    f"columns.{name}",
                    f"column '{name}' is not in the data.{hint} Columns: {listed(names)}.",
                )
            )
    return problems


def _unnamed(policy: Policy, names: Sequence[str]) -> list[Problem]:
    unnamed = [name for name in dict.fromkeys(names) if name not in policy.columns]
    if not unnamed:
        return []
    what = f"column {listed(unnamed)} has" if len(unnamed) == 1 else f"{listed(unnamed)} have"
    return [
        Problem(
            "columns",
            f"{what} no role. Give every column of the data one, or say what the others are "
            "(default_role or --default-role: insensitive publishes them, identifier drops them).",
        )
    ]


def _collisions(policy: Policy, columns: dict[str, Column]) -> list[Problem]:
    """Find names that a release would have twice, such as `age_min` beside the bounds of `age`."""
    made: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.role is Role.IDENTIFIER and column.action == "drop":
            continue
        for released in _released_names(policy, name, column):
            made.setdefault(released, []).append(name)
    return [
        Problem(
            f"columns.{sources[0]}",
            f"the release would have two columns '{released}', from {listed(sources)}. "
            "Rename one in the data, or give the quasi-identifier `format: interval`.",
        )
        for released, sources in made.items()
        if len(sources) > 1
    ]


def _released_names(policy: Policy, name: str, column: Column) -> list[str]:
    if column.role is not Role.QUASI_IDENTIFIER or column.type in ("text", "boolean"):
        return [name]
    # Whether the column holds missing values is only known later, when it would be a pity to fail.
    match policy.format_of(name):
        case "bounds":
            return [f"{name}_min", f"{name}_max", f"{name}_missing"]
        case "midpoint":
            return [name, f"{name}_missing"]
        case _:
            return [name]
