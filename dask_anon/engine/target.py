"""Where a release goes: staged beside its place, put there by one rename.

    <parent>/.<name>.staging-XXXX/    data/, manifest.json, evaluation.json     while it is made
    <parent>/<name>/                  the same                                  once it is verified
    <parent>/<name>.recoding/         what `fit` learned, beside it and not inside

On a local or shared file system the rename is atomic. An object store has none: there the files are
moved and the manifest last, so that what has a manifest is whole.
"""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dask_anon.engine.checks import reaching
from dask_anon.engine.scratch import remove, whole_file
from dask_anon.errors import OutputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)


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
        if path.startswith(("file://", "local://")):
            path = path.partition("://")[2]
        self.path = path.rstrip("/") if len(path) > 1 else path
        self.is_remote = "://" in path
        self.name = posixpath.basename(self.path) or "release"
        self.recoding_path = f"{self.path}.recoding"
        self._fs: Any = None
        if self.is_remote:
            import fsspec

            with reaching(self.path, "output", OutputError):
                self._fs = fsspec.core.url_to_fs(self.path)[0]
            self.parent: str | None = None
        else:
            self.path = os.path.abspath(self.path)
            self.recoding_path = f"{self.path}.recoding"
            self.parent = os.path.dirname(self.path)
        with reaching(self.path, "output", OutputError):
            self._refuse_existing()

    def _exists(self, path: str) -> bool:
        return bool(self._fs.exists(path)) if self.is_remote else os.path.lexists(path)

    def _refuse_existing(self) -> None:
        for path, mark in ((self.path, "manifest.json"), (self.recoding_path, "recoding.json")):
            if not self._exists(path):
                continue
            if not self._overwrite:
                raise OutputError(
                    f"the output {path!r} exists already. "
                    "Choose another output, or replace it with --overwrite."
                )
            # A mistyped output must not cost somebody a directory of other things.
            if not self._is_ours(path, mark):
                raise OutputError(
                    f"{path!r} is not the work of an earlier run (it has no {mark}), so that it "
                    "is not replaced. Choose another output, or remove it yourself."
                )

    def _is_ours(self, path: str, mark: str) -> bool:
        if self.is_remote:
            return bool(self._fs.exists(f"{path}/{mark}"))
        return os.path.isfile(os.path.join(path, mark)) or (
            os.path.isdir(path) and not os.listdir(path)
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
        made = _missing_folders(self.parent or ".")
        try:
            os.makedirs(self.parent or ".", exist_ok=True)
            path = tempfile.mkdtemp(prefix=f".{self.name}.staging-", dir=self.parent)
            os.mkdir(os.path.join(path, "data"))
        except OSError as error:
            _remove_empty(made)
            raise OutputError(
                f"cannot write beside {self.path!r}: {error.strerror}. Choose another output."
            ) from error
        try:
            yield Staging(path, None)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise OutputError(
                f"cannot write beside {self.path!r} or to scratch: {os.strerror(error.errno)}. "
                "Free space, or choose another output or `anon.scratch-directory`."
            ) from error
        finally:
            remove(path)
            _remove_empty(made)

    def put_in_place(self, staging: Staging, recoding_path: str) -> None:
        """Make the staged release the release, and leave the recoding beside it."""
        self._refuse_existing()
        if self.is_remote:
            self._upload(staging, recoding_path)
            return
        # Scratch may lie on another file system: what is copied from there is not in place yet.
        recoding = self._beside("recoding")
        aside: dict[str, str] = {}
        placed: list[str] = []
        try:
            shutil.move(recoding_path, recoding)
            os.chmod(recoding, 0o700)
            os.chmod(staging.path, 0o755 & ~_umask())
            for new, path in ((recoding, self.recoding_path), (staging.path, self.path)):
                if os.path.lexists(path):
                    aside[path] = self._beside("replaced")
                    os.rename(path, aside[path])
                os.rename(new, path)
                placed.append(path)
        except BaseException as error:
            for path in placed:
                _discard(path)
            for path, old in aside.items():
                if os.path.lexists(old):
                    os.rename(old, path)
            _discard(recoding)
            if isinstance(error, OSError):
                raise OutputError(
                    f"cannot put the release at {self.path!r}: {error.strerror}."
                ) from error
            raise
        for old in aside.values():
            _discard(old)

    def _beside(self, what: str) -> str:
        return os.path.join(self.parent or "", f".{self.name}.{what}-{uuid.uuid4().hex[:8]}")

    def _upload(self, staging: Staging, recoding_path: str) -> None:
        for path in (self.path, self.recoding_path):
            if self._fs.exists(path):
                self._fs.rm(path, recursive=True)
        try:
            self._fs.put(recoding_path, self.recoding_path, recursive=True)
            for source in self._fs.find(staging.path):
                name = source.split(f"{posixpath.basename(staging.path)}/", 1)[1]
                if name != "manifest.json":
                    self._fs.mv(source, f"{self.path}/{name}")
            self._fs.mv(f"{staging.path}/manifest.json", f"{self.path}/manifest.json")
        except BaseException:
            for path in (self.path, self.recoding_path):
                if self._fs.exists(path):
                    self._fs.rm(path, recursive=True)
            raise


def _missing_folders(path: str) -> list[str]:
    """The folders that have to be made for `path` to exist, innermost first."""
    missing = []
    while path and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def _remove_empty(folders: list[str]) -> None:
    """Remove the folders that were made for a release that did not come."""
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            return


def _discard(path: str) -> None:
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
