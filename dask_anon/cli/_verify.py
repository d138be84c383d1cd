"""``dask-anon verify``: the promise, counted again from the released files alone."""

from __future__ import annotations

import json

import click

from dask_anon.cli._machines import computing
from dask_anon.cli._options import as_json


@click.command(
    epilog="""\b
Examples:
  dask-anon verify release
  dask-anon verify release --json
"""
)
@click.argument("release")
@as_json
@click.pass_context
def verify(ctx: click.Context, release: str, as_json: bool) -> None:
    """Count the equivalence classes of a RELEASE and compare every file with its manifest.

    The exit code is 0 if the release keeps its promise, and 1 if a row, a label or a file was
    changed.
    """
    with computing():
        from dask_anon.audit.verify import verify as check

        found = check(release)
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else str(found))
    if not found.holds:
        ctx.exit(1)
