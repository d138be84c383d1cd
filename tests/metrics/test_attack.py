"""Attacks whose risk can be counted by hand, the same on pandas and on any partitions."""

from __future__ import annotations

import builtins
import doctest
import importlib
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dask_anon as anon
from dask_anon.errors import AnonError, DataError
from dask_anon.hierarchy import parse_label
from dask_anon.metrics._sample import draw, sample_of
from dask_anon.metrics._steps import Steps
from dask_anon.metrics.attack import (
    BoostingRisk,
    LinkageRisk,
    PredictedColumn,
    boosting_reidentification,
    linkage_attack,
)

# Six people in two classes; the intervals overlap in the person of 31.
ORIGINAL = pd.DataFrame(
    {"age": [23, 25, 31, 31, 38, 44], "zip": ["a", "b", "a", "b", "b", "c"], "sick": list("xxyyxy")}
)
RELEASED = pd.DataFrame(
    {
        "age": ["[23, 31]"] * 3 + ["[31, 44]"] * 3,
        "zip": ["{a, b}"] * 3 + ["{b, c}"] * 3,
        "sick": list("xxyyxy"),
    }
)
PARTITIONS = pytest.mark.parametrize("npartitions", [1, 2, 7])


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def divided(frame: pd.DataFrame, npartitions: int) -> Any:
    return dd.from_pandas(frame, npartitions=1, sort=False).repartition(npartitions=npartitions)


def policy_for(*columns: str, k: int, **sections: Any) -> anon.Policy:
    return anon.Policy(
        columns=dict.fromkeys(columns, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": k}],
        **sections,
    )


# -- linkage -------------------------------------------------------------------------------------


def test_risk_is_the_mean_of_one_in_all_compatible_records():
    # By age alone the two people of 31 fit all six records, the others the three of their class.
    found = linkage_attack(ORIGINAL, RELEASED, ["age"])
    assert found.value == pytest.approx((4 * 1 / 3 + 2 * 1 / 6) / 6, rel=1e-15)
    # In the original they fit each other, the others themselves.
    assert found.on_original == pytest.approx((4 * 1 + 2 * 1 / 2) / 6, rel=1e-15)
    assert found.baseline == 1 / 6
    assert found.n_attacks == 6


def test_a_record_must_fit_in_every_column():
    # (31, a) fits the first class only, (31, b) both.
    found = linkage_attack(ORIGINAL, RELEASED, ["age", "zip"])
    assert found.value == pytest.approx((5 * 1 / 3 + 1 * 1 / 6) / 6, rel=1e-15)
    assert found.on_original == 1.0


def test_whoever_fits_one_record_alone_is_told():
    released = RELEASED.assign(age=["23", "25", "[31, 38]", "[31, 38]", "[31, 38]", "44"])
    found = linkage_attack(ORIGINAL, released, ["age"])
    assert found.unique_rate == 0.5
    assert found.uncovered_rate == 0.0
    assert found.value == pytest.approx((3 * 1 + 3 * 1 / 3) / 6, rel=1e-15)


def test_the_interval_is_that_of_wilson():
    found = linkage_attack(ORIGINAL, RELEASED, ["age", "zip"])
    low, high = found.ci
    # 6 trials, 11/6 hits: the roots of (p - 11/36)² = 1.96² p (1 - p) / 6.
    z2 = 1.959963984540054**2
    for end in (low, high):
        assert (end - 11 / 36) ** 2 == pytest.approx(z2 * end * (1 - end) / 6, rel=1e-9)
    assert low < found.value < high
    wider = linkage_attack(ORIGINAL, RELEASED, ["age", "zip"], confidence=0.99)
    assert wider.ci[0] < low
    assert wider.ci[1] > high


def test_it_prints_as_sentences():
    assert str(linkage_attack(ORIGINAL, RELEASED, ["age", "zip"])).splitlines() == [
        "risk 30.6 % (95 % confidence: 8.4 % to 67.9 %), 16.7 % without the release",
        "6 persons attacked: 100.0 % on the original; "
        "0.0 % fit one released record alone, 0.0 % fit none",
    ]


@pytest.mark.parametrize(
    "shown",
    [
        {"age": ["[23, 25]", "[23, 25]", "[31, 38]", "[31, 38]"]},
        {"age_min": [23, 23, 31, 31], "age_max": [25, 25, 38, 38]},
        {"age_min": ["23", "23", "31", "31"], "age_max": ["25", "25", "38", "38"]},
    ],
    ids=["interval", "bounds", "bounds from CSV"],
)
def test_every_format_that_covers_is_attacked(shown):
    original = pd.DataFrame({"age": [23, 25, 31, 38]})
    assert linkage_attack(original, pd.DataFrame(shown), ["age"]).value == 0.5


def test_a_missing_value_fits_where_missing_ones_are_shown():
    original = pd.DataFrame({"age": pd.array([23, None, 31, None], "Int64")})
    released = pd.DataFrame({"age": ["[23, 31] | missing"] * 3 + [None]})
    # 23 and 31 fit three records, the missing ones all four.
    found = linkage_attack(original, released, ["age"])
    assert found.value == pytest.approx((2 / 3 + 2 / 4) / 4, rel=1e-15)
    bounds = pd.DataFrame(
        {
            "age_min": pd.array([23, 23, 23, None], "Int64"),
            "age_max": pd.array([31, 31, 31, None], "Int64"),
            "age_missing": [True] * 4,
        }
    )
    assert linkage_attack(original, bounds, ["age"]).value == found.value


def test_a_suppressed_cell_fits_everybody():
    original = pd.DataFrame({"age": [23, 25, 31, 38], "zip": list("abcd")})
    released = pd.DataFrame({"age": [None] * 4, "zip": ["*", "*", "{c, d}", "{c, d}"]})
    assert linkage_attack(original, released, ["age"]).value == 1 / 4
    # c and d fit the stars as well.
    found = linkage_attack(original, released, ["age", "zip"])
    assert found.value == pytest.approx((2 * 1 / 2 + 2 * 1 / 4) / 4, rel=1e-15)


def test_nodes_of_a_hierarchy_fit_their_leaves():
    original = pd.DataFrame({"zip": ["021", "022", "101", "102"]})
    released = pd.DataFrame({"zip": ["02*", "02*", "10*", "10*"]})
    rows = [["021", "02*"], ["022", "02*"], ["101", "10*"], ["102", "10*"]]
    found = linkage_attack(original, released, ["zip"], hierarchies={"zip": rows})
    assert found.value == 0.5


def test_whoever_was_left_out_is_safe_and_told():
    found = linkage_attack(ORIGINAL, RELEASED[:3], ["age"])
    assert found.uncovered_rate == pytest.approx(2 / 6)
    assert found.value == pytest.approx(4 * 1 / 3 / 6)
    nobody = linkage_attack(ORIGINAL, RELEASED[:0], ["age", "zip"])
    assert (nobody.value, nobody.baseline, nobody.uncovered_rate) == (0.0, 0.0, 1.0)


def test_the_order_of_the_records_does_not_matter():
    shuffled = RELEASED.sample(frac=1, random_state=3)
    assert linkage_attack(ORIGINAL, shuffled, ["age", "zip"]) == linkage_attack(
        ORIGINAL, RELEASED, ["age", "zip"]
    )


def test_a_policy_names_what_is_known():
    released = anon.anonymize(ORIGINAL, policy := policy_for("age", "zip", k=3))
    assert linkage_attack(ORIGINAL, released, policy) == linkage_attack(
        ORIGINAL, released, ["age", "zip"]
    )


def people(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20 + (i * 37) % 60 for i in range(n)],
            "height": [150 + (i * 13) % 41 + 0.5 for i in range(n)],
            "born": pd.to_datetime([f"19{60 + i % 40}-0{1 + i % 9}-11" for i in range(n)]),
            "zip": [None if i % 17 == 0 else f"{(i * 7919) % 30:05d}" for i in range(n)],
        }
    )


MANY = people(400)
MANY_RELEASED = anon.anonymize(MANY, policy_for(*MANY.columns, k=5))


def test_equal_seeds_attack_the_same_persons():
    def attack(seed: int) -> LinkageRisk:
        return linkage_attack(MANY, MANY_RELEASED, ["age", "zip"], n_attacks=70, seed=seed)

    assert attack(1) == attack(1)
    assert attack(1).n_attacks == 70
    assert attack(1).value != attack(2).value


def test_the_interval_holds_the_risk_of_all():
    everybody = linkage_attack(MANY, MANY_RELEASED, ["age", "zip"], n_attacks=400)
    inside = 0
    for seed in range(20):
        low, high = linkage_attack(MANY, MANY_RELEASED, ["age", "zip"], n_attacks=50, seed=seed).ci
        inside += low <= everybody.value <= high
    assert inside >= 19


@PARTITIONS
def test_dask_gives_the_same_lazily(npartitions):
    expected = linkage_attack(MANY, MANY_RELEASED, list(MANY.columns), n_attacks=90, seed=5)
    original, released = divided(MANY, npartitions), divided(MANY_RELEASED, 3)
    with dask.config.set(scheduler=refuse):
        lazy = linkage_attack(original, released, list(MANY.columns), n_attacks=90, seed=5)
        mixed = linkage_attack(MANY, released, list(MANY.columns), n_attacks=90, seed=5)
    assert lazy.compute(scheduler="sync") == expected
    assert mixed.compute(scheduler="sync") == expected


def test_empty_partitions_change_nothing():
    original, released = divided(ORIGINAL, 6), divided(RELEASED, 6)
    found = linkage_attack(
        original[original.age > 20], released[released.sick != "none"], ["age", "zip"]
    )
    few = linkage_attack(original[original.age < 30], released, ["age"])
    assert found.compute(scheduler="sync") == linkage_attack(ORIGINAL, RELEASED, ["age", "zip"])
    assert few.compute(scheduler="sync").n_attacks == 2


def covered_tables(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """People, and a release whose labels cover them, made by hand and not by an algorithm."""
    random = np.random.default_rng(seed)
    # First, so that no cell shows what the original does not have: all that occurs.
    ages: list[Any] = [0, 9, None, 5, 3]
    zips: list[Any] = ["a", "b", "c", "d", None]
    shown = list(zip(["0", "9", None, "5", "3"], [*"abcd", None], strict=True))
    for _ in range(n):
        age = None if random.random() < 0.2 else int(random.integers(0, 10))
        low, high = sorted(random.integers(0, 10, 2).tolist())
        if age is not None:
            low, high = min(low, age), max(high, age)
        interval = f"[{low}, {high}]" if low < high else f"{low}"
        label = None if random.random() < 0.2 else "abcd"[random.integers(0, 4)]
        labels = sorted({label or "a", *random.choice(list("abcd"), 2).tolist()})
        labels = "{" + ", ".join(labels) + "}" if len(labels) > 1 else labels[0]
        tails = [
            " | missing" if value is None or random.random() < 0.3 else "" for value in (age, label)
        ]
        ages.append(age)
        zips.append(label)
        shown.append((interval + tails[0], labels + tails[1]))
    original = pd.DataFrame({"age": pd.array(ages, "Int64"), "zip": zips})
    return original, pd.DataFrame(shown, columns=["age", "zip"])


@given(st.integers(1, 80), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_compatible_records_are_those_that_a_reader_would_count(n, seed):
    original, released = covered_tables(n, seed)
    cells = [
        (parse_label(_or_none(age), pa.int64()), parse_label(_or_none(label), pa.string()))
        for age, label in zip(released.age, released.zip, strict=True)
    ]
    fitting = [
        sum(_or_none(age) in ages and _or_none(label) in labels for ages, labels in cells)
        for age, label in zip(original.age, original.zip, strict=True)
    ]
    found = linkage_attack(original, released, ["age", "zip"])
    assert found.value == pytest.approx(np.mean([1 / m for m in fitting]), rel=1e-12)
    assert found.unique_rate == fitting.count(1) / len(fitting)


def _or_none(value: Any) -> Any:
    return None if pd.isna(value) else value


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcd")), min_size=6, max_size=60))
@settings(max_examples=10, deadline=None)
def test_of_a_k_anonymous_release_nobody_is_found_more_often_than_once_in_k(rows):
    original = pd.DataFrame(rows, columns=["age", "zip"])
    released = anon.anonymize(original, policy_for("age", "zip", k=3))
    found = linkage_attack(original, released, ["age", "zip"])
    assert found.value <= 1 / 3
    assert found.value <= found.on_original
    assert found.value >= found.baseline


def test_adult_is_found_less_often_than_its_k_allows(adult):
    columns = [name for name in adult.columns if name != "salary-class"]
    part = adult[:3000]
    found = linkage_attack(
        part, anon.anonymize(part, policy_for(*columns, k=5)), columns, n_attacks=500
    )
    assert found.ci[1] <= 1 / 5
    assert found.on_original > 0.5


def test_means_are_not_taken_for_labels_that_hide_everybody():
    released = pd.DataFrame({"age": [24.0, 24.0, 34.5, 34.5]})
    original = pd.DataFrame({"age": [23, 25, 31, 38]})
    with pytest.raises(DataError, match="4 of 4 attacked persons are covered by no released") as e:
        linkage_attack(original, released, ["age"])
    assert "boosting_reidentification" in str(e.value)


def test_labels_that_cannot_be_read_are_counted_and_not_shown():
    released = RELEASED.assign(age=["[23, 31]"] * 4 + ["young"] * 2)
    with pytest.raises(DataError, match="column 'age' has 2 records") as caught:
        linkage_attack(ORIGINAL, released, ["age"])
    assert "young" not in str(caught.value)
    strange = RELEASED.assign(zip=["{a, b}"] * 3 + ["{b, q}"] * 3)
    with pytest.raises(DataError, match="column 'zip' has 3 records"):
        linkage_attack(ORIGINAL, strange, ["zip"])


def test_misuse_gets_a_sentence():
    with pytest.raises(AnonError, match="n_attacks must be at least 1, found 0"):
        linkage_attack(ORIGINAL, RELEASED, ["age"], n_attacks=0)
    with pytest.raises(AnonError, match="confidence must be above 0"):
        linkage_attack(ORIGINAL, RELEASED, ["age"], confidence=1.5)
    with pytest.raises(AnonError, match="quasi-identifiers are needed, none was given"):
        linkage_attack(ORIGINAL, RELEASED, [])
    with pytest.raises(DataError, match="Did you mean 'age'"):
        linkage_attack(ORIGINAL, RELEASED, ["aeg"])
    with pytest.raises(AnonError, match="a pandas or a Dask DataFrame is measured, found list"):
        linkage_attack(ORIGINAL, [RELEASED], ["age"])
    with pytest.raises(DataError, match="no records, so there is nobody to attack"):
        linkage_attack(ORIGINAL[:0], RELEASED, ["age"])


# -- prediction ------------------------------------------------------------------------------------

GROUPS = pd.DataFrame(
    {
        "age": [20 + 10 * (i % 4) for i in range(240)],
        "zip": [["a", "b", "c"][i % 3] for i in range(240)],
        "sick": [i % 5 == 0 for i in range(240)],
    }
)
QUICK = {"n_trees": 20}


def boosted(original: pd.DataFrame, released: Any, *columns: str, **options: Any) -> BoostingRisk:
    found = boosting_reidentification(
        original, released, quasi_identifiers=columns or ("age", "zip"), **QUICK | options
    )
    assert isinstance(found, BoostingRisk)
    return found


def test_what_is_published_as_it_is_is_found():
    found = boosted(GROUPS, GROUPS)
    age, place = found.columns
    assert (age.measure, place.measure) == ("R²", "accuracy")
    assert age.score > 0.9
    assert place.score == 1.0
    assert place.baseline < 0.45
    assert place.gain == 1.0
    assert (found.n_trained, found.n_tested) == (180, 60)


def test_what_is_not_published_is_not_found():
    found = boosted(GROUPS, GROUPS[["sick"]])
    assert found.gain < 0.05
    assert abs(found.score - found.baseline) < 0.1


def test_coarse_labels_give_half_away():
    # 20 or 30, 40 or 50: between halves of the range, not within.
    halves = GROUPS.assign(
        age=np.where(GROUPS.age < 35, "[20, 30]", "[40, 50]"),
        zip=np.where(GROUPS.zip == "a", "a", "{b, c}"),
    )
    age, place = boosted(GROUPS, halves, features=["age"]).columns
    assert 0.55 < age.score < 0.85  # 1 - 25/125 of the variance
    assert place.gain < 0.1
    age, place = boosted(GROUPS, halves, features=["zip"]).columns
    assert age.gain < 0.1
    assert 0.55 < place.score < 0.8  # all of a, half of b and c


@pytest.mark.parametrize("format", ["interval", "bounds", "midpoint"])
def test_every_format_is_learnt(format):
    policy = policy_for("age", "zip", k=20, recoding={"format": format})
    found = boosted(GROUPS, anon.anonymize(GROUPS, policy), "age")
    assert found.score > 0.5


def test_labels_of_unknown_hierarchies_are_categories():
    nodes = GROUPS.assign(zip=GROUPS.zip.map({"a": "north", "b": "south", "c": "west, far"}))
    _, place = boosted(GROUPS, nodes).columns
    assert place.score == 1.0


def test_missing_values_are_answers_like_others():
    missing = GROUPS.assign(
        zip=GROUPS.zip.where(GROUPS.zip != "a", None), age=GROUPS.age.where(GROUPS.age > 20)
    )
    age, place = boosted(missing, missing).columns
    assert place.score == 1.0
    assert age.score > 0.9
    nothing = GROUPS.assign(age=np.nan)
    (age,) = boosted(nothing, nothing, "age").columns
    assert (age.score, age.gain) == (0.0, 0.0)


def test_a_constant_column_is_no_secret():
    constant = GROUPS.assign(age=40, zip="a")
    found = boosted(constant, constant)
    assert [column.gain for column in found.columns] == [0.0, 0.0]
    assert found.score == 1.0


def test_of_many_labels_only_the_commonest_count():
    many = pd.DataFrame({"zip": [f"{i % 40:02d}" for i in range(800)] + ["00"] * 10})
    (place,) = boosted(many, many, "zip", n_trees=5).columns
    assert 0.5 < place.score < 0.85  # 31 of 40 labels


def test_records_in_another_order_are_refused_rather_than_called_safe():
    released = anon.anonymize(GROUPS, policy_for("age", "zip", k=60))
    shuffled = released.sample(frac=1, random_state=1)
    with pytest.raises(DataError, match="has its records in another order") as caught:
        boosted(GROUPS, shuffled)
    assert "order: keep" in str(caught.value)
    with pytest.raises(DataError, match="the original has 240 and the release 239"):
        boosted(GROUPS, released[1:])


def test_equal_seeds_give_equal_scores():
    released = anon.anonymize(GROUPS, policy_for("age", "zip", k=20))
    first = boosted(GROUPS, released, seed=4, max_rows=150)
    assert first == boosted(GROUPS, released, seed=4, max_rows=150)
    assert first != boosted(GROUPS, released, seed=5, max_rows=150)
    assert first.n_trained + first.n_tested == 150


@PARTITIONS
def test_dask_predicts_the_same_lazily(npartitions):
    released = anon.anonymize(GROUPS, policy_for("age", "zip", k=20))
    expected = boosted(GROUPS, released, max_rows=150)
    with dask.config.set(scheduler=refuse):
        lazy = boosting_reidentification(
            divided(GROUPS, npartitions),
            divided(released, 2),
            quasi_identifiers=["age", "zip"],
            max_rows=150,
            **QUICK,
        )
    assert lazy.compute(scheduler="sync") == expected


def test_the_gain_is_what_the_baseline_leaves_open():
    assert PredictedColumn("a", "accuracy", score=0.75, baseline=0.5).gain == 0.5
    assert PredictedColumn("a", "accuracy", score=0.25, baseline=0.5).gain == 0.0
    assert PredictedColumn("a", "accuracy", score=1.0, baseline=1.0).gain == 0.0


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    own = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return own(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AnonError, match=r"pip install 'dask-anon\[ml\]'"):
        boosted(GROUPS, GROUPS)


def test_misuse_of_a_prediction_gets_a_sentence():
    with pytest.raises(AnonError, match="test_share must be above 0 and below 1, found 1"):
        boosted(GROUPS, GROUPS, test_share=1)
    with pytest.raises(AnonError, match="max_rows must be at least 2, found 1"):
        boosted(GROUPS, GROUPS, max_rows=1)
    with pytest.raises(AnonError, match="n_trees must be at least 1"):
        boosted(GROUPS, GROUPS, n_trees=0)
    with pytest.raises(DataError, match="column 'nobody' is not in the table"):
        boosted(GROUPS, GROUPS, "nobody")
    with pytest.raises(DataError, match="fewer than 2 records"):
        boosted(GROUPS[:1], GROUPS[:1])


# -- the sample ------------------------------------------------------------------------------------


def test_a_draw_knows_positions_not_partitions():
    (whole,) = draw([100], 20, seed=3)
    starts = np.array([0, 7, 7, 60])
    parts = draw([7, 0, 53, 40], 20, seed=3)
    assert np.concatenate([p + s for p, s in zip(parts, starts, strict=True)]).tolist() == (
        whole.tolist()
    )
    assert len(set(whole.tolist())) == 20
    assert draw([3, 2], 20, seed=3)[1].tolist() == [0, 1]


def test_every_record_is_drawn_equally_often():
    times = np.zeros(10)
    for seed in range(600):
        first, second = draw([4, 6], 3, seed)
        times[first] += 1
        times[second + 4] += 1
    assert abs(times - 180).max() < 5 * (180 * 0.7) ** 0.5


def test_partitions_are_read_again_rather_than_kept():
    read: list[int] = []

    def load(i: int) -> pd.DataFrame:
        read.append(i)
        return MANY[i * 100 : (i + 1) * 100]

    frame = dd.from_map(load, range(4), meta=MANY[:0])
    frame = frame[frame.age > 0]
    sample = sample_of(Steps(frame), frame, ["age", "zip"], 50, 0).compute(scheduler="sync")
    assert sorted(read) == [0, 0, 1, 1, 2, 2, 3, 3]
    expected = sample_of(Steps(MANY), MANY, ["age", "zip"], 50, 0)
    pd.testing.assert_frame_equal(sample.records, expected.records, check_dtype=False)


def test_files_that_dask_joins_to_partitions_give_the_same_sample(tmp_path):
    # Dask reads several small files at once when few of their columns are asked for, as the plain
    # partitions and those that wait for something show.
    wide = MANY.assign(**{f"column {i}": "x" * 50 + MANY.zip.fillna("") for i in range(20)})
    divided(wide, 8).to_parquet(tmp_path / "original")
    divided(MANY_RELEASED, 8).to_parquet(tmp_path / "released")
    original = dd.read_parquet(tmp_path / "original")
    released = dd.read_parquet(tmp_path / "released")
    steps = Steps(original)
    later = steps.parts(original, ["age", "zip"], after=steps(len, []))
    assert len(later) < len(steps.parts(original, ["age", "zip"])) == 8
    options = {"n_attacks": 90, "seed": 5}
    found = linkage_attack(original, released, ["age", "zip"], **options).compute(scheduler="sync")
    assert found == linkage_attack(MANY, MANY_RELEASED, ["age", "zip"], **options)


def test_a_table_that_changes_between_two_readings_is_refused():
    times = iter(range(100))

    def load(i: int) -> pd.DataFrame:
        return MANY[: 50 + next(times)]

    frame = dd.from_map(load, range(2), meta=MANY[:0])
    with pytest.raises(DataError, match=r"partition \d had 5\d records when it was counted"):
        sample_of(Steps(frame), frame, ["age"], 20, 0).compute(scheduler="sync")


@pytest.mark.parametrize("module", ["attack", "_learning", "_printed"])
def test_examples_print_what_they_say(module):
    found = importlib.import_module(f"dask_anon.metrics.{module}")
    results = doctest.testmod(found, extraglobs={"pd": pd, "np": np})
    assert results.failed == 0
    assert results.attempted > 0
