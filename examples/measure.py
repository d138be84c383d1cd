"""How safe is a table that somebody else made? Measured for several privacy models, not changed.

Run it with ``python examples/measure.py``.
"""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd

import dask_anon as anon


def someone_elses_table(n_records: int = 3_000) -> pd.DataFrame:
    """Ages in decades, three digits of the zip code: is that enough?"""
    rng = np.random.default_rng(4)
    decade = rng.choice(
        [20, 30, 40, 50, 60, 70, 80], n_records, p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.09, 0.01]
    )
    return pd.DataFrame(
        {
            "age": [f"[{low}, {low + 9}]" for low in decade],
            "zip": [f"{area:03d}**" for area in rng.integers(10, 25, n_records)],
            "illness": rng.choice(["flu", "asthma", "angina", "none"], n_records),
            "cost": rng.gamma(2.0, 400.0, n_records).round(-2).astype(int),
        }
    )


def main() -> None:
    table = dd.from_pandas(someone_elses_table(), npartitions=4)
    policy = anon.Policy(
        columns={
            "age": {"role": "quasi-identifier"},
            "zip": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
            "cost": {"role": "sensitive"},
        },
        privacy=[
            {"model": "k-anonymity", "k": 5},
            {"model": "distinct-l-diversity", "column": "illness", "l": 3},
            {"model": "t-closeness", "column": "cost", "t": 0.15},
            {"model": "average-risk", "max": 0.05},
        ],
    )

    print("Yes or no, and who is the reason:\n")
    found = anon.check(table, policy)
    print(found)
    worst = found.violating_classes.compute().nsmallest(3, "size")
    print("\nThe smallest of these classes:\n")
    print(worst[["age", "zip", "size"]].to_string(index=False))

    print("\nEvery figure, and what it would be if the table were anonymized for this policy:\n")
    released = anon.anonymize(table, policy)
    print(anon.measure(table, policy, released=released))


if __name__ == "__main__":
    main()
