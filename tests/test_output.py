"""What a release looks like: formats, types, identifiers, order; the original is in none of it."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import os
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dask_anon as anon
from dask_anon.hierarchy import parse_label

BERLIN = "Europe/Berlin"
KEY = "0123456789abcdef0123456789abcdef"


def noon(day: int) -> dt.datetime:
    return dt.datetime(2024, 1, day, 12, tzinfo=dt.UTC)


def write(folder: Path, table: pa.Table | pd.DataFrame, name: str = "in.parquet") -> str:
    path = str(folder / name)
    if isinstance(table, pd.DataFrame):
        table.to_parquet(path)
    else:
        pq.write_table(table, path)
    return path


def asked(folder: Path, roles: dict, k: int = 2, **sections) -> anon.Policy:
    output = sections.pop("output", {})
    return anon.Policy(
        columns=roles,
        privacy=[{"model": "k-anonymity", "k": k}],
        input=sections.pop("input", {"path": str(folder / "in.parquet")}),
        output={"path": str(folder / "release")} | output,
        **sections,
    )


def released(folder: Path, name: str = "release") -> pa.Table:
    files = sorted((folder / name / "data").iterdir())
    if files[0].suffix == ".csv":
        return pa.concat_tables([pyarrow.csv.read_csv(file) for file in files])
    return pa.concat_tables([pq.read_table(file) for file in files])


def run(folder: Path, table: pa.Table | pd.DataFrame, roles: dict, **sections) -> pa.Table:
    write(folder, table)
    anon.run(asked(folder, roles, **sections))
    assert anon.verify(folder / "release").holds
    return released(folder)


# Two classes of two, cut in the middle; the third row of every column is as extreme as it can be.
COLUMNS = {
    "negative": (pa.array([-9, -7, 3, 5], pa.int16()), "[-9, -7]", "[3, 5]"),
    "decimal": (
        pa.array([Decimal("-1.50"), Decimal("-0.25"), Decimal("2.00"), Decimal("2.75")]),
        "[-1.50, -0.25]",
        "[2.00, 2.75]",
    ),
    "float": (pa.array([-1e-7, 0.1, 2.5, 1e16]), "[-1e-7, 0.1]", "[2.5, 1e+16]"),
    "date": (
        pa.array([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date.max]),
        "[0001-01-01, 1969-12-31]",
        "[2024-02-29, 9999-12-31]",
    ),
    "zoned": (
        pa.array([noon(1), noon(2), noon(30), noon(31)], pa.timestamp("ns", BERLIN)),
        "[2024-01-01 13:00:00+01:00, 2024-01-02 13:00:00+01:00]",
        "[2024-01-30 13:00:00+01:00, 2024-01-31 13:00:00+01:00]",
    ),
    "ordered": (
        pa.DictionaryArray.from_arrays([0, 1, 2, 3], ["low", "mid", "high", "top"], ordered=True),
        "[low, mid]",
        "[high, top]",
    ),
    "nominal": (pa.array(["Ulm", "Bonn", "", "a, b"]), "{Bonn, Ulm}", '{"", "a, b"}'),
    "missing": (pa.array([None, 1, 8, 9], pa.int64()), None, None),
    "boolean": (pa.array([False, False, True, True]), "False", "True"),
}
# `side` alone decides the cut: it is the only quasi-identifier that can be cut first.
SIDE = pa.array([1, 1, 1000, 1000], pa.int64())


@pytest.mark.parametrize("name", [n for n in COLUMNS if n not in ("missing", "nominal")])
def test_intervals_read_as_the_values_that_they_span(tmp_path, name):
    column, first, second = COLUMNS[name]
    table = run(
        tmp_path,
        pa.table({"side": SIDE, name: column}),
        {"side": "quasi-identifier", name: "quasi-identifier"},
        order="keep",
    )
    assert table.schema.field(name).type == pa.string()
    assert table[name].to_pylist() == [first, first, second, second]
    if name != "boolean":
        ends = parse_label(first, column.type)
        labels = column.cast(pa.string()) if name == "ordered" else column
        assert pa.array([ends.low, ends.high], labels.type) == labels[:2]


def test_nominal_columns_are_sets_in_every_format(tmp_path):
    column, *_ = COLUMNS["nominal"]
    for format in ("interval", "bounds", "set", "midpoint"):
        folder = tmp_path / format
        folder.mkdir()
        table = run(
            folder,
            pa.table({"c": pa.concat_arrays([column] * 3)}),
            {"c": "quasi-identifier"},
            k=4,
            order="keep",
            recoding={"format": format},
        )
        assert table.schema == pa.schema({"c": pa.string()})
        # Sorted: "", Bonn, Ulm, "a, b". The median of twelve is Bonn.
        high, low = '{Ulm, "a, b"}', '{"", Bonn}'
        assert table["c"].to_pylist()[:4] == [high, low, low, high]


def test_bounds_keep_the_type_of_the_source(tmp_path):
    names = ["negative", "decimal", "float", "date", "zoned"]
    table = pa.table({"side": SIDE, **{n: COLUMNS[n][0] for n in names}})
    found = run(
        tmp_path,
        table,
        dict.fromkeys(["side", *names], "quasi-identifier"),
        order="keep",
        recoding={"format": "bounds"},
    )
    for name in names:
        source = COLUMNS[name][0]
        low, high = found[f"{name}_min"], found[f"{name}_max"]
        assert low.type == high.type == source.type
        assert low.to_pylist() == source.take([0, 0, 2, 2]).to_pylist()
        assert high.to_pylist() == source.take([1, 1, 3, 3]).to_pylist()
    assert not [name for name in found.column_names if name.endswith("_missing")]


def test_midpoints_lie_in_the_middle(tmp_path):
    names = ["negative", "decimal", "date", "ordered"]
    table = pa.table({"side": SIDE, **{n: COLUMNS[n][0] for n in names}})
    found = run(
        tmp_path,
        table,
        dict.fromkeys(["side", *names], "quasi-identifier"),
        order="keep",
        recoding={"format": "midpoint"},
    )
    assert found["negative"].to_pylist() == [-8.0, -8.0, 4.0, 4.0]
    assert found["decimal"].to_pylist() == [Decimal("-0.875")] * 2 + [Decimal("2.375")] * 2
    assert found["date"].to_pylist()[0] == dt.date(985, 7, 1)
    assert found["ordered"].to_pylist() == ["low", "low", "high", "high"]


N = [None, None]
MISSING = [True, False, False, True, True, True, False, False]


@pytest.mark.parametrize(
    "format, columns",
    [
        ("interval", {"age": ["9 | missing", *["[1, 8]"] * 2, "9 | missing", *N, "5", "5"]}),
        (
            "bounds",
            {
                "age_min": [9, 1, 1, 9, *N, 5, 5],
                "age_max": [9, 8, 8, 9, *N, 5, 5],
                "age_missing": MISSING,
            },
        ),
        ("midpoint", {"age": [9.0, 4.5, 4.5, 9.0, *N, 5.0, 5.0], "age_missing": MISSING}),
    ],
)
def test_a_missing_value_shows(tmp_path, format, columns):
    # Side is cut first, between 12 and 21; then age: 1 8 | 9 missing, and 5 5 | missing missing.
    table = pa.table(
        {
            "side": pa.array([1, 2, 11, 12, 21, 22, 31, 32]),
            "age": pa.array([None, 1, 8, 9, None, None, 5, 5], pa.int64()),
        }
    )
    found = run(
        tmp_path,
        table,
        {"side": "quasi-identifier", "age": {"role": "quasi-identifier", "format": format}},
        order="keep",
        algorithm={"name": "mondrian", "ties": "left"},
    )
    assert found.select(list(columns)).to_pydict() == columns


def test_a_quasi_identifier_that_is_missing_throughout_is_released_as_missing(tmp_path):
    types = [pa.int32(), pa.float64(), pa.date32(), pa.decimal128(5, 2), pa.string(), pa.null()]
    names = [str(type_) for type_ in types]
    table = pa.table([SIDE, *(pa.nulls(4, type_) for type_ in types)], ["side", *names])
    roles = dict.fromkeys(["side", *names], "quasi-identifier")
    for format in ("interval", "bounds", "midpoint"):
        (tmp_path / format).mkdir()
        found = run(tmp_path / format, table, roles, order="keep", recoding={"format": format})
        for name in found.column_names:
            expected = {"side": found[name].to_pylist()}.get(name.split("_")[0], [None] * 4)
            assert found[name].to_pylist() == ([True] * 4 if "_missing" in name else expected)


PAYLOAD = pa.table(
    {
        "number": pa.array(range(6), pa.int8()),
        "zip": pa.array(["02134", "00000", None, "", " 1", "1e5"], pa.large_string()),
        "text": pa.array(["a,b", 'say "hi"', "two\nlines", None, "", "é"]),
        "few": pa.array(["x", "y", "x", None, "x", "y"]).dictionary_encode(),
        "grade": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 2, 1, 0], pa.int8()), ["low", "mid", "high"], ordered=True
        ),
        "amount": pa.array([Decimal("1.50"), None] * 3, pa.decimal128(20, 2)),
        "seen": pa.array([1, None, 3, 4, 5, 6], pa.timestamp("ns", "America/New_York")),
        "local": pa.array([1, None, 3, 4, 5, 6], pa.timestamp("us")),
        "day": pa.array([dt.date(1, 1, 1), None] * 3),
        "time": pa.array([1, None] * 3, pa.time64("ns")),
        "length": pa.array([1, None] * 3, pa.duration("ms")),
        "half": pa.array([0.1, float("nan"), None, -0.0, 1e-45, 3e38], pa.float32()),
        "flag": pa.array([True, None, False] * 2),
        "bytes": pa.array([b"\xff\x00", None, b""] * 2),
        "fixed": pa.array([b"ab", None, b"cd"] * 2, pa.binary(2)),
        "list": pa.array([[1, None], None, []] * 2, pa.list_(pa.int32())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}] * 2),
        "map": pa.array([[("k", 1)], None, []] * 2, pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(6),
    }
)


def test_untouched_columns_come_out_as_they_went_in(tmp_path):
    table = PAYLOAD.append_column("age", pa.array([1, 2, 3, 4, 5, 6]))
    roles = {"age": "quasi-identifier"}
    found = run(tmp_path, table, roles, default_role="insensitive")
    found = found.sort_by("number")
    untouched = found.select(PAYLOAD.column_names)
    assert untouched.schema == PAYLOAD.schema
    assert untouched.drop(["half"]) == PAYLOAD.drop(["half"])
    # NaN is not equal to itself, and -0.0 is equal to 0.0: the bits decide.
    bits = [
        column.combine_chunks().buffers()[1].to_pybytes()[:24]
        for column in (untouched["half"], PAYLOAD["half"])
    ]
    assert bits[0] == bits[1]
    assert found.schema.metadata is None


def test_text_of_a_csv_stays_text_when_it_is_not_generalized(tmp_path):
    (tmp_path / "in.csv").write_text(
        'age,zip,day,flag,note\n1,02134,2024-1-5,TRUE,""\n2,00501,x,no,\n'
        '3,1e5,,NaN,"a,""b"""\n4,02134,-,NO,"two\nlines"\n'
    )
    sections = {"default_role": "insensitive", "input": {"path": str(tmp_path / "in.csv")}}
    anon.run(asked(tmp_path, {"age": "quasi-identifier"}, order="keep", **sections))
    table = released(tmp_path)
    assert table.drop(["age"]).to_pydict() == {
        "zip": ["02134", "00501", "1e5", "02134"],
        "day": ["2024-1-5", "x", None, "-"],
        "flag": ["TRUE", "no", "NaN", "NO"],
        "note": ["", None, 'a,"b"', "two\nlines"],
    }
    again = asked(
        tmp_path,
        {"age": "quasi-identifier"},
        order="keep",
        **sections | {"output": {"path": str(tmp_path / "text"), "format": "csv"}},
    )
    anon.run(again)
    (file,) = (tmp_path / "text" / "data").iterdir()
    assert file.read_text() == (
        '"age","zip","day","flag","note"\n"[1, 2]","02134","2024-1-5","TRUE",""\n'
        '"[1, 2]","00501","x","no",\n"[3, 4]","1e5",,"NaN","a,""b"""\n'
        '"[3, 4]","02134","-","NO","two\nlines"\n'
    )
    assert anon.verify(tmp_path / "text").holds


@pytest.mark.parametrize("format", ["interval", "bounds", "midpoint"])
def test_csv_holds_every_format(tmp_path, format):
    names = ["negative", "decimal", "float", "date", "zoned", "ordered", "nominal", "missing"]
    plain = [
        n for n in PAYLOAD.column_names if n not in ("bytes", "fixed", "list", "struct", "map")
    ]
    table = pa.table(
        {"side": SIDE} | {n: COLUMNS[n][0] for n in names} | {n: PAYLOAD[n][:4] for n in plain}
    )
    run(
        tmp_path,
        table,
        dict.fromkeys(["side", *names], "quasi-identifier"),
        default_role="insensitive",
        recoding={"format": format},
        output={"format": "csv"},
    )


def test_a_bare_hash_or_a_name_is_nowhere_and_pseudonyms_are_equal_across_tables(
    tmp_path, monkeypatch
):
    names = ["Zebulon Quist", "Xanthe Ymir", "Zebulon Quist", None]
    (tmp_path / "key").write_text(KEY + "\n")
    monkeypatch.setenv("SOME_KEY", KEY)
    keys = {"one": {"key_file": str(tmp_path / "key")}, "two": {"key_env": "SOME_KEY"}}
    made = {}
    for folder, key in keys.items():
        (tmp_path / folder).mkdir()
        table = pa.table(
            {"who": names, "mail": names, "age": [1, 2, 3, 4], "nr": pa.array(range(4))}
        )
        if folder == "two":
            table = table.set_column(0, "who", table["who"].dictionary_encode())
        roles = {
            "who": {"role": "identifier", "action": "pseudonymize"} | key,
            "mail": "identifier",
            "age": "quasi-identifier",
            "nr": "insensitive",
        }
        found = run(tmp_path / folder, table, roles)
        assert found.column_names == ["who", "age", "nr"]
        made[folder] = found.sort_by("nr")["who"].to_pylist()
    expected = hmac.new(KEY.encode(), names[0].encode(), hashlib.sha256).hexdigest()
    assert made["one"] == made["two"]
    assert made["one"][0] == made["one"][2] == expected
    assert made["one"][3] is None
    secrets = [KEY, "Zebulon", "Xanthe", "key_file", "key_env", "SOME_KEY", str(tmp_path)]
    secrets += [hashlib.sha256(name.encode()).hexdigest() for name in names if name]
    for folder in keys:
        for file in (tmp_path / folder / "release").rglob("*"):
            if file.is_file():
                text = file.read_bytes()
                assert not [secret for secret in secrets if secret.encode() in text], file


def test_the_index_and_the_metadata_of_pandas_do_not_ride_along(tmp_path):
    frame = pd.DataFrame({"age": [1, 2, 3, 4]}, index=["Zebulon", "Xanthe", "Yorick", "Wanda"])
    found = run(tmp_path, frame, {"age": "quasi-identifier"})
    assert found.column_names == ["age"]
    named = frame.rename_axis("who")
    write(tmp_path, named)
    with pytest.raises(anon.PolicyError, match="column 'who' has no role"):
        anon.run(asked(tmp_path, {"age": "quasi-identifier"}, output={"path": str(tmp_path / "x")}))
    for file in (tmp_path / "release").rglob("*"):
        assert file.is_dir() or b"Zebulon" not in file.read_bytes()
    (file,) = (tmp_path / "release" / "data").iterdir()
    assert list(pq.read_metadata(file).metadata) == [b"ARROW:schema"]


MANY = pa.table({"age": pa.array(range(400)), "nr": pa.array(range(400))})
ROLES = {"age": "quasi-identifier", "nr": "insensitive"}


def many(folder: Path) -> None:
    (folder / "parts").mkdir()
    for i in range(8):
        pq.write_table(MANY.slice(50 * i, 50), folder / "parts" / f"part.{i}.parquet")


def test_rows_and_parts_are_shuffled_from_the_seed(tmp_path):
    import dask

    many(tmp_path)
    numbers, files = {}, {}
    with dask.config.set({"anon.rows.partition": 50}):
        for name, seed in [("first", 1), ("again", 1), ("other", 2)]:
            policy = asked(
                tmp_path,
                ROLES,
                seed=seed,
                input={"path": str(tmp_path / "parts")},
                output={"path": str(tmp_path / name)},
            )
            anon.run(policy)
            numbers[name] = released(tmp_path, name)["nr"].to_pylist()
            files[name] = [f.read_bytes() for f in sorted((tmp_path / name / "data").iterdir())]
    assert files["first"] == files["again"]
    assert len(files["first"]) == 8
    assert numbers["first"] != numbers["other"]
    assert sorted(numbers["first"]) == sorted(numbers["other"]) == list(range(400))
    firsts = [min(numbers["first"][i : i + 50]) for i in range(0, 400, 50)]
    assert sorted(firsts) == list(range(0, 400, 50))
    assert firsts != sorted(firsts)  # the parts among themselves
    assert numbers["first"][:50] != sorted(numbers["first"][:50])  # the rows of a part


def test_order_keep_keeps_the_order(tmp_path):
    import dask

    many(tmp_path)
    with dask.config.set({"anon.rows.partition": 50}):
        anon.run(asked(tmp_path, ROLES, order="keep", input={"path": str(tmp_path / "parts")}))
    assert released(tmp_path)["nr"].to_pylist() == list(range(400))


def test_the_order_cannot_be_told_from_the_release_and_its_seed_alone(tmp_path):
    orders = []
    for step in (1, 3):
        folder = tmp_path / str(step)
        folder.mkdir()
        table = MANY.set_column(0, "age", pa.array([i * step for i in range(400)]))
        orders.append(run(folder, table, ROLES, seed=5)["nr"].to_pylist())
    assert orders[0] != orders[1]


def test_the_recoding_lies_beside_the_release_for_its_owner_alone(tmp_path):
    write(tmp_path, MANY)
    release = anon.run(asked(tmp_path, ROLES))
    assert release.recoding_path == str(tmp_path / "release.recoding")
    assert sorted(os.listdir(tmp_path)) == ["in.parquet", "release", "release.recoding"]
    assert sorted(os.listdir(tmp_path / "release")) == ["data", "evaluation.json", "manifest.json"]
    assert (tmp_path / "release.recoding").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "release").stat().st_mode & 0o700 == 0o700


def test_manifest_and_evaluation_tell_what_was_asked_and_found(tmp_path):
    write(tmp_path, MANY)
    release = anon.run(asked(tmp_path, ROLES, k=5, seed=11))
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    evaluation = json.loads((tmp_path / "release" / "evaluation.json").read_text())
    assert manifest["policy"]["privacy"] == [{"model": "k-anonymity", "k": 5}]
    assert "input" not in manifest["policy"]
    assert "output" not in manifest["policy"]
    assert manifest["n_records"] == 400
    assert manifest["seed"] == 11
    assert [(c["name"], c["role"], c["type"]) for c in manifest["columns"]] == [
        ("age", "quasi-identifier", "int64"),
        ("nr", "insensitive", "int64"),
    ]
    (file,) = manifest["files"]
    data = (tmp_path / "release" / file["path"]).read_bytes()
    assert file["sha256"] == hashlib.sha256(data).hexdigest()
    assert (file["bytes"], file["rows"]) == (len(data), 400)
    assert manifest["evaluation"] == evaluation == release.evaluation.to_json()
    assert evaluation["holds"] is True
    # 400 = 2^6 * 6.25: halved six times, 6 or 7 records a class.
    assert evaluation["figures"]["n_classes"] == 64
    assert evaluation["figures"]["smallest_class"] == 6
    assert 0 < evaluation["figures"]["global_certainty_penalty"] < 0.02
    assert str(tmp_path) not in json.dumps(manifest)
