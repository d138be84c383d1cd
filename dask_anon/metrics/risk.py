"""How likely a record is found again: three attackers, and what each of them can do.

    prosecutor   knows that a certain person is in the table        1 / size of the class
    journalist   looks for anybody, in a register of the population 1 / persons like that in it
    marketer     links as many records as possible                  expected share found

Each takes a class table: pandas gives a number, Dask a lazy scalar. Suppressed records, which show
``*`` in every quasi-identifier, have nothing to link: they are left out of the risks and counted by
`n_suppressed_records`. ``suppressed="record"`` treats them as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.metrics._linkage import (
    Suppressed,
    highest,
    linkable,
    persons_like,
    population_column,
)
from dask_anon.metrics._sizes import class_table, count, least, ratio, sizes_of, total

THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {"0.05": 0.05, "0.09": 0.09, "0.2": 0.2, "0.33": 0.33, "k=5": 1 / 5, "k=11": 1 / 11}
)
"""Risks above which a record is at risk, as they are used in practice.

0.09 and 0.33 are 1/11 and 1/3 cut short, so that a class of 11 or of 3 is at risk by them; by
``k=11`` it is not.
"""


def smallest_class(classes: ClassTable, *, quasi_identifiers: Sequence[str] | None = None) -> Any:
    """Size of the smallest class: the k that a release has; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.

    Examples
    --------
    >>> smallest_class(pd.DataFrame({"size": [4, 2]}))
    2
    """
    return least(sizes_of(classes, quasi_identifiers))


def n_records_below(
    classes: ClassTable, *, k: int, quasi_identifiers: Sequence[str] | None = None
) -> Any:
    """How many records are in classes with fewer than `k` records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    k : int
        The k of k-anonymity.

    Examples
    --------
    >>> n_records_below(pd.DataFrame({"size": [4, 2]}), k=3)
    2
    """
    sizes = sizes_of(classes, quasi_identifiers)
    return total(sizes.where(sizes < k, 0))


def prosecutor_risk(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Highest prosecutor risk: the chance of a right guess in the smallest class.

    1 / size of the smallest class [1]_; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    suppressed : {'apart', 'record'}, default 'apart'
        Leave out the class in which all is ``*``, or treat it as any other.

    Examples
    --------
    >>> prosecutor_risk(pd.DataFrame({"size": [4, 2]}))  # 1 / 2
    0.5

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """
    smallest = least(sizes_of(linkable(classes, suppressed, quasi_identifiers)))
    return ratio(1.0 * (smallest > 0), smallest)


def average_prosecutor_risk(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Average prosecutor risk over the records: classes / records.

    Every record has the risk 1 / size of its class [1]_. (The mean over classes instead, 0.375
    in the example, weighs small classes as much as large ones and is no risk of a person.)

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    suppressed : {'apart', 'record'}, default 'apart'
        Leave out the class in which all is ``*``, or treat it as any other.

    Examples
    --------
    >>> average_prosecutor_risk(pd.DataFrame({"size": [4, 2]}))  # 2 / 6
    0.3333333333333333

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """
    sizes = sizes_of(linkable(classes, suppressed, quasi_identifiers))
    return ratio(count(sizes), total(sizes))


def n_records_at_risk(
    classes: ClassTable,
    *,
    threshold: float,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
    sampling_fraction: float | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """How many records have a risk above a threshold.

    The risk is the prosecutor's, 1 / size of the class; if the population is given, the
    journalist's, 1 / persons like that in the population.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    threshold : float
        Records whose risk is larger are counted; one of `THRESHOLDS`, or any number from 0 to 1.
    population, sampling_fraction : optional
        As for `journalist_risk`.
    suppressed : {'apart', 'record'}, default 'apart'
        Leave out the class in which all is ``*``, or treat it as any other.

    Examples
    --------
    >>> n_records_at_risk(pd.DataFrame({"size": [4, 2]}), threshold=0.33)  # 1/2 is above
    2

    References
    ----------
    .. [1] El Emam, Guide to the de-identification of personal health information, 2013, chapter 16.
    """
    classes = linkable(classes, suppressed, quasi_identifiers, population)
    return _n_at_risk(classes, threshold, population, sampling_fraction)


def records_at_risk(
    classes: ClassTable,
    *,
    threshold: float,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
    sampling_fraction: float | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Share of the records that have a risk above a threshold; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    threshold, population, sampling_fraction, suppressed
        As for `n_records_at_risk`.

    Examples
    --------
    >>> records_at_risk(pd.DataFrame({"size": [4, 2]}), threshold=THRESHOLDS["k=5"])
    1.0
    >>> round(records_at_risk(pd.DataFrame({"size": [4, 2]}), threshold=0.33), 3)  # 2 / 6
    0.333

    References
    ----------
    .. [1] El Emam, Guide to the de-identification of personal health information, 2013, chapter 16.
    """
    classes = linkable(classes, suppressed, quasi_identifiers, population)
    at_risk = _n_at_risk(classes, threshold, population, sampling_fraction)
    return ratio(at_risk, total(sizes_of(classes)))


def _n_at_risk(
    classes: ClassTable, threshold: float, population: str | None, sampling_fraction: float | None
) -> Any:
    if not 0 <= threshold <= 1:
        raise AnonError(
            f"threshold must be between 0 and 1, found {threshold:g}. "
            "It is a risk: 0.2 for classes of at least 5."
        )
    sizes = sizes_of(classes)
    crowd: Any = sizes
    if population is not None or sampling_fraction is not None:
        crowd = persons_like(classes, population, sampling_fraction)
    return total(sizes.where(1 / crowd > threshold, 0))


def journalist_risk(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
    sampling_fraction: float | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Highest journalist risk: the chance of a right guess among the fewest persons alike.

    1 / F for the smallest F, the number of persons in the population that have the values of a
    class [1]_. The attacker does not know who is in the table, so all of them are candidates.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    population : str, optional
        Column with F; default ``population`` or else ``weight``, if the class table has one. Of a
        released table: how many persons a record stands for, which are added.
    sampling_fraction : float, optional
        Share of the population that is in the table, instead: F is taken to be size / fraction.
        (True on average. For single classes it is not; `population_uniqueness` estimates how
        many of those of size 1 have nobody else.)
    suppressed : {'apart', 'record'}, default 'apart'
        Leave out the class in which all is ``*``, or treat it as any other.

    Raises
    ------
    AnonError
        If nothing tells the size of the population.
    DataError
        If a class has fewer persons in the population than records, in a Dask frame when it is
        computed.

    Examples
    --------
    >>> classes = pd.DataFrame({"size": [4, 2], "population": [5, 10]})
    >>> journalist_risk(classes)  # 1 / 5
    0.2

    References
    ----------
    .. [1] El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """
    classes = linkable(classes, suppressed, quasi_identifiers, population)
    return highest(1 / persons_like(classes, population, sampling_fraction))


def average_journalist_risk(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
    sampling_fraction: float | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Average journalist risk: the larger of classes / population and the marketer's risk.

    An attacker may start at the register, or at the table: in the first case the success rate is
    the number of classes over the persons of the population that fit one, in the second it is the
    mean of 1 / F over the records [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    population, sampling_fraction, suppressed
        As for `journalist_risk`.

    Examples
    --------
    >>> classes = pd.DataFrame({"size": [4, 2], "population": [5, 10]})
    >>> round(average_journalist_risk(classes), 4)  # max(2 / 15, (4/5 + 2/10) / 6)
    0.1667

    References
    ----------
    .. [1] El Emam, Guide to the de-identification of personal health information, 2013, chapter 16.
    """
    classes = linkable(classes, suppressed, quasi_identifiers, population)
    crowd = persons_like(classes, population, sampling_fraction)
    from_register = ratio(count(crowd), total(crowd))
    from_table = ratio(total(sizes_of(classes) / crowd), total(sizes_of(classes)))
    register_is_better = from_register > from_table
    return from_register * register_is_better + from_table * (1 - register_is_better)


def marketer_risk(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    population: str | None = None,
    sampling_fraction: float | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Marketer risk: share of the records that somebody who links all of them finds, on average.

    Of the f records of a class, linked at random with the F persons of the population that are like
    them, f / F are right [1]_; these are added and divided by the number of records. Where nothing
    tells the population, the register is taken to hold the persons of the table alone (F = f), the
    worst case, which equals the average prosecutor risk.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    population, sampling_fraction, suppressed
        As for `journalist_risk`.

    Examples
    --------
    >>> classes = pd.DataFrame({"size": [4, 2], "population": [5, 10]})
    >>> round(marketer_risk(classes), 4)  # (4/5 + 2/10) / 6
    0.1667
    >>> round(marketer_risk(classes[["size"]]), 4)  # (4/4 + 2/2) / 6
    0.3333

    References
    ----------
    .. [1] Dankar and El Emam, A method for evaluating marketer re-identification risk,
       PAIS 2010.
    """
    classes = linkable(classes, suppressed, quasi_identifiers, population)
    sizes = sizes_of(classes)
    crowd: Any = sizes
    told = (population, sampling_fraction, population_column(classes))
    if any(one is not None for one in told):
        crowd = persons_like(classes, population, sampling_fraction)
    return ratio(total(sizes / crowd), total(sizes))


def sample_uniqueness(
    classes: ClassTable,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    suppressed: Suppressed = "apart",
) -> Any:
    """Share of the records that are alone in their class; 0 without records.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``, or a released table. A Dask frame gives a
        lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.
    suppressed : {'apart', 'record'}, default 'apart'
        Leave out the class in which all is ``*``, or treat it as any other.

    Examples
    --------
    >>> sample_uniqueness(pd.DataFrame({"size": [3, 1]}))  # 1 / 4
    0.25

    References
    ----------
    .. [1] Skinner and Elliot, A measure of disclosure risk for microdata, JRSS B 64(4), 2002.
    """
    sizes = sizes_of(linkable(classes, suppressed, quasi_identifiers))
    return ratio(total(sizes.where(sizes == 1, 0)), total(sizes))


def n_suppressed_records(
    classes: ClassTable, *, quasi_identifiers: Sequence[str] | None = None
) -> Any:
    """How many records are in the class in which every quasi-identifier shows ``*``.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its quasi-identifiers and ``size``, or a released table.
        A Dask frame gives a lazy scalar.
    quasi_identifiers : sequence of str, optional
        Of a released table: the columns that make its classes.

    Examples
    --------
    >>> n_suppressed_records(pd.DataFrame({"age": ["<50", "*"], "size": [4, 1]}))
    1
    """
    classes = class_table(classes, quasi_identifiers, labels=True)
    return total(sizes_of(classes)) - total(sizes_of(linkable(classes, "apart")))
