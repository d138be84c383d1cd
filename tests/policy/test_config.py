"""Settings: defaults under Dask's configuration, typed, and a sentence for a wrong one."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import dask
import pytest

import dask_anon.config
from dask_anon.config import settings
from dask_anon.errors import AnonError


def test_defaults_stand_in_dask_config():
    assert dask.config.get("anon.tree.bins") == 512
    found = settings()
    assert found.scratch_directory is None
    assert found.memory_limit is None
    assert found.memory_fraction == 0.6
    assert (found.rows_partition, found.rows_region) == (None, None)
    assert (found.tree_bins, found.tree_bytes) == (512, 64 * 2**20)
    assert (found.parquet_compression, found.distinct_cap) == ("snappy", 65_536)


def test_the_user_wins():
    with dask.config.set({"anon.memory.limit": "2GiB", "anon.rows.region": 10}):
        assert settings().memory_limit == 2**31
        assert settings().rows_region == 10


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("scratch-directory", 5, "must be a path or null"),
        ("memory.limit", "a lot", "must be a size such as 2GiB or null"),
        ("memory.limit", 0, "must be a size"),
        ("memory.fraction", 1.5, "must be a share above 0 and at most 1"),
        ("memory.fraction", None, "must be a share"),
        ("rows.partition", 0, "must be a whole number above 0 or null"),
        ("rows.region", True, "must be a whole number above 0 or null"),
        ("tree.bins", 1, "must be a whole number of at least 2"),
        ("tree.bytes", None, r"must be a size such as 64MiB\."),
        ("parquet.compression", "lzma", "must be one of snappy, zstd"),
        ("distinct-cap", "many", "must be a whole number above 0"),
    ],
)
def test_a_wrong_setting_gets_a_sentence(name, value, message):
    sentence = rf"the setting anon\.{re.escape(name)} {message}"
    with dask.config.set({f"anon.{name}": value}), pytest.raises(AnonError, match=sentence):
        settings()


def test_every_default_has_a_comment():
    lines = (Path(dask_anon.config.__file__).parent / "anon.yaml").read_text().splitlines()
    for above, line in pairwise(lines):
        if re.match(r" +[a-z-]+: \S", line):
            assert above.lstrip().startswith("#"), line


def test_defaults_outlive_a_block_that_was_open_when_they_were_registered() -> None:
    program = (
        "import dask\n"
        "with dask.config.set({'anon.rows.partition': 5}):\n"
        "    from dask_anon.config import settings\n"
        "    assert settings().rows_partition == 5\n"
        "assert settings().rows_partition is None\n"
        "assert settings().tree_bins == 512\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
