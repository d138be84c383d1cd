"""README and documentation do what they say: a reader may type every block, top to bottom.

- ``python``  is run, page by page in one namespace.
- ``text``    right after it is what it prints.
- ``bash``    is run, except what needs Docker, Kubernetes, a network or an installation.
- ``yaml`` and ``toml`` with a title are written to the file of that name. Each must be a valid
  policy; those without a title are parts of one.

Each page gets a fresh directory with `people.parquet`, `people.csv` and `policy.yaml`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

import dask_anon as anon
from dask_anon.cli import main
from dask_anon.errors import AnonError
from dask_anon.policy import MODELS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Blocks that begin a line with one of these need what a test has not.
ELSEWHERE = ("docker", "kubectl", "make", "pip", "WORKERS=")
ADDRESS = "tcp://scheduler.example:8786"

POLICY = """\
version: 1
columns:
  name:      {role: identifier}
  age:       {role: quasi-identifier}
  zip:       {role: quasi-identifier}
  diagnosis: {role: sensitive}
privacy:
  - {model: k-anonymity, k: 5}
input:  {path: people.parquet}
output: {path: release/}
"""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str | None
    text: str
    follows: str | None


def blocks(page: Path) -> list[Block]:
    found, text, end = [], page.read_text(), -1
    for match in BLOCK.finditer(text):
        touches = bool(found) and not text[end : match.start()].strip()
        follows = found[-1].language if touches else None
        found.append(Block(match[1], match[2], match[3], follows))
        end = match.end()
    return found


def runs_elsewhere(block: Block) -> bool:
    return ADDRESS in block.text or any(
        line.startswith(ELSEWHERE) for line in block.text.splitlines()
    )


def words(text: str) -> list[str]:
    return text.split()


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the pages use."""
    people = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(400)],
            "age": [20 + (i * 37) % 60 for i in range(400)],
            "zip": [f"{(i * 7919) % 90:05d}" for i in range(400)],
            "diagnosis": [["flu", "asthma", "angina"][i % 3] for i in range(400)],
        }
    )
    people.to_parquet(tmp_path / "people.parquet", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- every block, in order ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_page_can_be_followed_from_top_to_bottom(page: Path, workplace: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        match block.language:
            case "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(block.text, str(page), "exec"), namespace)
                printed = out.getvalue()
            case "bash" if not runs_elsewhere(block):
                printed = commands(block.text, workplace, as_typed=page.name == "README.md")
            case "text" if block.follows in ("python", "bash"):
                assert words(printed) == words(block.text)
            case "yaml" | "toml" if block.title:
                (workplace / block.title).write_text(block.text)


def commands(text: str, directory: Path, *, as_typed: bool) -> str:
    """What the commands of a block print; they must succeed."""
    lines = [shlex.split(line) for line in text.splitlines()]
    plain = all(line[:1] == ["dask-anon"] and not {">", "||"} & {*line} for line in lines)
    if as_typed or not plain:
        return shell(text, directory)
    # The command is one function: a process of its own would test the start of Python again.
    printed = ""
    for line in lines:
        result = CliRunner().invoke(main, line[1:], catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        printed += result.stdout
    return printed


def shell(commands: str, directory: Path) -> str:
    """What a shell prints for the commands; they must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


# -- what can be read without running -------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_policies_on_the_page_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language not in ("yaml", "toml"):
            continue
        parse = yaml.safe_load if block.language == "yaml" else tomllib.loads
        section = parse(block.text)
        if block.title:
            (tmp_path / block.title).write_text(block.text)
            assert anon.Policy.load(tmp_path / block.title).k >= 2
        else:
            # A part of a policy is valid in a policy that has the rest.
            anon.Policy(**{**yaml.safe_load(POLICY), **fitted(section)})


def fitted(section: dict[str, Any]) -> dict[str, Any]:
    """A part of a policy, with a quasi-identifier if it shows other columns only."""
    if "columns" in section:
        section["columns"]["age"] = "quasi-identifier"
    return section


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_that_are_not_run_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    typed = [b.text for b in blocks(page) if b.language == "bash" and runs_elsewhere(b)]
    for line in "\n".join(typed).splitlines():
        if target := re.match(r"make (\w+)", line):
            assert f"\n{target[1]}:" in makefile
        for file in re.findall(r" -f (\S+)", line):
            assert (ROOT / file).exists()


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, target


def slug(heading: str) -> str:
    return re.sub(r"[^\w]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r": (\S+\.md)$", text, re.MULTILINE))
    assert listed == {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}


# -- the reference is complete --------------------------------------------------------------------


def test_reference_has_every_option_of_every_command() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", BLOCK.sub("", page)))
    options = {
        flag
        for command in main.commands.values()
        for option in command.params
        if isinstance(option, click.Option)
        for flag in option.opts
    }
    assert options - documented == set()
    assert documented - options == set()
    assert set(re.findall(r"^## dask-anon (\w+)", page, re.MULTILINE)) == set(main.commands)


def test_reference_has_every_setting_with_its_default() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    documented = dict(re.findall(r"^\| `(anon\.[\w.-]+)` \| (\S+) \|", page, re.MULTILINE))
    defaults = yaml.safe_load((ROOT / "dask_anon/anon.yaml").read_text())
    assert documented == {
        name: "null" if value is None else str(value) for name, value in flat(defaults)
    }


def flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs = []
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else key
        pairs += flat(value, name) if isinstance(value, dict) else [(name, value)]
    return pairs


def test_reference_has_every_section_and_choice_of_a_policy() -> None:
    page = (ROOT / "docs/reference/policy-file.md").read_text()
    sections = set(re.findall(r"^## ([\w-]+)", page, re.MULTILINE))
    assert sections == set(anon.Policy.model_fields)
    schema = anon.Policy.model_json_schema()
    for part in schema["$defs"].values():
        for key in part.get("properties", {}):
            assert re.search(rf"\b{key}\b", page), key


def test_reference_has_every_key_of_every_privacy_model() -> None:
    page = (ROOT / "docs/reference/policy-file.md").read_text()
    for word, model in MODELS.items():
        rows = [line for line in page.splitlines() if line.startswith(f"| `{word}` |")]
        keys = set(model.model_fields) - {"model"}
        assert {key for key in keys if any(f"`{key}`" in row for row in rows)} == keys, word


def test_reference_has_every_metric() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert documented == set(anon.metrics.__all__)


def test_reference_has_every_error_with_its_exit_code() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text()
    documented = dict(re.findall(r"^\| `(\w+Error)` \|.*\| (\d) \|$", page, re.MULTILINE))
    errors = {kind.__name__: str(kind.exit_code) for kind in AnonError.__subclasses__()}
    assert documented == errors


def test_reference_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    page += (ROOT / "docs/reference/errors.md").read_text()
    missing = {name for name in anon.__all__ if not re.search(rf"\b{name}\b", page)}
    assert missing - {"__version__"} == set()
