"""Records of a sample know how many people of a population they stand for, and k-map holds."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask_anon as anon
from dask_anon.errors import DataError
from dask_anon.metrics.population_table import add_population_counts

SAMPLE = pd.DataFrame(
    {"age": [30, 30, 44, 51], "zip": ["021", "021", None, "100"]}, index=[7, 7, 8, 9]
)
EVERYBODY = pd.DataFrame(
    {"age": [30, 30, 30, 44, 44, 60], "zip": ["021", "021", "021", None, None, "100"]}
)


def test_people_are_shared_among_the_records_that_look_like_them():
    counted = add_population_counts(SAMPLE, EVERYBODY, quasi_identifiers=["age", "zip"])
    assert counted["population"].tolist() == [1.5, 1.5, 2.0, 0.0]
    assert counted.index.tolist() == [7, 7, 8, 9]
    pd.testing.assert_frame_equal(counted[["age", "zip"]], SAMPLE)


@pytest.mark.parametrize("npartitions", [1, 2, 3])
def test_dask_counts_as_pandas_does(npartitions):
    lazy = add_population_counts(
        dd.from_pandas(SAMPLE.reset_index(drop=True), npartitions=npartitions),
        dd.from_pandas(EVERYBODY, npartitions=npartitions),
        quasi_identifiers=["age", "zip"],
    )
    expected = add_population_counts(SAMPLE, EVERYBODY, quasi_identifiers=["age", "zip"])
    found = lazy.compute().sort_values("age")
    assert found["population"].tolist() == expected.sort_values("age")["population"].tolist()


def test_a_release_is_k_map_by_its_population():
    """Of 2,000 people 300 are in the sample; every class covers at least 20 people."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(20, 60, 2_000), "zip": rng.integers(0, 5, 2_000)})
    sample = people.sample(300, random_state=1)
    counted = add_population_counts(sample, people, quasi_identifiers=["age", "zip"])
    policy = anon.Policy(
        columns={"age": "quasi-identifier", "zip": "quasi-identifier", "population": "insensitive"},
        privacy=[{"model": "k-map", "k": 20, "weight": "population"}],
        recoding={"format": "bounds"},
    )
    released = anon.anonymize(counted, policy).drop(columns="population").drop_duplicates()
    covered = [
        (people["age"].between(c.age_min, c.age_max) & people["zip"].between(c.zip_min, c.zip_max))
        for c in released.itertuples()
    ]
    assert len(covered) > 10
    assert min(inside.sum() for inside in covered) >= 20


def test_unknown_columns_and_a_name_that_is_taken_are_told():
    with pytest.raises(DataError, match=r"'agee' is not in the table\. Did you mean 'age'"):
        add_population_counts(SAMPLE, EVERYBODY, quasi_identifiers=["agee"])
    with pytest.raises(DataError, match="'zip' is not in the population"):
        add_population_counts(SAMPLE, EVERYBODY[["age"]], quasi_identifiers=["zip"])
    with pytest.raises(DataError, match="column 'zip' already"):
        add_population_counts(SAMPLE, EVERYBODY, quasi_identifiers=["age"], name="zip")
