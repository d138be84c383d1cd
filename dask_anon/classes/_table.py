"""The class table of a released table, on one machine or many.

    partition ──hash──▶ pieces ─┐             ┌─▶ bucket 0 ──group──▶ classes
    partition ──hash──▶ pieces ─┼─by the hash─┤
    partition ──hash──▶ pieces ─┘             └─▶ bucket 1 ──group──▶ classes

Records are compared by a 128-bit keyed hash of their quasi-identifiers (`_hashing`), so no value is
sorted and no column is shuffled. A task holds one partition, or the classes of one bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from dask_anon.classes._columns import check_columns, quasi_identifiers_of
from dask_anon.errors import AnonError, DataError

if TYPE_CHECKING:
    from dask_anon.classes._pieces import Layout
    from dask_anon.policy import Policy

# One row an equivalence class: its released values, `size`, and what was counted. pandas or Dask.
ClassTable: TypeAlias = Any

# A bucket holds, on average, no more classes than a few partitions have records. A class is two
# words of hash and a count, so four partitions' fit where a partition fits with all its columns;
# with its labels, those of two. But all workers should have a bucket. And every partition makes a
# piece for every bucket: a million pieces would keep the scheduler busier than the workers.
FEW_BUCKETS, MOST_BUCKETS = 8, 128


def n_buckets_for(n_partitions: int, labels: bool) -> int:
    """Partitions of the class table of a table of so many partitions.

    Examples
    --------
    >>> [n_buckets_for(n, labels=False) for n in (1, 8, 10, 100, 1000)]
    [1, 8, 8, 25, 128]
    """
    share = -(-n_partitions // (2 if labels else 4))
    return min(n_partitions, MOST_BUCKETS, max(FEW_BUCKETS, share))


def equivalence_classes(
    released: Any,
    policy: Policy | Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    weight: str | None = None,
    labels: bool = True,
    split_out: int | None = None,
) -> ClassTable:
    """Count the records of every equivalence class, and the sensitive values in it.

    Records are one class when all their quasi-identifiers are equal. A missing value is a value of
    its own, and there is one: NaN, None, NaT and NA are equal.

    Parameters
    ----------
    released : pandas or Dask DataFrame
        The published table.
    policy : Policy or sequence of str
        Whose quasi-identifiers make the classes; `age` is found as ``age`` or as ``age_min``,
        ``age_max`` and ``age_missing``. Or the released columns themselves.
    sensitive : sequence of str, default ()
        Columns of which the distinct values of each class are counted.
    weight : str, optional
        A column of numbers that is summed to ``weight``, such as sampling weights: the sum
        estimates how many people of the population a class stands for.
    labels : bool, default True
        Whether the quasi-identifiers are in the result. Without them it is faster and smaller; the
        measures do not need them.
    split_out : int, optional
        Partitions of the result for a Dask frame, among which the classes are spread evenly; by
        default a half or a quarter of those of `released` (with and without labels), 8 to 128.

    Returns
    -------
    pandas or lazy Dask DataFrame
        One row a class: the quasi-identifiers as released, ``size``, ``weight``, and for each
        sensitive column a list of its distinct values with their counts, ascending, the missing
        value last: of type ``list<struct<value, n: int64>>``, in which a value has the Arrow type
        of the column; categories stay categories. In no given order for a Dask frame; as first
        seen for a pandas frame.

    Raises
    ------
    DataError
        When a column is not there, cannot be compared, or cannot stand in a class table.

    Notes
    -----
    O(n) in the records. A task holds a partition and 16 bytes a record of it, or the classes of a
    bucket. Two different classes are taken for one with a probability below 1e-20 for 10⁹ classes.
    A Dask table is built once: whatever is computed from it together shares its tasks.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": ["021", "021", None], "illness": ["flu", "hiv", "flu"]})
    >>> classes = equivalence_classes(released, ["zip"], sensitive=["illness"])
    >>> classes["size"].tolist()
    [2, 1]
    >>> classes["illness"].tolist()
    [[{'value': 'flu', 'n': 1}, {'value': 'hiv', 'n': 1}], [{'value': 'flu', 'n': 1}]]
    """
    names = [str(name) for name in released.columns]
    columns = quasi_identifiers_of(names, policy)
    sensitive = list(dict.fromkeys([sensitive] if isinstance(sensitive, str) else sensitive))
    check_columns(names, columns, sensitive, weight)
    if split_out is not None and split_out < 1:
        raise AnonError(f"split_out is a number of partitions, at least 1, found {split_out}.")
    if isinstance(released, pd.DataFrame):
        return _of_pandas(released, columns, sensitive, weight, labels)
    return _of_dask(released, columns, sensitive, weight, labels, split_out)


def _layout(
    described: pd.DataFrame,
    columns: Sequence[str],
    sensitive: Sequence[str],
    weight: str | None,
    labels: bool,
) -> Layout:
    from dask_anon.classes._arrow import key_type, value_type
    from dask_anon.classes._hashing import Keys
    from dask_anon.classes._pieces import Layout

    if weight is not None and not pd.api.types.is_numeric_dtype(described[weight].dtype):
        raise DataError(
            f"weight column '{weight}' is of type {described[weight].dtype}, which cannot be "
            "summed. Convert it to numbers."
        )
    return Layout(
        columns=tuple(columns),
        types=tuple(key_type(described[column].iloc[:0]) for column in columns),
        sensitive=tuple(sensitive),
        value_types=tuple(value_type(described[column]) for column in sensitive),
        weight=weight,
        labels=labels,
        # Drawn once a table, so equal classes of all partitions meet. Nobody who makes a table can
        # know them, and prepare rows that collide. Two tables of the same data differ in them: they
        # are equal up to the order of rows, and Dask does not take their tasks for the same.
        keys=Keys.draw(len(columns)),
    )


def _of_pandas(
    released: pd.DataFrame,
    columns: Sequence[str],
    sensitive: Sequence[str],
    weight: str | None,
    labels: bool,
) -> pd.DataFrame:
    from dask_anon.classes._gather import class_table
    from dask_anon.classes._pieces import pieces_of

    layout = _layout(released, columns, sensitive, weight, labels)
    return class_table(pieces_of(released, layout, 1), layout)


def _of_dask(
    released: Any,
    columns: Sequence[str],
    sensitive: Sequence[str],
    weight: str | None,
    labels: bool,
    split_out: int | None,
) -> Any:
    import dask.dataframe as dd

    from dask_anon.classes._gather import empty_table
    from dask_anon.classes._graph import table_graph

    used = list(dict.fromkeys([*columns, *sensitive, *([] if weight is None else [weight])]))
    released = released[used]
    layout = _layout(released._meta, columns, sensitive, weight, labels)
    n_buckets = split_out or n_buckets_for(released.npartitions, labels)
    graph, keys = table_graph(released, layout, n_buckets)
    return dd.from_graph(
        graph, empty_table(released._meta, layout), (None,) * (n_buckets + 1), keys, "classes"
    )
