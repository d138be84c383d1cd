"""Every figure of a table, before and after, the same from pandas, Dask and files."""

from __future__ import annotations

import json
import math

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dask_anon as anon
from dask_anon import metrics
from dask_anon.classes import ClassCounts, equivalence_classes
from dask_anon.errors import AnonError, DataError
from dask_anon.measures import measure, open_table
from dask_anon.measures._figures import RISK, UTILITY, Table
from dask_anon.metrics import diversity, entropy, risk
from dask_anon.policy import Policy

# Classes of 4 and 2: the example of the metrics' own documentation.
SIX = pd.DataFrame({"q": list("aaaabb"), "s": list("xxyzxy"), "n": [1, 2, 3, 10, 1, 5]})
ROLES = {"q": "quasi-identifier", "s": "sensitive", "n": "sensitive"}


def policy(*models, k=2, **sections) -> Policy:
    return Policy(
        **{"columns": ROLES, "privacy": [{"model": "k-anonymity", "k": k}, *models]} | sections
    )


def lazily(frame: pd.DataFrame, npartitions: int | None):
    return frame if npartitions is None else dd.from_pandas(frame, npartitions=npartitions)


def values(found, when="before") -> dict[str, float]:
    return {row.title: getattr(row, when) for row in found.rows}


GOLDEN = {
    "n_records": 6,
    "n_classes": 2,
    "smallest_class": 2,
    "largest_class": 4,
    "prosecutor_risk": 0.5,
    "average_prosecutor_risk": 2 / 6,
    "marketer_risk": 2 / 6,
    "records_at_risk > 0.2": 1.0,
    "records_at_risk > 0.33": 2 / 6,
    "records_at_risk > k=5": 1.0,
    "sample_uniqueness": 0.0,
    "average_class_size": 3.0,
    "average_equivalence_class_size": 1.5,
    "discernibility": 20,
    "row_entropy": 0.9182958341,
    "distinct_l_diversity of 's'": 2,
    "entropy_l_diversity of 's'": 2.0,
    "recursive_c of 's'": 1.0,
    "alpha_k_anonymity of 's'": 0.5,
    "t_closeness of 's'": 1 / 6,
    "basic_beta_likeness of 's'": 0.5,
    "delta_disclosure of 's'": math.inf,  # class b has no z
    "adversarial_knowledge_gain of 's'": 1 / 9,
    "adversarial_accuracy_gain of 's'": 0.0,
    "sensitive_entropy of 's'": 1.0114042647,
    "t_closeness of 'n'": 0.125,
    "basic_beta_likeness of 'n'": 2.0,
}


@pytest.mark.parametrize("npartitions", [None, 1, 2, 7])
def test_figures_of_six_records_are_those_of_independent_programs(npartitions):
    found = values(measure(lazily(SIX, npartitions), policy()))
    assert {name: found[name] for name in GOLDEN} == pytest.approx(GOLDEN)


def test_it_prints_as_a_table_of_before_and_after():
    released = SIX.assign(q="{a, b}")
    found = measure(SIX, policy(require={"average_class_size": {"max": 4}}), released=released)
    lines = str(found).splitlines()
    assert lines[0].split() == ["measure", "before", "after"]
    shown = {line.split("  ")[0]: line.split() for line in lines}
    assert shown["smallest_class"][1:] == ["2", "6", "records:", "the", "k", "that", "holds"]
    assert shown["delta_disclosure of 's'"][3:5] == ["infinite", "0"]
    assert shown["global_certainty_penalty"][1:3] == ["0", "1"]
    assert lines[-3:] == [
        "requirement         asked   found  holds",
        "k-anonymity         k >= 2  6      yes",
        "average_class_size  <= 4    6      NO",
    ]
    assert not found.holds


def test_a_single_table_has_one_column_of_numbers():
    found = measure(SIX, policy())
    assert str(found).splitlines()[0].split() == ["measure", "found"]
    assert "global_certainty_penalty" not in str(found)
    assert found.holds


def test_the_released_table_is_the_one_that_is_judged():
    one_each = SIX.assign(q=list("abcdef"))
    assert not measure(one_each, policy()).holds
    assert measure(one_each, policy(), released=SIX.assign(q="{a, b, c, d, e, f}")).holds
    assert not measure(SIX, policy(), released=one_each).holds


def test_json_is_plain():
    found = measure(SIX, policy(), released=SIX)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["holds"] is True
    assert told["requirements"][0]["name"] == "k-anonymity"
    rows = {(row["name"], row["column"]): row for row in told["measures"]}
    assert rows["delta_disclosure", "s"]["after"] == "infinite"
    assert rows["t_closeness", "n"]["words"] == (
        "the t that holds: ordered distance to the whole table"
    )
    assert set(told) == {"holds", "requirements", "measures", "notes"}


def test_a_figure_is_found_by_its_title():
    found = measure(SIX, policy())
    assert found["smallest_class"].before == 2
    assert found["t_closeness of 's'"].column == "s"
    with pytest.raises(AnonError, match="Did you mean 'smallest_class'"):
        found["smalest_class"]


def test_records_left_out_cost_the_whole_table_and_are_suppressed():
    found = measure(SIX, policy(), released=SIX[:4])
    assert found["discernibility"].after == 16 + 2 * 6
    assert found.evaluation.figures["n_suppressed"] == 2


@pytest.mark.parametrize("npartitions", [None, 2])
def test_records_that_show_nothing_are_told_apart(npartitions):
    """Two pairs, and one record of stars: nobody can link that one."""
    five = pd.DataFrame(
        {"age": ["<50"] * 4 + ["*"], "sex": ["f", "f", "m", "m", "*"], "s": list("xyxyx")}
    )
    asked = Policy(
        columns={"age": "quasi-identifier", "sex": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "k-anonymity", "k": 2}],
    )
    found = values(measure(lazily(five, npartitions), asked))
    assert found["n_suppressed_records"] == 1
    assert found["prosecutor_risk"] == 0.5
    assert found["average_prosecutor_risk"] == 0.5
    assert found["sample_uniqueness"] == 0
    assert found["n_classes"] == 3
    assert "n_suppressed_records" not in values(measure(five[:4], asked))


def test_a_known_population_adds_the_journalist_and_population_uniques():
    asked = policy({"model": "k-map", "k": 4, "population": 60})
    found = values(measure(SIX, asked))
    assert found["journalist_risk"] == pytest.approx(0.5 * 6 / 60)
    assert found["population_uniqueness"] == 0
    uniqueness = {"model": "population-uniqueness", "max": 0.5, "sampling_fraction": 0.2}
    assert values(measure(SIX, policy(uniqueness)))["journalist_risk"] == pytest.approx(0.1)
    assert "journalist_risk" not in values(measure(SIX, policy()))


def test_the_c_and_the_distance_are_those_of_the_policy():
    rows = [["x", "low", "*"], ["y", "low", "*"], ["z", "high", "*"]]
    tree = {"role": "sensitive", "hierarchy": {"kind": "taxonomy", "rows": rows}}
    asked = policy(
        {"model": "recursive-cl-diversity", "column": "s", "c": 5, "l": 3},
        {"model": "t-closeness", "column": "s", "t": 0.9, "distance": "hierarchical"},
        columns=ROLES | {"s": tree},
    )
    found = measure(SIX, asked)
    assert "for l = 3" in found["recursive_c of 's'"].words
    assert found["recursive_c of 's'"].before == math.inf  # class b has two values
    assert "hierarchical distance" in found["t_closeness of 's'"].words
    (row,) = (r for r in found.evaluation.rows if r.name == "t-closeness of 's' (hierarchical)")
    assert found["t_closeness of 's'"].before == pytest.approx(row.found)


def test_the_figures_and_the_requirements_agree():
    asked = policy(
        {"model": "distinct-l-diversity", "column": "s", "l": 2},
        {"model": "t-closeness", "column": "n", "t": 0.5},
        {"model": "basic-beta-likeness", "column": "n", "beta": 1},
        {"model": "alpha-k-anonymity", "column": "s", "alpha": 0.5, "k": 2},
    )
    found = measure(SIX, asked)
    judged = {row.name: row.found for row in found.evaluation.rows}
    assert judged["distinct-l-diversity of 's'"] == found["distinct_l_diversity of 's'"].before
    assert judged["t-closeness of 'n' (ordered)"] == found["t_closeness of 'n'"].before
    assert judged["basic-beta-likeness of 'n'"] == found["basic_beta_likeness of 'n'"].before
    assert judged["alpha-k-anonymity of 's'"] == found["alpha_k_anonymity of 's'"].before


def test_missing_values_are_an_error_where_a_model_forbids_them():
    gaps = SIX.assign(s=["x", None, "y", "z", "x", "y"])
    diverse = {"model": "distinct-l-diversity", "column": "s", "l": 2}
    with pytest.raises(anon.PolicyError, match="'s' has 1 missing value"):
        measure(lazily(gaps, 2), policy(diverse, sensitive_nulls="error"))
    # No model looks at it, so nothing forbids them.
    assert measure(gaps, policy(sensitive_nulls="error")).holds


def test_labels_that_nobody_can_read_tell_no_loss_and_the_rest_all_the_same():
    original = pd.DataFrame({"age": [20, 30, 40, 50], "s": list("xyxy")})
    released = original.assign(age=["20-30", "20-30", "40-50", "40-50"])
    asked = Policy(
        columns={"age": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "k-anonymity", "k": 2}],
    )
    for n in (None, 2):
        found = measure(lazily(original, n), asked, released=lazily(released, n))
        assert found.holds
        assert found["smallest_class"].after == 2
        [note] = found.notes
        assert note.startswith("The information loss was not measured: ")
        assert "age" in note
        assert "4" in note
        assert "20-30" not in note
        assert str(found).splitlines()[-1] == note
    limit = {"require": {"global_certainty_penalty": {"max": 0.9}}}
    strict = Policy(**asked.model_dump() | limit)
    assert not measure(original, strict, released=released).holds


@pytest.mark.parametrize("npartitions", [None, 1])
def test_a_table_without_records_is_measured(npartitions):
    found = measure(lazily(SIX[:0], npartitions), policy())
    assert found.holds
    assert values(found)["n_records"] == 0
    assert values(found)["prosecutor_risk"] == 0


@pytest.mark.parametrize(
    "frame, column", [(SIX.drop(columns="s"), "s"), (SIX.rename(columns={"q": "r"}), "q")]
)
def test_a_column_that_is_not_there_gets_a_sentence(frame, column):
    with pytest.raises(DataError, match=f"'{column}' is not in the table"):
        measure(frame, policy())


def test_each_table_is_read_once_and_all_figures_share_it():
    read = []

    def part(i):
        read.append(i)
        return SIX.iloc[2 * i : 2 * i + 2]

    lazy = dd.from_map(part, range(3), meta=SIX.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        measure(lazy, policy({"model": "t-closeness", "column": "n", "t": 0.5}))
    assert sorted(read) == [0, 1, 2]


SIZES = st.dictionaries(st.integers(1, 30), st.integers(1, 4), max_size=6)


@given(SIZES)
@settings(max_examples=30, deadline=None)
def test_figures_of_class_sizes_are_those_of_the_metrics(sizes):
    table = Table(ClassCounts(sizes), n_hidden=0, n_left_out=0, k=3)
    found = {figure.name: figure.of(table) for figure in (*RISK, *UTILITY)}
    each = [size for size, n in sizes.items() for _ in range(n)]
    classes = pd.DataFrame({"size": pd.Series(each, dtype="int64")})
    expected = {
        "n_classes": metrics.n_classes(classes),
        "smallest_class": risk.smallest_class(classes),
        "prosecutor_risk": risk.prosecutor_risk(classes),
        "average_prosecutor_risk": risk.average_prosecutor_risk(classes),
        "marketer_risk": risk.marketer_risk(classes),
        "sample_uniqueness": risk.sample_uniqueness(classes),
        "average_class_size": metrics.average_class_size(classes),
        "average_equivalence_class_size": metrics.average_equivalence_class_size(classes, k=3),
        "discernibility": metrics.discernibility(classes),
        "row_entropy": entropy.row_entropy(classes),
    } | {
        f"records_at_risk > {word}": risk.records_at_risk(classes, threshold=threshold)
        for word, threshold in risk.THRESHOLDS.items()
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 2, 7]))
@settings(max_examples=10, deadline=None)
def test_pandas_and_dask_give_the_same(seed, n, npartitions):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "q": rng.choice(["a", "b", "c", None], n),
            "s": rng.choice(["x", "y", None], n),
            "n": rng.integers(0, 5, n),
        }
    )
    with dask.config.set(scheduler="synchronous"):
        lazy = measure(lazily(frame, npartitions), policy())
    assert values(lazy) == pytest.approx(values(measure(frame, policy())), nan_ok=True)
    classes = equivalence_classes(frame, ["q"], sensitive=["s"])
    assert values(lazy)["t_closeness of 's'"] == diversity.t_closeness(classes, column="s")


# -- files ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_measured_as_frames_are(folder):
    SIX.to_parquet("six.parquet", index=False)
    SIX.to_csv("six.csv", index=False)
    expected = values(measure(SIX, policy()))
    assert values(measure("six.parquet", policy())) == pytest.approx(expected)
    typed = policy(columns=ROLES | {"n": {"role": "sensitive", "type": "integer"}})
    assert values(measure(folder / "six.csv", typed)) == pytest.approx(expected)


def test_only_the_columns_that_are_measured_are_read(folder):
    SIX.assign(wide="x" * 100).to_parquet("six.parquet", index=False)
    table = open_table("six.parquet", policy())
    assert list(table.columns) == ["q", "s", "n"]
    assert table.dtypes["n"] == pd.ArrowDtype(pa.int64())
    assert table.compute()["q"].tolist() == list("aaaabb")


def test_a_csv_whose_cells_are_values_and_ranges_is_compared_as_text(folder):
    (folder / "t.csv").write_text('age,s\n20,x\n20,y\n"[30, 40]",x\n"[30, 40]",y\n')
    asked = Policy(
        columns={"age": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "k-anonymity", "k": 2}],
    )
    assert measure("t.csv", asked)["n_classes"].before == 2


def test_csv_is_read_as_the_policy_says(folder):
    (folder / "t.csv").write_bytes("age;s\n1;M\xfcller\n1;-\n-;x\n-;x\n".encode("latin-1"))
    asked = Policy(
        columns={"age": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "k-anonymity", "k": 2}],
        input={"path": "t.csv", "delimiter": ";", "encoding": "latin-1", "null_values": ["-"]},
    )
    found = values(measure("t.csv", asked))
    assert found["smallest_class"] == 2
    assert found["distinct_l_diversity of 's'"] == 1  # what is missing is no value


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_run_is_measured_before_and_after(folder, format):
    n = 300
    people = pa.table(
        {
            "age": pa.array([17 + (37 * i) % 70 for i in range(n)]),
            "zip": [f"{i % 7:05d}" for i in range(n)],
            "cost": pa.array([(13 * i) % 50 for i in range(n)]),
        }
    )
    pq.write_table(people, "people.parquet")
    asked = Policy(
        columns={"age": "quasi-identifier", "zip": "quasi-identifier", "cost": "sensitive"},
        privacy=[
            {"model": "k-anonymity", "k": 4},
            {"model": "t-closeness", "column": "cost", "t": 0.3},
        ],
        require={"global_certainty_penalty": {"max": 1}},
        input={"path": "people.parquet"},
        output={"path": "release", "format": format},
    )
    made = anon.run(asked)
    found = measure("people.parquet", asked, released="release")
    assert found.holds
    assert [(row.name, row.asked, row.holds) for row in found.evaluation.rows] == [
        (row.name, row.asked, row.holds) for row in made.evaluation.rows
    ]
    for mine, theirs in zip(found.evaluation.rows, made.evaluation.rows, strict=True):
        assert mine.found == pytest.approx(theirs.found)
    assert found["normalized_certainty_penalty of 'age'"].after == pytest.approx(
        made.evaluation.certainty["age"]
    )
    # Of a release in CSV, values have the types of the original.
    assert "ordered distance" in found["t_closeness of 'cost'"].words
    assert found["t_closeness of 'cost'"].after <= 0.3


def test_a_file_without_the_columns_has_a_nearest_name(folder):
    pa_csv.write_csv(pa.table({"q": [1], "s": [1], "nn": [2]}), "t.csv")
    with pytest.raises(DataError, match=r"'n' is not in the table.* Did you mean 'nn'\?"):
        measure("t.csv", policy())
    with pytest.raises(DataError, match="no file"):
        measure("none*.csv", policy())
