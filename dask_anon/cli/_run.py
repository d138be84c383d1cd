"""``dask-anon run``: files in, verified release out."""

from __future__ import annotations

import json
from typing import Any

import click

from dask_anon.cli._machines import computing
from dask_anon.cli._options import as_json, asked, machines, policy_of


@click.command(
    epilog="""\b
Examples:
  dask-anon run policy.yaml
  dask-anon run policy.yaml --output release-2 -k 10 --overwrite
  dask-anon run --input people.csv --output release -q age -q zip -i name -k 5 \\
      --default-role insensitive
  dask-anon run policy.yaml --workers 4 --memory-limit 2GiB
  dask-anon run policy.yaml --scheduler tcp://10.0.0.1:8786
"""
)
@asked
@click.option("--overwrite", is_flag=True, help="Replace a release that exists.")
@machines
@as_json
@click.pass_context
def run(
    ctx: click.Context,
    /,
    policy: str | None,
    overwrite: bool,
    scheduler: str | None,
    workers: int | None,
    memory_limit: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Anonymize files into a release directory and check it from what was written.

    What is asked comes from a POLICY file, from options, or from both: an option wins over the
    file.
    """
    checked = policy_of(policy, flags)
    with computing(scheduler, workers, memory_limit):
        from dask_anon.release import run as release

        made = release(checked, overwrite=overwrite)
    click.echo(json.dumps(made.to_json(), indent=2) if as_json else str(made))
    if not made.holds:
        ctx.exit(1)
