"""How a CSV input is written: encoding, delimiter, line breaks and header, by its first bytes."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import csv

from dask_anon.engine.sources._files import File
from dask_anon.engine.sources._scan import first_records, undecodable
from dask_anon.errors import DataError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE_BYTES = 1 << 16
_MAX_HEADER_BYTES = 1 << 20
_N_SNIFFED = 100
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Dialect:
    """What all files of an input share."""

    names: tuple[str, ...]
    delimiter: str
    encoding: str
    null_values: tuple[str, ...]

    @property
    def blank_is_value(self) -> bool:
        # In a file of one column an empty line is a missing value; in a wider one it is no record.
        return len(self.names) == 1


@dataclass(frozen=True)
class Head:
    """Where the data of one file begin."""

    file: File
    start: int  # offset behind the header
    line: int  # 1-based line of that
    line_break: bytes  # the byte that ends a line


def open_dialect(
    files: Sequence[File],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] = ("",),
) -> tuple[Dialect, tuple[Head, ...]]:
    """Read the headers of all files; those that hold nothing at all are left out."""
    codec = _codec(encoding)
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
    ):
        raise DataError(
            "the delimiter must be one ASCII character other than a quote or a line break, such "
            "as ',' or ';'.",
            delimiter=delimiter,
        )
    with ThreadPoolExecutor(min(8, len(files))) as pool:
        samples = list(pool.map(lambda file: _sample(file, codec), files))
    dialect: Dialect | None = None
    heads = []
    for file, (skip, sample) in zip(files, samples, strict=True):
        if not sample.strip(b"\r\n"):
            continue
        chosen = dialect.delimiter if dialect else delimiter or _sniff(file, sample)
        end = int(first_records(sample, delimiter=chosen, limit=1)[1][0])
        names = _names(file, sample[:end], chosen, codec)
        if dialect is None:
            dialect = Dialect(names, chosen, codec, tuple(null_values))
            first = file
        elif names != dialect.names:
            raise _different_headers(first, dialect.names, file, names)
        header = sample[:end]
        line_break = b"\r" if header.endswith(b"\r") else b"\n"
        heads.append(Head(file, skip + end, 1 + _n_lines(header), line_break))
    if dialect is None:
        what = f"file {files[0].name!r} is" if len(files) == 1 else f"all {len(files)} files are"
        raise DataError(
            f"{what} empty, without even a header line. Write the column names into the first line."
        )
    return dialect, tuple(heads)


def to_utf8(data: bytes, encoding: str, file: str, offset: int) -> bytes:
    """The same text in UTF-8; `offset` is where `data` stands in the file."""
    bad = first_undecodable(data, encoding)
    if bad is not None:
        raise undecodable(file, encoding, offset + bad)
    return data if encoding == "utf-8" else data.decode(encoding).encode()


def first_undecodable(data: bytes, encoding: str) -> int | None:
    """Offset of the first byte that is not text, or None."""
    if encoding == "iso8859-1":  # every byte is a character
        return None
    if encoding == "utf-8":
        # Arrow checks without making a copy; Python then says where.
        offsets = pa.array([0, len(data)], pa.int64()).buffers()[1]
        whole = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(data))
        try:
            whole.validate(full=True)
        except pa.ArrowInvalid:
            pass
        else:
            return None
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _codec(encoding: str | None) -> str:
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except LookupError as error:
        raise DataError(
            f"encoding {encoding!r} is not known. Use utf-8, latin-1 or another encoding that "
            "Python names.",
            encoding=encoding,
        ) from error
    if name in ("utf-8", "utf-8-sig", "ascii"):
        return "ascii" if name == "ascii" else "utf-8"
    if not _keeps_ascii(name):
        raise DataError(
            f"encoding {encoding!r} cannot be read in parallel, since its characters may contain "
            f"the bytes of a delimiter or a line break. Convert the files first: iconv -f {name} "
            "-t utf-8.",
            encoding=encoding,
        )
    return name


def _keeps_ascii(codec: str) -> bool:
    """Whether a byte below 128 is always that ASCII character and never part of another."""
    try:
        if any(bytes([low]).decode(codec) != chr(low) for low in range(128)):
            return False
        return all(
            bytes([high, low]).decode(codec, "ignore").endswith(chr(low))
            for high in range(128, 256)
            for low in range(32, 127)
        )
    except (UnicodeError, LookupError):
        return False


def _sample(file: File, codec: str) -> tuple[int, bytes]:
    """The first bytes of a file with at least one whole record, behind what was skipped (a BOM)."""
    size = _SAMPLE_BYTES
    while True:
        sample = file.read(0, size)
        if sample.startswith(_UTF16):
            raise DataError(
                f"file {file.name!r} is written in UTF-16. Convert it first: iconv -f utf-16 -t "
                "utf-8.",
                file=file.name,
            )
        skip = (
            len(codecs.BOM_UTF8) if codec == "utf-8" and sample.startswith(codecs.BOM_UTF8) else 0
        )
        whole = len(sample) < size
        sample = sample[skip:]
        if whole or len(first_records(sample, delimiter=",", limit=2)[0]) > 1:
            return skip, sample
        if size >= _MAX_HEADER_BYTES:
            raise DataError(
                f"the header of {file.name!r} does not end within {_MAX_HEADER_BYTES >> 20} MiB. "
                "The file is not a CSV file, or a quote in the header is not closed.",
                file=file.name,
            )
        size *= 4


def _sniff(file: File, sample: bytes) -> str:
    """The delimiter under which the first records have as many fields as the header."""
    candidates = []
    for delimiter in DELIMITERS:
        _, ends, _, fields = first_records(sample, delimiter=delimiter, limit=_N_SNIFFED)
        if len(fields) > 1 and ends[-1] == len(sample):
            fields = fields[:-1]  # the sample may end inside this record
        if len(fields) and fields[0] > 1:
            agree = bool((fields == fields[0]).all())
            candidates.append((agree, int(fields[0]), delimiter))
    if not candidates:
        return "\t" if file.name.lower().endswith((".tsv", ".tab")) else ","
    return max(candidates, key=lambda each: each[:2])[2]


def _names(file: File, header: bytes, delimiter: str, codec: str) -> tuple[str, ...]:
    header = to_utf8(header, codec, file.name, 0).strip(b"\r\n") + b"\n"
    n_fields = int(first_records(header, delimiter=delimiter)[3][0])
    table = csv.read_csv(
        pa.py_buffer(header),
        read_options=csv.ReadOptions(
            column_names=[f"f{i}" for i in range(n_fields)],
            use_threads=False,
            block_size=len(header) + 1,
        ),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={f"f{i}": pa.string() for i in range(n_fields)}
        ),
    )
    names = tuple(column[0].as_py() for column in table.columns)
    for i, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"field {i} of the header of {file.name!r} has no name. Name the column, or leave "
                "it out (pandas: to_csv(index=False)).",
                file=file.name,
            )
    doubled = [name for name, n in Counter(names).items() if n > 1]
    if doubled:
        raise DataError(
            f"the header of {file.name!r} names column {doubled[0]!r} more than once. Rename one "
            "of them.",
            file=file.name,
            column=doubled[0],
        )
    return names


def _n_lines(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _different_headers(
    first: File, names: Sequence[str], other: File, found: Sequence[str]
) -> DataError:
    for missing, here, there in (
        (set(names) - set(found), first, other),
        (set(found) - set(names), other, first),
    ):
        if missing:
            return DataError(
                f"column {min(missing)!r} is in the header of {here.name!r} and not in that of "
                f"{there.name!r}. All files of an input need the same header.",
                column=min(missing),
            )
    return DataError(
        f"the headers of {first.name!r} and {other.name!r} name the same columns in different "
        "orders. All files of an input need the same header.",
        file=other.name,
    )
