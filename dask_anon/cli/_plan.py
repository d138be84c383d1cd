"""``dask-anon plan``: what a run would do, without doing it."""

from __future__ import annotations

import json
from typing import Any

import click

from dask_anon.cli._machines import computing
from dask_anon.cli._options import as_json, asked, machines, policy_of


@click.command(
    epilog="""\b
Examples:
  dask-anon plan policy.yaml
  dask-anon plan policy.yaml --workers 4 --memory-limit 2GiB --json
"""
)
@asked
@machines
@as_json
def plan(
    policy: str | None,
    scheduler: str | None,
    workers: int | None,
    memory_limit: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Show what a run would read, compute, move and need; refuse what cannot fit.

    Takes the same POLICY and options as run.
    """
    checked = policy_of(policy, flags, writes=False)
    with computing(scheduler, workers, memory_limit):
        from dask_anon.engine.plan import plan as look

        found = look(checked)
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else str(found))
