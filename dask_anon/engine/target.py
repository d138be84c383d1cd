"""Where a release goes: staged beside its place, put there by one rename.

    <parent>/.<name>.staging-XXXX/    data/, manifest.json, evaluation.json     while it is made
    <parent>/<name>/                  the same                                  once it is verified
    <parent>/<name>.recoding/         what `fit` learned, beside it and not inside

On a local or shared file system the rename is atomic. An object store has none: there the files are
moved and the manifest last, so that what has a manifest is whole.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dask_anon.engine.scratch import whole_file
from dask_anon.errors import OutputError


@dataclass(frozen=True)
class Staging:
    """A release that is not one yet."""

    path: str
    file_system: Any  # None: local

    @property
    def data(self) -> str:
        """Where the data files go."""
        return f"{self.path}/data"

    def write_text(self, name: str, text: str) -> None:
        """Write a small file beside the data."""
        if self.file_system is None:
            path = os.path.join(self.path, name)
            with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            self.file_system.pipe_file(f"{self.path}/{name}", text.encode())


class Target:
    """The place of a release.

    Parameters
    ----------
    path : str
        A directory, or a URL that fsspec writes to.
    overwrite : bool
        Whether what is there may be replaced.

    Raises
    ------
    OutputError
        Something is there already, or the place cannot be written to.
    """

    def __init__(self, path: str, overwrite: bool) -> None:
        self._overwrite = overwrite
        self.path = path.rstrip("/") if len(path) > 1 else path
        self.is_remote = "://" in path
        self.name = posixpath.basename(self.path) or "release"
        self.recoding_path = f"{self.path}.recoding"
        self._fs: Any = None
        if self.is_remote:
            import fsspec

            self._fs = fsspec.core.url_to_fs(self.path)[0]
            self.parent: str | None = None
        else:
            self.path = os.path.abspath(self.path)
            self.recoding_path = f"{self.path}.recoding"
            self.parent = os.path.dirname(self.path)
        self._refuse_existing()

    def _exists(self, path: str) -> bool:
        return bool(self._fs.exists(path)) if self.is_remote else os.path.lexists(path)

    def _refuse_existing(self) -> None:
        for path in (self.path, self.recoding_path):
            if self._exists(path) and not self._overwrite:
                raise OutputError(
                    f"the output {path!r} exists already. "
                    "Choose another output, or replace it with --overwrite."
                )

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A place to make the release, removed when the block ends."""
        if self.is_remote:
            path = f"{posixpath.dirname(self.path)}/.{self.name}.staging-{uuid.uuid4().hex[:8]}"
            try:
                yield Staging(path, self._fs)
            finally:
                if self._fs.exists(path):
                    self._fs.rm(path, recursive=True)
            return
        try:
            os.makedirs(self.parent or ".", exist_ok=True)
            path = tempfile.mkdtemp(prefix=f".{self.name}.staging-", dir=self.parent)
            os.mkdir(os.path.join(path, "data"))
        except OSError as error:
            raise OutputError(
                f"cannot write beside {self.path!r}: {error.strerror}. Choose another output."
            ) from error
        try:
            yield Staging(path, None)
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def put_in_place(self, staging: Staging, recoding_path: str) -> None:
        """Make the staged release the release, and leave the recoding beside it."""
        self._refuse_existing()
        if self.is_remote:
            self._upload(staging, recoding_path)
            return
        aside = [self._moved_aside(path) for path in (self.path, self.recoding_path)]
        try:
            shutil.move(recoding_path, self.recoding_path)
            os.chmod(staging.path, 0o755 & ~_umask())
            os.rename(staging.path, self.path)
        except OSError as error:
            shutil.rmtree(self.recoding_path, ignore_errors=True)
            for old, path in zip(aside, (self.path, self.recoding_path), strict=True):
                if old:
                    os.rename(old, path)
            raise OutputError(
                f"cannot put the release at {self.path!r}: {error.strerror}."
            ) from error
        for old in aside:
            if old:
                shutil.rmtree(old, ignore_errors=True)

    def _moved_aside(self, path: str) -> str | None:
        if not os.path.lexists(path):
            return None
        aside = os.path.join(self.parent or "", f".{self.name}.replaced-{uuid.uuid4().hex[:8]}")
        os.rename(path, aside)
        return aside

    def _upload(self, staging: Staging, recoding_path: str) -> None:
        for path in (self.path, self.recoding_path):
            if self._fs.exists(path):
                self._fs.rm(path, recursive=True)
        self._fs.put(recoding_path, self.recoding_path, recursive=True)
        for source in self._fs.find(staging.path):
            name = source.split(f"{posixpath.basename(staging.path)}/", 1)[1]
            if name != "manifest.json":
                self._fs.mv(source, f"{self.path}/{name}")
        self._fs.mv(f"{staging.path}/manifest.json", f"{self.path}/manifest.json")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
