"""Examples from elsewhere, down to the last class: small tables of two packages, and Adult.

The counts of Adult come from an independent implementation (k_anonymization's ClassicMondrian),
whose choices are asked of the kernel here: labels coded by first appearance, the span of n labels
n / domain, records equal to the median to the left, equal spans by distinct values in the region.
"""

from __future__ import annotations

from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from reference import Attribute
from reference import mondrian as reference

import dask_anon as anon
from dask_anon.kernels import common
from dask_anon.kernels.mondrian import Classes, mondrian

SAMPLE = Path(anon.__file__).parent / "samples" / "adult.csv"
ADULT = ["age", "sex", "race", "marital-status"]
ADULT += ["education", "native-country", "workclass", "occupation"]


def policy(*quasi_identifiers, k=2, **sections):
    return anon.Policy(
        columns=dict.fromkeys(quasi_identifiers, "quasi-identifier"),
        privacy=[{"model": "k-anonymity", "k": k}],
        **sections,
    )


def test_readme_table_of_umbra():
    salary = [50_000, 55_000, 52_000, 51_000, 80_000, 85_000, 90_000, 95_000]
    frame = pd.DataFrame(
        {
            "age": [23, 23, 24, 25, 50, 51, 52, 54],
            "zip": [10000] * 4 + [20000] * 4,
            "salary": salary,
        }
    )
    asked = policy("age", "zip")
    released = anon.anonymize(frame, asked)
    assert released.to_dict("list") == {
        "age": ["23", "23", "[24, 25]", "[24, 25]", "[50, 51]", "[50, 51]", "[52, 54]", "[52, 54]"],
        "zip": ["10000"] * 4 + ["20000"] * 4,
        "salary": salary,
    }
    classes = anon.equivalence_classes(released, asked)
    assert anon.metrics.average_equivalence_class_size(classes, k=2) == 1.0


@pytest.mark.parametrize("ties", ["left", "either"])
def test_six_equal_values_stay_together(ties):
    frame = pd.DataFrame({"c": [1, 1, 1, 1, 1, 1, 2, 3]})
    released = anon.anonymize(frame, policy("c", algorithm={"name": "mondrian", "ties": ties}))
    assert released["c"].tolist() == ["1"] * 6 + ["[2, 3]"] * 2


def test_equal_spans_and_equally_many_values_go_by_policy_order():
    frame = pd.DataFrame({"age": [20, 60, 20, 60], "zip": [10000, 10001, 10090, 10091]})
    by_values = anon.anonymize(frame, policy("age", "zip"))
    assert by_values["zip"].tolist() == ["[10000, 10001]"] * 2 + ["[10090, 10091]"] * 2
    frame["zip"] = [10000, 10000, 10091, 10091]
    assert anon.anonymize(frame, policy("age", "zip"))["age"].tolist() == ["20", "60"] * 2
    assert anon.anonymize(frame, policy("zip", "age"))["age"].tolist() == ["[20, 60]"] * 4


def test_numbers_written_as_text_are_labels():
    frame = pd.DataFrame({"n": ["9", "10", "100", "20"]})
    assert anon.anonymize(frame, policy("n"))["n"].tolist() == [
        "{20, 9}", "{10, 100}", "{10, 100}", "{20, 9}",
    ]  # fmt: skip


def test_missing_values_never_become_a_range():
    frame = pd.DataFrame({"n": [1, None, 3, None], "s": ["x", "y", None, None]})
    released = anon.anonymize(frame, policy("n"))
    assert [None if pd.isna(v) else v for v in released["n"]] == ["[1, 3]", None, "[1, 3]", None]
    released = anon.anonymize(frame, policy("s"))
    assert [None if pd.isna(v) else v for v in released["s"]] == ["{x, y}", "{x, y}", None, None]


def test_a_doubled_index_does_not_lower_k():
    adult = pd.read_csv(SAMPLE, sep=";", nrows=300)
    twice = pd.concat([adult, adult])
    asked = policy("age", "sex", "race", k=10)
    classes = anon.equivalence_classes(anon.anonymize(twice, asked), asked)
    assert classes["size"].min() >= 10
    assert classes["size"].sum() == 600


@pytest.mark.parametrize("k", [2, 3])
def test_mini_patient(k):
    frame = pd.DataFrame(
        {
            "age": [25, 25, 26, 27, 27, 28],
            "zip": [53711, 53712, 53711, 53710, 53712, 53711],
        }
    )
    asked = policy("age", "zip", k=k, algorithm={"name": "mondrian", "ties": "left"})
    released = anon.anonymize(frame, asked)
    assert released["age"].tolist() == ["[25, 26]"] * 3 + ["[27, 28]"] * 3
    assert released["zip"].tolist() == ["[53711, 53712]"] * 3 + ["[53710, 53712]"] * 3
    classes = anon.equivalence_classes(released, asked)
    assert anon.metrics.discernibility(classes) == 18
    assert anon.metrics.average_equivalence_class_size(classes, k=k) == {2: 1.5, 3: 1.0}[k]
    # Midpoints instead: (25 + 26) / 2 ...
    middle = anon.anonymize(frame, anon.Policy.from_flags(asked, format="midpoint"))
    assert middle["age"].tolist() == [25.5] * 3 + [27.5] * 3


def test_mini_crime():
    frame = pd.DataFrame(
        {
            "marital": ["Separated", "Single", "Widowed", "Separated", "Widowed", "Single"],
            "age": [29, 20, 24, 28, 25, 23],
            "zip": [32042, 32021, 32024, 32046, 32045, 32027],
        },
        index=["Joe", "Jill", "Sue", "Abe", "Bob", "Amy"],
    )
    released = anon.anonymize(frame, policy("age", "zip", "marital", k=3))
    men, women = released.loc[["Joe", "Abe", "Bob"]], released.loc[["Jill", "Sue", "Amy"]]
    assert men.drop_duplicates().to_numpy().tolist() == [
        ["{Separated, Widowed}", "[25, 29]", "[32042, 32046]"]
    ]
    assert women.drop_duplicates().to_numpy().tolist() == [
        ["{Single, Widowed}", "[20, 24]", "[32021, 32027]"]
    ]


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    frame = pd.read_csv(SAMPLE, sep=";")
    assert len(frame) == 30_162
    return frame[ADULT]


def by_first_appearance(frame: pd.DataFrame) -> list[Attribute]:
    return [
        Attribute("whole", frame[name].tolist())
        if name == "age"
        else Attribute("label", pd.factorize(frame[name])[0].tolist(), offset=0)
        for name in frame
    ]


def classic_mondrian(attributes: list[Attribute], ties: int) -> Classes:
    """The kernel, asked for the choices of ClassicMondrian."""
    n, d = len(attributes[0].values), len(attributes)
    n_labels = np.array([a.n_distinct if a.kind == "label" else 0 for a in attributes])
    codes = np.array([a.values for a in attributes], np.uint16).T.copy()
    codes[:, 0] -= codes[:, 0].min()
    scale = common.Scale(
        kind=np.where(n_labels > 0, common.DISTINCT, common.DIFFERENCE),
        width=np.array([a.width for a in attributes], np.float64),
        offset=np.zeros(d),
        missing=codes.max(axis=0).astype(np.uint64) + np.uint64(1),
        top=np.zeros(d),
        priority=np.arange(d),
        n_codes=np.where(n_labels > 0, n_labels + 1, 0),
    )
    table = common.code_table(n, d, codes.dtype)
    common.fill_table(codes, d, table, 0)
    common.number_records(common.record_numbers(table))
    return mondrian(table, k=5, scale=scale, ties=ties, region_ties=True)[1]


def certainty_penalty(attributes: list[Attribute], found: Classes) -> float:
    """NCP of a class: its span, and 0 for a single label; averaged over records and attributes."""
    total = 0.0
    for a in attributes:
        places = pd.Series(a.values).groupby(found.of_record)
        spans = places.nunique() if a.kind == "label" else places.max() - places.min()
        spans = spans.where(places.nunique() > 1, 0) / a.width
        total += float((spans * found.size).sum())
    return total / (len(found.of_record) * len(attributes))


@pytest.mark.parametrize(
    "ties, n_classes, largest, discernibility, penalty",
    [
        ("left", 3_289, 111, 455_826, 0.0866),
        # Trying < only where <= takes everybody gives 3,899 classes, 280,976 and 0.0445. It is
        # tried wherever <= is not allowed, which loses less; the plain reference finds the same.
        ("either", 4_028, 45, 267_856, 0.0433),
    ],
)
def test_adult_equals_an_independent_implementation(
    adult, ties, n_classes, largest, discernibility, penalty
):
    attributes = by_first_appearance(adult)
    found = classic_mondrian(attributes, {"left": common.LEFT, "either": common.EITHER}[ties])
    assert len(found.size) == n_classes
    assert found.size.min() == 5
    assert found.size.max() == largest
    assert (found.size**2).sum() == discernibility
    assert round(certainty_penalty(attributes, found), 4) == penalty


def test_adult_in_parts_equals_the_reference(adult):
    """The package's own choices, on Dask, in regions of 2,000 people: class by class."""
    asked = policy(*ADULT, k=5)
    with dask.config.set({"anon.rows.region": 2_000}):
        recoding = anon.fit(dd.from_pandas(adult, npartitions=3), asked)
    attributes = [Attribute("whole" if n == "age" else "label", adult[n].tolist()) for n in ADULT]
    expected = reference(attributes, 5)
    assert recoding.n_classes == len(expected)
    assert recoding.smallest_class == min(map(len, expected))
    age = recoding.apply(adult)["age"].tolist()
    for people in expected:
        own = adult["age"].iloc[people]
        low, high = own.min(), own.max()
        assert {age[i] for i in people} == {str(low) if low == high else f"[{low}, {high}]"}
