"""What an installation brings: the command, the sample, the settings, and no more than it needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dask_anon


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel that is built from a copy of the sources."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in ("pyproject.toml", "README.md", "LICENSE", *tracked_sources(root)):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes((root / path).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--wheel-dir", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return zipfile.ZipFile(built).namelist()


def tracked_sources(root: Path) -> list[str]:
    """Every file of the package, compiled ones aside."""
    return [
        str(path.relative_to(root))
        for path in sorted((root / "dask_anon").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_wheel_holds_every_file_of_the_package(root: Path, wheel: list[str]) -> None:
    packaged = {name for name in wheel if ".dist-info/" not in name}
    assert packaged == set(tracked_sources(root))


def test_dependencies_are_the_ones_the_readme_promises(project: dict[str, Any]) -> None:
    names = {re.split(r"[<>=!~ ]", line)[0] for line in project["dependencies"]}
    assert names == {
        "dask[dataframe]",
        "distributed",
        "pandas",
        "numpy",
        "pyarrow",
        "numba",
        "pydantic",
        "click",
        "rich",
    }


def test_command_is_installed_alone_and_as_a_group_of_dask(root: Path) -> None:
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert pyproject["scripts"] == {"dask-anon": "dask_anon.cli:main"}
    assert pyproject["entry-points"]["dask_cli"] == {"anon": "dask_anon.cli:main"}


def test_version_is_the_same_everywhere(root: Path, project: dict[str, Any]) -> None:
    assert dask_anon.__version__ == project["version"]
    assert f"## [{project['version']}]" in (root / "CHANGELOG.md").read_text()


def test_license_is_shipped(root: Path, project: dict[str, Any], wheel: list[str]) -> None:
    assert project["license"] == "BSD-3-Clause"
    assert (root / "LICENSE").read_text().startswith("BSD 3-Clause License")
    assert any(name.endswith("licenses/LICENSE") for name in wheel)


def test_makefile_has_the_targets_that_people_are_told(root: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test", "lint", "docs", "bench"} <= targets


def test_demo_and_test_install_once(root: Path, tmp_path: Path) -> None:
    # A stamp newer than everything it depends on stands for a finished installation.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").touch()
    for stamp in (".dev", ".docs"):
        (tmp_path / stamp).touch()
    for target in ("demo", "test", "docs"):
        command = ["make", "--dry-run", target, f"VENV={tmp_path}"]
        run = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
        assert "pip" not in run.stdout, run.stdout
