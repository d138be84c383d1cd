"""A small table in memory: pandas in, pandas out.

Run it with ``python examples/quickstart.py``.
"""

from __future__ import annotations

import pandas as pd

import dask_anon as anon


def main() -> None:
    people = pd.DataFrame(
        {
            "patient": ["P-1", "P-2", "P-3", "P-4", "P-5", "P-6"],
            "age": [23, 25, 31, 52, 58, 63],
            "zip": ["02134", "02134", "02139", "10001", "10001", "10002"],
            "diagnosis": ["flu", "asthma", "flu", "angina", "flu", "asthma"],
        }
    )
    policy = anon.Policy(
        columns={
            "patient": {"role": "identifier"},
            "age": {"role": "quasi-identifier"},
            "zip": {"role": "quasi-identifier"},
            "diagnosis": {"role": "sensitive"},
        },
        privacy=[{"model": "k-anonymity", "k": 3}],
    )

    released = anon.anonymize(people, policy)
    print("Nobody stands alone: every age and zip is shared by at least three people.\n")
    print(released.to_string())

    classes = anon.equivalence_classes(released, policy)
    print("\nThe equivalence classes:\n")
    print(classes.to_string(index=False))


if __name__ == "__main__":
    main()
