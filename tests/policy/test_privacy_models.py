"""A policy names any combination of privacy models, and every contradiction gets its sentence."""

from __future__ import annotations

import json

import pytest

from dask_anon.errors import PolicyError
from dask_anon.policy import MODELS, Policy

ROWS = [["flu", "lungs", "*"], ["gout", "joints", "*"]]
COLUMNS = {
    "name": "identifier",
    "age": "quasi-identifier",
    "illness": {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "rows": ROWS}},
    "income": "sensitive",
    "study": "sensitive",
    "weight": "insensitive",
}
EACH = {
    "k-anonymity": {"k": 3},
    "alpha-k-anonymity": {"column": "illness", "alpha": 0.5, "k": 3},
    "k-map": {"k": 3, "weight": "weight"},
    "distinct-l-diversity": {"column": "illness", "l": 3},
    "entropy-l-diversity": {"column": "illness", "l": 2.5},
    "recursive-cl-diversity": {"column": "illness", "c": 2, "l": 3},
    "t-closeness": {"column": "illness", "t": "20%", "distance": "hierarchical"},
    "basic-beta-likeness": {"column": "illness", "beta": 1},
    "enhanced-beta-likeness": {"column": "illness", "beta": 1.5},
    "delta-disclosure": {"column": "illness", "delta": 2},
    "delta-presence": {"column": "study", "min": 0, "max": 0.5},
    "average-risk": {"max": 0.1},
    "strict-average-risk": {"average": 0.1, "highest": 0.2},
    "sample-uniqueness": {"max": 0.01},
    "population-uniqueness": {"max": 0.01, "sampling_fraction": 0.1, "estimator": "pitman"},
}


def asked(*models, **sections):
    return Policy(**{"columns": COLUMNS, "privacy": list(models), **sections})


def mistakes(*models, **sections) -> dict[str, str]:
    with pytest.raises(PolicyError) as caught:
        asked(*models, **sections)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_every_model_is_read_and_printed():
    policy = asked(*({"model": name, **keys} for name, keys in EACH.items()))
    assert [model.model for model in policy.privacy] == list(EACH) == list(MODELS)
    assert str(policy) == (
        "k-anonymity with k=3; alpha-k-anonymity of 'illness' with alpha=0.5, k=3; "
        "k-map with k=3, weight=weight; distinct-l-diversity of 'illness' with l=3; "
        "entropy-l-diversity of 'illness' with l=2.5; "
        "recursive-cl-diversity of 'illness' with c=2, l=3; "
        "t-closeness of 'illness' with t=0.2, distance=hierarchical; "
        "basic-beta-likeness of 'illness' with beta=1; "
        "enhanced-beta-likeness of 'illness' with beta=1.5; "
        "delta-disclosure of 'illness' with delta=2; "
        "delta-presence of 'study' with min=0, max=0.5; average-risk with max=0.1; "
        "strict-average-risk with average=0.1, highest=0.2, records_at_risk=0; "
        "sample-uniqueness with max=0.01; "
        "population-uniqueness with max=0.01, sampling_fraction=0.1, estimator=pitman "
        "over 'age' (mondrian, ties either; generalization, interval)"
    )
    assert policy.sensitive == ["illness", "income", "study"]


@pytest.mark.parametrize("name", EACH)
def test_every_model_survives_its_manifest(name):
    policy = asked({"model": name, **EACH[name]}, sensitive_nulls="value")
    section = json.loads(json.dumps(policy.to_manifest()))
    restored = Policy.from_manifest(section)
    assert restored.privacy == policy.privacy
    assert restored.sensitive_nulls == "value"
    assert restored.to_manifest() == policy.to_manifest()


def test_k_is_the_least_class_size_that_the_models_imply():
    sizes = {name: asked({"model": name, **keys}).k for name, keys in EACH.items()}
    assert sizes == {
        **dict.fromkeys(EACH, 1),
        "k-anonymity": 3,
        "alpha-k-anonymity": 3,
        "distinct-l-diversity": 3,
        "entropy-l-diversity": 3,
        "recursive-cl-diversity": 3,
        "average-risk": 10,
        "strict-average-risk": 10,
        "sample-uniqueness": 2,
        "population-uniqueness": 2,
    }
    assert asked({"model": "k-anonymity", "k": 2}, {"model": "average-risk", "max": 0.05}).k == 20


def test_defaults_are_as_documented():
    k_map = asked({"model": "k-map", "k": 3, "population": 100}).privacy[0]
    assert (k_map.alpha, k_map.estimator) == (0.01, "zero-truncated")
    estimate = {"model": "population-uniqueness", "max": 0, "sampling_fraction": 1}
    assert asked(estimate).privacy[0].estimator == "dankar"
    policy = asked({"model": "t-closeness", "column": "income", "t": 0})
    assert (policy.privacy[0].distance, policy.sensitive_nulls) == (None, "ignore")


WHOLE = "must be a whole number of at least 2, found "
ABOVE_0 = "must be a number above 0, found "


@pytest.mark.parametrize(
    "name, keys, path, message",
    [
        ("distinct-l-diversity", {"l": 1}, ".l", f"{WHOLE}1."),
        ("distinct-l-diversity", {"l": 2.5}, ".l", f"{WHOLE}a number with a decimal point."),
        ("recursive-cl-diversity", {"l": 1}, ".l", f"{WHOLE}1."),
        ("recursive-cl-diversity", {"c": 0}, ".c", f"{ABOVE_0}0."),
        ("entropy-l-diversity", {"l": 1}, ".l", "must be a number above 1, found 1."),
        ("alpha-k-anonymity", {"alpha": 0}, ".alpha", "above 0 and at most 1, found 0."),
        ("t-closeness", {"t": 1.2}, ".t", "must be a number at least 0 and at most 1, found 1.2."),
        ("t-closeness", {"t": True}, ".t", "at most 1, found true or false."),
        (
            "t-closeness",
            {"distance": "orderd"},
            ".distance",
            "Did you mean 'ordered'? Known: equal, ordered, numeric, hierarchical.",
        ),
        ("basic-beta-likeness", {"beta": -1}, ".beta", f"{ABOVE_0}-1."),
        ("enhanced-beta-likeness", {"beta": 0}, ".beta", f"{ABOVE_0}0."),
        ("delta-disclosure", {"delta": 0}, ".delta", f"{ABOVE_0}0."),
        ("delta-presence", {"min": 0.6}, "", "min (0.6) is above max (0.5). Exchange them."),
        ("delta-presence", {"max": 2}, ".max", "at least 0 and at most 1, found 2."),
        ("average-risk", {"max": 0}, ".max", "above 0 and at most 1, found 0."),
        ("strict-average-risk", {"records_at_risk": 1}, ".records_at_risk", "and below 1, found 1"),
        ("sample-uniqueness", {"max": 1}, ".max", "at least 0 and below 1, found 1."),
        ("population-uniqueness", {"sampling_fraction": 0}, ".sampling_fraction", "above 0 and at"),
        ("population-uniqueness", {"estimator": "x"}, ".estimator", "Known: dankar, zayatz, pitma"),
        ("k-map", {"weight": None}, "", "needs exactly one of weight and population, none was"),
        (
            "k-map",
            {"weight": None, "population": 2, "k": 3},
            ".k",
            "is 3, more than the 2 of population",
        ),
        ("k-map", {"population": 9}, "", "needs exactly one of weight and population, both were"),
        ("k-map", {"alpha": 0.1}, ".alpha", "belongs to population. Leave it out."),
        ("k-map", {"k": 1}, ".k", f"{WHOLE}1."),
        ("t-closeness", {"l": 2}, ".l", "unknown key. Known keys: model, column, t, distance."),
        ("t-closeness", {"column": 5}, ".column", "must be text, found a number."),
        ("t-closeness", {"column": "age"}, ".column", "column 'age' is a quasi-identifier: what o"),
        ("t-closeness", {"column": "name"}, ".column", "'name' is an identifier. Give it the role"),
        ("t-closeness", {"column": "weight"}, ".column", "'weight' is insensitive. Give it the ro"),
        (
            "t-closeness",
            {"column": "ilness"},
            ".column",
            "column 'ilness' has no role. Did you mean 'illness'?",
        ),
        ("t-closeness", {"column": "zzz"}, ".column", "column 'zzz' has no role. Give it one."),
        ("t-closeness", {"column": "income"}, ".distance", "'income' has no hierarchy to measure"),
        ("k-map", {"weight": "age"}, ".weight", "column 'age' is a quasi-identifier, and the rel"),
        ("k-map", {"weight": "name"}, ".weight", "column 'name' is an identifier, and the release"),
        ("k-map", {"weight": "wait"}, ".weight", "'wait' has no role. Did you mean 'weight'?"),
    ],
)
def test_a_mistake_in_a_model_is_a_sentence_at_its_path(name, keys, path, message):
    changed = {key: value for key, value in {**EACH[name], **keys}.items() if value is not None}
    found = mistakes({"model": "k-anonymity", "k": 2}, {"model": name, **changed})
    assert list(found) == [f"privacy[1]{path}"]
    assert message in found[f"privacy[1]{path}"]


def test_a_weight_may_be_any_column_that_is_released_unnamed():
    assert asked({"model": "k-map", "k": 3, "weight": "w"}, default_role="insensitive").k == 1
    assert asked({"model": "k-map", "k": 3, "weight": "income"}).k == 1


def test_two_models_that_limit_the_same_thing_are_one_too_many():
    l2, l3 = ({"model": "distinct-l-diversity", "column": "illness", "l": l} for l in (2, 3))
    found = mistakes({"model": "k-anonymity", "k": 2}, l2, l3)
    assert found == {
        "privacy[2]": "repeats privacy[1], distinct-l-diversity of 'illness'. Keep one."
    }
    assert mistakes(*[{"model": "average-risk", "max": 0.1}] * 2) == {
        "privacy[1]": "repeats privacy[0], average-risk. Keep one."
    }
    t = {"model": "t-closeness", "column": "illness", "t": 0.2}
    recursive = {"model": "recursive-cl-diversity", "column": "illness"}
    both = asked(
        {**l2, "column": "income"}, l3, t, {**t, "distance": "hierarchical"},
        {**recursive, "c": 3, "l": 2}, {**recursive, "c": 5, "l": 3},
    )  # fmt: skip
    assert len(both.privacy) == 6


def test_contradictions_come_together_with_all_other_mistakes():
    found = mistakes(
        {"model": "t-closeness", "column": "age", "t": 0.2},
        {"model": "distinct-l-diversity", "column": "illness", "l": 1},
        {"model": "t-closeness", "column": "other", "t": 0.2},
        {"model": "entropy-l-diversity", "column": "broken", "l": 2},
        columns={**COLUMNS, "broken": {"role": "sensitiv"}},
        seed=-1,
    )
    assert list(found) == [
        "columns.broken.role",
        "privacy[1].l",
        "seed",
        "privacy[0].column",
        "privacy[2].column",
    ]


# -- taxonomies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column, path, message",
    [
        ({"kind": "taxonomy"}, ".hierarchy", "needs exactly one of file and rows, none was found."),
        (
            {"kind": "taxonomy", "file": "x.csv", "rows": ROWS},
            ".hierarchy",
            "needs exactly one of file and rows, both were found.",
        ),
        ({"kind": "tree", "file": "x"}, ".hierarchy.kind", "'tree' is not known. Known: taxonomy."),
        ({"file": "x"}, ".hierarchy.kind", "is missing."),
        ("x.csv", ".hierarchy", "must be a mapping (keys: kind, file, rows), found text."),
        (
            {"kind": "taxonomy", "rows": [["1", 2]]},
            ".hierarchy.rows[0][1]",
            "must be text, found a number. Put it in quotes.",
        ),
    ],
)
def test_a_mistake_in_a_hierarchy_is_a_sentence_at_its_path(column, path, message):
    columns = {**COLUMNS, "illness": {"role": "sensitive", "hierarchy": column}}
    found = mistakes({"model": "k-anonymity", "k": 2}, columns=columns)
    assert found == {f"columns.illness{path}": message}


def test_a_hierarchy_is_for_sensitive_columns_so_far():
    columns = {"age": {"role": "quasi-identifier", "hierarchy": COLUMNS["illness"]["hierarchy"]}}
    found = mistakes({"model": "k-anonymity", "k": 2}, columns=columns)
    assert found["columns.age.hierarchy"].startswith("is for sensitive columns, this column is qua")


def of_file(path, *, distance="hierarchical"):
    column = {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "file": path}}
    t = {"model": "t-closeness", "column": "illness", "t": 0.2, "distance": distance}
    return asked(t, columns={**COLUMNS, "illness": column})


@pytest.mark.parametrize(
    "text, rows",
    [
        ("flu;lungs;*\ngout;joints;*\n", (("flu", "lungs", "*"), ("gout", "joints", "*"))),
        ("\ufeffflu,lungs,*\r\ngout,joints,*", (("flu", "lungs", "*"), ("gout", "joints", "*"))),
        ("flu\tlungs\n\ngout\tjoints\n", (("flu", "lungs"), ("gout", "joints"))),
        ('"a;b",x\nc,x\n', (("a;b", "x"), ("c", "x"))),
        ("a, b;x\nc;x\n", (("a, b", "x"), ("c", "x"))),
        ("a;b;c\nd;e\n", (("a", "b", "c"), ("d", "e"))),
        ("", ()),
    ],
)
def test_a_taxonomy_file_is_cut_where_every_row_can_be(tmp_path, text, rows):
    (tmp_path / "t.csv").write_text(text, newline="")
    assert of_file(tmp_path / "t.csv").taxonomy_of("illness") == rows


def test_a_taxonomy_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(
        PolicyError, match=r"illness.hierarchy.file: the taxonomy cannot be read: N"
    ):
        of_file(tmp_path / "none.csv").taxonomy_of("illness")
    (tmp_path / "t.csv").write_bytes(b"flu;lungs\n\xff;lungs\n")
    with pytest.raises(PolicyError, match="line 2 is not UTF-8"):
        of_file(tmp_path / "t.csv").taxonomy_of("illness")
    with pytest.raises(PolicyError, match="income: has no hierarchy"):
        of_file(tmp_path / "t.csv").taxonomy_of("income")


def test_a_manifest_holds_the_taxonomy_that_is_measured_and_not_where_it_lies(tmp_path):
    (tmp_path / "t.csv").write_text("flu;lungs;*\ngout;joints;*\n")
    section = of_file(tmp_path / "t.csv").to_manifest()
    assert section["columns"]["illness"]["hierarchy"] == {"kind": "taxonomy", "rows": ROWS}
    assert "t.csv" not in json.dumps(section)
    assert Policy.from_manifest(section).taxonomy_of("illness") == tuple(map(tuple, ROWS))
    # What no model measures stays at home.
    unused = of_file(tmp_path / "none.csv", distance="equal").to_manifest()
    assert "hierarchy" not in unused["columns"]["illness"]


def test_a_taxonomy_file_is_relative_to_the_policy_file(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("flu;*\n")
    (tmp_path / "policy.yaml").write_text(
        "columns:\n"
        "  age: quasi-identifier\n"
        "  illness: {role: sensitive, hierarchy: {kind: taxonomy, file: t.csv}}\n"
        "privacy: [{model: k-anonymity, k: 2}]\n"
    )
    monkeypatch.chdir("/")
    policy = Policy.load(tmp_path / "policy.yaml")
    assert policy.taxonomy_of("illness") == (("flu", "*"),)


# -- options --------------------------------------------------------------------------------------


def test_l_and_t_ask_of_every_sensitive_column():
    policy = Policy.from_flags(
        quasi_identifiers=["age"], sensitive=["illness", "income"], k=5, l=3, t=0.2
    )
    assert [str(model) for model in policy.privacy] == [
        "k-anonymity with k=5",
        "distinct-l-diversity of 'illness' with l=3",
        "distinct-l-diversity of 'income' with l=3",
        "t-closeness of 'illness' with t=0.2",
        "t-closeness of 'income' with t=0.2",
    ]
    alone = Policy.from_flags(quasi_identifiers=["age"], sensitive=["illness"], l=3)
    assert [str(model) for model in alone.privacy] == ["distinct-l-diversity of 'illness' with l=3"]


def test_options_change_what_the_policy_asks_and_leave_the_rest():
    base = asked(
        {"model": "average-risk", "max": 0.1},
        {"model": "t-closeness", "column": "illness", "t": 0.5, "distance": "hierarchical"},
        {"model": "k-map", "k": 4, "population": 500},
    )
    policy = Policy.from_flags(base, k=7, t=0.3)
    assert [str(model) for model in policy.privacy] == [
        "k-anonymity with k=7",
        "average-risk with max=0.1",
        "t-closeness of 'illness' with t=0.3, distance=hierarchical",
        "k-map with k=4, population=500, alpha=0.01, estimator=zero-truncated",
        "t-closeness of 'income' with t=0.3",
        "t-closeness of 'study' with t=0.3",
    ]
    assert Policy.from_flags(base) == base


def test_a_mistake_in_an_option_is_said_once_with_its_name():
    with pytest.raises(PolicyError) as caught:
        Policy.from_flags(quasi_identifiers=["age"], sensitive=["illness", "income"], k=0, l=1, t=2)
    assert [str(problem) for problem in caught.value.problems] == [
        "-k: must be a whole number of at least 2, found 0.",
        "-l: must be a whole number of at least 2, found 1.",
        "-t: must be a number at least 0 and at most 1, found 2.",
    ]
    with pytest.raises(
        PolicyError, match=r"-l: needs a sensitive column. Name one with --sensitiv"
    ):
        Policy.from_flags(quasi_identifiers=["age"], k=2, l=2)
