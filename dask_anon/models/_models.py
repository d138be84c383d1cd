"""What every class must satisfy, as arrays that compiled code and tasks can take along."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dask_anon.errors import AnonError, DataError, PolicyError, Problem, counted
from dask_anon.hierarchy import ValueCounts
from dask_anon.kernels.common import Array
from dask_anon.kernels.measures import Facts, Track, facts_of, holds, no_facts, value_of
from dask_anon.models._checks import (
    Check,
    distance_of,
    limits_of,
    orders_text,
    refusal,
    track_of,
)
from dask_anon.models._population import class_size_of
from dask_anon.policy import KMap, Policy, TCloseness


@dataclass(frozen=True, eq=False)
class Models:
    """The privacy models of a policy, knowing how often each sensitive value occurs.

    A class holds if it has `min_size` records and every check does: ``value_of(kind, parameter,
    size, codes, counts, start, stop, i, facts)`` of the i-th lies between ``low`` and ``high``.

    Attributes
    ----------
    min_size : int
        Records that every class needs.
    columns : tuple of str
        The sensitive columns that are counted, in the order of the policy.
    values : tuple of ValueCounts
        Their values, in the order of the codes.
    n_codes : int64 array, one a column
        Codes below it are counted; that of a missing value among them if it is a value.
    checks : tuple of Check
    facts : Facts
        What the whole table tells, a track for each check.
    """

    min_size: int
    columns: tuple[str, ...] = ()
    values: tuple[ValueCounts, ...] = field(default=(), repr=False)
    n_codes: Array = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    checks: tuple[Check, ...] = ()
    facts: Facts = field(default_factory=no_facts, repr=False)

    @classmethod
    def of(
        cls,
        policy: Policy,
        counts: Mapping[str, ValueCounts],
        *,
        n_records: int | None = None,
        refuse: bool = True,
    ) -> Models:
        """The models of a policy.

        Parameters
        ----------
        policy : Policy
        counts : mapping of str to ValueCounts
            The values of the whole table in each of ``columns_of(policy)``; empty if there is no
            table, and then no class is checked.
        n_records : int, optional
            Records of the table, which k-map needs to know beside the population; by default those
            that were counted. Where nobody counted, k-map asks for k records.
        refuse : bool, default True
            Whether it is an error that the whole table does not hold a model. Not for measuring.

        Raises
        ------
        PolicyError
            With everything at once that not even the whole table holds, or that its columns cannot
            be asked.
        """
        if n_records is None:
            n_records = next((one.n_records for one in counts.values()), 0)
        problems: list[Problem] = []
        min_size = _min_size(policy, n_records, problems)
        if not refuse:
            problems.clear()
        if not counts:
            _raise(problems)
            return cls(min_size)
        columns = columns_of(policy)
        values = {name: _in_order(policy, counts[name]) for name in columns}
        if policy.sensitive_nulls == "error":
            problems += _missing(values)
        sparse = {name: _counted(values[name], policy) for name in columns}
        checks, tracks = [], []
        for i, model in enumerate(policy.privacy):
            name = model.sensitive or model.weighed
            if name is None:
                continue
            limits = limits_of(model, values[name])
            assert limits is not None
            try:
                track = track_of(model, values[name], sparse[name], policy)
            except AnonError as error:
                problems.append(Problem(f"privacy[{i}]", str(error)))
                continue
            tracks.append(track)
            checks.append(
                Check(
                    name=model.model,
                    asked=limits.asked,
                    column=columns.index(name),
                    kind=limits.kind,
                    parameter=limits.parameter,
                    low=limits.low,
                    high=limits.high,
                    counts_missing=len(sparse[name]) > len(values[name].values),
                    place=i,
                    distance=_distance(model, values[name]),
                )
            )
        models = cls(
            min_size,
            columns,
            tuple(values.values()),
            np.array([len(sparse[name]) for name in columns], np.int64),
            tuple(checks),
            facts_of(tracks),
        )
        if refuse and n_records:
            problems += models._refusals(tracks, n_records)
        _raise(problems)
        return models

    @property
    def kind(self) -> Array:
        """The figure of each check."""
        return np.array([check.kind for check in self.checks], np.int64)

    @property
    def column(self) -> Array:
        """The column of each check."""
        return np.array([check.column for check in self.checks], np.int64)

    @property
    def parameter(self) -> Array:
        """The parameter of each check's figure."""
        return np.array([check.parameter for check in self.checks], np.float64)

    @property
    def low(self) -> Array:
        """The lower limit of each check."""
        return np.array([check.low for check in self.checks], np.float64)

    @property
    def high(self) -> Array:
        """The upper limit of each check."""
        return np.array([check.high for check in self.checks], np.float64)

    def _refusals(self, tracks: list[Track], n_records: int) -> list[Problem]:
        """What not even one class of all records satisfies."""
        problems = []
        for i, (check, track) in enumerate(zip(self.checks, tracks, strict=True)):
            codes = np.flatnonzero(track.counts).astype(np.int64)
            value = value_of(
                check.kind, check.parameter, n_records, codes, track.counts[codes],
                0, len(codes), i, self.facts,
            )  # fmt: skip
            if not holds(value, check.low, check.high):
                key, text = refusal(check, value, self.values[check.column], len(codes))
                path = f"privacy[{check.place}]" + (f".{key}" if key else "")
                problems.append(Problem(path, text))
        return problems


def columns_of(policy: Policy) -> tuple[str, ...]:
    """The columns whose values some privacy model needs, in the order of the policy.

    Examples
    --------
    >>> policy = Policy(
    ...     columns={"age": "quasi-identifier", "job": "sensitive", "illness": "sensitive"},
    ...     privacy=[{"model": "distinct-l-diversity", "column": "illness", "l": 2}],
    ... )
    >>> columns_of(policy)
    ('illness',)
    """
    needed = [name for m in policy.privacy for name in (m.sensitive, m.weighed) if name is not None]
    named = [name for name in policy.columns if name in needed]
    return tuple(dict.fromkeys([*named, *needed]))


def settled(policy: Policy, counts: Mapping[str, ValueCounts]) -> Policy:
    """The policy with the distances written out that column types imply.

    A release in CSV has lost the types; whoever measures it again must not choose another distance.
    """
    models = tuple(
        model.model_copy(update={"distance": distance_of(model, counts[model.column])})
        if isinstance(model, TCloseness) and model.column in counts
        else model
        for model in policy.privacy
    )
    return policy.model_copy(update={"privacy": models})


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise PolicyError(problems)


def _min_size(policy: Policy, n_records: int, problems: list[Problem]) -> int:
    """The least class size; 0 records: nobody knows how many, or there are none."""
    size = policy.k
    for i, model in enumerate(policy.privacy):
        if not isinstance(model, KMap) or model.population is None:
            continue
        own = class_size_of(model, n_records)
        if model.population < n_records:
            problems.append(
                Problem(
                    f"privacy[{i}].population",
                    f"is {model.population:,}, but the table has {n_records:,} records. Name the "
                    "number of people that it was drawn from.",
                )
            )
        elif 0 < n_records < own:
            problems.append(
                Problem(
                    f"privacy[{i}].k",
                    f"k={model.k} cannot hold: it takes classes of {own:,}, and the table has "
                    f"{n_records:,} records. Lower k, or bring more rows.",
                )
            )
        size = max(size, own)
    return size


def _in_order(policy: Policy, values: ValueCounts) -> ValueCounts:
    """The values, those of text by number where a distance on a line is asked for."""
    if any(m.sensitive == values.column and orders_text(m, values) for m in policy.privacy):
        with suppress(DataError):  # said where the distance is taken
            return values.by_number()
    return values


def _missing(values: Mapping[str, ValueCounts]) -> list[Problem]:
    return [
        Problem(
            "sensitive_nulls",
            f"column '{name}' has {counted(one.n_missing, 'missing value', 'missing values')}. "
            "Fill them, or choose ignore (they add nothing) or value (they are one).",
        )
        for name, one in values.items()
        if one.n_missing
    ]


def _counted(values: ValueCounts, policy: Policy) -> Array:
    """Records of the table with each code that is counted."""
    as_value = policy.sensitive_nulls == "value" and values.n_missing > 0
    return np.append(values.counts, np.array([values.n_missing] * as_value, np.int64))


def _distance(model: Any, values: ValueCounts) -> str | None:
    return distance_of(model, values) if isinstance(model, TCloseness) else None
