"""Who may import whom, and how little it takes to import the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

HEAVY = ("dask.dataframe", "distributed", "numba", "pandas", "pyarrow")


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter holds after `statement`."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_rooms_import_only_the_rooms_below_them(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    code = lint_imports(config_filename=str(root / ".importlinter"), no_cache=True)
    assert code == os.EX_OK, capsys.readouterr().out


def test_every_room_has_its_place_in_the_order(root: Path) -> None:
    layers = (root / ".importlinter").read_text().split("layers =")[1].split("\n\n")[0]
    placed = {name.strip(" ()") for line in layers.splitlines() for name in re.split("[|:]", line)}
    rooms = {
        path.stem
        for path in (root / "dask_anon").iterdir()
        if (path / "__init__.py").exists() or path.suffix == ".py"
    }
    assert rooms - placed - {"__init__", "__main__"} == set()


@pytest.mark.parametrize(
    "module", ["dask_anon", "dask_anon.errors", "dask_anon.policy", "dask_anon.cli"]
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}").isdisjoint(HEAVY)
