"""From what was computed to rows: each figure, before and after, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dask_anon.evaluation import Evaluation, Judged
from dask_anon.measures._figures import DIVERSITY, RISK, UTILITY, SizeFigure, Table, row_entropy
from dask_anon.measures._measures import Measure, Measures
from dask_anon.metrics import global_certainty_penalty
from dask_anon.metrics._sizes import number
from dask_anon.policy import KMap, PopulationUniqueness

if TYPE_CHECKING:
    from dask_anon.policy import Policy


def told(
    policy: Policy,
    found: dict[str, Any],
    choices: Mapping[str, Mapping[str, str]],
    certainty: Mapping[str, float],
    notes: tuple[str, ...],
) -> Measures:
    """Rows of what was found of the tables ``before`` and ``after``, and of what cells cover."""
    judged: dict[str, Judged] = {when: one["judged"] for when, one in found.items()}
    n_original = judged["before"].found.counts.n_records
    tables = {
        when: Table(
            counts=one.found.counts,
            n_hidden=int(found[when]["hidden"]),
            n_left_out=max(0, n_original - one.found.counts.n_records),
            k=policy.k,
        )
        for when, one in judged.items()
    }
    last = tables.get("after", tables["before"])
    rows = [
        *_of_sizes(RISK, tables),
        *_of_population(policy, tables),
        *_of_values(found, choices),
        *_of_sizes(UTILITY, tables),
        *_of_loss(tables, certainty),
    ]
    evaluation = Evaluation.of(
        judged.get("after", judged["before"]), certainty, n_suppressed=last.n_left_out
    )
    return Measures(tuple(rows), evaluation, "after" in tables, notes)


def _row(name: str, words: str, found: Mapping[str, Any], column: str | None = None) -> Measure:
    return Measure(name, words, number(found.get("before")), number(found.get("after")), column)


def _of_sizes(figures: Sequence[SizeFigure], tables: Mapping[str, Table]) -> Iterator[Measure]:
    for figure in figures:
        found = {when: figure.of(table) for when, table in tables.items()}
        if figure.name != "n_suppressed_records" or any(found.values()):
            yield _row(figure.name, figure.words, found)


def _of_population(policy: Policy, tables: Mapping[str, Table]) -> Iterator[Measure]:
    """Risks in a population of which the policy tells the size."""
    fraction = _sampling_fraction(policy, tables["before"])
    if fraction is None:
        return
    from dask_anon.metrics.population import population_uniqueness

    highest = {
        when: fraction / t.linkable.smallest if t.linkable.sizes else 0.0
        for when, t in tables.items()
    }
    uniques = {
        when: population_uniqueness(t.linkable, sampling_fraction=fraction)
        for when, t in tables.items()
    }
    words = f"for a sample of {fraction:.4g} of the population"
    yield _row("journalist_risk", f"highest chance of a right guess, {words}", highest)
    yield _row("population_uniqueness", f"share of the population that is unique, {words}", uniques)


def _sampling_fraction(policy: Policy, table: Table) -> float | None:
    for model in policy.privacy:
        if isinstance(model, PopulationUniqueness):
            return model.sampling_fraction
        if isinstance(model, KMap) and model.population is not None:
            n_records = table.counts.n_records
            return n_records / model.population if 0 < n_records <= model.population else None
    return None


def _of_values(
    found: Mapping[str, Any], choices: Mapping[str, Mapping[str, str]]
) -> Iterator[Measure]:
    for column, choice in choices.items():
        for name, words in DIVERSITY.items():
            values = {when: one["values"][column][name] for when, one in found.items()}
            yield _row(name, words.format(**choice), values, column)


def _of_loss(tables: Mapping[str, Table], certainty: Mapping[str, float]) -> Iterator[Measure]:
    if "after" not in tables:
        return
    before = row_entropy(tables["before"].counts)
    lost = 1 - row_entropy(tables["after"].counts) / before if before else 0.0
    yield _row(
        "entropy_based_information_loss", "share of these bits that is lost", {"after": lost}
    )
    if certainty:
        mean = global_certainty_penalty(certainty)
        words = "share of its range that the average cell covers: 0 untouched, 1 all hidden"
        yield _row("global_certainty_penalty", words, {"before": 0.0, "after": mean})
        for column, penalty in certainty.items():
            found = {"before": 0.0, "after": penalty}
            yield _row("normalized_certainty_penalty", "the same, of one column", found, column)
