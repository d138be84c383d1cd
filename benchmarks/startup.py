"""What starting costs: ``python -m benchmarks.startup``.

``import dask_anon`` loads no ``dask.dataframe``, pandas, numba or Arrow; compiled kernels are
cached on disk, so that only the first run of an installation compiles.
"""

from __future__ import annotations

import subprocess
import sys
import time

RUN = """
import time; began = time.perf_counter()
import pandas as pd, dask_anon as anon
people = pd.DataFrame({"age": range(100), "zip": [10000 + i // 7 for i in range(100)]})
policy = anon.Policy(
    columns={"age": "quasi-identifier", "zip": "quasi-identifier"},
    privacy=[{"model": "k-anonymity", "k": 5}],
)
loaded = time.perf_counter()
anon.anonymize(people, policy)
print(time.perf_counter() - loaded)
"""


def seconds(code: str, repeat: int = 3) -> float:
    """Wall seconds of a fresh interpreter, less those of an empty one; the best of a few."""

    def once(text: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    return min(once(code) for _ in range(repeat)) - min(once("pass") for _ in range(repeat))


def heavy_modules() -> list[str]:
    """Heavy modules that ``import dask_anon`` loads: none."""
    code = (
        "import sys, dask_anon; print(' '.join(m for m in "
        "('dask.dataframe', 'pandas', 'numba', 'pyarrow', 'distributed') if m in sys.modules))"
    )
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


def main() -> None:
    imported = seconds("import dask_anon")
    first, again = (
        float(subprocess.check_output([sys.executable, "-c", RUN], text=True)) for _ in range(2)
    )
    print(
        f"import dask_anon: {imported:.3f} s, heavy modules loaded: {heavy_modules() or 'none'}; "
        f"anonymize 100 rows in a fresh process: {first:.2f} s, then {again:.2f} s"
    )


class Startup:
    """asv: seconds to import."""

    def track_import(self) -> float:
        return seconds("import dask_anon")

    track_import.unit = "s"  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
