"""How finely a release tells its records apart, from its class sizes.

    classes of 4 and 2 records     average 3, in units of k = 2: 1.5; discernibility 4² + 2²

What its cells still show is in `loss`, `entropy`, `squared_error` and `distance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask_anon.classes import ClassTable, equivalence_classes
from dask_anon.errors import AnonError
from dask_anon.metrics._sizes import count, ratio, sizes_of, total
from dask_anon.metrics._steps import Steps


def n_classes(classes: ClassTable) -> Any:
    """Equivalence classes of a release.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> n_classes(pd.DataFrame({"size": [4, 2]}))
    2
    """
    return count(sizes_of(classes))


def average_class_size(classes: ClassTable) -> Any:
    """Average number of records of an equivalence class; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> average_class_size(pd.DataFrame({"size": [4, 2]}))  # 6 records / 2 classes
    3.0
    """
    sizes = sizes_of(classes)
    return ratio(total(sizes), count(sizes))


def average_equivalence_class_size(classes: ClassTable, *, k: int) -> Any:
    """Average class size in units of `k`, C_avg: 1 is the best that k allows.

    The average class size divided by `k` [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.
    k : int
        The k of k-anonymity, at least 1.

    Examples
    --------
    >>> average_equivalence_class_size(pd.DataFrame({"size": [4, 2]}), k=2)  # 3.0 / 2
    1.5

    References
    ----------
    .. [1] LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    """
    if k < 1:
        raise AnonError(f"k must be at least 1 to divide by, found {k}.")
    return average_class_size(classes) / k


def discernibility(classes: ClassTable, *, n_suppressed: int = 0) -> Any:
    """Discernibility metric of a release.

    Every record costs the size of its equivalence class; a suppressed record costs the whole
    table [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.
    n_suppressed : int, default 0
        Records left out of the release.

    Examples
    --------
    >>> discernibility(pd.DataFrame({"size": [4, 2]}))  # 4*4 + 2*2
    20

    References
    ----------
    .. [1] Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005.
    """
    sizes = sizes_of(classes)
    kept = total(sizes**2)
    n_records = total(sizes) + n_suppressed
    return kept + n_suppressed * n_records


def distinctness(
    frame: Any, columns: Sequence[str] | None = None, *, by_column: bool = False
) -> Any:
    """Distinct records / records; 0 without records.

    Parameters
    ----------
    frame : pandas or Dask DataFrame
        Any table, before or after.
    columns : sequence of str, optional
        The columns that records are compared in; by default all.
    by_column : bool, default False
        Give a dict with the distinct values / records of each column.

    Returns
    -------
    float or dict of str to float
        Lazy for a Dask frame.

    Examples
    --------
    >>> distinctness(pd.DataFrame({"age": [23, 23, 25, 25], "sex": ["f", "m", "f", "f"]}))
    0.75
    """
    names = list(frame.columns) if columns is None else list(columns)
    if by_column:
        return Steps(frame).together({name: distinctness(frame, [name]) for name in names})
    sizes = sizes_of(equivalence_classes(frame, names, labels=False))
    return ratio(count(sizes), total(sizes))


def calculate_avg_equivalence_class_size(df: Any, k: int, quasi_id: Sequence[str]) -> Any:
    """Average class size in units of `k`, from the released table itself.

    :func:`average_equivalence_class_size` under the name and with the arguments that scripts
    written for umbra-k use: records / (k · classes), 0.0 for a table without records. Records
    whose quasi-identifiers are missing are counted, and so are their classes.

    Parameters
    ----------
    df : pandas or Dask DataFrame
        The published table. A Dask frame gives a lazy scalar.
    k : int
        The k of k-anonymity, at least 1.
    quasi_id : sequence of str
        Its quasi-identifier columns, as released.

    Examples
    --------
    >>> released = pd.DataFrame({"age": ["23", "23", None, None, None, None]})
    >>> calculate_avg_equivalence_class_size(released, 2, ["age"])  # 6 / (2 * 2)
    1.5
    """
    classes = equivalence_classes(df, quasi_id, labels=False)
    return average_equivalence_class_size(classes, k=k)
