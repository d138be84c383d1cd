"""What somebody gains on average who looks up the class of a person, and what a learner loses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import fsum
from typing import Any, Literal

import numpy as np

from dask_anon.classes import ClassTable
from dask_anon.errors import AnonError
from dask_anon.metrics._classwise import Figure, Known, figure_of, values_of_model
from dask_anon.metrics._values import SensitiveNulls, Sparse
from dask_anon.policy import TCloseness


def adversarial_knowledge_gain(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Adversarial knowledge gain: how far the average person's class lies from the whole table.

    The mean over the records of 1/2 sum of abs(p - q), with a value's share q in the record's class
    and p in the table [1]_. 0: the classes tell nothing that the table does not.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether records with a missing value are left out, have a value, or are an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 to 1; 0 without records.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> gain = adversarial_knowledge_gain(released, column="illness", quasi_identifiers=["zip"])
    >>> round(gain, 10), round((4 * 1 / 12 + 2 * 1 / 6) / 6, 10)
    (0.1111111111, 0.1111111111)

    References
    ----------
    .. [1] Brickell and Shmatikov, The cost of privacy, KDD 2008, section 4.4.
    """
    return figure_of(knowledge_gain(column), classes, column, sensitive_nulls, quasi_identifiers)


def adversarial_accuracy_gain(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Adversarial accuracy gain: how many more right guesses the classes allow.

    Whoever guesses the commonest value of a record's class is right for the sum over the classes
    of their commonest value's count / records; guessing the commonest value of the table takes
    no class. The difference [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether records with a missing value are left out, have a value, or are an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 to 1; 0 without records.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aabb"), "illness": list("xxyy")})
    >>> adversarial_accuracy_gain(released, column="illness", quasi_identifiers=["zip"])  # 1 - 1/2
    0.5

    References
    ----------
    .. [1] Brickell and Shmatikov, The cost of privacy, KDD 2008, section 4.4.
    """
    return figure_of(accuracy_gain(), classes, column, sensitive_nulls, quasi_identifiers)


def sensitive_entropy(
    classes: ClassTable,
    *,
    column: str,
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Entropy of a sensitive column in the whole table, in nats.

    -sum of p ln p: no class can be more diverse than exp of it, which is the largest l of entropy
    l-diversity that any release of the table has.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The sensitive column.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether a missing value is left out, is a value, or is an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 without records.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "illness": list("xxyzxy")})
    >>> entropy = sensitive_entropy(released, column="illness", quasi_identifiers=["zip"])
    >>> round(entropy, 10)  # shares 1/2, 1/3, 1/6
    1.0114042647
    """
    return figure_of(entropy_of_table(), classes, column, sensitive_nulls, quasi_identifiers)


def classification_metric(
    classes: ClassTable,
    *,
    column: str,
    n_suppressed: int = 0,
    ties: Literal["all", "one"] = "all",
    sensitive_nulls: SensitiveNulls = "ignore",
    quasi_identifiers: Sequence[str] | None = None,
) -> Any:
    """Classification metric: records whose label is not that of their class's majority.

    As a share of all: a learner that sees the released quasi-identifiers alone cannot get these
    right. A suppressed record is wrong as well [1]_.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        A class table that counts `column`. A Dask frame gives a lazy scalar.
    column : str
        The label that is learnt.
    n_suppressed : int, default 0
        Records left out of the release.
    ties : {"all", "one"}, default "all"
        When several labels are the commonest of a class: none of their records is wrong, or all
        but those of one are, as many as a learner gets wrong who has to choose.
    sensitive_nulls : {"ignore", "value", "error"}, default "ignore"
        Whether records with a missing label are left out, have a label, or are an error.
    quasi_identifiers : sequence of str, optional
        If given, `classes` is a released table and these make its classes.

    Returns
    -------
    float or lazy float
        0 to 1; 0 without records.

    Examples
    --------
    >>> released = pd.DataFrame({"zip": list("aaaabb"), "label": list("xxyzxy")})
    >>> classification_metric(released, column="label", quasi_identifiers=["zip"])  # y, z of a: 2/6
    0.3333333333333333
    >>> classification_metric(released, column="label", ties="one", quasi_identifiers=["zip"])
    0.5

    References
    ----------
    .. [1] Iyengar, Transforming data to satisfy privacy constraints, KDD 2002, section 4.2.
    """
    if ties not in ("all", "one"):
        raise AnonError(f"ties is all or one, found {ties!r}.")
    figure = misclassified(ties, n_suppressed)
    return figure_of(figure, classes, column, sensitive_nulls, quasi_identifiers)


def knowledge_gain(column: str) -> Figure:
    """Adversarial knowledge gain."""
    model = TCloseness(column=column, t=1.0, distance="equal")
    return Figure(_distances, fsum, _per_record, model)


def accuracy_gain() -> Figure:
    """Adversarial accuracy gain."""
    return Figure(_commonest, sum, _better_than_the_table)


def entropy_of_table() -> Figure:
    """The entropy of the whole table."""
    return Figure(_nothing, sum, _entropy)


def misclassified(ties: str, n_suppressed: int) -> Figure:
    """The classification metric."""
    of_classes = _wrong_but_ties if ties == "all" else _wrong
    finish = partial(_share_of_all, n_suppressed=n_suppressed)
    return Figure(of_classes, sum, finish, nothing=1.0 if n_suppressed else 0.0)


def _distances(sparse: Sparse, known: Known) -> float:
    return float(np.sum(values_of_model(sparse, known) * sparse.n_counted))


def _per_record(total: float, known: Known) -> float:
    return total / known.whole.n_records if known.whole.n_records else 0.0


def _most(sparse: Sparse) -> Any:
    """The count of each class's commonest value."""
    most = np.zeros(len(sparse.sizes), np.int64)
    np.maximum.at(most, sparse.classes, sparse.counts)
    return most


def _commonest(sparse: Sparse, known: Known) -> int:
    return int(_most(sparse).sum())


def _better_than_the_table(n_right: int, known: Known) -> float:
    # As whole numbers, so that equally good is not worse by rounding.
    return _per_record(n_right - int(known.whole.counts.max(initial=0)), known)


def _wrong(sparse: Sparse, known: Known) -> int:
    return int(sparse.counts.sum() - _most(sparse).sum())


def _wrong_but_ties(sparse: Sparse, known: Known) -> int:
    return int(sparse.counts[sparse.counts < _most(sparse)[sparse.classes]].sum())


def _share_of_all(n_wrong: int, known: Known, *, n_suppressed: int) -> float:
    n_records = known.whole.n_records + n_suppressed
    return (n_wrong + n_suppressed) / n_records if n_records else 0.0


def _nothing(sparse: Sparse, known: Known) -> int:
    return 0


def _entropy(_: int, known: Known) -> float:
    counts = known.whole.counts[known.whole.counts > 0]
    p = counts / max(1, known.whole.n_records)
    return -fsum(p * np.log(p))
