"""``dask-anon measure``: risk and utility of any table, ours or not, before and after."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dask_anon.cli._machines import computing
from dask_anon.cli._options import as_json, asked_of_a_table, machines

if TYPE_CHECKING:
    from dask_anon.audit.manifest import Manifest
    from dask_anon.policy import Policy

_POLICY_FILES = (".yaml", ".yml", ".toml")


@click.command(
    epilog="""\b
Examples:
  dask-anon measure people.csv policy.yaml
  dask-anon measure people.csv policy.yaml --released release
  dask-anon measure release
  dask-anon measure --input people.csv -q age -q zip -s diagnosis -k 5 -l 2 --json
"""
)
@click.argument("data", required=False)
@click.argument("policy", required=False)
@click.option(
    "--released",
    metavar="PATH",
    help="What the data was released as: a release directory, or files. It is then judged.",
)
@asked_of_a_table
@machines
@as_json
@click.pass_context
def measure(
    ctx: click.Context,
    /,
    data: str | None,
    policy: str | None,
    released: str | None,
    input: str | None,
    scheduler: str | None,
    workers: int | None,
    memory_limit: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Measure the risk and the utility of DATA, without anonymizing it.

    DATA is a file, a directory, a glob, a URL, or a release directory, whose manifest holds the
    policy. What is asked comes from a POLICY file, from options, or from both.

    The exit code is 0 if everything holds that is asked of the table (of the released one, if
    there are two), else 1.
    """
    if policy is None and data is not None and data.endswith(_POLICY_FILES):
        data, policy = None, data
    if data is not None and input is not None:
        raise click.UsageError("DATA and --input are the same. Give one of them.")
    promised = _promised(data, released) if policy is None else None
    checked = _policy_of(policy, promised, {**flags, "input": data or input})
    if checked.input is None:
        raise click.UsageError("there is no table to measure. Give DATA, or --input.")
    with computing(scheduler, workers, memory_limit):
        from dask_anon.measures import measure as look

        found = look(_opened(checked), checked, released=released)
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else str(found))
    if not found.holds:
        ctx.exit(1)


def _policy_of(path: str | None, promised: Policy | None, flags: dict[str, Any]) -> Policy:
    """The policy of a file or else of a manifest, and the options on top."""
    from dask_anon.policy import Policy

    return Policy.from_flags(promised if path is None else Policy.load(path), **flags)


def _promised(*paths: str | None) -> Policy | None:
    """What the first of these that is a release directory promises."""
    from dask_anon.audit._promises import policy_of

    manifests = (_manifest_of(path) for path in paths)
    return next((policy_of(manifest) for manifest in manifests if manifest is not None), None)


def _manifest_of(path: str | None) -> Manifest | None:
    from dask_anon.measures import is_release_directory

    if path is None or not is_release_directory(path):
        return None
    from dask_anon.audit.manifest import Manifest

    return Manifest.load(path)


def _opened(policy: Policy) -> Any:
    """The table; the sensitive columns of a release in CSV in the types that its manifest tells."""
    from dask_anon.measures import open_table

    assert policy.input is not None
    manifest = _manifest_of(policy.input.path)
    return open_table(policy.input.path, policy, types=manifest.types if manifest else None)
