"""Progress: two lines a stage for logs, bars for people."""

from __future__ import annotations

import io

from dask_anon.cli._progress import progress
from dask_anon.engine.execute import compute, reporting_to


def double(x: int) -> int:
    return 2 * x


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def two_stages(stream: io.StringIO) -> str:
    with progress(stream) as report, reporting_to(report):
        assert compute("encode", [(double, i) for i in range(20)]) == list(range(0, 40, 2))
        compute("cut", [(double, 1)])
        compute("cut", [(double, 1), (double, 2)])
    return stream.getvalue()


def test_a_log_gets_the_start_and_the_end_of_each_stage():
    assert two_stages(io.StringIO()).splitlines() == [
        "encode 0/20",
        "encode 20/20",
        "cut 0/1",
        "cut 1/1",
        "cut 3/3",
    ]


def test_a_terminal_gets_bars(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    shown = two_stages(Terminal())
    assert "\x1b[" in shown
    assert "20/20" in shown
    assert "3/3" in shown


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in two_stages(Terminal())


def test_a_stage_that_fails_says_how_far_it_came():
    stream = io.StringIO()
    with progress(stream) as report:
        report.start("finish", 3)
        report.advance("finish")
        report.finish("finish")
    assert stream.getvalue() == "finish 0/3\nfinish 1/3\n"
