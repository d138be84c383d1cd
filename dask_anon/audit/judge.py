"""Every privacy model measured again from released files alone, larger than memory.

    files ──sensitive values counted──▶ ValueCounts ──Models.of──▶ Models ─────────────┐
    files ──▶ rows (hash, sensitive codes), scattered by their hash ──▶ classes ──▶ what they show

The definitions are those by which algorithms decide; what they are given comes from the release
alone: its values, their distribution, its classes.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from dask_anon.audit._buckets import in_buckets, seeing_scratch
from dask_anon.audit._files import Chunk, FileFacts, chunks_of, is_text, look
from dask_anon.audit._judged import classes_of, n_words, packed
from dask_anon.audit.count import (
    batches_of,
    count_classes,
    hashes_of,
    require_all,
    require_columns,
)
from dask_anon.classes._hashing import Keys, Words
from dask_anon.config import settings
from dask_anon.engine.execute import reduce
from dask_anon.errors import DataError
from dask_anon.evaluation import Found, Judged, found_in, merge_found, min_size_of
from dask_anon.hierarchy import ValueCounts, count_values, merge_value_counts
from dask_anon.models import Models, columns_of
from dask_anon.policy import Policy

Types = Mapping[str, pa.DataType]
Values = dict[str, ValueCounts]

# Counts of batches that are kept before they are merged.
_KEPT = 16


def judge_classes(
    files: Sequence[str | os.PathLike[str]],
    columns: Sequence[str],
    policy: Policy,
    *,
    types: Types,
    scratch_dir: str | os.PathLike[str] | None = None,
    delimiter: str = ",",
) -> Judged:
    """Count the equivalence classes of a release, and measure the privacy models on them.

    Parameters
    ----------
    files, columns, scratch_dir, delimiter
        As of `count_classes`. In scratch, 8 bytes a row are added for every two sensitive columns.
    policy : Policy
        Its privacy models, and what a missing sensitive value is to them.
    types : mapping of str to pyarrow.DataType
        Types of the sensitive columns, in which those of CSV are read.

    Returns
    -------
    Judged

    Raises
    ------
    DataError, PolicyError
        A column cannot be read, or cannot be what a model needs.

    Notes
    -----
    Without models of sensitive values this is `count_classes`; with them the sensitive columns are
    read once more, before.
    """
    names = columns_of(policy)
    if not names:
        counts = count_classes(files, columns, scratch_dir=scratch_dir, delimiter=delimiter)
        models = Models.of(policy, {}, n_records=counts.n_records, refuse=False)
        min_size = min_size_of(policy, counts.n_records)
        small = counts.n_classes_below(min_size), counts.n_records_below(min_size)
        return Judged(policy, models, Found(counts, (), *small), min_size)
    facts = look([os.fspath(path) for path in files], [*columns, *names], delimiter=delimiter)
    require_columns(columns)
    read_as = _Types(dict(types), is_csv=any(not file.is_exact for file in facts))
    values = _count_values(facts, names, read_as, delimiter)
    n_records = values[names[0]].n_records
    models = Models.of(policy, values, n_records=n_records, refuse=False)
    min_size = min_size_of(policy, n_records)
    work = _Judge(Keys.draw(len(columns)), models, read_as, min_size, len(names))
    chunks = chunks_of(facts, columns, delimiter, sensitive=names)
    found, n_read = in_buckets(chunks, work, n_rows=n_records, scratch_dir=scratch_dir)
    whole = merge_found(found, n_checks=len(models.checks))
    require_all(whole.counts, n_read)
    return Judged(policy, models, whole, min_size)


@dataclass(frozen=True)
class _Types:
    """In which types sensitive columns are read."""

    known: Types
    is_csv: bool

    def read(self, name: str, array: pa.Array) -> pa.Array:
        """A column of a batch in its type; of Parquet, it comes in it."""
        type_ = self.known.get(name)
        if not self.is_csv or type_ is None or is_text(type_):
            return array
        try:
            return _parsed(array, type_.value_type if pa.types.is_dictionary(type_) else type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            # Arrow's own message would quote the value.
            raise DataError(
                f"released column '{name}' holds values that are not of the type that it had "
                f"before, {type_}.",
                column=name,
            ) from None

    def of_nothing(self, name: str) -> pa.Array:
        """The column of a release without rows."""
        return pa.array([], self.known.get(name, pa.string()))


def _parsed(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts as values, also of the two types for which Arrow has no cast."""
    if pa.types.is_time(type_):
        day = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return day.cast(pa.timestamp(type_.unit)).cast(type_)
    if pa.types.is_duration(type_):
        return texts.cast(pa.int64()).cast(type_)
    return texts.cast(type_)


def _count_values(
    facts: Sequence[FileFacts], names: Sequence[str], types: _Types, delimiter: str
) -> Values:
    cap = settings().sensitive_cap
    nothing = {name: count_values(types.of_nothing(name), column=name, cap=cap) for name in names}
    chunks = chunks_of(facts, [], delimiter, sensitive=names)
    if not chunks:
        return nothing
    calls = [(_count_chunk, chunk, types, cap) for chunk in chunks]
    counted: Values = reduce("count-values", calls, partial(_merge, cap=cap))
    return counted or nothing


def _count_chunk(chunk: Chunk, types: _Types, cap: int) -> Values:
    """Values of one chunk; nothing of one without rows."""
    counted: list[Values] = []
    for batch in batches_of(chunk):
        counted.append(
            {
                name: count_values(types.read(name, batch.column(name)), column=name, cap=cap)
                for name in chunk.sensitive
            }
        )
        if len(counted) == _KEPT:
            counted = [_merge(counted, cap=cap)]
    return _merge(counted, cap=cap)


def _merge(several: Sequence[Values], *, cap: int) -> Values:
    known = [values for values in several if values]
    if not known:
        return {}
    return {
        name: merge_value_counts([values[name] for values in known], cap=cap) for name in known[0]
    }


@dataclass(frozen=True)
class _Judge:
    """Takes the figures of classes."""

    keys: Keys
    models: Models | None
    types: _Types
    min_size: int
    n_columns: int
    models_at: str = ""

    @property
    def n_words(self) -> int:
        return n_words(self.n_columns)

    def ready(self, scratch: str) -> _Judge:
        """Leave the models, which grow with the distinct values, where tasks find them."""
        path = os.path.join(scratch, "models")
        with open(path, "wb") as file:
            pickle.dump(self.models, file)
        return replace(self, models=None, models_at=path)

    def _models(self) -> Models:
        return self.models or _load(self.models_at)

    def rows(self, chunk: Chunk) -> Iterator[Words]:
        models = self._models()
        for batch in batches_of(chunk):
            codes = [
                values.encode(self.types.read(values.column, batch.column(values.column)))
                for values in models.values
            ]
            yield packed(hashes_of(batch, chunk, self.keys), codes)

    def count(self, batches: Iterable[Words], *, n_shared_bits: int, piece_rows: int) -> Found:
        models = self._models()
        classes = classes_of(
            batches,
            n_codes=models.n_codes.tolist(),
            n_shared_bits=n_shared_bits,
            piece_rows=piece_rows,
        )
        found = (found_in(models, some, self.min_size) for some in classes)
        return merge_found(found, n_checks=len(models.checks))


@lru_cache(maxsize=2)
def _load(path: str) -> Models:
    # The scratch directory is this count's own, and nobody else may write to it.
    with seeing_scratch(), open(path, "rb") as file:
        models: Models = pickle.load(file)
        return models
