"""Mondrian keeps the laws of every algorithm, whichever way it treats ties."""

from __future__ import annotations

from laws import Laws


class TestEither(Laws):
    algorithm = {"name": "mondrian", "ties": "either"}  # noqa: RUF012


class TestLeftByRegion(Laws):
    algorithm = {"name": "mondrian", "ties": "left", "span_ties": "region"}  # noqa: RUF012


class TestDivide(Laws):
    algorithm = {"name": "mondrian", "ties": "divide"}  # noqa: RUF012
