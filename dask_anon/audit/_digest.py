"""SHA-256 of files: while they are written, and again from what was written."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from typing import IO, Any

from dask_anon.audit._files import open_file

BLOCK_BYTES = 4 << 20


class HashingFile(io.RawIOBase):
    """A binary file to write to that hashes and counts what goes through it.

    Examples
    --------
    >>> sink = HashingFile(io.BytesIO())
    >>> sink.write(b"abc"), sink.n_bytes, sink.sha256[:8]
    (3, 3, 'ba7816bf')
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.n_bytes = 0

    @property
    def sha256(self) -> str:
        """Digest of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Pass `data` on, whole."""
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._hash.update(view)
        self.n_bytes += len(view)
        return len(view)

    def tell(self) -> int:
        return self.n_bytes

    def flush(self) -> None:
        if not self.closed:
            self._file.flush()

    def close(self) -> None:
        """Close the file underneath as well."""
        if not self.closed:
            try:
                super().close()
            finally:
                self._file.close()


def sha256_of(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, local or of whatever fsspec opens, in hexadecimal."""
    return digest_of(os.fspath(path))[0]


def digest_of(path: str) -> tuple[str, int]:
    """SHA-256 in hexadecimal and size in bytes."""
    digest = hashlib.sha256()
    n_bytes = 0
    with open_file(path) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            n_bytes += len(block)
    return digest.hexdigest(), n_bytes


def digests_of(paths: Sequence[str]) -> list[tuple[str, int] | None]:
    """Digests of several files; None for one that cannot be read."""
    return [_digest_or_none(path) for path in paths]


def _digest_or_none(path: str) -> tuple[str, int] | None:
    try:
        return digest_of(path)
    except OSError:
        return None
