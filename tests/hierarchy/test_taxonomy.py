"""A taxonomy knows what values belong to, and names every fault of its rows at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dask_anon.errors import DataError, PolicyError
from dask_anon.hierarchy import Taxonomy, count_values

ROWS = [
    ["flu", "lungs", "*"],
    ["asthma", "lungs", "*"],
    ["angina", "heart", "*"],
]


def faults(rows) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        Taxonomy.from_rows(rows, column="illness")
    assert {p.path for p in caught.value.problems} == {"columns.illness.hierarchy"}
    return [problem.message for problem in caught.value.problems]


def test_levels_and_what_belongs_to_what():
    taxonomy = Taxonomy.from_rows(ROWS, column="illness")
    assert taxonomy.levels == (("flu", "asthma", "angina"), ("lungs", "heart"), ("*",))
    assert taxonomy.parents == ((0, 0, 1), (0, 0))
    assert taxonomy.height == 2


def test_everything_is_added_where_it_is_not_the_last_level():
    taxonomy = Taxonomy.from_rows([row[:2] for row in ROWS], column="illness")
    assert taxonomy.levels[-1] == ("*",)
    assert taxonomy.height == 2


def test_values_are_found_in_it_by_their_text():
    taxonomy = Taxonomy.from_rows([["1", "odd"], ["2", "even"], ["3", "odd"]], column="n")
    values = count_values(pa.array([3, 1, 1]), column="n", cap=9)
    assert taxonomy.positions_of(values).tolist() == [0, 2]


def test_a_value_that_it_lacks_is_counted_and_not_repeated():
    values = count_values(pa.array(["flu", "gout", "gout", "lungs"]), column="illness", cap=9)
    with pytest.raises(DataError, match="has 2 of 3 distinct values, in 3 records, that") as caught:
        Taxonomy.from_rows(ROWS, column="illness").positions_of(values)
    assert "gout" not in str(caught.value)


def test_all_faults_come_at_once_with_their_rows_and_no_label():
    found = faults(
        [
            *ROWS,
            ["gout", "*"],
            ["flu", "lungs", "*"],
            ["sprain", "lungs", "all"],
            ["", "heart", "*"],
            ["heart", "organs", "*"],
        ]
    )
    assert [fault.split(" of the taxonomy ")[0] for fault in found] == [
        "row 4",
        "row 7",
        "row 5",
        "row 6",
        "row 8",
    ]
    assert [fault.split(" of the taxonomy ")[1].split(".")[0] for fault in found] == [
        "has another number of cells than the first, which has 3",
        "has an empty label",
        "has a value that has a row before",
        "has a label that belongs to something else in a row before",
        "has a label that stands on another level as well",
    ]
    for label in ("gout", "flu", "sprain", "lungs", "organs"):
        assert label not in " ".join(found)


def test_many_rows_with_one_fault_are_counted():
    found = faults([["0", "a", "*"], *([str(i), "*"] for i in range(1, 10))])
    assert found[0].startswith("rows 2, 3, 4, 5, 6 and 4 more of the taxonomy have another number")


def test_no_rows_and_one_level_are_no_taxonomy():
    assert faults([])[0].startswith("the taxonomy has no rows.")
    assert faults([["flu"]])[0].startswith("the rows of the taxonomy have one cell.")
