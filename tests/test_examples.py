"""Every example runs as a reader would run it, and shows what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

# What a reader must see; the numbers behind it are checked where they are made.
SHOWN = {
    "quickstart.py": ["diagnosis", "[23, 31]", "size"],
    "files_to_release.py": ["The plan", "Counted once more with pandas", "age_min"],
    "dask_frame.py": ["height_min", "Two partitions instead of five: the same release."],
    "cluster.py": ["200,000"],
    "measure.py": ["FAILS", "classes break a model", "before", "after", "risk <= 0.05"],
}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_example(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    for words in SHOWN[name]:
        assert words in run.stdout
    assert "Warning" not in run.stderr
    assert list(tmp_path.iterdir()) == []
