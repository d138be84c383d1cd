"""How likely a record is found again by somebody who knows that the person is in the table."""

from __future__ import annotations

from typing import Any

from dask_anon.classes import ClassTable
from dask_anon.metrics._sizes import count, least, ratio, sizes_of, total


def smallest_class(classes: ClassTable) -> Any:
    """Size of the smallest class: the k that a release has; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> smallest_class(pd.DataFrame({"size": [4, 2]}))
    2
    """
    return least(sizes_of(classes))


def n_records_below(classes: ClassTable, *, k: int) -> Any:
    """How many records are in classes with fewer than `k` records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.
    k : int
        The k of k-anonymity.

    Examples
    --------
    >>> n_records_below(pd.DataFrame({"size": [4, 2]}), k=3)
    2
    """
    sizes = sizes_of(classes)
    return total(sizes.where(sizes < k, 0))


def prosecutor_risk(classes: ClassTable) -> Any:
    """Highest prosecutor risk: the chance of a right guess in the smallest class.

    1 / size of the smallest class [1]_; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> prosecutor_risk(pd.DataFrame({"size": [4, 2]}))  # 1 / 2
    0.5

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """
    smallest = least(sizes_of(classes))
    return ratio(1.0 * (smallest > 0), smallest)


def average_prosecutor_risk(classes: ClassTable) -> Any:
    """Average prosecutor risk over the records: classes / records.

    Every record has the risk 1 / size of its class [1]_. (The mean over classes instead, 0.375
    in the example, weighs small classes as much as large ones and is no risk of a person.)

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> average_prosecutor_risk(pd.DataFrame({"size": [4, 2]}))  # 2 / 6
    0.3333333333333333

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """
    sizes = sizes_of(classes)
    return ratio(count(sizes), total(sizes))
