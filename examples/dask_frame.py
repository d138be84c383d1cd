"""A Dask DataFrame in, a lazy Dask DataFrame out: learn once, then apply like any other Dask step.

Run it with ``python examples/dask_frame.py``.
"""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd

import dask_anon as anon


def main() -> None:
    rng = np.random.default_rng(1)
    n_records = 2_000
    visits = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_records),
            "height": rng.normal(170, 10, n_records).round(1),
            "sex": rng.choice(["female", "male"], n_records),
            "cost": rng.gamma(2.0, 150.0, n_records).round(2),
        }
    )
    lazy = dd.from_pandas(visits, npartitions=5)
    policy = anon.Policy(
        columns={
            "age": {"role": "quasi-identifier"},
            "height": {"role": "quasi-identifier"},
            "sex": {"role": "quasi-identifier"},
            "cost": {"role": "sensitive"},
        },
        privacy=[{"model": "k-anonymity", "k": 10}],
        recoding={"format": "bounds"},
    )

    recoding = anon.fit(lazy, policy)
    print(f"fit computes and returns what it learned: {recoding}")

    released = recoding.apply(lazy)
    print(f"\napply is lazy and knows its columns: {list(released.columns)}")

    computed = released.compute()
    print("\nIndex and row order are those of the original:\n")
    print(computed.head().to_string())

    average = computed.assign(decade=computed["age_min"] // 10 * 10).groupby("decade")["cost"]
    print("\nThe untouched column is as useful as before:\n")
    print(average.mean().round(2).to_string())

    again = anon.anonymize(lazy.repartition(npartitions=2), policy).compute()
    assert again.equals(computed)
    print("\nTwo partitions instead of five: the same release.")


if __name__ == "__main__":
    main()
