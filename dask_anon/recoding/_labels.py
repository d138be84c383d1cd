"""From the classes of records to the released columns, as Arrow arrays and as pandas columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from dask_anon.hierarchy import Domain, released_arrays, released_fields, set_labels
from dask_anon.kernels.common import Array
from dask_anon.recoding._classes import LabelSets, OrderedBounds, RegionClasses

TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class RecordSets:
    """Which set of labels each record shows: text ``texts[of_record[i]]``."""

    of_record: Array
    texts: pa.Array


@dataclass(frozen=True)
class Released:
    """The released columns that take the place of one quasi-identifier."""

    fields: list[pa.Field]
    arrays: list[pa.Array]


def released(domain: Domain, format: str, records: OrderedBounds | RecordSets) -> Released:
    """What is shown of one quasi-identifier, record by record."""
    fields = released_fields(domain, cast(Any, format))
    if isinstance(records, RecordSets):
        return Released(fields, [_taken(records)])
    missing = records.missing if domain.has_missing else None
    arrays = released_arrays(domain, cast(Any, format), records.low, records.high, missing)
    return Released(fields, arrays)


def _taken(records: RecordSets) -> pa.Array:
    # Sets of different regions may have the same text; a dictionary says everything once.
    encoded = records.texts.dictionary_encode()
    indices = encoded.indices.take(pa.array(records.of_record))
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary)


def bounds_of_records(
    regions: Sequence[tuple[Array, Array, RegionClasses]], n_records: int, domains: Sequence[Domain]
) -> list[OrderedBounds | RecordSets]:
    """Bounds of every record of a partition.

    `regions` holds (records, their class in the region, classes of the region).
    """
    return [
        _sets(regions, n_records, j, domain)
        if domain.kind == "nominal"
        else _extents(regions, n_records, j, domain)
        for j, domain in enumerate(domains)
    ]


def _extents(
    regions: Sequence[tuple[Array, Array, RegionClasses]], n: int, j: int, domain: Domain
) -> OrderedBounds:
    low, high = np.zeros(n, domain.code_dtype), np.zeros(n, domain.code_dtype)
    missing = np.zeros(n, np.bool_)
    for records, classes, region in regions:
        bounds = cast(OrderedBounds, region.bounds[j])
        low[records], high[records] = bounds.low[classes], bounds.high[classes]
        missing[records] = bounds.missing[classes]
    return OrderedBounds(low, high, missing)


def _sets(
    regions: Sequence[tuple[Array, Array, RegionClasses]], n: int, j: int, domain: Domain
) -> RecordSets:
    of_record, texts = np.zeros(n, np.int64), []
    n_texts = 0
    for records, classes, region in regions:
        sets = cast(LabelSets, region.bounds[j])
        texts.append(set_labels(domain, sets.offsets, sets.codes))
        of_record[records] = sets.of_class[classes] + n_texts
        n_texts += len(texts[-1])
    return RecordSets(of_record, pa.concat_arrays([pa.array([], pa.string()), *texts]))


def as_series(array: pa.Array, field: pa.Field, index: pd.Index) -> pd.Series:
    """A released column in pandas; the dtype follows from the field, not from the values.

    Text is ``str`` (Arrow-backed), integers that may be missing are nullable; dates, times and
    decimals keep their Arrow type.
    """
    type_ = field.type
    if pa.types.is_dictionary(type_):
        return pd.Series(
            array.cast(pa.string()).to_pandas().array, index, dtype=text_dtype(), name=field.name
        )
    if pa.types.is_integer(type_) and field.nullable:
        # Nullable integers are spelled Int64, UInt8, ...
        name = str(type_).replace("uint", "UInt").replace("int", "Int")
        values: Any = pd.array(array.to_pandas(integer_object_nulls=True), dtype=name)
        return pd.Series(values, index, name=field.name)
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pd.Series(array.to_pandas().array, index, name=field.name)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_):
        return pd.Series(
            array.to_numpy(zero_copy_only=False), index, type_.to_pandas_dtype(), field.name
        )
    return pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([array])), index, name=field.name
    )


def text_dtype() -> Any:
    """The dtype of released text: what pandas itself uses, Arrow-backed before pandas 3."""
    inferred = pd.Series(["x"]).dtype
    return pd.StringDtype("pyarrow") if inferred == np.dtype(object) else inferred
