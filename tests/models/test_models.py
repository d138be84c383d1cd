"""Models know what every class must satisfy, and refuse what not even the whole table does."""

from __future__ import annotations

import math
import pickle

import numpy as np
import privacy
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.errors import PolicyError
from dask_anon.hierarchy import count_values
from dask_anon.kernels.measures import holds, value_of
from dask_anon.models import Models, check_models, columns_of, require_monotone, settled
from dask_anon.policy import MODELS, Policy

LAW = settings(max_examples=150, deadline=None)

TABLE = {
    "illness": ["flu", "flu", "flu", "angina", "angina", "gout", None, None],
    "income": [10, 20, 20, 30, 45, 45, 90, 90],
    "study": [True, False, False, False, True, True, False, None],
    "weight": [2.0, 1.5, 3.0, 1.0, 1.0, 0.5, 4.0, 1.0],
}
ROWS = [["flu", "lungs", "*"], ["angina", "heart", "*"], ["gout", "joints", "*"]]


def asked(*models, columns=None, **sections):
    roles = {
        "age": "quasi-identifier",
        "illness": {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "rows": ROWS}},
        "income": "sensitive",
        "study": "sensitive",
        "weight": "insensitive",
    }
    return Policy(columns={**roles, **(columns or {})}, privacy=list(models), **sections)


def counts_of(policy, table=TABLE):
    return {
        name: count_values(pa.array(table[name]), column=name, cap=99)
        for name in columns_of(policy)
    }


def models_of(*models, table=TABLE, **sections):
    policy = asked(*models, **sections)
    return Models.of(policy, counts_of(policy, table))


def problems(*models, table=TABLE, **sections) -> dict[str, str]:
    with pytest.raises(PolicyError) as caught:
        models_of(*models, table=table, **sections)
    return {problem.path: problem.message for problem in caught.value.problems}


def found(models, rows, table=TABLE):
    """The figure of every check for a class of these rows."""
    values = []
    for i, check in enumerate(models.checks):
        own = models.values[check.column]
        array = pa.array([table[own.column][r] for r in rows], own.type)
        codes = own.encode(array).astype(np.int64)
        codes, n = np.unique(codes[codes < models.n_codes[check.column]], return_counts=True)
        values.append(
            value_of(
                check.kind, check.parameter, len(rows), codes, n, 0, len(codes), i, models.facts
            )
        )
    return values


def class_holds(models, rows, table=TABLE):
    return all(
        holds(value, check.low, check.high)
        for value, check in zip(found(models, rows, table), models.checks, strict=True)
    )


L2 = {"model": "distinct-l-diversity", "column": "illness", "l": 2}
T = {"model": "t-closeness", "column": "income", "t": 0.3}
HIERARCHICAL = {"model": "t-closeness", "column": "illness", "t": 0.3, "distance": "hierarchical"}
K_MAP = {"model": "k-map", "k": 3, "weight": "weight"}
IN_STUDY = {"model": "delta-presence", "column": "study", "min": 0.1, "max": 0.6}


# -- what is known --------------------------------------------------------------------------------


def test_only_the_columns_that_a_model_needs_are_counted_in_the_order_of_the_policy():
    policy = asked({"model": "k-anonymity", "k": 2}, K_MAP, L2, IN_STUDY)
    assert columns_of(policy) == ("illness", "study", "weight")
    assert columns_of(asked({"model": "k-anonymity", "k": 2})) == ()


def test_checks_are_arrays_for_compiled_code():
    models = models_of({"model": "k-anonymity", "k": 3}, T, L2, IN_STUDY, K_MAP)
    assert models.columns == ("illness", "income", "study", "weight")
    assert [check.name for check in models.checks] == [
        "t-closeness", "distinct-l-diversity", "delta-presence", "k-map",
    ]  # fmt: skip
    assert [check.asked for check in models.checks] == [
        "t <= 0.3", "l >= 2", "0.1 <= delta <= 0.6", "k >= 3 in the population",
    ]  # fmt: skip
    assert [check.worst for check in models.checks] == ["highest", "lowest", "both", "lowest"]
    assert models.column.tolist() == [1, 0, 2, 3]
    assert models.low.tolist() == [-math.inf, 2, 0.1, 3]
    assert models.high.tolist() == [0.3, math.inf, 0.6, math.inf]
    assert models.min_size == 3
    assert models.n_codes.tolist() == [3, 5, 2, 6]
    for array, kind in ((models.kind, np.int64), (models.parameter, np.float64)):
        assert array.dtype == kind
    assert found(models, range(8)) == [0, 3, pytest.approx(3 / 7), 14]


def test_models_travel_to_the_tasks():
    models = models_of(T, HIERARCHICAL)
    again = pickle.loads(pickle.dumps(models))
    assert found(again, [0, 3, 4]) == found(models, [0, 3, 4])
    assert (again.min_size, again.checks) == (models.min_size, models.checks)


@pytest.mark.parametrize(
    "model, size",
    [
        ({"model": "k-anonymity", "k": 4}, 4),
        ({"model": "alpha-k-anonymity", "column": "illness", "alpha": 0.9, "k": 3}, 3),
        ({"model": "entropy-l-diversity", "column": "illness", "l": 1.5}, 2),
        ({"model": "recursive-cl-diversity", "column": "illness", "c": 9, "l": 3}, 3),
        (T, 1),
        (K_MAP, 1),
        ({"model": "average-risk", "max": 0.3}, 4),
        ({"model": "average-risk", "max": 0.2}, 5),
        ({"model": "strict-average-risk", "average": 0.5, "highest": 0.3}, 4),
        ({"model": "sample-uniqueness", "max": 0.1}, 2),
        ({"model": "population-uniqueness", "max": 0.1, "sampling_fraction": 0.1}, 2),
        ({"model": "k-map", "k": 5, "population": 800}, 3),
        ({"model": "k-map", "k": 5, "population": 8}, 5),
    ],
)
def test_the_least_class_size_follows_from_the_models(model, size):
    policy = asked(model)
    assert Models.of(policy, counts_of(policy), n_records=8).min_size == size


def test_k_map_asks_for_k_records_where_nobody_knows_how_many_there_are():
    policy = asked({"model": "k-map", "k": 5, "population": 800})
    assert Models.of(policy, {}).min_size == 5
    assert Models.of(policy, {}, n_records=8).min_size == 3


def test_without_a_table_there_is_nothing_to_check():
    policy = asked({"model": "k-anonymity", "k": 2}, L2)
    models = Models.of(policy, {})
    assert (models.min_size, models.columns, models.checks) == (2, (), ())
    counts = {"illness": count_values(pa.array([], pa.string()), column="illness", cap=9)}
    assert Models.of(policy, counts).checks[0].name == "distinct-l-diversity"


# -- missing values -------------------------------------------------------------------------------


def test_missing_values_add_nothing_or_are_a_value_or_an_error():
    rows = [0, 6, 7]  # flu and two missing
    assert found(models_of(L2), rows) == [1]
    as_value = models_of(L2, sensitive_nulls="value")
    assert found(as_value, rows) == [2]
    assert as_value.checks[0].counts_missing
    assert as_value.n_codes.tolist() == [4]


def test_every_column_with_missing_values_is_named():
    with pytest.raises(PolicyError) as caught:
        models_of(L2, T, IN_STUDY, sensitive_nulls="error")
    texts = [str(problem) for problem in caught.value.problems]
    assert [text.split(".")[0] for text in texts] == [
        "sensitive_nulls: column 'illness' has 2 missing values",
        "sensitive_nulls: column 'study' has 1 missing value",
    ]


def test_a_missing_value_lies_as_far_from_all_others_as_can_be():
    table = {"illness": ["flu", None]}
    models = models_of(HIERARCHICAL, table=table, sensitive_nulls="value")
    assert found(models, [0], table) == [0.5]


def test_a_missing_value_has_no_place_on_a_line():
    table = {"income": [1, 2, None]}
    told = problems(T, table=table, sensitive_nulls="value")
    assert list(told) == ["privacy[0]"]
    assert (
        "column 'income' has 1 missing value, which has no place in an order"
        in (told["privacy[0]"])
    )


# -- distances ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, distance",
    [
        (pa.array([1, 2]), "ordered"),
        (pa.array([1.5, 2]), "ordered"),
        (pa.array([0, 1], pa.date32()), "ordered"),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"]), ordered=True),
            "ordered",
        ),
        (pa.array(["a", "b"]), "equal"),
        (pa.array(["a", "b"]).dictionary_encode(), "equal"),
        (pa.array([True, False]), "equal"),
    ],
)
def test_the_distance_follows_from_the_type_and_can_be_written_out(values, distance):
    policy = asked(T)
    counts = {"income": count_values(values, column="income", cap=9)}
    assert Models.of(policy, counts).checks[0].distance == distance
    assert settled(policy, counts).privacy[0].distance == distance
    explicit = asked({**T, "distance": "equal"})
    assert settled(explicit, counts) == explicit


def test_ordered_and_numeric_distances_of_texts_are_those_of_their_numbers():
    text = {"income": [str(v) for v in TABLE["income"]]}
    for distance in ("ordered", "numeric"):
        of_text = models_of({**T, "distance": distance}, table=text)
        of_numbers = models_of({**T, "distance": distance})
        for rows in ([0, 1, 2], [3, 7], [7]):
            assert found(of_text, rows, text) == found(of_numbers, rows)
    told = problems({**T, "distance": "ordered"}, table={"income": ["1", "much"]})
    assert (
        "column 'income' is text, and 1 of its 2 distinct values are no numbers"
        in (told["privacy[0]"])
    )
    assert "much" not in told["privacy[0]"]


def test_a_hierarchy_comes_from_a_file_and_must_have_every_value(tmp_path):
    (tmp_path / "illness.csv").write_text("flu;lungs;*\nangina;heart;*\n")
    hierarchy = {"kind": "taxonomy", "file": tmp_path / "illness.csv"}
    columns = {"illness": {"role": "sensitive", "hierarchy": hierarchy}}
    told = problems(HIERARCHICAL, columns=columns)
    assert (
        "has 1 of 3 distinct values, in 1 records, that its taxonomy does not have"
        in (told["privacy[0]"])
    )
    (tmp_path / "illness.csv").write_text("flu;chest\nangina;chest\ngout;joints\n")
    models = models_of(HIERARCHICAL, columns=columns)
    # 3/6 flu, 2/6 angina, 1/6 gout; of all flu, 2/6 move to their neighbour, 1/6 across.
    assert found(models, [0, 1, 2]) == [pytest.approx(2 / 6 * 1 / 2 + 1 / 6)]


# -- what the whole table cannot hold ------------------------------------------------------------


@pytest.mark.parametrize(
    "model, path, message",
    [
        (
            {**L2, "l": 4},
            "privacy[0].l",
            "column 'illness' has only 3 distinct values (missing ones do not count), "
            "l=4 cannot hold. Lower l to at most 3.",
        ),
        (
            {"model": "entropy-l-diversity", "column": "illness", "l": 3},
            "privacy[0].l",
            "column 'illness' is as diverse as 2.749 equally frequent values in the whole table",
        ),
        (
            {"model": "recursive-cl-diversity", "column": "illness", "c": 9, "l": 4},
            "privacy[0].l",
            "has only 3 distinct values (missing ones do not count), l=4 cannot hold.",
        ),
        (
            {"model": "recursive-cl-diversity", "column": "illness", "c": 1, "l": 2},
            "privacy[0].c",
            "the most frequent value of column 'illness' has 1 times the records of the rarer",
        ),
        (
            {"model": "alpha-k-anonymity", "column": "illness", "alpha": 0.4, "k": 2},
            "privacy[0].alpha",
            "one value of column 'illness' makes up 50.00% of the whole table (missing ones do no",
        ),
        (
            {**IN_STUDY, "min": 0.5},
            "privacy[0]",
            "42.86% of the whole table is true in column 'study', outside 0.5 to 0.6.",
        ),
        (
            {**K_MAP, "k": 15},
            "privacy[0].k",
            "the weights of the whole table in column 'weight' sum to 14, k=15 cannot hold.",
        ),
    ],
)
def test_what_the_whole_table_cannot_hold_is_refused_before_work_starts(model, path, message):
    told = problems(model)
    assert list(told) == [path]
    assert message in told[path]
    policy = asked(model)
    models = Models.of(policy, counts_of(policy), refuse=False)
    assert not class_holds(models, range(8))


def test_what_compares_with_the_table_always_holds_for_the_table():
    closest = [
        {**T, "t": 0},
        {**T, "t": 0, "distance": "numeric"},
        {**HIERARCHICAL, "t": 0},
        {"model": "basic-beta-likeness", "column": "illness", "beta": 1e-9},
        {"model": "enhanced-beta-likeness", "column": "illness", "beta": 1e-9},
        {"model": "delta-disclosure", "column": "illness", "delta": 1e-9},
    ]
    assert class_holds(models_of(*closest), range(8))


def test_refusals_come_all_at_once():
    told = problems({**L2, "l": 4}, T, {**K_MAP, "k": 15}, sensitive_nulls="error")
    assert list(told) == ["sensitive_nulls", "privacy[0].l", "privacy[2].k"]


def test_a_population_is_no_smaller_than_its_sample():
    policy = asked({"model": "k-map", "k": 5, "population": 7})
    with pytest.raises(PolicyError, match=r"population: is 7, but the table has 8 records\."):
        Models.of(policy, {}, n_records=8)
    policy = asked({"model": "k-map", "k": 9, "population": 9})
    with pytest.raises(PolicyError, match="k=9 cannot hold: it takes classes of 9, and the table"):
        Models.of(policy, {}, n_records=8)


@pytest.mark.parametrize(
    "column, values, model, message",
    [
        ("study", ["yes"], IN_STUDY, "is of type string, and delta-presence needs true or false"),
        ("weight", ["1"], K_MAP, "column 'weight' is text, and numbers are needed."),
        ("weight", [1, -1, -1], K_MAP, "has 2 weights below 0 or infinite."),
        ("weight", [math.inf], K_MAP, "has 1 weight below 0 or infinite."),
        ("income", [1.0, math.inf], {**T, "distance": "numeric"}, "has 1 infinite value"),
    ],
)
def test_a_column_that_cannot_be_asked_says_why(column, values, model, message):
    told = problems(model, table={column: values})
    assert message in told["privacy[0]"]


# -- before a record is read ----------------------------------------------------------------------


def test_types_and_taxonomies_are_refused_before_a_record_is_read(tmp_path):
    types = {"study": pa.string(), "weight": pa.string(), "income": pa.bool_()}
    hierarchy = {"kind": "taxonomy", "file": tmp_path / "none.csv"}
    columns = {"illness": {"role": "sensitive", "hierarchy": hierarchy}}
    policy = asked(IN_STUDY, K_MAP, {**T, "distance": "numeric"}, HIERARCHICAL, columns=columns)
    with pytest.raises(PolicyError) as caught:
        check_models(policy, types)
    assert [str(problem).split(".")[0] for problem in caught.value.problems] == [
        "privacy[0]: column 'study' is of type string, and delta-presence needs true or false: who "
        "is in the study",
        "privacy[1]: column 'weight' is text, and numbers are needed",
        "privacy[2]: column 'income' is true/false, and its values have no differences",
        "columns",
    ]
    good = {"study": pa.bool_(), "weight": pa.int64(), "income": pa.string()}
    check_models(asked(IN_STUDY, K_MAP, {**T, "distance": "ordered"}, HIERARCHICAL), good)
    check_models(asked(L2, {"model": "k-anonymity", "k": 2}), {})


# -- merging classes ------------------------------------------------------------------------------

SHARE = st.integers(1, 20).map(lambda i: i / 20)
ANY = {
    "alpha-k-anonymity": {"column": st.just("illness"), "alpha": SHARE, "k": st.just(2)},
    "k-map": {"weight": st.just("weight"), "k": st.integers(2, 9)},
    "distinct-l-diversity": {"column": st.just("illness"), "l": st.integers(2, 3)},
    "entropy-l-diversity": {"column": st.just("illness"), "l": SHARE.map(lambda x: 1 + 2 * x)},
    "recursive-cl-diversity": {
        "column": st.just("illness"), "c": SHARE.map(lambda x: 4 * x), "l": st.integers(2, 3),
    },
    "t-closeness": {
        "column": st.just("income"), "t": SHARE,
        "distance": st.sampled_from(["equal", "ordered", "numeric"]),
    },
    "basic-beta-likeness": {"column": st.just("illness"), "beta": SHARE.map(lambda x: 3 * x)},
    "enhanced-beta-likeness": {"column": st.just("illness"), "beta": SHARE.map(lambda x: 3 * x)},
    "delta-disclosure": {"column": st.just("illness"), "delta": SHARE.map(lambda x: 3 * x)},
    "delta-presence": {"column": st.just("study"), "min": st.just(0.2), "max": SHARE},
}  # fmt: skip


@st.composite
def models(draw):
    name = draw(st.sampled_from([*ANY, "hierarchical"]))
    if name == "hierarchical":
        return {**HIERARCHICAL, "t": draw(SHARE)}
    keys = {key: draw(value) for key, value in ANY[name].items()}
    if name == "delta-presence":
        keys["max"] = max(keys["min"], keys["max"])
    return {"model": name} | keys


@st.composite
def tables(draw):
    n = draw(st.integers(4, 14))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    return {
        "illness": column(["flu", "angina", "gout", None]),
        "income": column([1, 2, 5, 9, None]),
        "study": column([True, False, None]),
        "weight": column([0.5, 1.0, 2.0, None]),
    }


@LAW
@given(
    model=models(),
    table=tables(),
    nulls=st.sampled_from(["ignore", "value"]),
    cut=st.integers(1, 13),
)
def test_a_class_merged_of_two_that_hold_holds(model, table, nulls, cut):
    """All models of a class say that they are monotone; here they are."""
    assert MODELS[model["model"]].monotone
    on_a_line = model.get("distance") in ("ordered", "numeric")
    policy = asked(model, sensitive_nulls="ignore" if on_a_line else nulls)
    counts = {
        name: count_values(pa.array(table[name]), column=name, cap=99)
        for name in columns_of(policy)
    }
    if all(len(one.values) == 0 for one in counts.values()):
        return
    known = Models.of(policy, counts, refuse=False)
    n = len(table["illness"])
    one, other = range(0, n, 2)[: cut % n + 1], range(1, n, 2)[: cut % n + 1]
    if class_holds(known, one, table) and class_holds(known, other, table):
        assert class_holds(known, [*one, *other], table)


@LAW
@given(model=models(), table=tables(), data=st.data())
def test_a_class_holds_exactly_if_its_definition_says_so(model, table, data):
    if model["model"] == "k-map" or model.get("distance") == "hierarchical":
        return
    policy = asked(model)
    counts = counts_of(policy, table)
    if any(len(one.values) == 0 for one in counts.values()):
        return
    known = Models.of(policy, counts, refuse=False)
    n = len(table["illness"])
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=2, unique=True))
    assert class_holds(known, rows, table) == privacy.keeps(model, table)(rows)


def test_only_an_estimate_may_cease_to_hold_where_classes_merge():
    assert [name for name, kind in MODELS.items() if not kind.monotone] == ["population-uniqueness"]
    assert all(kind.because for kind in MODELS.values())
    require_monotone(asked(L2, T), "datafly")
    estimate = {"model": "population-uniqueness", "max": 0.1, "sampling_fraction": 0.1}
    with pytest.raises(PolicyError, match=r"privacy\[1\]: population-uniqueness may cease to hold"):
        require_monotone(asked(L2, estimate), "datafly")
