"""What all commands share: an error is a sentence on stderr and an exit code, no traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

BUG = 3
INTERRUPTED = 130


class AnonGroup(click.Group):
    """A group whose commands may raise any error of dask_anon.

    The catch sits here and not around ``main``, so that ``dask anon`` behaves as ``dask-anon``.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what it raises into a sentence."""
        from dask_anon.errors import AnonError

        try:
            with _stopping_cleanly():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own, already polite
        except AnonError as error:
            stop(ctx, str(error), error.exit_code)
        except KeyboardInterrupt:
            stop(ctx, "interrupted before the work was complete.", INTERRUPTED)
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            stop(ctx, f"{error.strerror or type(error).__name__}{where}.", 2)
        except MemoryError:
            stop(ctx, "out of memory. Use --workers and --memory-limit, or smaller partitions.", 2)
        except Exception as error:
            stop(ctx, _bug(error), BUG)


@contextmanager
def _stopping_cleanly() -> Iterator[None]:
    """Let SIGTERM (``docker stop``, a batch system) end a command as Ctrl-C does.

    Otherwise scratch, which holds codes of people, would stay behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def stop(ctx: click.Context, message: str, exit_code: int) -> NoReturn:
    """Say what went wrong on stderr, and leave."""
    color = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True, color=color)
    ctx.exit(exit_code)


def _bug(error: Exception) -> str:
    # The text of a foreign error may hold values of the data, so only its kind and place are shown.
    if os.environ.get("DASK_ANON_TRACEBACK"):
        traceback.print_exception(error, file=sys.stderr)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "dask_anon" in frame.filename] or frames
    place = f" in {os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else ""
    return (
        f"unexpected {type(error).__name__}{place}. This is a bug in dask_anon: please report it. "
        "DASK_ANON_TRACEBACK=1 shows the traceback (it may show values of your data)."
    )
