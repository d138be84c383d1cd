"""How much of the original a release keeps, from its class sizes and penalties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.metrics._sizes import count, ratio, sizes_of, total


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


def global_certainty_penalty(certainty: Mapping[str, float]) -> float:
    """Global certainty penalty: 0 shows every value, 1 shows nothing.

    The mean over the quasi-identifiers of their average normalized certainty penalty, which for
    one cell is the share of the attribute's domain that the released cell covers [1]_.

    Parameters
    ----------
    certainty : mapping of column to float
        Average normalized certainty penalty of each quasi-identifier over all records, 0 to 1.

    Examples
    --------
    >>> global_certainty_penalty({"age": 0.25, "zip": 0.75})
    0.5

    References
    ----------
    .. [1] Ghinita, Karras, Kalnis and Mamoulis, Fast data anonymization with low information
       loss, VLDB 2007.
    """
    return sum(certainty.values()) / len(certainty) if certainty else 0.0
