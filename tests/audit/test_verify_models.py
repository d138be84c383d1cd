"""Every privacy model of a release is measured again, and what breaks it is a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_verify import edit, make, sign_again, write

from dask_anon.audit.manifest import ReleasedColumn
from dask_anon.audit.verify import verify
from dask_anon.policy import Policy

# Two classes of four, each with two of the three illnesses in equal shares.
ZIP = ["[1, 4]"] * 4 + ["[5, 9]"] * 4
ILLNESS = ["flu", "hiv", "flu", "hiv", "flu", "ulcer", "ulcer", "flu"]
COST = [10, 20, 30, 40, 10, 20, 30, 40]


def column(name: str, type_: str, role: str = "sensitive") -> ReleasedColumn:
    return ReleasedColumn(name=name, type=type_, role=role, released=(name,))


COLUMNS = [
    column("zip", "int64", "quasi-identifier"),
    column("illness", "string"),
    column("cost", "int64"),
]
ROLES = {"zip": "quasi-identifier", "illness": "sensitive", "cost": "sensitive"}
MODELS = [
    {"model": "k-anonymity", "k": 4},
    {"model": "distinct-l-diversity", "column": "illness", "l": 2},
    {"model": "t-closeness", "column": "cost", "t": 0.1, "distance": "ordered"},
    {"model": "average-risk", "max": 0.25},
]


def policy(*models: dict, **sections) -> Policy:
    return Policy(**{"columns": ROLES, "privacy": models or MODELS} | sections)


def table(illness=ILLNESS, cost=COST) -> pa.Table:
    return pa.table({"zip": ZIP, "illness": illness, "cost": cost})


@pytest.fixture
def release(tmp_path) -> Path:
    whole, asked = table(), policy().to_manifest()
    parts = [whole.slice(0, 3), whole.slice(3)]
    return make(tmp_path / "release", parts, columns=COLUMNS, policy=asked)


def promise(release: Path, change) -> None:
    edit(release, lambda data: change(data["policy"]))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_untouched_release_holds_and_shows_what_was_measured(tmp_path, ending):
    asked = policy().to_manifest()
    root = make(tmp_path / "r", [table()], columns=COLUMNS, policy=asked, ending=ending)
    found = verify(root)
    assert str(found).splitlines() == [
        f"{root} holds: 8 records in 2 equivalence classes, the smallest has 4 (k=4). "
        "1 file matches the manifest.",
        "  average-risk risk <= 0.25: found 0.25, holds.",
        "  distinct-l-diversity of 'illness' l >= 2: found 2, holds.",
        "  t-closeness of 'cost' (ordered) t <= 0.1: found 0, holds.",
    ]
    assert found.notes == ()
    told = json.loads(json.dumps(found.to_json()))
    assert told["models"][2] == {
        "name": "distinct-l-diversity of 'illness'",
        "asked": "l >= 2",
        "found": 2,
        "holds": True,
    }


def tamper(release: Path, changed: pa.Table) -> None:
    """Exchange the data for other data, with hashes that fit."""
    for name, part in (("part-0", changed.slice(0, 3)), ("part-1", changed.slice(3))):
        write(release / f"data/{name}.parquet", part)
        sign_again(release, f"data/{name}.parquet")


def test_swapped_sensitive_values_break_diversity_although_every_hash_fits(release):
    tamper(release, table(["flu"] * 4 + ["hiv", "ulcer", "ulcer", "hiv"]))
    assert verify(release).problems == (
        "distinct-l-diversity of 'illness' asks for l >= 2: 1 of 2 equivalence classes break it "
        "(4 records; the worst has 1).",
    )


def test_sorted_sensitive_values_break_closeness_although_every_hash_fits(release):
    tamper(release, table(cost=sorted(COST)))
    assert verify(release).problems == (
        "t-closeness of 'cost' (ordered) asks for t <= 0.1: 2 of 2 equivalence classes break it "
        "(8 records; the worst has 0.3333).",
    )


def test_a_sentence_shows_no_value(release):
    tamper(release, table(["Kwisatz"] * 4 + ILLNESS[4:], [918273] * 4 + COST[4:]))
    text = str(verify(release))
    assert "does not hold" in text
    assert "Kwisatz" not in text
    assert "918273" not in text


@pytest.mark.parametrize(
    "model, sentence",
    [
        (
            {"model": "entropy-l-diversity", "column": "illness", "l": 2.5},
            "entropy-l-diversity of 'illness' asks for l >= 2.5: 2 of 2 equivalence classes break "
            "it (8 records; the worst has 2).",
        ),
        (
            {"model": "recursive-cl-diversity", "column": "illness", "c": 1, "l": 2},
            "recursive-cl-diversity of 'illness' asks for c < 1 for l = 2: 2 of 2 equivalence "
            "classes break it (8 records; the worst has 1).",
        ),
        (
            {"model": "delta-disclosure", "column": "illness", "delta": 1},
            "delta-disclosure of 'illness' asks for delta < 1: 2 of 2 equivalence classes break it "
            "(8 records; the worst has infinite).",
        ),
        (
            {"model": "alpha-k-anonymity", "column": "illness", "alpha": 0.4, "k": 4},
            "alpha-k-anonymity of 'illness' asks for alpha <= 0.4: 2 of 2 equivalence classes "
            "break it (8 records; the worst has 0.5).",
        ),
        ({"model": "average-risk", "max": 0.2}, "average-risk asks for risk <= 0.2, found 0.25."),
        (
            {"model": "k-map", "k": 50, "weight": "cost"},
            None,
        ),
        (
            {"model": "k-map", "k": 101, "weight": "cost"},
            "k-map of 'cost' asks for k >= 101 in the population: 2 of 2 equivalence classes break "
            "it (8 records; the worst has 100).",
        ),
    ],
    ids=lambda model: model["model"] if isinstance(model, dict) else None,
)
def test_each_model_has_its_sentence(release, model, sentence):
    promise(release, lambda p: p.update(privacy=[model]))
    assert verify(release).problems == (() if sentence is None else (sentence,))


def test_a_hierarchical_distance_is_measured_by_the_taxonomy_in_the_manifest(tmp_path):
    rows = [["flu", "mild", "*"], ["hiv", "severe", "*"], ["ulcer", "severe", "*"]]
    taxonomy = {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "rows": rows}}
    model = {"model": "t-closeness", "column": "illness", "t": 0.1, "distance": "hierarchical"}
    asked = policy(model, columns=ROLES | {"illness": taxonomy}).to_manifest()
    root = make(tmp_path / "r", [table()], columns=COLUMNS, policy=asked)
    # In both classes half is mild, as in the table; a quarter moves between the severe, at 1/2.
    [row] = verify(root).models
    assert (row.name, row.found) == ("t-closeness of 'illness' (hierarchical)", 0.125)
    promise(root, lambda p: p["columns"]["illness"]["hierarchy"].update(rows=rows[:2]))
    [problem] = verify(root).problems
    assert "illness" in problem
    assert "ulcer" not in problem


def test_categories_whose_order_csv_lost_are_noted(tmp_path):
    ordered = "dictionary<values=string, indices=int32, ordered=1>"
    columns = [COLUMNS[0], column("illness", ordered), COLUMNS[2]]
    closeness = {"model": "t-closeness", "column": "illness", "t": 0.1, "distance": "ordered"}
    asked = policy(MODELS[0], closeness).to_manifest()
    root = make(tmp_path / "r", [table()], columns=columns, policy=asked, ending="csv")
    found = verify(root)
    assert found.holds
    [note] = found.notes
    assert note == (
        "t-closeness of 'illness' with t=0.1, distance=ordered is promised as well: the "
        "categories of 'illness' had an order, which CSV does not keep, so it cannot be measured "
        "again."
    )
    promise(root, lambda p: p.update(privacy=[closeness]))
    assert not verify(root).models


def test_ordered_categories_are_measured_in_parquet(tmp_path):
    grade = pd.Categorical(ILLNESS, ["ulcer", "flu", "hiv"], ordered=True)
    ordered = "dictionary<values=string, indices=int32, ordered=1>"
    columns = [COLUMNS[0], column("illness", ordered), COLUMNS[2]]
    closeness = {"model": "t-closeness", "column": "illness", "t": 0.25, "distance": "ordered"}
    asked = policy(closeness).to_manifest()
    root = make(tmp_path / "r", [table(pa.array(grade))], columns=columns, policy=asked)
    # Of ulcer 1/4, flu 1/2, hiv 1/4 a class has 0, 1/2, 1/2: (1/4 + 1/4) / 2.
    [row] = verify(root).models
    assert (row.found, row.holds) == (0.25, True)


# The policy in a manifest is untrusted as well.


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda p: p.update(privacy="none"), "the policy in the manifest is none: privacy: must"),
        (lambda p: p["privacy"][0].update(k=1), "privacy[0].k: must be a whole number of at least"),
        (lambda p: p["privacy"][1].update(model="x" * 5000), "is not a known privacy model"),
        (lambda p: p["privacy"][1].update(column="zip"), "column 'zip' is a quasi-identifier"),
        (lambda p: p.update(columns={}), "no column is a quasi-identifier"),
        (
            lambda p: p["columns"].update(age={"role": "quasi-identifier"}),
            "the policy in the manifest makes 'age' a quasi-identifier, its columns do not.",
        ),
        (
            lambda p: (
                p["columns"].update(gone={"role": "sensitive"}),
                p["privacy"][1].update(column="gone"),
            ),
            "column 'gone' is not in the release, and a privacy model in the manifest looks at it.",
        ),
        (
            lambda p: p["columns"]["illness"].update(
                hierarchy={"kind": "taxonomy", "file": "/etc/hostname"}
            ),
            "names a file for column 'illness'; a manifest never does.",
        ),
        (
            lambda p: p["privacy"].append({"model": "k-map", "k": 10**15, "population": 10}),
            "k: is 1,000,000,000,000,000, more than the 10 of population. Lower it.",
        ),
        (lambda p: p.update(sensitive_nulls="nothing"), "sensitive_nulls: 'nothing' is not known."),
    ],
)
def test_a_policy_that_is_none_is_one_problem(release, change, sentence):
    promise(release, change)
    found = verify(release)
    [problem] = found.problems
    assert sentence in problem
    assert len(problem) < 2_000
    assert found.counts is not None  # counted all the same
    assert found.models == ()


def test_a_taxonomy_file_of_whoever_verifies_is_never_opened(release, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "dask_anon.policy._taxonomies.rows_of_file", lambda path: opened.append(path) or ()
    )

    def change(p):
        p["columns"]["illness"]["hierarchy"] = {"kind": "taxonomy", "file": "/etc/hostname"}
        p["privacy"][2] = {
            "model": "t-closeness", "column": "illness", "t": 0.1, "distance": "hierarchical",
        }  # fmt: skip

    promise(release, change)
    assert not verify(release).holds
    assert opened == []


def test_a_type_that_is_not_known_is_a_problem(release):
    edit(release, lambda data: data["columns"][1].update(type="dictionary<values=, indices="))
    assert "column 'illness' has a type in the manifest that is not known." in str(verify(release))


def test_a_column_that_changed_its_type_is_measured_in_the_new_one(release):
    tamper(release, table(cost=[str(cost) for cost in COST]))
    # Texts that spell numbers are ordered by them, when an order is asked for.
    assert verify(release).holds
    tamper(release, table(cost=["Kwisatz"] * 8))
    [problem] = verify(release).problems
    assert "column 'cost' is text, and 1 of its 1 distinct values are no numbers" in problem
    assert "Kwisatz" not in problem


def test_the_files_are_read_in_place_of_pandas_metadata(release):
    """What a writer notes about pandas makes no difference to what is counted."""
    frame = table().to_pandas()
    whole = pa.Table.from_pandas(frame.assign(illness=frame["illness"].astype("category")))
    tamper(release, whole.select(["zip", "illness", "cost"]))
    assert pq.read_schema(release / "data/part-0.parquet").pandas_metadata is not None
    assert verify(release).holds
