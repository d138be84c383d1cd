"""Which files an input is: one file, a glob or a directory, here or behind a URL.

Plain local paths use plain ``open``; everything else goes through fsspec. Files come in natural
order of their names (``part.2`` before ``part.10``, the order in which Dask wrote them), each with
its size, so that nothing has to ask the file system again.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import lzma
import os
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal, cast

import fsspec
import pyarrow as pa
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from dask_anon.errors import DataError

Format = Literal["parquet", "csv"]

ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".parq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
}
# How packed files are opened, by ending.
_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda handle: gzip.GzipFile(fileobj=handle),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda handle: pa.CompressedInputStream(handle, "zstd"),
    ".lz4": lambda handle: pa.CompressedInputStream(handle, "lz4"),
}
# A packed file has no point to start from but its first byte, so one task holds all of it.
MAX_UNPACKED_BYTES = 512 << 20
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class File:
    """A file of the input: where it is, its name within the input and its size in bytes."""

    path: str
    name: str
    size: int

    @property
    def is_local(self) -> bool:
        return "://" not in self.path and "::" not in self.path

    @property
    def compression(self) -> str | None:
        """The ending that says how the file is packed, such as ``.gz``, or None."""
        ending = os.path.splitext(self.name)[1].lower()
        return ending if ending in _UNPACKERS else None

    def open(self) -> BinaryIO:
        """Open for reading; the caller closes."""
        try:
            if self.is_local:
                return open(self.path, "rb")
            return cast(BinaryIO, fsspec.open(self.path, "rb").open())
        except FileNotFoundError as error:
            raise DataError(
                f"file {self.name!r} was there when the input was opened and cannot be found now. "
                "On a cluster the input must be on storage that every worker sees under the same "
                "path.",
                file=self.name,
            ) from error
        except PermissionError as error:
            raise DataError(
                f"file {self.name!r} may not be read by this user. Give it read permission.",
                file=self.name,
            ) from error

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` up to `stop` or the end of the file, unpacked if it is packed."""
        with self.open() as handle:
            if self.compression is not None:
                return self._unpack(handle, stop)[start:]
            handle.seek(start)
            return handle.read(max(stop - start, 0))

    def _unpack(self, handle: BinaryIO, stop: int) -> bytes:
        limit = min(stop, MAX_UNPACKED_BYTES + 1)
        try:
            data = _UNPACKERS[self.compression or ""](handle).read(limit)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            raise DataError(
                f"file {self.name!r} cannot be unpacked: it is cut short, damaged or not packed "
                "as its ending says. Pack it again, or unpack it.",
                file=self.name,
            ) from error
        if len(data) > MAX_UNPACKED_BYTES:
            raise DataError(
                f"file {self.name!r} is larger than {MAX_UNPACKED_BYTES >> 20} MiB when unpacked, "
                "and a packed file can only be read as a whole. Unpack it, or use Parquet.",
                file=self.name,
            )
        return bytes(data)


def find_files(path: str | os.PathLike[str]) -> list[File]:
    """The files that `path` stands for, in natural order of their names.

    Raises
    ------
    DataError
        If there are none, or if folders named ``key=value`` hold a column that the files do not.
    """
    text = os.path.expanduser(os.fspath(path))
    fs, root = url_to_fs(text)
    local = isinstance(fs, LocalFileSystem)
    if local:
        root = os.path.abspath(root)
    found = _list_local(root) if local else _list_remote(fs, root)
    if found is None:
        raise DataError(_nothing_at(os.fspath(path), root), path=os.fspath(path))
    base, sizes = found
    files = []
    for each, size in sizes.items():
        relative = os.path.relpath(each, base) if local else _relative(each, base)
        _refuse_hive(relative)
        files.append(File(each if local else fs.unstrip_protocol(each), relative, size))
    if not files:
        raise DataError(
            f"directory {os.fspath(path)!r} holds no data files (hidden files and names that "
            "begin with _ do not count). Give a directory, a file or a glob with Parquet or CSV "
            "files.",
            path=os.fspath(path),
        )
    return sorted(files, key=lambda file: natural_key(file.name))


def format_of(files: Sequence[File], format: str | None) -> Format:
    """The one format of all `files`, by their endings unless `format` says it."""
    if format is not None:
        if format not in ("parquet", "csv"):
            raise DataError(
                f"input format {format!r} is not known. Use 'parquet' or 'csv'.", format=format
            )
        return cast(Format, format)
    kinds = {file.name: _ending_of(file) for file in files}
    unknown = [name for name, kind in kinds.items() if kind is None]
    if unknown:
        some = f"{len(unknown)} of {len(files)} files" if len(files) > 1 else "the file"
        raise DataError(
            f"the ending of {some} says neither Parquet nor CSV (first: {unknown[0]!r}). Name the "
            "format ('parquet' or 'csv'), or give a glob that matches the data files alone.",
            files=unknown,
        )
    if len(set(kinds.values())) > 1:
        n_parquet = sum(kind == "parquet" for kind in kinds.values())
        raise DataError(
            f"the input mixes {n_parquet} Parquet and {len(files) - n_parquet} CSV files. "
            f"Give a glob that matches one of the two, such as '*.parquet'.",
        )
    return cast(Format, kinds[files[0].name])


def fingerprint(files: Sequence[File]) -> str:
    """SHA-256 over the names and sizes of the files: notices a changed input without reading it."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(
            f"{PurePosixPath(file.name)}\0{file.size}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def natural_key(name: str) -> list[tuple[int, int | str]]:
    """Sort key under which ``part.2`` stands before ``part.10``."""
    return [
        (0, int(piece)) if piece.isdecimal() else (1, piece)
        for piece in re.split(r"(\d+)", name)
        if piece
    ]


def _ending_of(file: File) -> Format | None:
    stem, ending = os.path.splitext(file.name.lower())
    if ending in _UNPACKERS:
        ending = os.path.splitext(stem)[1]
        return "csv" if ENDINGS.get(ending) == "csv" else None
    return ENDINGS.get(ending)


def _list_local(root: str) -> tuple[str, dict[str, int]] | None:
    """The directory that names are relative to, and the size of each file; None without files."""
    if os.path.isfile(root):
        return os.path.dirname(root), {root: os.path.getsize(root)}
    if os.path.isdir(root):
        tops = [root]
        base = root
    elif _MAGIC.search(root):
        tops = glob.glob(root, recursive=True)
        base = _fixed_part(root, os.sep)
        if not tops:
            return None
    else:
        return None
    sizes: dict[str, int] = {}
    for top in tops:
        if os.path.isfile(top):
            if not _is_hidden(os.path.basename(top)):
                sizes[top] = os.path.getsize(top)
            continue
        for folder, subfolders, names in os.walk(top):
            subfolders[:] = [name for name in subfolders if not _is_hidden(name)]
            for name in names:
                if not _is_hidden(name):
                    each = os.path.join(folder, name)
                    sizes[each] = os.path.getsize(each)
    return base, sizes


def _list_remote(fs: Any, root: str) -> tuple[str, dict[str, int]] | None:
    fs.invalidate_cache()
    if fs.isfile(root):
        return root.rpartition("/")[0], {root: int(fs.size(root))}
    if fs.isdir(root):
        base = root.rstrip("/")
        found = fs.find(base, detail=True)
    elif _MAGIC.search(root):
        base = _fixed_part(root, "/")
        found = {}
        for top, info in fs.glob(root, detail=True).items():
            found.update(fs.find(top, detail=True) if info["type"] == "directory" else {top: info})
        if not found:
            return None
    else:
        return None
    return base, {
        each: int(info["size"])
        for each, info in found.items()
        if not any(_is_hidden(part) for part in _relative(each, base).split("/"))
    }


def _relative(path: str, base: str) -> str:
    return path[len(base) :].lstrip("/") if path.startswith(base) else path


def _fixed_part(pattern: str, separator: str) -> str:
    """The folders of a glob before its first wildcard."""
    match = _MAGIC.search(pattern)
    return pattern[: match.start() if match else None].rpartition(separator)[0] or separator


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _refuse_hive(relative: str) -> None:
    # Reading only the files would lose the column that the folder names hold, and nobody would
    # notice.
    for folder in re.split(r"[/\\]", relative)[:-1]:
        key, equals, _ = folder.partition("=")
        if equals:
            raise DataError(
                f"the input is partitioned by folders named '{key}=…', so column {key!r} is in "
                f"the folder names and not in the files. Write the table again with {key!r} as a "
                "column of the files.",
                column=key,
            )


def _nothing_at(path: str, root: str) -> str:
    if _MAGIC.search(root):
        return f"no file matches {path!r}. Check the pattern and the folder it starts from."
    return (
        f"there is no file or directory {path!r}. Give a file, a directory or a glob such as "
        f"'data/*.parquet'."
    )
