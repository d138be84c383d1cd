"""How much information a release loses, in bits: about values, about records, about the table.

non-uniform entropy    of every value among those that its cell could stand for
row entropy            of the distribution of whole records: how well they are told apart
KL divergence          of the original from what a reader of the release would rebuild
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dask_anon.classes import ClassTable, equivalence_classes
from dask_anon.errors import AnonError
from dask_anon.metrics._attributes import Attribute
from dask_anon.metrics._cells import Cells, columns_shown
from dask_anon.metrics._covered import Known, Sums, add, columns_of, read, values_covered
from dask_anon.metrics._frequencies import (
    Frequencies,
    bits_by_levels,
    bits_lost,
    climbs,
    entropy_bits,
    frequencies_of,
    merge_frequencies,
)
from dask_anon.metrics._pairs import Comparison, Pairs
from dask_anon.metrics._sizes import number, ratio, sizes_of, total
from dask_anon.metrics._steps import Steps
from dask_anon.metrics._taxonomy import Taxonomy


def non_uniform_entropy(
    original: Any,
    released: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    frequencies: Literal["original", "levels"] = "original",
    in_bits: bool = False,
    by_column: bool = False,
) -> Any:
    """Non-uniform entropy: 0 loses nothing, 1 everything.

    A cell costs −log2 of the probability that its value is what it was, given the cell [1]_: how
    often the value occurs, divided by how often any value occurs that the cell covers [2]_. To
    generalize a rare value costs more than to generalize a frequent one. The sum over all cells is
    divided by what it would be if nothing were shown. ARX reports 1 minus this.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        The same records in the same order, and in the same partitions.
    quasi_identifiers : sequence of str
        Columns of the original.
    hierarchies : mapping of column to rows, optional
        One row a value, as a list or a frame, the value itself first and the root last.
    frequencies : {"original", "levels"}, default "original"
        Where the frequencies are counted. ``levels`` is ARX's way: a value climbs its hierarchy
        level by level, and on each level only the records are counted that climb as far. It needs
        hierarchies. Both agree where a column has one level for all its records.
    in_bits : bool, default False
        Give the sum in bits instead.
    by_column : bool, default False
        Give a dict with one figure a quasi-identifier.

    Returns
    -------
    float or dict of str to float
        Lazy (a ``Delayed``) where a frame is a Dask one.

    Raises
    ------
    DataError
        When released cells cannot be read, or the records of the tables cannot be paired.

    Notes
    -----
    Three passes over the original and one over the release, O(records). A cell that does not cover
    its value (a midpoint, noise) tells less than nothing, and counts as one that was suppressed.

    Examples
    --------
    >>> original = pd.DataFrame({"zip": ["a", "a", "a", "b", "c", "c", "c", "c"]})
    >>> released = pd.DataFrame({"zip": ["{a, b}"] * 4 + ["c"] * 4})
    >>> bits = non_uniform_entropy(
    ...     original, released, quasi_identifiers=["zip"], in_bits=True
    ... )  # 3 * log2(4/3) + log2(4/1)
    >>> round(bits, 6)
    3.245112

    References
    ----------
    .. [1] De Waal and Willenborg, Information loss through global recoding and local suppression,
       Netherlands Official Statistics 14, 1999.
    .. [2] Gionis and Tassa, k-Anonymization with minimal loss of information, IEEE TKDE 21(2),
       2009.
    """
    columns = columns_of(quasi_identifiers)
    compared = Comparison(original, released, columns, hierarchies, literal=False)
    steps = compared.steps
    if frequencies == "levels":
        without = [column for column in columns if column not in (hierarchies or {})]
        if without:
            raise AnonError(
                f"levels are those of a hierarchy, and {without} have none. Give one for each of "
                "them, or count frequencies='original'."
            )
        climbed = compared.of_pairs(_climbs, _add_climbs)
        bits = steps(_bits_by_levels, climbed, compared.known)
    elif frequencies == "original":
        counted = compared.of_original(frequencies_of, merge_frequencies)
        lost = compared.of_pairs(_bits_of_pairs, add, counted, after=counted)
        bits = steps(_bits_by_values, lost, counted)
    else:
        raise AnonError(
            f"frequencies are counted in the 'original' or by 'levels', found {frequencies!r}."
        )
    return steps(_share, bits, in_bits, by_column)


def row_entropy(classes: ClassTable) -> Any:
    """Entropy of the distribution of whole records, in bits.

    −Σ size/n · log2(size/n) over the classes [1]_: log2 n if all records differ, 0 if all are
    equal. Some tools call it non-uniform entropy, which it is not.

    Parameters
    ----------
    classes : pandas or Dask DataFrame
        One row per equivalence class with its ``size``. A Dask frame gives a lazy scalar.

    Examples
    --------
    >>> row_entropy(pd.DataFrame({"size": [2, 1, 1]}))  # 1/2 * 1 + 2 * 1/4 * 2
    1.5

    References
    ----------
    .. [1] Shannon, A mathematical theory of communication, 1948.
    """
    sizes = sizes_of(classes)
    shares = sizes / total(sizes)
    return number(0.0 - (shares * np.log2(shares)).sum())


def entropy_based_information_loss(
    original: Any,
    released: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    by_column: bool = False,
) -> Any:
    """Entropy-based information loss: 0 if records are told apart as before, 1 if not at all.

    1 − row entropy of the release / row entropy of the original; 0 where the original has none.
    What cells show is not looked at, only which are equal.

    Parameters
    ----------
    original, released : pandas or Dask DataFrame
        The two tables; or their class tables if no quasi-identifiers are named.
    quasi_identifiers : sequence of str, optional
        Columns of the original.
    by_column : bool, default False
        Give a dict with one figure a quasi-identifier, as if it were the only one.

    Notes
    -----
    Records need not stand in the same order. Costs two class tables.

    Examples
    --------
    >>> original = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    >>> released = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 1, 1, 1]})
    >>> entropy_based_information_loss(
    ...     original, released, quasi_identifiers=["a", "b"]
    ... )  # 1 - 1/2
    0.5
    """
    if quasi_identifiers is None:
        if by_column:
            raise AnonError("by_column needs the tables themselves. Name the quasi-identifiers.")
        before = row_entropy(original)
        return ratio(before - row_entropy(released), before)
    columns = columns_of(quasi_identifiers)
    steps = Steps(original, released)
    if by_column:
        each = {
            column: entropy_based_information_loss(original, released, quasi_identifiers=[column])
            for column in columns
        }
        return steps.together(each)
    sizes = (
        _counted(steps, original, columns),
        _counted(steps, released, columns_shown(released, columns)),
    )
    return steps(_entropy_lost, *sizes)


def kl_divergence(
    released: Any,
    original: Any,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Mapping[str, Any] | None = None,
    by_column: bool = False,
) -> Any:
    """Kullback-Leibler divergence of the original from what the release says of it, in bits.

    Σ p log2(p/q) over the records: p is how often such a record occurs, q what a reader would
    believe who spreads every class evenly over all records that its cells cover [1]_. 0 for the
    original itself. Records left out are spread over everything.

    Parameters
    ----------
    released, original : pandas or Dask DataFrame
        The published table, and what it was made from. Records need not stand in the same order.
    quasi_identifiers, hierarchies
        As for :func:`non_uniform_entropy`.
    by_column : bool, default False
        Give a dict with one figure a quasi-identifier, as if it were the only one.

    Raises
    ------
    AnonError
        For a column of floating-point numbers without a hierarchy, whose values are not counted.

    Notes
    -----
    A record is looked for in its own class only. Where classes overlap, which those of Mondrian
    and of full-domain recodings without suppression do not, the figure is an upper bound. As
    Σ p log2 p and Σ p log2 q are entropies of the two tables, nothing is paired: one pass over the
    original, one over the release, and two class tables.

    Examples
    --------
    >>> original = pd.DataFrame({"zip": ["a", "a", "a", "b"]})
    >>> released = pd.DataFrame({"zip": ["{a, b}"] * 4})
    >>> round(kl_divergence(released, original, quasi_identifiers=["zip"]), 6)
    0.188722

    That is 3/4 · log2(3/4 / 1/2) + 1/4 · log2(1/4 / 1/2).

    References
    ----------
    .. [1] Kifer and Gehrke, Injecting utility into anonymized datasets, SIGMOD 2006.
    """
    columns = columns_of(quasi_identifiers)
    if by_column:
        given = hierarchies or {}
        each = {
            column: kl_divergence(
                released,
                original,
                quasi_identifiers=[column],
                hierarchies={column: given[column]} if column in given else None,
            )
            for column in columns
        }
        return Steps(original, released).together(each)
    steps, known, cells = read(released, original, columns, hierarchies)
    areas = steps.merged(add, [steps(_log_areas, own, known) for own in cells])
    before = _counted(steps, original, columns)
    after = _counted(steps, released, columns_shown(released, columns))
    return steps(_divergence, known, areas, before, after)


# -- of values -----------------------------------------------------------------------------------

# Bits lost in each column, and what there is to lose.
Bits = dict[str, tuple[float, float]]


def _bits_of_pairs(pairs: dict[str, Pairs], _: Known, counted: dict[str, Frequencies]) -> Sums:
    return 0, {name: bits_lost(own, counted[name]) for name, own in pairs.items()}


def _bits_by_values(lost: Sums, counted: dict[str, Frequencies]) -> Bits:
    return {name: (bits, entropy_bits(counted[name].all)) for name, bits in lost[1].items()}


def _climbs(pairs: dict[str, Pairs], known: Known) -> dict[str, Any]:
    return {name: climbs(own, _taxonomy(known[1][name])) for name, own in pairs.items()}


def _add_climbs(several: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: sum(one[name] for one in several) for name in several[0]}


def _bits_by_levels(climbed: dict[str, Any], known: Known) -> Bits:
    return {
        name: (
            bits_by_levels(counts, _taxonomy(known[1][name])),
            entropy_bits(counts.sum(axis=1)),
        )
        for name, counts in climbed.items()
    }


def _taxonomy(attribute: Attribute) -> Taxonomy:
    assert attribute.taxonomy is not None
    return attribute.taxonomy


def _share(bits: Bits, in_bits: bool, by_column: bool) -> Any:
    each = bits if by_column else {"": tuple(np.sum(list(bits.values()), axis=0).tolist())}
    figures = {
        name: lost if in_bits else lost / most if most else 0.0
        for name, (lost, most) in each.items()
    }
    return figures if by_column else figures[""]


# -- of records ----------------------------------------------------------------------------------


def _counted(steps: Steps, table: Any, columns: Sequence[str]) -> Any:
    """How many classes of each size a table has: few sizes, however many classes."""
    parts = steps.parts(equivalence_classes(table, columns, labels=False), ["size"])
    return steps.merged(_add_sizes, [steps(_sizes, part) for part in parts])


def _sizes(classes: ClassTable) -> Counter[int]:
    sizes, counts = np.unique(classes["size"].to_numpy(), return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def _add_sizes(several: list[Counter[int]]) -> Counter[int]:
    return sum(several, Counter())


def _n_records(sizes: Counter[int]) -> int:
    return sum(size * n for size, n in sizes.items())


def _entropy(sizes: Counter[int]) -> float:
    n_records = _n_records(sizes)
    return sum(
        n * (size / n_records) * math.log2(n_records / size) for size, n in sorted(sizes.items())
    )


def _entropy_lost(before: Counter[int], after: Counter[int]) -> float:
    had = _entropy(before)
    return (had - _entropy(after)) / had if had else 0.0


def _log_areas(cells: dict[str, Cells], known: Known) -> Sums:
    return 0, {
        name: float(own.counts @ np.log2(values_covered(own, known[1][name])))
        for name, own in cells.items()
    }


def _divergence(known: Known, areas: Sums, before: Counter[int], after: Counter[int]) -> float:
    n_original, n_released = _n_records(before), _n_records(after)
    n_left_out = max(0, n_original - n_released)
    n_records = n_released + n_left_out
    if not n_original:
        return 0.0
    everything = sum(math.log2(attribute.n_values or 1) for attribute in known[1].values())
    area = (sum(areas[1].values()) + n_left_out * everything) / n_records
    return _entropy(after + Counter({n_left_out: int(n_left_out > 0)})) + area - _entropy(before)
