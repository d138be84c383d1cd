"""Pseudonyms: identifiers replaced by a keyed hash.

Whoever holds the key can link a person's records again, across tables too. That is
pseudonymization, not anonymization; without the key (a bare hash) anybody who can list the
identifiers could do it.
"""

from __future__ import annotations

import hashlib
import hmac

import pyarrow as pa


def pseudonyms(values: pa.ChunkedArray, key: bytes) -> pa.Array:
    """HMAC-SHA-256 of every value's text, as 64 hexadecimal digits; a missing value stays missing.

    RFC 2104. Each distinct value is hashed once.
    """
    flat = values.combine_chunks()
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks) if flat.num_chunks else pa.array([], flat.type)
    encoded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
    hashed = [
        None if text is None else hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        for text in encoded.dictionary.cast(pa.string()).to_pylist()
    ]
    return pa.array(hashed, pa.string()).take(encoded.indices)
