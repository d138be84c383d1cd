"""A release directory on any file system: what stands in it, and what was left beside it."""

from __future__ import annotations

import os
from pathlib import Path

from dask_anon.audit.manifest import DATA_DIR


class Root:
    """A release directory on any file system."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path).rstrip("/") or "/"
        self._is_local = "://" not in self.path

    def join(self, name: str) -> str:
        return f"{self.path}/{name}"

    def data_files(self) -> set[str]:
        """All files below data/, hidden ones too, by their path in the release."""
        if self._is_local:
            return {
                os.path.relpath(os.path.join(folder, name), self.path).replace(os.sep, "/")
                for folder, folders, names in os.walk(os.path.join(self.path, DATA_DIR))
                # A link to a directory is not walked into: it counts as a file that is extra.
                for name in (*names, *(f for f in folders if Path(folder, f).is_symlink()))
            }
        import fsspec

        fs, root = fsspec.core.url_to_fs(self.path)
        found = fs.find(f"{root.rstrip('/')}/{DATA_DIR}")
        return {name.removeprefix(root.rstrip("/") + "/") for name in found}

    def contains(self, name: str) -> bool:
        """Whether a file is really inside, also when links are followed."""
        if not self._is_local:
            return True
        return Path(self.path, name).resolve().is_relative_to(Path(self.path).resolve() / DATA_DIR)

    def leftovers(self) -> list[str]:
        """Directories beside the release that an interrupted run left."""
        if not self._is_local:
            return []
        here = Path(self.path).resolve()
        patterns = (f".{here.name}.scratch-", f".{here.name}.staging-")
        try:
            names = sorted(n for n in os.listdir(here.parent) if n.startswith(patterns))
        except OSError:
            return []
        return [
            f"{name} beside the release was left by a run that was interrupted; remove it, "
            "it may hold data."
            for name in names
        ]
