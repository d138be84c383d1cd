"""Examples in the docstrings of the risk metrics are true."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pandas as pd
import pytest

MODULES = [
    *("_risk_value", "_numbers", "risk", "population", "separation", "individual", "household", "suda"),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    module = importlib.import_module(f"dask_anon.metrics.{name}")
    result = doctest.testmod(module, extraglobs={"pd": pd, "np": np})
    assert result.attempted > 0
    assert result.failed == 0
