"""Where the records of a CSV block begin, whatever stood before it.

    block 0                block 1                 block 2
    a,b⏎1,2⏎3,"x⏎ │ y"⏎4,5⏎6,"z⏎ │ ⏎"⏎7,8⏎
                    └ quoted or not? block 1 cannot know, so it answers for both.

Blocks are cut behind a line break. There the text is either at the start of a record or inside a
quoted value, nothing else, so each block is scanned once for each of the two, in parallel. The
driver then walks over the answers from the first block on and knows every record start, every line
number and every ragged record.

The rules are those of RFC 4180: a quote opens a value only where a value begins, two quotes inside
one are a quote, and a record ends at LF, CRLF or a lone CR. pyarrow parses by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numba
import numpy as np
import numpy.typing as npt

from dask_anon.errors import DataError

START, FIELD, PLAIN, QUOTED, CLOSED = range(5)
_QUOTE, _LF, _CR = 34, 10, 13

# A record longer than this is a quote that was never closed, and would not fit the parser.
MAX_RECORD_BYTES = 1 << 29

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """What a block holds if it begins in a given state; offsets and lines count from there."""

    end_state: int
    n_ended: int  # records that end in the block
    # (mark, 3): a record start, and the records ended and lines before it
    marks: Ints = field(repr=False)
    head_fields: int  # delimiters up to the end of the record that came in; -1 if it does not end
    tail_fields: int  # delimiters of the record that goes out
    tail_line: int  # where that record starts; -1 if it came in
    last_end: int  # behind the last record that is not blank; -1 if there is none
    last_ended: int  # records ended by then
    ragged_line: int  # first record with a wrong number of fields; -1 if there is none
    ragged_fields: int


@dataclass(frozen=True)
class Scanned:
    """A block, scanned for both states."""

    begin: int
    end: int
    n_lines: int
    at_start: Answer
    in_quotes: Answer
    undecodable: int | None = None  # offset in the file of the first byte that is no text


@dataclass(frozen=True)
class Segments:
    """Stretches of one file, each beginning with a record and holding whole records."""

    start: Ints
    stop: Ints
    n_records: Ints
    line: Ints  # 1-based line of the first record


def scan_block(
    data: bytes,
    begin: int,
    *,
    delimiter: str,
    n_fields: int,
    step: int,
    undecodable: int | None = None,
) -> Scanned:
    """Scan `data`, which stands at offset `begin` of its file, for both states."""
    array = np.frombuffer(data, dtype=np.uint8)
    answers = []
    n_lines = 0
    for state in (START, QUOTED):
        marks = np.empty((len(array) // step + 2, 3), dtype=np.int64)
        facts = _scan(array, state, ord(delimiter), n_fields, n_fields == 1, step, marks)
        end_state, n_ended, n_lines, n_marks, *rest = (int(fact) for fact in facts)
        answers.append(Answer(end_state, n_ended, marks[:n_marks].copy(), *rest))
    return Scanned(begin, begin + len(array), n_lines, answers[0], answers[1], undecodable)


def compose(
    blocks: Sequence[Scanned], *, file: str, encoding: str, n_fields: int, line: int
) -> Segments:
    """Walk over the blocks of one file, whose first byte is a record start in line `line`.

    Raises
    ------
    DataError
        At the first record with a wrong number of fields, byte that cannot be decoded, or quote
        that stays open.
    """
    state, ended, fields, tail_line = START, 0, 0, line
    marks: list[Ints] = []
    stop, stop_ended = 0, 0  # behind the last record that is not blank
    for block in blocks:
        if block.undecodable is not None:
            raise undecodable(file, encoding, block.undecodable)
        answer = block.in_quotes if state == QUOTED else block.at_start
        if state == QUOTED and answer.head_fields >= 0:
            _check_fields(fields + answer.head_fields + 1, n_fields, file, tail_line)
        if answer.ragged_line >= 0:
            _check_fields(answer.ragged_fields, n_fields, file, line + answer.ragged_line)
        marks.append(answer.marks + np.array([block.begin, ended, line]))
        if answer.last_end >= 0:
            stop, stop_ended = block.begin + answer.last_end, ended + answer.last_ended
        if answer.tail_line >= 0:
            fields, tail_line = answer.tail_fields, line + answer.tail_line
        else:
            fields += answer.tail_fields
        state = answer.end_state
        ended += answer.n_ended
        line += block.n_lines
    if state == QUOTED:
        raise DataError(
            f"the quoted value that begins in the record at line {tail_line} of {file!r} is never "
            "closed. Close the quote, or double it if it belongs to the value.",
            file=file,
            line=tail_line,
        )
    if state != START:  # the last line has no line break
        _check_fields(fields + 1, n_fields, file, tail_line)
        stop, stop_ended = blocks[-1].end, ended + 1
    return _segments(
        np.concatenate(marks) if marks else np.empty((0, 3), np.int64), stop, stop_ended, file
    )


def first_records(
    data: bytes, *, delimiter: str, blanks: bool = False, limit: int | None = None
) -> tuple[Ints, Ints, Ints, Ints]:
    """Where each record starts and ends, its line (from 0) and its number of fields.

    `blanks` counts an empty line as a record of one empty field.
    """
    array = np.frombuffer(data, dtype=np.uint8)
    n = data.count(b"\n") + data.count(b"\r") + 1
    out = np.empty((4, n if limit is None else min(n, limit)), dtype=np.int64)
    found = _records(array, ord(delimiter), blanks, out)
    return out[0, :found], out[1, :found], out[2, :found], out[3, :found]


def undecodable(file: str, encoding: str, offset: int) -> DataError:
    """Say where a file stops being text."""
    return DataError(
        f"file {file!r} is not {encoding}: the byte at offset {offset} cannot be decoded. Name "
        "the encoding it was written in, such as `encoding: latin-1`, or repair the file.",
        file=file,
        offset=offset,
    )


def _check_fields(found: int, expected: int, file: str, line: int) -> None:
    if found != expected:
        raise DataError(
            f"line {line} of {file!r} has {found} fields, the header has {expected}. Repair the "
            "line; a value that contains the delimiter or a line break needs quotes around it.",
            file=file,
            line=line,
            found=found,
            expected=expected,
        )


def _segments(marks: Ints, stop: int, stop_ended: int, file: str) -> Segments:
    marks = marks[marks[:, 0] < stop]
    starts, ended, lines = marks[:, 0], marks[:, 1], marks[:, 2]
    stops = np.append(starts[1:], stop) if len(starts) else starts
    n_records = np.diff(np.append(ended, stop_ended)) if len(starts) else starts
    longest = int((stops - starts).max(initial=0))
    if longest > MAX_RECORD_BYTES:
        where = int(lines[(stops - starts).argmax()])
        raise DataError(
            f"from line {where} of {file!r} on, {longest >> 20} MiB pass without the end of a "
            "record. A quote seems to be opened there and not closed.",
            file=file,
            line=where,
        )
    return Segments(starts, stops, n_records, lines)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _scan(
    data: Bytes, state: int, delimiter: int, n_fields: int, blanks: bool, step: int, marks: Ints
) -> tuple[int, int, int, int, int, int, int, int, int, int, int]:
    n = len(data)
    came_in = state == QUOTED
    n_ended = n_lines = n_marks = fields = tail_line = 0
    head_fields = last_end = ragged_line = ragged_fields = -1
    last_ended = 0
    next_mark = 0
    if came_in:
        tail_line = -1
    elif n > 0:
        marks[0, 0] = marks[0, 1] = marks[0, 2] = 0
        n_marks = 1
        next_mark = step
    for i in range(n):
        c = data[i]
        if state == QUOTED:
            if c == _QUOTE:
                state = CLOSED
            elif c == _LF or (c == _CR and not (i + 1 < n and data[i + 1] == _LF)):
                n_lines += 1
        elif state == CLOSED and c == _QUOTE:
            state = QUOTED
        elif c == _LF or (c == _CR and not (i + 1 < n and data[i + 1] == _LF)):
            n_lines += 1
            if state != START:
                if came_in:
                    came_in = False
                    head_fields = fields
                elif fields + 1 != n_fields and ragged_line < 0:
                    ragged_line = tail_line
                    ragged_fields = fields + 1
                n_ended += 1
                last_end = i + 1
                last_ended = n_ended
            elif blanks:
                n_ended += 1
            state = START
            fields = 0
            tail_line = n_lines
            if i + 1 >= next_mark and i + 1 < n:
                marks[n_marks, 0] = i + 1
                marks[n_marks, 1] = n_ended
                marks[n_marks, 2] = n_lines
                n_marks += 1
                next_mark = i + 1 + step
        elif c == _CR:
            pass  # the LF behind it ends the record
        elif c == delimiter:
            fields += 1
            state = FIELD
        elif c == _QUOTE and state in (START, FIELD):
            state = QUOTED
        else:
            state = PLAIN
    return (
        state,
        n_ended,
        n_lines,
        n_marks,
        head_fields,
        fields,
        tail_line,
        last_end,
        last_ended,
        ragged_line,
        ragged_fields,
    )


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _records(data: Bytes, delimiter: int, blanks: bool, out: Ints) -> int:
    n = len(data)
    state = START
    found = start = line = n_lines = fields = 0
    for i in range(n):
        if found == out.shape[1]:
            return found
        c = data[i]
        if state == QUOTED:
            if c == _QUOTE:
                state = CLOSED
            elif c == _LF or (c == _CR and not (i + 1 < n and data[i + 1] == _LF)):
                n_lines += 1
        elif state == CLOSED and c == _QUOTE:
            state = QUOTED
        elif c == _LF or (c == _CR and not (i + 1 < n and data[i + 1] == _LF)):
            n_lines += 1
            if state != START or blanks:
                out[0, found] = start
                out[1, found] = i + 1
                out[2, found] = line
                out[3, found] = fields + 1
                found += 1
            state = START
            fields = 0
            start = i + 1
            line = n_lines
        elif c == _CR:
            pass
        elif c == delimiter:
            fields += 1
            state = FIELD
        elif c == _QUOTE and state in (START, FIELD):
            state = QUOTED
        else:
            state = PLAIN
    if state != START and found < out.shape[1]:
        out[0, found] = start
        out[1, found] = n
        out[2, found] = line
        out[3, found] = fields + 1
        found += 1
    return found
