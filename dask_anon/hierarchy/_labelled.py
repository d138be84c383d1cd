"""Domains of labels: text, true/false and categories.

Nominal labels are sorted by code point, so that the codes do not depend on who saw which label
first; ordered categories keep their order. Rows are encoded through one look-up of the distinct
labels, never one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from dask_anon.hierarchy._arrow import bits_of, chunks_of, nulls, words
from dask_anon.hierarchy._domain import Codes, Domain
from dask_anon.hierarchy._text import quoted, text_of
from dask_anon.hierarchy._types import common_type

_CACHED = ("quoted_labels", "label_bytes")


@dataclass(frozen=True)
class LabelledDomain(Domain):
    """What nominal and ordinal domains share: ``code = position of the label``."""

    label_array: pa.Array = field(hash=False, repr=False)

    @property
    def labels(self) -> pa.Array:
        return self.label_array

    @property
    def n_codes(self) -> int:
        return len(self.label_array)

    @cached_property
    def quoted_labels(self) -> pa.Array:
        """The labels as released cells show them: in double quotes where they could be misread."""
        return quoted(self.label_array)

    @cached_property
    def label_bytes(self) -> NDArray[np.int64]:
        """Bytes of every quoted label, to know the size of a text before it is built."""
        return np.asarray(pc.binary_length(self.quoted_labels), np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in _CACHED}

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Codes:
        array = self._conformed(array)
        if pt.is_string(array.type) or pt.is_large_string(array.type):
            return self._encode_text(array)
        return super().encode(array)

    def _encode_text(self, array: pa.Array | pa.ChunkedArray) -> Codes:
        # All chunks at once: Arrow builds its table of the labels one time.
        positions = pc.index_in(array, value_set=self.label_array.cast(array.type))
        codes = np.empty(len(array), self.code_dtype)
        start = 0
        for chunk in chunks_of(positions):
            out = codes[start : start + len(chunk)]
            out[:] = words(chunk)
            null = nulls(chunk)
            if null is not None:
                out[null] = self.missing_code
            start += len(chunk)
        self._refuse_outside(positions.null_count - array.null_count)
        return codes

    def _encode_chunk(self, chunk: pa.Array, out: Codes) -> int:
        if pt.is_null(chunk.type):
            out[:] = self.missing_code
            return 0
        if pt.is_boolean(chunk.type):
            texts = pa.array(["False", "True"])
            index: Codes = np.zeros(len(chunk), np.uint8)
            if len(chunk):
                index = bits_of(chunk.buffers()[1], chunk.offset, len(chunk)).view(np.uint8)
            null = nulls(chunk)
        else:
            texts = text_of(chunk.dictionary)
            index, null = words(chunk.indices), nulls(chunk.indices)
        # One entry more than the dictionary has: where null rows look up the missing code.
        if null is not None:
            index = np.where(null, len(texts), index.astype(np.intp))
        positions = pc.index_in(texts, value_set=self.label_array)
        table = np.empty(len(texts) + 1, self.code_dtype)
        table[:-1] = positions.fill_null(self.missing_code).to_numpy()
        table[-1] = self.missing_code
        np.take(table, index, out=out, mode="clip")
        unknown = np.append(np.asarray(pc.and_(positions.is_null(), texts.is_valid())), False)
        return int(np.count_nonzero(unknown[index])) if unknown.any() else 0

    def values(self, codes: Codes) -> pa.Array:
        """The labels that `codes` stand for, as text."""
        return self.label_array.take(pa.array(codes))

    def describe(self) -> dict[str, Any]:
        return self._described() | {"n_labels": self.n_codes}

    def _conformed(self, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        # Every layout of the same labels is welcome here: only the text counts, not the type.
        if common_type(array.type, self.type) is None:
            return super()._conformed(array)
        return array.cast(pa.string()) if str(array.type) == "string_view" else array


@dataclass(frozen=True)
class NominalDomain(LabelledDomain):
    """Labels without an order: text, true/false, categories of anything."""

    kind = "nominal"
    span_kind = "distinct"


@dataclass(frozen=True)
class OrdinalDomain(LabelledDomain):
    """Ordered categories, from the lowest that occurs to the highest that occurs.

    Categories between them keep their place even if no row has them, so that distances are those of
    the scale.
    """

    kind = "ordinal"
    span_kind = "difference"
