"""Losses of Dask frames: the numbers of pandas, nothing computed before, each table read once."""

from __future__ import annotations

import doctest
import importlib
from functools import partial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from dask_anon.errors import DataError
from dask_anon.metrics import distance, entropy, loss, squared_error

N = 60
RANDOM = np.random.default_rng(7)
ORIGINAL = pd.DataFrame(
    {
        "age": pd.array(RANDOM.integers(20, 40, N), "Int64"),
        "zip": pd.Series(RANDOM.choice(list("abcd"), N), dtype="str"),
        "pay": RANDOM.integers(0, 9, N).astype(float),
    }
)
ORIGINAL.loc[::11, ["age", "zip"]] = None
RELEASED = pd.DataFrame(
    {
        "age": np.where(ORIGINAL["age"].isna(), "[20, 39] | missing", "[20, 39]"),
        "zip": np.where(ORIGINAL["zip"].isin(["a", "b"]), "{a, b}", "{c, d} | missing"),
        "pay": ORIGINAL["pay"].round(-1),
    }
)
RELEASED.loc[::7, "age"] = "*"
ROWS = {
    "zip": [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]],
    "age": [[age, f"{age // 5}", "*"] for age in range(20, 40)],
}
QI = {"quasi_identifiers": ["age", "zip"]}
NODES = {**QI, "hierarchies": ROWS}
NUMBERS = {"columns": ["age", "pay"]}


def after(function, **options):
    """Functions of (released, original)."""
    return lambda original, released: function(released, original, **options)


MEASURES = {
    "penalties": after(loss.normalized_certainty_penalty, **QI),
    "penalties of nodes": after(loss.normalized_certainty_penalty, **NODES),
    "penalty": after(loss.global_certainty_penalty, **QI),
    "granularity": after(loss.granularity, **QI),
    "granularity by column": after(loss.granularity, by_column=True, **QI),
    "intensity": after(loss.generalization_intensity, **NODES),
    "precision": after(loss.precision, **NODES),
    "precision by column": after(loss.precision, by_column=True, **NODES),
    "ambiguity": after(loss.ambiguity, **QI),
    "suppressed": after(loss.suppressed_cell_rate, **QI),
    "lost": after(loss.n_lost_records, **QI),
    "KL": after(entropy.kl_divergence, **QI),
    "KL by column": after(entropy.kl_divergence, by_column=True, **QI),
    "NUE": partial(entropy.non_uniform_entropy, **QI),
    "NUE by levels": partial(entropy.non_uniform_entropy, frequencies="levels", **NODES),
    "EBIL": partial(entropy.entropy_based_information_loss, **QI),
    "EBIL by column": partial(entropy.entropy_based_information_loss, by_column=True, **QI),
    "distance": distance.by_element_distance,
    "distance of ranks": partial(distance.by_element_distance, types={"pay": "ordered"}),
    "changed": partial(distance.changed_cells, by_column=True),
    "attribute error": partial(squared_error.attribute_squared_error, **NUMBERS),
    "record error": partial(squared_error.record_squared_error, **NUMBERS),
    "SSE/SST": partial(squared_error.sse_over_sst, by_column=True, **NUMBERS),
    "IL1s": partial(squared_error.il1s, **NUMBERS),
}


def refuse(*_args, **_kwargs):
    raise AssertionError("something was computed")


def in_parts(frame, npartitions):
    """A Dask frame whose index starts again in every partition, as one from files does."""
    pieces = np.array_split(np.arange(len(frame)), npartitions)
    parts = [frame.iloc[piece].reset_index(drop=True) for piece in pieces]
    return dd.from_map(lambda i: parts[i], range(npartitions), meta=frame[:0])


def measured(original, released):
    """All figures, of Dask frames in one computation."""
    with dask.config.set(scheduler=refuse):
        figures = {name: measure(original, released) for name, measure in MEASURES.items()}
    with dask.config.set(scheduler="synchronous"):
        return dask.compute(figures)[0]


@pytest.fixture(scope="module")
def of_pandas():
    return {name: near(measure(ORIGINAL, RELEASED)) for name, measure in MEASURES.items()}


def near(figure):
    return pytest.approx(figure, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("npartitions", [1, 2, 7])
def test_dask_gives_the_same_lazily(npartitions, of_pandas):
    assert measured(in_parts(ORIGINAL, npartitions), in_parts(RELEASED, npartitions)) == of_pandas


def test_one_table_may_be_of_pandas(of_pandas):
    assert measured(ORIGINAL, in_parts(RELEASED, 3)) == of_pandas
    assert measured(in_parts(ORIGINAL, 3), RELEASED) == of_pandas


@pytest.mark.parametrize("name", ["penalties", "SSE/SST", "KL by column", "EBIL"])
def test_a_figure_can_be_computed_alone(name, of_pandas):
    figure = MEASURES[name](in_parts(ORIGINAL, 2), in_parts(RELEASED, 2))
    assert figure.compute(scheduler="synchronous") == of_pandas[name]


@pytest.mark.parametrize("name", ["penalties", "NUE", "distance of ranks", "record error", "KL"])
def test_empty_partitions_change_nothing(name):
    measure = MEASURES[name]
    original, released = in_parts(ORIGINAL[:20], 25), in_parts(RELEASED[:20], 25)
    with dask.config.set(scheduler="synchronous"):
        found = measure(original, released).compute()
    assert found == near(measure(ORIGINAL[:20], RELEASED[:20]))


def test_the_partitions_of_an_unpaired_measure_need_not_match():
    measure = MEASURES["penalty"]
    with dask.config.set(scheduler="synchronous"):
        found = measure(in_parts(ORIGINAL, 2), in_parts(RELEASED[::-1], 5)).compute()
    assert found == pytest.approx(measure(ORIGINAL, RELEASED))


def test_partitions_that_cannot_be_paired_get_a_sentence():
    measure = MEASURES["NUE"]
    with pytest.raises(DataError, match="have 2 and 3 partitions, which cannot be laid side"):
        measure(in_parts(ORIGINAL, 2), in_parts(RELEASED, 3))
    with dask.config.set(scheduler="synchronous"):
        shorter = measure(in_parts(ORIGINAL, 2), in_parts(RELEASED[:50], 2))
        with pytest.raises(DataError, match="have 30 and 25 records in one partition"):
            shorter.compute()
        with pytest.raises(DataError, match="have 60 and 50 records"):
            measure(ORIGINAL, in_parts(RELEASED[:50], 2)).compute()


def watched(frame, name, log, npartitions=4):
    """A frame that notes when its partitions are read."""
    parts = np.array_split(np.arange(len(frame)), npartitions)

    def read(i):
        log.append(name)
        return frame.iloc[parts[i]]

    return dd.from_map(read, range(npartitions), meta=frame[:0])


def test_the_release_is_read_when_the_original_is_known():
    """Partitions that wait for facts would all be in memory by the time that these are there."""
    log = []
    original, released = watched(ORIGINAL, "original", log), watched(RELEASED, "released", log)
    with dask.config.set(scheduler="threads", num_workers=2):
        MEASURES["penalty"](original, released).compute()
    assert log == ["original"] * 4 + ["released"] * 4


def test_a_paired_measure_reads_the_original_again_rather_than_keep_it():
    log = []
    original, released = watched(ORIGINAL, "original", log), watched(RELEASED, "released", log)
    with dask.config.set(scheduler="synchronous"):
        MEASURES["attribute error"](original, released).compute()
    assert log[:4] == ["original"] * 4
    # Then pair by pair, the one beside the other.
    assert [sorted(log[i : i + 2]) for i in range(4, 12, 2)] == [["original", "released"]] * 4


def test_measures_that_are_computed_together_read_each_table_once():
    log = []
    original, released = watched(ORIGINAL, "original", log), watched(RELEASED, "released", log)
    figures = [MEASURES[name](original, released) for name in ("penalty", "granularity", "lost")]
    with dask.config.set(scheduler="synchronous"):
        found = dask.compute(*figures)
    assert sorted(log) == ["original"] * 4 + ["released"] * 4
    assert found[0] == pytest.approx(MEASURES["penalty"](ORIGINAL, RELEASED))


@pytest.mark.parametrize("room", ["loss", "entropy", "distance", "squared_error", "utility"])
def test_examples_of_the_docstrings_are_right(room):
    module = importlib.import_module(f"dask_anon.metrics.{room}")
    result = doctest.testmod(module, extraglobs={"pd": pd, "np": np})
    assert result.attempted > 0
    assert result.failed == 0


def test_small_files_lie_side_by_side_whatever_columns_are_read(tmp_path):
    """Dask joins partitions of small files, and more of them the fewer columns are read."""
    wide = ORIGINAL.assign(**{f"other {i}": float(i) for i in range(20)})
    for name, frame in (("original", wide), ("released", RELEASED)):
        dd.from_pandas(frame, npartitions=8, sort=False).to_parquet(tmp_path / name)
    original, released = (
        dd.read_parquet(tmp_path / "original"),
        dd.read_parquet(tmp_path / "released"),
    )
    found = distance.by_element_distance(original, released, columns=["age", "zip"])
    expected = distance.by_element_distance(ORIGINAL, RELEASED, columns=["age", "zip"])
    assert found.compute() == pytest.approx(expected)
