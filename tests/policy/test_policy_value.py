"""A policy is a frozen value with documented defaults, and its manifest tells nothing secret."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pydantic
import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import Column, KAnonymity, Policy, Role


@pytest.fixture
def policy() -> Policy:
    return Policy(
        columns={
            "name": {"role": "identifier", "action": "pseudonymize", "key_env": "MY_KEY"},
            "zip": {"role": "quasi-identifier", "format": "bounds", "type": "text"},
            "age": "quasi-identifier",
            "disease": "sensitive",
        },
        privacy=[{"model": "k-anonymity", "k": 5}],
        require={"prosecutor_risk": {"max": "20%"}},
        input=Path("private/people.csv"),
        output={"path": "private/release"},
    )


def test_defaults_are_as_documented(policy):
    assert (policy.algorithm.name, policy.algorithm.ties) == ("mondrian", "either")
    assert policy.algorithm.span_ties == "domain"
    assert (policy.recoding.method, policy.recoding.format) == ("generalization", "interval")
    assert policy.missing.quasi_identifiers == "own-value"
    assert (policy.order, policy.seed, policy.default_role) == ("shuffle", 0, None)
    assert policy.input.null_values == ("",)
    assert policy.output.format == "parquet"


def test_it_answers_who_is_who(policy):
    assert policy.k == 5
    assert policy.quasi_identifiers == ["zip", "age"]
    assert policy.role("disease") is Role.SENSITIVE
    assert policy.format_of("zip") == "bounds"
    assert policy.format_of("age") == "interval"
    with pytest.raises(PolicyError, match="column 'other' has no role"):
        policy.role("other")


def test_numbers_and_words_are_read_as_meant(policy):
    assert policy.require.prosecutor_risk.max == 0.2
    assert policy.input.path == "private/people.csv"
    built = Policy(
        columns={"a": Column(role="quasi-identifier")}, privacy=[KAnonymity(k=np.int64(3))]
    )
    assert built.k == 3
    assert type(built.k) is int
    tab = Policy(
        columns={"a": "quasi-identifier"},
        privacy=[KAnonymity(k=3)],
        input={"path": "x.tsv", "delimiter": "\\t"},
    )
    assert tab.input.delimiter == "\t"


def test_it_is_frozen_comparable_and_travels(policy):
    with pytest.raises(pydantic.ValidationError):
        policy.seed = 3
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert "k=5 over 'zip', 'age'" in str(policy)


def test_a_manifest_holds_no_path_and_no_key(policy):
    section = policy.to_manifest()
    text = json.dumps(section)
    for word in ("private", "MY_KEY", "key_", "input", "output"):
        assert word not in text
    assert section["columns"]["name"] == {"role": "identifier", "action": "pseudonymize"}
    assert section["privacy"] == [{"model": "k-anonymity", "k": 5}]
    assert section["missing"] == {"quasi-identifiers": "own-value"}


def test_a_manifest_gives_the_policy_back(policy):
    restored = Policy.from_manifest(json.loads(json.dumps(policy.to_manifest())))
    assert restored.to_manifest() == policy.to_manifest()
    assert (restored.k, restored.quasi_identifiers) == (5, ["zip", "age"])
    assert list(restored.columns) == list(policy.columns)


def test_a_key_is_read_late_and_checked(policy, monkeypatch, tmp_path):
    monkeypatch.setenv("MY_KEY", "0123456789abcdef\n")
    assert policy.key_of("name") == b"0123456789abcdef"
    monkeypatch.setenv("MY_KEY", "short")
    with pytest.raises(PolicyError, match="the key has 5 bytes, at least 16 are needed"):
        policy.key_of("name")
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(PolicyError, match=r"columns.name.key_env: the variable MY_KEY is not set"):
        policy.key_of("name")
    with pytest.raises(PolicyError, match="has no key"):
        policy.key_of("age")


def test_a_key_file_is_read_without_its_line_end(tmp_path):
    (tmp_path / "key").write_bytes(b"0123456789abcdef\r\n")

    def with_key(path):
        column = {"role": "identifier", "action": "pseudonymize", "key_file": path}
        return Policy(
            columns={"a": "quasi-identifier", "n": column}, privacy=[KAnonymity(k=2)]
        ).key_of("n")

    assert with_key(tmp_path / "key") == b"0123456789abcdef"
    with pytest.raises(PolicyError, match="the key cannot be read: No such file"):
        with_key(tmp_path / "no-key")
    (tmp_path / "key").write_bytes(b"x" * 70_000)
    with pytest.raises(PolicyError, match="is larger than 64 KiB"):
        with_key(tmp_path / "key")
