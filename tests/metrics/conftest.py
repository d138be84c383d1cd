"""Adult, the table on which the literature measures: 30,162 people in nine columns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(scope="session")
def adult(root: Path) -> pd.DataFrame:
    """The table; tests must not change it."""
    return pd.read_parquet(root / "tests/data/adult.parquet")
