"""Options that several commands share, and the policy that they add up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dask_anon.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = click.Choice(["parquet", "csv"])

_ASKED = {
    "columns": [
        click.option(
            "-q",
            "--quasi-identifier",
            "quasi_identifiers",
            multiple=True,
            metavar="COLUMN",
            help="Column that others could know about a person; it is generalized. Repeatable.",
        ),
        click.option(
            "-s",
            "--sensitive",
            multiple=True,
            metavar="COLUMN",
            help="Column that nobody should learn about a person; it is kept. Repeatable.",
        ),
    ],
    "identifiers": [
        click.option(
            "-i",
            "--identifier",
            "identifiers",
            multiple=True,
            metavar="COLUMN",
            help="Column that names a person; it is dropped. Repeatable.",
        ),
    ],
    "models": [
        click.option("-k", type=int, help="Least number of records that look alike."),
        click.option(
            "-l",
            type=int,
            help="Least number of values that a class shows of every sensitive column.",
        ),
        click.option(
            "-t",
            type=float,
            help="Largest distance of a class to the table, by the values of every sensitive "
            "column: 0 to 1.",
        ),
    ],
    "algorithm": [
        click.option(
            "--ties",
            type=click.Choice(["left", "either", "divide"]),
            help="Where records equal to the median of a cut go.  [default: either]",
        ),
        click.option(
            "--span-ties",
            type=click.Choice(["domain", "region"]),
            help="Where distinct values are counted if spans are equal.  [default: domain]",
        ),
        click.option(
            "--format",
            type=click.Choice(["interval", "bounds", "set", "midpoint"]),
            help="How generalized values are written.  [default: interval]",
        ),
        click.option(
            "--order",
            type=click.Choice(["shuffle", "keep"]),
            help="Order of the released rows.  [default: shuffle]",
        ),
        click.option(
            "--seed", type=int, help="Seed of the order and of divided ties.  [default: 0]"
        ),
        click.option(
            "--default-role",
            type=click.Choice(["error", "insensitive", "identifier"]),
            help="Role of columns that are not named: refuse, keep or drop them.  [default: error]",
        ),
    ],
    "input": [
        click.option("--input", metavar="PATH", help="Data: a file, a directory, a glob or a URL."),
        click.option(
            "--input-format", type=FORMATS, help="Format of the data, if not by its ending."
        ),
        click.option(
            "--delimiter", metavar="CHAR", help="Delimiter of CSV; 'tab' for a tabulator."
        ),
        click.option("--encoding", metavar="NAME", help="Encoding of CSV, such as cp1252."),
    ],
    "output": [
        click.option("--output", metavar="PATH", help="Directory that the release is written to."),
        click.option(
            "--output-format", type=FORMATS, help="Format of the release.  [default: parquet]"
        ),
    ],
}

_MACHINES = [
    click.option("--scheduler", metavar="ADDRESS", help="Use a running Dask scheduler."),
    click.option("--workers", type=click.IntRange(min=1), help="Start so many local processes."),
    click.option("--memory-limit", metavar="SIZE", help="Memory of each of them, such as 2GiB."),
]

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def asked(command: F) -> F:
    """Add what is asked of a release: a policy file, options, or both."""
    policy = click.argument("policy", required=False, metavar="[POLICY]")
    parts = ("input", "output", "columns", "identifiers", "models", "algorithm")
    return _with([policy, *(option for part in parts for option in _ASKED[part])], command)


def asked_of_a_table(command: F) -> F:
    """Add what can be asked of a table that is only looked at."""
    parts = ("input", "columns", "models")
    return _with([option for part in parts for option in _ASKED[part]], command)


def machines(command: F) -> F:
    """Add where to compute."""
    return _with(_MACHINES, command)


def _with(options: list[Any], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def policy_of(path: str | None, flags: dict[str, Any], *, writes: bool = True) -> Policy:
    """Read the policy file and put the options on top; report what is missing in both at once.

    A command that writes nothing needs no output.
    """
    from dask_anon.errors import PolicyError
    from dask_anon.policy import Policy
    from dask_anon.policy._flags import missing_files

    base = None if path is None else Policy.load(path)
    try:
        policy = Policy.from_flags(base, **flags)
    except PolicyError as error:
        raise PolicyError([*error.problems, *missing_files(base, flags, writes=writes)]) from None
    policy.check_files(writes=writes)
    return policy
