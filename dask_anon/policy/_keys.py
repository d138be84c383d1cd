"""The key of a pseudonym: read late, kept nowhere, never shown."""

from __future__ import annotations

import os

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy._columns import Column

# 128 bits: below it, whoever holds the release may try all keys.
MIN_BYTES = 16
MAX_BYTES = 2**16


def read_key(name: str, column: Column) -> bytes:
    """Read the key from the file or the environment variable that `column` names."""
    if column.key_file is not None:
        where, key = f"columns.{name}.key_file", _from_file(name, column.key_file)
    elif column.key_env is not None:
        where, key = f"columns.{name}.key_env", _from_environment(name, column.key_env)
    else:
        raise PolicyError([Problem(f"columns.{name}", "has no key. Name a key_file or key_env.")])
    if len(key) < MIN_BYTES:
        raise PolicyError(
            [
                Problem(
                    where,
                    f"the key has {len(key)} bytes, at least {MIN_BYTES} are needed. "
                    "Make one with: openssl rand -hex 32",
                )
            ]
        )
    return key


def _from_file(name: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            key = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise PolicyError(
            [Problem(f"columns.{name}.key_file", f"the key cannot be read: {reason}.")]
        ) from None
    if len(key) > MAX_BYTES:
        raise PolicyError(
            [Problem(f"columns.{name}.key_file", "is larger than 64 KiB. Is it a key?")]
        )
    # An editor ends a text file with a new line; it is no part of the key.
    return key.rstrip(b"\r\n")


def _from_environment(name: str, variable: str) -> bytes:
    key = os.environ.get(variable)
    if key is None:
        raise PolicyError(
            [Problem(f"columns.{name}.key_env", f"the variable {variable} is not set.")]
        )
    return os.fsencode(key).rstrip(b"\r\n")
