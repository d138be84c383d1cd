"""Where the stages of a run leave their codes for each other.

Every worker sees the directory. A file appears whole or not at all (write, then rename), so a task
that is run twice, or half, does no harm; only the driver deletes, after a stage is complete. Codes
are data about people: the directory is readable by its owner alone and goes away with the run.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dask_anon.errors import OutputError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scratch:
    """A directory that all workers share."""

    path: str

    def file(self, name: str) -> str:
        """Path of the scratch file `name`."""
        return os.path.join(self.path, name)

    def publish(self, name: str, *arrays: Array) -> None:
        """Write arrays one after the other; the file appears when it is complete."""
        with whole_file(self.file(name)) as temporary, open(temporary, "wb") as file:
            for array in filter(np.size, arrays):  # a view without bytes cannot be cast
                file.write(np.ascontiguousarray(array).data.cast("B"))

    def read(self, name: str, dtype: Any, count: int = -1, offset: int = 0) -> Array:
        """Read `count` elements from byte `offset` on.

        The file is read, not mapped: mapped pages count as a worker's memory and get it killed.
        """
        return np.fromfile(self.file(name), dtype, count, offset=offset)

    def read_into(self, name: str, out: Array, offset: int = 0) -> None:
        """Fill the contiguous array `out` from byte `offset` on."""
        with open(self.file(name), "rb", buffering=0) as file:
            file.seek(offset)
            n_read = file.readinto(out.view(np.uint8).data)
        if n_read != out.nbytes:
            raise OSError(errno.EIO, f"{name} ends early")

    def delete(self, pattern: str) -> None:
        """Delete the files that match; called by the driver alone, behind a barrier."""
        delete_files(self.path, pattern)


def delete_files(directory: str, pattern: str) -> None:
    """Delete the files of a directory that match; behind a barrier, so that nobody writes them."""
    for path in glob.glob(os.path.join(glob.escape(directory), pattern)):
        os.unlink(path)


@contextmanager
def whole_file(path: str) -> Iterator[str]:
    """A temporary path beside `path` that takes its place when the block succeeds."""
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        refuse_unseen(os.path.dirname(path))
        # Arrow's own words name the call that failed; the number says what a person can act on.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OutputError(
            f"cannot write to {os.path.dirname(path)!r}: {reason}. "
            "Free space or choose another `anon.scratch-directory` or output."
        ) from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def refuse_unseen(directory: str) -> None:
    """Raise where a directory that the driver made does not exist for this worker."""
    if not os.path.isdir(directory):
        raise OutputError(
            f"the directory {directory!r} is not visible on host {socket.gethostname()!r}. Let the "
            "output and `anon.scratch-directory` be in a directory that all workers share."
        )


@contextmanager
def scratch_directory(
    parent: str | os.PathLike[str] | None = None, prefix: str = "anon-scratch-"
) -> Iterator[Scratch]:
    """A fresh scratch directory in `parent`, removed when the block ends, however it ends."""
    path = tempfile.mkdtemp(prefix=prefix, dir=parent)  # mkdtemp makes it 0700
    try:
        yield Scratch(path)
    finally:
        remove(path)


def remove(path: str) -> None:
    """Remove a directory that tasks of a stage that failed may still be writing into."""
    gone = f"{path}.gone"
    try:
        os.rename(path, gone)  # from here on, nobody finds it to put another file there
    except OSError:
        gone = path
    shutil.rmtree(gone, ignore_errors=True)
