"""The command line: ``dask-anon COMMAND``, the same group as ``dask anon COMMAND``.

Results go to stdout, progress and errors to stderr. The exit code is the verdict: 0 it holds,
1 a requirement does not hold, 2 misuse, 3 a bug of ours, 130 interrupted.
"""

from __future__ import annotations

import click

from dask_anon.cli._demo import demo
from dask_anon.cli._group import AnonGroup
from dask_anon.cli._measure import measure
from dask_anon.cli._plan import plan
from dask_anon.cli._run import run
from dask_anon.cli._verify import verify

__all__ = ["main"]


@click.group(
    name="anon",
    cls=AnonGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Start here:
  dask-anon demo
  dask-anon run --input people.csv --output release -q age -q zip -i name -k 5

\b
Exit codes:
  0 it holds   1 a requirement does not hold   2 misuse   3 a bug   130 interrupted
""",
)
@click.version_option(package_name="dask-anon", prog_name="dask-anon")
def main() -> None:
    """Anonymize tables larger than memory, exactly, and check the result from its files."""


for _command in (run, plan, measure, verify, demo):
    main.add_command(_command)
