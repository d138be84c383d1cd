"""A recoding is kept, read again and applied to records that fit; to others it says why not."""

from __future__ import annotations

import hashlib
import hmac
import json
import pickle
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask_anon as anon


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    age = pd.array(rng.integers(18, 90, n), dtype="Int64")
    age[rng.random(n) < 0.1] = pd.NA
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": age,
            "town": rng.choice(["Bath", "Cork", "Oslo", "Ulm"], n),
            "weight": rng.normal(70, 10, n).round(1),
            "born": pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9_999, n), "D"),
            "note": rng.integers(0, 5, n),
        }
    )


def policy(ties="either", **name):
    return anon.Policy(
        columns={
            "name": name or "identifier",
            **dict.fromkeys(["age", "town", "weight", "born"], "quasi-identifier"),
        },
        privacy=[{"model": "k-anonymity", "k": 4}],
        algorithm={"name": "mondrian", "ties": ties},
        seed=2,
    )


@pytest.fixture(params=["left", "either", "divide"])
def recoding(request, frame):
    with dask.config.set({"anon.rows.region": 60}):
        return anon.fit(dd.from_pandas(frame, npartitions=2), policy(request.param))


def test_saved_and_loaded_it_gives_the_same_release(recoding, frame, tmp_path):
    path = tmp_path / "kept"
    recoding.save(str(path))
    loaded = anon.Recoding.load(str(path))
    assert loaded.tree.n_regions > 2
    assert str(loaded) == str(recoding)
    pd.testing.assert_frame_equal(loaded.apply(frame), recoding.apply(frame))
    described = json.loads((path / "recoding.json").read_text())
    assert described["n_records"] == 300
    assert described["n_classes"] == recoding.n_classes


def test_save_writes_over_nothing(recoding, tmp_path):
    recoding.save(str(tmp_path / "kept"))
    with pytest.raises((FileExistsError, anon.AnonError)):
        recoding.save(str(tmp_path / "kept"))


def test_some_of_the_records_get_what_all_of_them_got(recoding, frame):
    whole = recoding.apply(frame)
    some = frame.iloc[[250, 3, 3, 77]]
    pd.testing.assert_frame_equal(recoding.apply(some), whole.loc[some.index])
    assert len(recoding.apply(frame.iloc[:0])) == 0


def test_figures_are_those_of_the_release(recoding, frame):
    released = recoding.apply(frame)
    found = {}
    for region, records, classes in recoding.classes_of(_table(frame)):
        for record, own in zip(records, classes, strict=True):
            found.setdefault((region, int(own)), []).append(record)
    assert recoding.n_records == 300
    assert recoding.n_classes == len(found)
    assert recoding.smallest_class == min(map(len, found.values()))
    for records in found.values():
        assert len(released.iloc[records, :4].drop_duplicates()) == 1
    assert str(recoding).startswith(f"300 records in {len(found)} equivalence classes")


def _table(frame):
    from dask_anon.recoding import table_from_frame

    return table_from_frame(frame, ["age", "town", "weight", "born", "note"])


def test_identifiers_are_gone(recoding, frame):
    assert list(recoding.apply(frame)) == ["age", "town", "weight", "born", "note"]


def test_the_regions_go_away_with_the_recoding(frame):
    recoding = anon.fit(frame, policy())
    path = Path(recoding.path)
    assert path.exists()
    assert path.stat().st_mode & 0o077 == 0  # codes are data about people
    copy = pickle.loads(pickle.dumps(recoding))  # a worker's copy owns nothing
    del copy
    assert path.exists()
    del recoding
    assert not path.exists()


@pytest.mark.parametrize(
    "column, value",
    [
        ("age", 17),
        ("age", 2**40),
        ("town", "Rome"),
        ("weight", 1e6),
        ("born", pd.Timestamp(0) - pd.Timedelta(1, "D")),
    ],
)
def test_values_that_fit_has_not_seen_are_counted_and_not_shown(recoding, frame, column, value):
    frame.loc[[4, 9], column] = value
    with pytest.raises(anon.DataError, match=f"'{column}' has 2 values outside") as caught:
        recoding.apply(frame)
    assert str(value) not in str(caught.value)


def test_missing_columns_and_more_columns_are_named(recoding, frame):
    with pytest.raises(anon.DataError, match=r"lacks \['town'\] and has \['city'\] more"):
        recoding.apply(frame.rename(columns={"town": "city"}))


def test_another_type_is_named(recoding, frame):
    with pytest.raises(anon.DataError, match=r"'age' is of type \w*string here and of type int64"):
        recoding.apply(frame.assign(age="x"))


def test_missing_values_where_fit_saw_none(frame):
    """No class shows a missing value there, so the record must not pass for one that does."""
    recoding = anon.fit(frame, policy())
    frame.loc[[0, 1], "town"] = None
    frame.loc[2, "weight"] = np.nan
    found = r"missing values where there were none: 'town' \(2\), 'weight' \(1\)"
    with pytest.raises(anon.DataError, match=found):
        recoding.apply(frame)


@pytest.mark.parametrize("data", [[1], {"age": [1]}, np.zeros(3)])
def test_only_frames_are_taken(recoding, data):
    with pytest.raises(anon.AnonError, match="takes a pandas or a Dask DataFrame"):
        recoding.apply(data)


def test_what_is_no_recoding_says_so(tmp_path):
    with pytest.raises(anon.AnonError, match="is not a recoding"):
        anon.Recoding.load(str(tmp_path))
    (tmp_path / "recoding.json").write_text("{}")
    with pytest.raises(anon.AnonError, match="is not a recoding"):
        anon.Recoding.load(str(tmp_path))


def test_a_recoding_that_took_the_place_of_another_is_read_anew(frame, tmp_path):
    path, other = tmp_path / "kept", frame.assign(age=frame["age"].array[::-1])
    anon.fit(frame, policy()).save(str(path))
    anon.Recoding.load(str(path)).apply(frame)
    path.rename(tmp_path / "old")
    recoding = anon.fit(other, policy())
    recoding.save(str(path))
    loaded = anon.Recoding.load(str(path))
    pd.testing.assert_frame_equal(loaded.apply(other), recoding.apply(other))


def test_pseudonyms_are_keyed_hashes(frame, monkeypatch, tmp_path):
    monkeypatch.setenv("ANON_TEST_KEY", "correct horse battery staple, and more of it")
    asked = policy(role="identifier", action="pseudonymize", key_env="ANON_TEST_KEY")
    recoding = anon.fit(frame, asked)
    released = recoding.apply(frame)
    digest = hmac.new(asked.key_of("name"), b"person 0", hashlib.sha256).hexdigest()
    assert released["name"].iloc[0] == digest
    assert released["name"].is_unique
    recoding.save(str(tmp_path / "kept"))
    texts = [p.read_bytes() for p in (tmp_path / "kept").rglob("*") if p.is_file()]
    assert not any(asked.key_of("name") in text or b"ANON_TEST_KEY" in text for text in texts)
    loaded = anon.Recoding.load(str(tmp_path / "kept"), asked)
    pd.testing.assert_frame_equal(loaded.apply(frame), released)


def test_a_record_outside_its_class_is_refused_by_column_and_count() -> None:
    # Ages 20, 21 | 30, 31 are the classes. 25 lies in the domain, and in neither of them; x and y
    # share no class with b.
    people = pd.DataFrame({"age": [20, 21, 30, 31], "town": ["x", "y", "b", "b"]})
    policy = anon.Policy(
        columns={"age": "quasi-identifier", "town": "quasi-identifier"},
        privacy=[{"model": "k-anonymity", "k": 2}],
    )
    recoding = anon.fit(people, policy)
    assert recoding.apply(people)["age"].tolist() == ["[20, 21]"] * 2 + ["[30, 31]"] * 2
    newcomer = pd.DataFrame({"age": [25, 30], "town": ["x", "b"]})
    with pytest.raises(anon.DataError, match=r"do not cover: 'age' \(1\)"):
        recoding.apply(newcomer)
    stranger = pd.DataFrame({"age": [30, 31], "town": ["x", "b"]})
    with pytest.raises(anon.DataError, match=r"do not cover: ('age' \(1\)|'town' \(1\))"):
        recoding.apply(stranger)
