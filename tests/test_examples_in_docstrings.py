"""Examples in the docstrings of what judges and measures tables print what they say."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pandas as pd
import pytest

MODULES = [
    "audit._digest",
    "audit._judged",
    "evaluation._check",
    "measures._measure",
    "metrics._numbers",
    "metrics._risk_value",
    "metrics.household",
    "metrics.individual",
    "metrics.population",
    "metrics.population_table",
    "metrics.risk",
    "metrics.separation",
    "metrics.suda",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_they_say(module):
    found = importlib.import_module(f"dask_anon.{module}")
    names = {"pd": pd, "np": np, **vars(found)}
    results = doctest.testmod(found, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert results.failed == 0
    assert results.attempted > 0
