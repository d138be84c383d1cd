"""Laws that every algorithm keeps, whatever it does: inherit them.

    class TestMondrian(Laws):
        algorithm = {"name": "mondrian", "ties": "either"}

Each law draws a table of columns of every type that a quasi-identifier may have, anonymizes it, and
looks at the release alone, beside the original.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any, ClassVar

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.dataframe.utils import assert_eq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dask_anon as anon
from dask_anon.recoding import table_from_frame

LAW = settings(
    max_examples=20,
    deadline=None,
    # Every algorithm's class runs the same inherited laws.
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)

MOMENT = dt.datetime(2024, 2, 28, 23, 59, 59)
LABELS = ["a", "b", "{c}", "d, e", "", "missing", 'say "f"', "ü"]


def _series(values: list[Any], dtype: Any) -> pd.Series:
    return pd.Series(values, dtype=dtype)


def _decimals(n: int) -> Decimal:
    return Decimal(n) / 100


# name: (a value from a small whole number, dtype); the numbers are drawn, None stays None
COLUMNS: dict[str, tuple[Any, Any]] = {
    "int64": (lambda n: n - 5, "int64"),
    "uint64": (lambda n: 2**64 - 1 - n, "uint64"),
    "int8": (lambda n: n * 10 - 128, "int8"),
    "float64": (lambda n: n / 3 - 2, "float64"),
    "float32": (lambda n: (n - 4) * 1e30, "float32"),
    "Int64": (lambda n: n * 2**58, "Int64"),
    "Float64": (lambda n: -n * 1e-300, "Float64"),
    "boolean": (lambda n: n % 2 == 0, "boolean"),
    "bool": (lambda n: n % 2 == 0, "bool"),
    "str": (lambda n: LABELS[n % len(LABELS)], "str"),
    "date": (lambda n: dt.date(2024, 2, 25) + dt.timedelta(n), "date32[pyarrow]"),
    "timestamp": (lambda n: MOMENT + dt.timedelta(seconds=n), "datetime64[us]"),
    "nanoseconds": (lambda n: pd.Timestamp(MOMENT) + pd.Timedelta(n, "ns"), "datetime64[ns]"),
    "zoned": (
        lambda n: pd.Timestamp("2024-03-30 22:30", tz="Europe/Berlin") + pd.Timedelta(n, "h"),
        "datetime64[ns, Europe/Berlin]",
    ),
    "duration": (lambda n: dt.timedelta(minutes=n - 3), "timedelta64[s]"),
    "arrow int": (lambda n: n * 100, "int16[pyarrow]"),
    "arrow decimal": (_decimals, pd.ArrowDtype(pa.decimal128(7, 2))),
    "arrow text": (lambda n: LABELS[n % len(LABELS)], pd.ArrowDtype(pa.string())),
    "unordered": (
        lambda n: LABELS[n % len(LABELS)],
        pd.CategoricalDtype([*reversed(LABELS), "unused"]),
    ),
    "ordered": (
        lambda n: LABELS[n % len(LABELS)],
        pd.CategoricalDtype(["unused", *reversed(LABELS)], ordered=True),
    ),
    "numbered": (lambda n: n, pd.CategoricalDtype([*range(20)], ordered=True)),
}
# Only in pandas: Dask takes columns of objects for text.
OBJECTS: dict[str, tuple[Any, Any]] = {
    "decimal objects": (_decimals, object),
    "text objects": (lambda n: LABELS[n % len(LABELS)], object),
    "date objects": (lambda n: dt.date(2024, 2, 25) + dt.timedelta(n), object),
}
NEVER_MISSING = {"int64", "uint64", "int8", "bool"}


@st.composite
def frames(draw: Any, *, objects: bool = False, names: list[str] | None = None) -> pd.DataFrame:
    """A table of one to three quasi-identifiers, a row's number and a payload; any index."""
    known = COLUMNS | OBJECTS if objects else COLUMNS
    chosen = st.sampled_from(names or sorted(known))
    n = draw(st.integers(2, 24))
    columns: dict[str, pd.Series] = {}
    for name in draw(st.lists(chosen, min_size=1, max_size=3, unique=True)):
        value_of, dtype = known[name]
        number = st.sampled_from([st.integers(0, 11), st.integers(0, 2)])
        numbers = draw(number.flatmap(lambda v: st.lists(v, min_size=n, max_size=n)))
        missing = name not in NEVER_MISSING and draw(st.booleans())
        gone = draw(st.lists(st.booleans(), min_size=n, max_size=n)) if missing else [False] * n
        values = [None if g else value_of(i) for i, g in zip(numbers, gone, strict=True)]
        columns[name] = _series(values, dtype)
    frame = pd.DataFrame(columns)
    frame.insert(draw(st.integers(0, len(columns))), "number", np.arange(n))
    frame["kept"] = pd.Series([None, "x", "02134"] * 8, dtype="str")[:n]
    if draw(st.booleans()):
        frame.index = pd.Index(np.arange(n) % 3, name="doubled")
    return frame


def quasi_identifiers(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if name not in ("number", "kept")]


def values_of(column: pd.Series) -> tuple[pa.DataType, list[Any]]:
    """Type and values of an original column, as labels are parsed: categories are text."""
    array = table_from_frame(column.to_frame(), [column.name]).column(0)
    if pa.types.is_dictionary(array.type) or pa.types.is_boolean(array.type):
        texts = [None if v is None else str(v) for v in array.to_pylist()]
        return array.type, texts
    return array.type, array.to_pylist()


def order_of(column: pd.Series) -> Any:
    """A key that sorts the values of an ordered column."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [str(c) for c in column.cat.categories].index
    return lambda value: value


class Laws:
    """The laws; `algorithm` is the section of the policy."""

    algorithm: ClassVar[dict[str, Any]]

    def policy(self, frame: pd.DataFrame, k: int = 2, **sections: Any) -> anon.Policy:
        return anon.Policy(
            columns=dict.fromkeys(quasi_identifiers(frame), "quasi-identifier"),
            privacy=[{"model": "k-anonymity", "k": k}],
            algorithm=self.algorithm,
            **sections,
        )

    def anonymize(self, frame: Any, k: int = 2, **sections: Any) -> Any:
        with dask.config.set(scheduler="synchronous"):
            return anon.anonymize(frame, self.policy(frame, k, **sections))

    def shown(self, released: pd.DataFrame, name: str) -> list[Any]:
        """Released text, None where it is missing."""
        return [None if pd.isna(text) else str(text) for text in released[name]]

    @LAW
    @given(frame=frames(objects=True), k=st.integers(2, 5))
    def test_every_printed_class_has_k_records(self, frame, k):
        k = min(k, len(frame))
        released = self.anonymize(frame, k)
        names = quasi_identifiers(frame)
        printed = zip(*(self.shown(released, name) for name in names), strict=True)
        assert min(Counter(printed).values()) >= k

    @LAW
    @given(frame=frames(objects=True))
    def test_no_record_is_lost_or_invented_and_the_rest_is_untouched(self, frame):
        before = frame.copy(deep=True)
        released = self.anonymize(frame)
        assert list(released) == list(frame)
        kept = ["number", "kept"]
        pd.testing.assert_frame_equal(released[kept], frame[kept])
        pd.testing.assert_frame_equal(frame, before)

    @LAW
    @given(frame=frames(objects=True))
    def test_every_value_lies_in_its_label_and_labels_are_tight(self, frame):
        released = self.anonymize(frame)
        names = quasi_identifiers(frame)
        shown = {name: self.shown(released, name) for name in names}
        by_class: dict[tuple[Any, ...], list[int]] = {}
        for i, own in enumerate(zip(*shown.values(), strict=True)):
            by_class.setdefault(own, []).append(i)
        for j, name in enumerate(names):
            type_, values = values_of(frame[name])
            position = order_of(frame[name])
            for printed, records in by_class.items():
                label = anon.parse_label(printed[j], type_)
                inside = [values[i] for i in records]
                present = sorted({v for v in inside if v is not None}, key=position)
                assert label.missing == (None in inside)
                if hasattr(label, "labels"):
                    assert sorted(label.labels) == sorted(str(v) for v in present)
                    continue
                ends = (present[0], present[-1]) if present else (None, None)
                assert (label.low, label.high) == ends
                if not isinstance(frame[name].dtype, pd.CategoricalDtype):
                    assert all(value in label for value in inside)

    @LAW
    @given(frame=frames(), format=st.sampled_from(["interval", "bounds", "midpoint"]))
    def test_every_format_shows_the_same_classes(self, frame, format):
        """Released columns are a function of the class: as many rows a class, at least k."""
        released = self.anonymize(frame, 3 if len(frame) > 2 else 2, recoding={"format": format})
        names = [c for c in released if c not in ("number", "kept")]
        sizes = released.groupby(names, dropna=False, observed=True).size()
        assert sizes.min() >= min(3, len(frame))
        assert sizes.sum() == len(frame)

    @LAW
    @given(
        frame=frames(),
        format=st.sampled_from(["interval", "bounds", "midpoint"]),
        npartitions=st.integers(1, 4),
    )
    def test_dask_gives_what_pandas_gives_and_says_so_beforehand(self, frame, format, npartitions):
        lazy = dd.from_pandas(frame, npartitions=npartitions, sort=False)
        # Dask has a string type of its own, so pandas gets what Dask holds.
        expected = self.anonymize(
            lazy.compute(scheduler="synchronous"), recoding={"format": format}
        )
        released = self.anonymize(lazy, recoding={"format": format})
        assert released.npartitions == lazy.npartitions
        assert released.divisions == lazy.divisions
        # Compares values and dtypes, and the meta with what is computed.
        assert_eq(released, expected, check_dtype=True, scheduler="synchronous", sort_results=False)
        assert released.dtypes.equals(expected.dtypes)

    @LAW
    @given(frame=frames(), seed=st.integers(0, 2**32 - 1))
    def test_the_order_of_the_rows_decides_nothing(self, frame, seed):
        moved = frame.sample(frac=1, random_state=seed)
        back = self.anonymize(moved).set_index("number").sort_index()
        expected = self.anonymize(frame).set_index("number").sort_index()
        pd.testing.assert_frame_equal(back, expected)

    @settings(LAW, max_examples=5)
    @given(frame=frames(names=["int64", "float64", "str", "ordered"]))
    def test_applying_computes_nothing(self, frame):
        with dask.config.set(scheduler="synchronous"):
            recoding = anon.fit(frame, self.policy(frame))

        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("apply computed something")

        lazy = dd.from_pandas(frame, npartitions=2, sort=False)
        with dask.config.set(scheduler=refuse):
            released = recoding.apply(lazy)
        with dask.config.set(scheduler="synchronous"):
            expected = recoding.apply(lazy.compute())
            pd.testing.assert_frame_equal(released.compute(), expected)

    @settings(LAW, max_examples=10)
    @given(frame=frames(objects=True))
    def test_the_same_again(self, frame):
        pd.testing.assert_frame_equal(self.anonymize(frame), self.anonymize(frame))
