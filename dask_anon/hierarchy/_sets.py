"""What a release shows of a nominal column: the set of its labels.

("a", "b")            {a, b}
("a",)                a
("a", missing)        a | missing
(missing,)            null
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dask_anon.errors import DataError
from dask_anon.hierarchy._domain import Codes, Domain
from dask_anon.hierarchy._labelled import LabelledDomain
from dask_anon.hierarchy._text import MISSING, join_text

_ROOM = 2**31 - 1  # bytes that one Arrow string array holds


def set_labels(domain: Domain, offsets: NDArray[np.integer], codes: Codes) -> pa.Array:
    """The text of every set: set i is ``codes[offsets[i]:offsets[i+1]]``, sorted, missing last.

    Parameters
    ----------
    offsets : (n + 1,) integers, rising from 0
    codes : (offsets[n],) codes

    Returns
    -------
    pyarrow.Array of string, (n,)
        Null for a set without a label.
    """
    if not isinstance(domain, LabelledDomain):
        raise TypeError(f"sets are of labels; column {domain.column!r} is {domain.kind}")
    offsets = np.asarray(offsets, np.int64)
    missing = np.zeros(len(offsets) - 1, np.bool_)
    is_missing = codes == domain.missing_code
    if is_missing.any():
        before = np.concatenate([[0], np.cumsum(is_missing)])[offsets]  # missing codes up to here
        missing = np.diff(before) > 0
        codes, offsets = codes[~is_missing], offsets - before
    size = np.diff(offsets)
    _refuse_too_long(domain, codes, len(size))
    texts = domain.quoted_labels.take(pa.array(codes))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    inner = pc.binary_join(lists, ", ")
    text = pc.if_else(pa.array(size > 1), join_text("{", inner, "}"), inner)
    if missing.any():
        text = pc.if_else(pa.array(missing), join_text(text, f" | {MISSING}"), text)
    return pc.if_else(pa.array(size > 0), text, pa.scalar(None, pa.string()))


def _refuse_too_long(domain: LabelledDomain, codes: Codes, n_sets: int) -> None:
    n_bytes = int(domain.label_bytes[codes].sum()) + 2 * len(codes) + 16 * n_sets
    if n_bytes > _ROOM:
        raise DataError(
            f"the sets of labels of column {domain.column!r} come to {n_bytes / 2**30:.1f} GiB of "
            f"text in one partition ({domain.n_codes} labels in the column). Use smaller "
            "partitions, or fewer labels.",
            column=domain.column,
        )
