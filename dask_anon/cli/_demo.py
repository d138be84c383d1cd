"""``dask-anon demo``: the main job on the sample that ships with the package."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dask_anon.cli._machines import computing

if TYPE_CHECKING:
    from dask_anon.policy import Policy

SAMPLES = Path(__file__).parent.parent / "samples"
ROWS_SHOWN = 5


@click.command(
    epilog="""\b
Examples:
  dask-anon demo
  dask-anon demo --output somewhere/adult-release
"""
)
@click.option(
    "--output",
    default="adult-release",
    show_default=True,
    metavar="PATH",
    help="Directory that the release is written to.",
)
@click.option("--overwrite", is_flag=True, help="Replace the release of an earlier demo.")
@click.pass_context
def demo(ctx: click.Context, output: str, overwrite: bool) -> None:
    """Anonymize the Adult sample (30,162 people) so that every record looks like four others."""
    from dask_anon.policy import Policy

    source = SAMPLES / "adult.yaml"
    policy = Policy.from_flags(Policy.load(source), output=output)
    if overwrite:
        _only_a_demo(Path(output), policy)
    with computing():
        from dask_anon.release import run as release

        made = release(policy, overwrite=overwrite)
    click.echo(f"Policy:  {source}")
    click.echo(f"Release: {output}\n")
    click.echo(str(made))
    click.echo(f"\nThe first {ROWS_SHOWN} rows:\n\n{_first_rows(Path(output))}")
    click.echo(f"\nCheck it from its files:\n  dask-anon verify {shlex.quote(output)}")
    if not made.holds:
        ctx.exit(1)


def _only_a_demo(output: Path, policy: Policy) -> None:
    """Refuse to replace anything but what an earlier demo wrote."""
    from dask_anon.errors import OutputError

    if not output.exists():
        return
    try:
        asked = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["policy"]
    except (OSError, ValueError, KeyError, TypeError):
        asked = None
    if asked != policy.to_manifest():
        raise OutputError(
            f"'{output}' is not the release of an earlier demo and stays as it is. "
            "Choose another --output."
        )


def _first_rows(output: Path) -> str:
    from pyarrow import parquet

    first = min((output / "data").glob("*.parquet"))
    with parquet.ParquetFile(first) as file:
        rows = next(file.iter_batches(batch_size=ROWS_SHOWN))
    return str(rows.to_pandas().to_string(index=False))
