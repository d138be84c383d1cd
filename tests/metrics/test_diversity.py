"""Figures of sensitive values: worked examples, golden values, plain references, Dask as pandas."""

from __future__ import annotations

import doctest
import importlib
import math
from collections import Counter
from fractions import Fraction

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dask_anon.classes import equivalence_classes
from dask_anon.errors import AnonError, DataError, PolicyError
from dask_anon.metrics import diversity
from dask_anon.metrics.diversity import (
    adversarial_accuracy_gain,
    adversarial_knowledge_gain,
    alpha_k_anonymity,
    basic_beta_likeness,
    classification_metric,
    delta_disclosure,
    delta_presence,
    distinct_l_diversity,
    diversity_figures,
    enhanced_beta_likeness,
    entropy_l_diversity,
    k_map,
    recursive_c,
    recursive_cl_diversity,
    sensitive_entropy,
    t_closeness,
    violating_classes,
)
from dask_anon.metrics.risk import smallest_class
from dask_anon.metrics.utility import discernibility
from dask_anon.policy import Policy

# Classes a, a, a, a, b, b.
G1 = pd.DataFrame({"q": list("aaaabb"), "s": list("xxyzxy"), "n": [1, 2, 3, 10, 1, 5]})
JS = {"distance": "jensen-shannon"}

GOLDEN = [
    (distinct_l_diversity, "s", {}, 2),
    (distinct_l_diversity, "n", {}, 2),
    (entropy_l_diversity, "s", {}, 2.0),  # not floored: b is 2, a is 2.828
    (recursive_cl_diversity, "s", {"c": 2}, 2),
    (recursive_c, "s", {"l": 2}, 1.0),  # a: 2 / (1 + 1): r1 is the commonest
    (recursive_c, "s", {"l": 3}, math.inf),
    (alpha_k_anonymity, "s", {}, 0.5),
    (alpha_k_anonymity, "n", {}, 0.5),
    (t_closeness, "s", {}, 1 / 6),
    (t_closeness, "n", {}, 0.125),
    (t_closeness, "n", {"distance": "numeric"}, 4 / 27),
    (t_closeness, "s", JS, 0.0661520624),
    (t_closeness, "n", JS, 0.2252806044),
    (basic_beta_likeness, "s", {}, 0.5),
    (enhanced_beta_likeness, "s", {}, 0.5),
    (basic_beta_likeness, "n", {}, 2.0),
    (enhanced_beta_likeness, "n", {}, math.inf),  # 2 > -ln(1/6): no β holds
    (delta_disclosure, "s", {}, math.inf),  # class b has no z
    (delta_disclosure, "s", {"absent_values": "ignore"}, 0.4054651081),
    (delta_disclosure, "n", {"absent_values": "ignore"}, 1.0986122887),
    (adversarial_knowledge_gain, "s", {}, 0.1111111111),
    (adversarial_accuracy_gain, "s", {}, 0.0),
    (sensitive_entropy, "s", {}, 1.0114042647),
    (classification_metric, "s", {}, 1 / 3),
    (classification_metric, "s", {"ties": "one"}, 0.5),
    (classification_metric, "s", {"n_suppressed": 2}, 0.5),
]


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("metric, column, options, value", GOLDEN)
def test_the_golden_table_has_its_figures(metric, column, options, value):
    classes = equivalence_classes(G1, ["q"], sensitive=["s", "n"])
    found = metric(classes, column=column, **options)
    assert found == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert type(found) in (int, float)
    assert metric(G1, column=column, quasi_identifiers=["q"], **options) == found


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_gives_the_same_lazily(npartitions):
    lazy = dd.from_pandas(G1, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        classes = equivalence_classes(lazy, ["q"], sensitive=["s", "n"])
        found = [metric(classes, column=column, **options) for metric, column, options, _ in GOLDEN]
    assert dask.compute(*found) == pytest.approx([v for *_, v in GOLDEN], rel=1e-9, abs=1e-12)
    assert (found[0] + found[2]).compute() == 4.0
    again = t_closeness(lazy, column="s", quasi_identifiers=["q"])
    assert again.compute() == pytest.approx(1 / 6)


def test_no_records_give_nothing_away():
    empty = equivalence_classes(G1[:0], ["q"], sensitive=["s", "n"])
    wanted = [(m, c, {**options, "n_suppressed": 0}) for m, c, options, _ in GOLDEN]
    for metric, _, options in wanted:
        if metric is not classification_metric:
            del options["n_suppressed"]
    assert [metric(empty, column=column, **options) for metric, column, options in wanted] == (
        [0] * len(wanted)
    )
    lazy = dd.from_pandas(empty, npartitions=1)
    found = [metric(lazy, column=column, **options) for metric, column, options in wanted]
    assert dask.compute(*found) == tuple([0] * len(wanted))
    assert classification_metric(empty, column="s", n_suppressed=2) == 1.0


def test_every_example_of_the_functions_is_what_it_prints():
    names = {"pd": pd, "np": np, "math": math}
    modules = ["diversity", "_l_diversity", "_closeness", "_gain", "_violations"]
    for name in modules:
        module = importlib.import_module(f"dask_anon.metrics.{name}")
        results = doctest.testmod(module, extraglobs=names)
        assert results.attempted > 2
        assert results.failed == 0, name


# ------------------------------------------------------------------ published examples


def test_l_diversity_of_sdcmicro_s_classes():
    # {a,a,a,b,b,c} and {a,b,c,d}, measured with sdcMicro 5.8.1.
    first = {"classes": pd.DataFrame({"q": "k", "s": list("aaabbc")}), "quasi_identifiers": ["q"]}
    assert distinct_l_diversity(**first, column="s") == 3
    assert entropy_l_diversity(**first, column="s") == pytest.approx(2.7494592740, rel=1e-10)
    assert recursive_cl_diversity(**first, column="s", c=2) == 2
    assert recursive_cl_diversity(**first, column="s", c=1) == 1
    second = {"classes": pd.DataFrame({"q": "k", "s": list("abcd")}), "quasi_identifiers": ["q"]}
    assert distinct_l_diversity(**second, column="s") == 4
    assert entropy_l_diversity(**second, column="s") == pytest.approx(4.0, rel=1e-14)
    assert recursive_cl_diversity(**second, column="s", c=2) == 4
    assert recursive_cl_diversity(**second, column="s", c=1) == 3


# Li, Li and Venkatasubramanian (ICDE 2007), table 3: a 3-diverse version of nine salaries.
SALARIES = pd.DataFrame(
    {
        "class": list("aaabbbccc"),
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [
            "gastric ulcer", "gastritis", "stomach cancer",
            "gastritis", "flu", "bronchitis",
            "bronchitis", "pneumonia", "stomach cancer",
        ],
    }
)  # fmt: skip
# The hierarchy of figure 1: what a disease belongs to.
DISEASES = [
    ["flu", "respiratory infection", "respiratory system", "*"],
    ["pneumonia", "respiratory infection", "respiratory system", "*"],
    ["bronchitis", "respiratory infection", "respiratory system", "*"],
    ["gastric ulcer", "stomach disease", "digestive system", "*"],
    ["stomach cancer", "stomach disease", "digestive system", "*"],
    ["gastritis", "stomach disease", "digestive system", "*"],
]


def test_t_closeness_of_the_paper_s_salaries():
    # The paper: D[P1, Q] = 0.375 and D[P2, Q] = 0.167 for {3k, 4k, 5k} and {6k, 8k, 11k}.
    salaries = SALARIES["salary"]
    for own, distance in ([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6):
        part = pd.DataFrame({"q": ["own" if s in own else "rest" for s in salaries]})
        classes = equivalence_classes(part.assign(s=salaries), ["q"], sensitive=["s"])
        # The rest mirrors it: its distance is half as large, so the larger one is the class's own.
        assert t_closeness(classes, column="s") == pytest.approx(distance, rel=1e-12)


def test_t_closeness_in_the_paper_s_hierarchy():
    found = t_closeness(
        SALARIES,
        column="disease",
        distance="hierarchical",
        hierarchy=DISEASES,
        quasi_identifiers=["class"],
    )
    # Class a has 3/9 of the stomach's 5/9 beyond its share: 4/9 move up to the root, at height 1;
    # within the digestive system ulcer, gastritis and cancer lie 1/3, 1/3, 1/3 as against
    # 1/9, 2/9, 2/9 of the table: nothing of what is there is lacking.
    assert found == pytest.approx(4 / 9, rel=1e-12)
    rows = pd.DataFrame(DISEASES)
    lazy = dd.from_pandas(SALARIES, npartitions=3)
    again = t_closeness(
        lazy,
        column="disease",
        distance="hierarchical",
        hierarchy=rows,
        quasi_identifiers=["class"],
    )
    assert again.compute() == found


def test_distances_of_two_samples():
    # Of [1, 2, 3] from [1, 2, 3, 1, 10]: (1/15 + 4/15 + 7 * 1/5) / 9.
    table = pd.DataFrame({"q": list("aaabb"), "n": [1, 2, 3, 1, 10]})
    found = t_closeness(table, column="n", distance="numeric", quasi_identifiers=["q"])
    p, q = [2, 1, 1, 1], [1, 0, 0, 1]
    moved = np.cumsum([Fraction(a, 5) - Fraction(b, 2) for a, b in zip(p, q, strict=True)])
    steps = [1, 1, 7]
    expected = sum(abs(m) * step for m, step in zip(moved, steps, strict=False)) / 9
    assert found == pytest.approx(float(expected), rel=1e-12)


def test_adult_has_the_figures_that_pycanon_1_3_6_gives_it(root):
    # By sex and age in steps of 10 years. Its recursive c and its entropy l are not these: it
    # divides the rarest value's count, and cuts 4.745 to 4.
    adult = pd.read_csv(root / "dask_anon/samples/adult.csv", sep=";")
    adult["age"] //= 10
    classes = equivalence_classes(adult, ["sex", "age"], sensitive=["occupation"])
    found = diversity_figures(classes, column="occupation")
    assert smallest_class(classes) == 10
    assert found["distinct_l_diversity"] == 5
    assert found["alpha_k_anonymity"] == pytest.approx(0.368421052631579, rel=1e-12)
    assert found["basic_beta_likeness"] == pytest.approx(22.637931034, rel=1e-9)
    assert found["t_closeness"] == pytest.approx(0.519686943, rel=1e-8)
    assert found["entropy_l_diversity"] == pytest.approx(4.74510281, rel=1e-8)
    present = delta_disclosure(classes, column="occupation", absent_values="ignore")
    assert present == pytest.approx(3.5410314, rel=1e-7)


# ------------------------------------------------------------------ missing values


def test_a_missing_sensitive_value_adds_no_diversity():
    # q,dis: 1,flu / 1, / 1,flu / 2,flu / 2,hiv / 2,flu: who is in class 1 has flu, or nobody knows.
    table = pd.DataFrame(
        {"q": [1, 1, 1, 2, 2, 2], "dis": ["flu", None, "flu", "flu", "hiv", "flu"]}
    )
    asked = {"column": "dis", "quasi_identifiers": ["q"]}
    assert distinct_l_diversity(table, **asked) == 1
    assert entropy_l_diversity(table, **asked) == pytest.approx(1.0)
    assert alpha_k_anonymity(table, **asked) == 1.0
    assert distinct_l_diversity(table, sensitive_nulls="value", **asked) == 2
    assert alpha_k_anonymity(table, sensitive_nulls="value", **asked) == pytest.approx(2 / 3)
    with pytest.raises(DataError, match=r"'dis' has 1 missing value\. Fill"):
        distinct_l_diversity(table, sensitive_nulls="error", **asked)
    with pytest.raises(DataError, match="ignore, value or error"):
        distinct_l_diversity(table, sensitive_nulls="drop", **asked)


def test_a_missing_key_is_a_value_of_the_key():
    # 7 rows, two of three keys of the first three missing: classes of 3, 2 and 2 records.
    table = pd.DataFrame(
        {
            "sex": list("fffmmff"),
            "occ": [None, None, None, "teacher", "teacher", "nurse", "nurse"],
            "eth": ["o"] * 5 + ["maj"] * 2,
            "s": [1, 1, 0, 1, 0, 0, 1],
        }
    )
    classes = equivalence_classes(table, ["sex", "occ", "eth"], sensitive=["s"])
    assert classes["size"].tolist() == [3, 2, 2]
    assert distinct_l_diversity(classes, column="s") == 2


def test_rows_with_missing_keys_are_kept():
    # The two rows without a key are a class: k is 2, and no record is lost.
    table = pd.DataFrame({"q": [None, None, "z", "z"], "x": list("abcd")})
    classes = equivalence_classes(table, ["q"], sensitive=["x"])
    assert classes["size"].tolist() == [2, 2]
    assert smallest_class(classes) == 2
    golden = G1.assign(q=[*"aaaa", None, np.nan])
    assert discernibility(equivalence_classes(golden, ["q"])) == 20
    assert distinct_l_diversity(golden, column="s", quasi_identifiers=["q"]) == 2


def test_a_class_without_a_value_protects_nobody_and_tells_nothing():
    table = pd.DataFrame({"q": list("aabb"), "s": [None, None, "x", "y"]})
    classes = equivalence_classes(table, ["q"], sensitive=["s"])
    assert distinct_l_diversity(classes, column="s") == 0
    assert recursive_c(classes, column="s", l=2) == math.inf
    assert recursive_cl_diversity(classes, column="s", c=3) == 0
    assert delta_disclosure(classes, column="s") == math.inf
    assert t_closeness(classes, column="s") == t_closeness(classes, column="s", **JS) == 0
    nothing = equivalence_classes(table.assign(s=None), ["q"], sensitive=["s"])
    assert sensitive_entropy(nothing, column="s") == 0
    assert adversarial_knowledge_gain(nothing, column="s") == 0
    assert adversarial_accuracy_gain(nothing, column="s") == 0
    assert classification_metric(nothing, column="s") == 0


# ------------------------------------------------------------------ plain reference


def shares(values):
    counts = Counter(values)
    return {v: Fraction(n, counts.total()) for v, n in counts.items()}


def reference(table: pd.DataFrame) -> dict[str, float]:
    """Every figure in the words of its definition, in fractions."""
    known = table.dropna(subset=["s"])
    whole = shares(known["s"])
    classes = [list(rows["s"].dropna()) for _, rows in table.groupby("q", dropna=False)]
    full = [own for own in classes if own]
    order = sorted(whole)

    def moved(own):
        total, ahead = Fraction(0), Fraction(0)
        for v in order[:-1]:
            ahead += own.get(v, 0) - whole[v]
            total += abs(ahead)
        return total / max(1, len(order) - 1)

    def gains(own):
        return [(q - whole[v]) / whole[v] for v, q in own.items()]

    def ratio(own):
        counts = sorted(Counter(own).values(), reverse=True)
        return Fraction(counts[0], sum(counts[1:])) if len(counts) > 1 else math.inf

    def ruled_out(own):
        logs = [abs(math.log(q / whole[v])) for v, q in shares(own).items()]
        return max(logs, default=0.0) if len(set(own)) == len(whole) else math.inf

    n = sum(map(len, classes))
    variation = [sum(abs(shares(o).get(v, 0) - p) for v, p in whole.items()) / 2 for o in full]
    right = sum(max(Counter(own).values()) for own in full)
    return {
        "distinct_l_diversity": min(len(set(own)) for own in classes),
        "entropy_l_diversity": min(
            math.exp(-sum(q * math.log(q) for q in shares(own).values())) if own else 0
            for own in classes
        ),
        "recursive_c": max(ratio(own) if own else math.inf for own in classes),
        "alpha_k_anonymity": max((max(shares(own).values()) for own in full), default=0),
        "t_closeness": max((moved(shares(own)) for own in full), default=0),
        "basic_beta_likeness": max((max(*gains(shares(own)), 0) for own in full), default=0),
        "delta_disclosure": max(ruled_out(own) for own in classes),
        "adversarial_knowledge_gain": (
            sum(len(own) * d for own, d in zip(full, variation, strict=True)) / max(1, n)
        ),
        "adversarial_accuracy_gain": Fraction(
            right - max(Counter(known["s"]).values(), default=0), max(1, n)
        ),
        "sensitive_entropy": -sum(p * math.log(p) for p in whole.values()),
    }


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from([1, 2, 3, 7, None])),
    min_size=1,
    max_size=25,
)


@given(ROWS)
@settings(max_examples=30, deadline=None)
def test_figures_are_those_of_the_definitions(rows):
    table = pd.DataFrame(rows, columns=["q", "s"]).astype({"q": "str", "s": "Int64"})
    found = diversity_figures(table, column="s", quasi_identifiers=["q"])
    for name, value in reference(table).items():
        assert found[name] == pytest.approx(float(value), rel=1e-9, abs=1e-12), name


@given(ROWS, st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_partitions_change_nothing(rows, npartitions):
    table = pd.DataFrame(rows, columns=["q", "s"]).astype({"q": "str", "s": "Int64"})
    expected = diversity_figures(table, column="s", quasi_identifiers=["q"])
    lazy = dd.from_pandas(table, npartitions=npartitions)
    found = diversity_figures(lazy, column="s", quasi_identifiers=["q"])
    assert dask.compute(found)[0] == pytest.approx(expected, rel=1e-14, abs=1e-14)


@given(ROWS)
@settings(max_examples=20, deadline=None)
def test_merging_two_classes_never_makes_a_monotone_figure_worse(rows):
    table = pd.DataFrame(rows, columns=["q", "s"]).astype({"q": "str", "s": "Int64"}).dropna()
    merged = table.assign(q=table["q"].replace({"b": "a"}))
    before = diversity_figures(table, column="s", quasi_identifiers=["q"])
    after = diversity_figures(merged, column="s", quasi_identifiers=["q"])
    for name in ("distinct_l_diversity", "entropy_l_diversity"):
        assert after[name] >= before[name] - 1e-12
    for name in ("recursive_c", "alpha_k_anonymity", "t_closeness", "basic_beta_likeness"):
        assert after[name] <= before[name] + 1e-12


def test_every_figure_of_a_column_is_that_of_its_own_function():
    found = diversity_figures(G1, column="s", quasi_identifiers=["q"])
    for name, value in found.items():
        options = {"l": 2} if name == "recursive_c" else {}
        metric = getattr(diversity, name)
        assert value == metric(G1, column="s", quasi_identifiers=["q"], **options)
    with pytest.raises(AnonError, match="at least 2, found 1"):
        diversity_figures(G1, column="s", l=1, quasi_identifiers=["q"])


# ------------------------------------------------------------------ types and orders


def test_ordered_categories_are_ordered_by_category():
    pain = pd.Categorical(list("LMHLMH"), categories=list("LMH"), ordered=True)
    table = pd.DataFrame({"q": list("aabbcc"), "pain": pain})
    # Class b, {H, L}: half is moved one step of two... from 1/3, 1/3, 1/3: 1/6 and 1/6, halved.
    ordered = t_closeness(table, column="pain", quasi_identifiers=["q"])
    assert ordered == t_closeness(
        table.assign(pain=pain.codes), column="pain", quasi_identifiers=["q"]
    )
    plain = table.assign(pain=table["pain"].astype("str"))
    assert ordered != t_closeness(plain, column="pain", quasi_identifiers=["q"])
    lazy = t_closeness(dd.from_pandas(table, npartitions=3), column="pain", quasi_identifiers=["q"])
    assert lazy.compute() == ordered


def test_texts_that_spell_numbers_are_ordered_when_that_is_asked():
    table = G1.assign(n=G1["n"].astype("str"))
    asked = {"column": "n", "quasi_identifiers": ["q"]}
    assert t_closeness(table, distance="ordered", **asked) == pytest.approx(0.125)
    assert t_closeness(table, distance="numeric", **asked) == pytest.approx(4 / 27)
    assert t_closeness(table, **asked) == pytest.approx(t_closeness(G1, distance="equal", **asked))
    with pytest.raises(DataError, match="3 of its 3 distinct values are no numbers"):
        t_closeness(G1, column="s", distance="ordered", quasi_identifiers=["q"])


def test_presence_of_true_in_each_class():
    people = pd.DataFrame({"zip": list("aaaabb"), "in": [True, False, False, False, True, True]})
    assert delta_presence(people, column="in", quasi_identifiers=["zip"]) == (0.25, 1.0)
    lazy = dd.from_pandas(people, npartitions=2)
    found = delta_presence(lazy, column="in", quasi_identifiers=["zip"])
    assert dask.compute(*found) == (0.25, 1.0)
    with pytest.raises(DataError, match="needs true or false"):
        delta_presence(G1, column="s", quasi_identifiers=["q"])


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_the_people_of_a_class_are_its_weights(npartitions):
    table = G1.assign(w=[1.5, 2, 3, 4, 5, 1])
    classes = equivalence_classes(table, ["q"], weight="w")
    assert k_map(classes) == k_map(table, weight="w", quasi_identifiers=["q"]) == 6.0
    lazy = dd.from_pandas(table, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        found = k_map(lazy, weight="w", quasi_identifiers=["q"])
    assert found.compute() == 6.0
    assert k_map(classes[:0]) == 0.0
    with pytest.raises(DataError, match="no column 'weight'"):
        k_map(equivalence_classes(table, ["q"]))


# ------------------------------------------------------------------ one pass for all


def test_what_is_computed_together_reads_the_table_once(tmp_path):
    reads = tmp_path / "reads"

    def counted(part):
        with open(reads, "a") as file:
            file.write("x")
        return part

    lazy = dd.from_pandas(G1, npartitions=3).map_partitions(counted, meta=G1[:0])
    classes = equivalence_classes(lazy, ["q"], sensitive=["s", "n"])
    wanted = [
        smallest_class(classes),
        t_closeness(classes, column="s"),
        entropy_l_diversity(classes, column="n"),
        diversity_figures(classes, column="s"),
    ]
    reads.unlink(missing_ok=True)
    found = dask.compute(*wanted, scheduler="sync")
    assert found[0] == 2
    assert found[1] == found[3]["t_closeness"] == pytest.approx(1 / 6)
    assert reads.read_text() == "xxx"


# ------------------------------------------------------------------ who breaks what

POLICY = Policy(
    columns={"q": "quasi-identifier", "s": "sensitive", "n": "sensitive"},
    privacy=[
        {"model": "k-anonymity", "k": 3},
        {"model": "alpha-k-anonymity", "column": "s", "alpha": 0.5, "k": 2},
        {"model": "distinct-l-diversity", "column": "n", "l": 3},
        {"model": "t-closeness", "column": "s", "t": 0.2},
        {"model": "average-risk", "max": 0.01},
    ],
)


@pytest.mark.parametrize("npartitions", [None, 1, 2, 7])
def test_classes_that_break_a_model_are_named_with_it(npartitions):
    table = G1
    if npartitions:
        table = dd.from_pandas(G1, npartitions=1).repartition(npartitions=npartitions)
    with dask.config.set(scheduler=refuse):
        broken = violating_classes(table, POLICY, quasi_identifiers=["q"])
    if npartitions:
        meta = broken._meta
        broken = broken.compute()
        assert dict(broken.dtypes) == dict(meta.dtypes)
    assert broken["q"].tolist() == ["b"]
    assert broken["violates"].tolist() == [
        "k-anonymity with k=3; distinct-l-diversity of 'n' with l=3"
    ]


def test_a_table_that_holds_has_no_violating_class():
    policy = POLICY.model_copy(update={"privacy": POLICY.privacy[1:2]})
    classes = equivalence_classes(G1, ["q"], sensitive=["s"])
    assert len(violating_classes(classes, policy)) == 0
    sizes = POLICY.model_copy(update={"privacy": POLICY.privacy[:1]})
    assert violating_classes(equivalence_classes(G1, ["q"]), sizes)["size"].tolist() == [2]
    assert len(violating_classes(G1[:0], POLICY, quasi_identifiers=["q"])) == 0


def test_a_model_that_cannot_be_asked_is_refused():
    policy = Policy(
        columns={"q": "quasi-identifier", "s": "sensitive"},
        privacy=[{"model": "t-closeness", "column": "s", "t": 0.2, "distance": "ordered"}],
    )
    with pytest.raises(PolicyError, match="no numbers"):
        violating_classes(G1, policy, quasi_identifiers=["q"])


# ------------------------------------------------------------------ sentences


def test_a_class_table_without_the_column_gets_a_sentence():
    classes = equivalence_classes(G1, ["q"])
    with pytest.raises(DataError, match=r"no values of column 's'. Make it with .*\['s'\]"):
        t_closeness(classes, column="s")
    with pytest.raises(DataError, match="lists of values with their counts are needed"):
        t_closeness(classes.assign(s=1), column="s")
    with pytest.raises(DataError, match="has a column 'size', this one has none"):
        t_closeness(G1, column="s")


@pytest.mark.parametrize(
    "metric, options, match",
    [
        (t_closeness, {"distance": "orderd"}, "no distance 'orderd'. Did you mean 'ordered'"),
        (t_closeness, {"distance": "hierarchical"}, "goes with distance='hierarchical', and none"),
        (t_closeness, {"hierarchy": DISEASES}, "and the distance is open"),
        (delta_disclosure, {"absent_values": "no"}, "count or ignore, found 'no'"),
        (recursive_cl_diversity, {"c": 0}, "above 0, found 0"),
        (recursive_c, {"l": 1}, "at least 2, found 1"),
        (classification_metric, {"ties": "some"}, "all or one, found 'some'"),
    ],
)
def test_options_that_make_no_sense_get_a_sentence(metric, options, match):
    with pytest.raises(AnonError, match=match):
        metric(G1, column="s", quasi_identifiers=["q"], **options)
