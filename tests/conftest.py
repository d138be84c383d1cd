"""What every test may use: a small table that a reader can count, and the checkout itself."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout: README, docs, examples and docker files are tested where they stand."""
    return ROOT


@pytest.fixture
def people() -> pd.DataFrame:
    """Twelve people with two quasi-identifiers of different kinds, a name and a diagnosis."""
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(12)],
            "age": [23, 25, 31, 34, 38, 41, 47, 52, 58, 63, 66, 71],
            "zip": ["02134", "02134", "02139", "02139", "10001", "10001"] * 2,
            "diagnosis": ["flu", "asthma", "flu", "angina"] * 3,
        }
    )
