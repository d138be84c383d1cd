"""A policy file as plain dicts, lists and scalars, with the traps of YAML taken out.

PyYAML reads YAML 1.1, in which the country code ``NO`` is False, ``010`` is 8 and a column called
``2020`` is a number. Here only ``true`` and ``false`` are booleans, keys are always text, and a key
that stands twice is a mistake that names both lines (PyYAML would keep the last, so that a column
with two roles would silently lose one).
"""

from __future__ import annotations

import os
import re
from typing import Any

import yaml
import yaml.composer
import yaml.parser
import yaml.reader
import yaml.resolver
import yaml.scanner

from dask_anon.errors import PolicyError, Problem
from dask_anon.policy._base import Where
from dask_anon.policy._problems import path_of

# Far above any policy written by hand; a wrong path to a table is noticed before it is parsed.
MAX_BYTES = 2**20


def read(path: str) -> tuple[dict[str, Any], list[Problem]]:
    """Parse a policy file; mistakes that do not stop the parser come back beside the data."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".yaml", ".yml", ".toml"):
        raise PolicyError(f"policy file '{path}' must end in .yaml, .yml or .toml.")
    text = _text(path)
    problems: list[Problem] = []
    data = _toml(path, text) if ending == ".toml" else _yaml(path, text, problems)
    if data is None:
        raise PolicyError(f"policy file '{path}' is empty. It needs at least columns and privacy.")
    if not isinstance(data, dict):
        raise PolicyError(
            f"policy file '{path}' must be a mapping with keys such as columns and privacy."
        )
    return data, problems


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise PolicyError(f"policy file '{path}' does not exist.") from None
    except IsADirectoryError:
        raise PolicyError(f"policy file '{path}' is a directory.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise PolicyError(f"policy file '{path}' cannot be read: {reason}.") from None
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"policy file '{path}' is larger than 1 MiB. Is it a policy?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(
            f"policy file '{path}', line {line}: not UTF-8. Save it as UTF-8."
        ) from None


def _toml(path: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"policy file '{path}' is not valid TOML: {error}.") from None
    except (RecursionError, ValueError):
        raise PolicyError(f"policy file '{path}' is nested too deeply to be a policy.") from None


def _yaml(path: str, text: str, problems: list[Problem]) -> Any:
    try:
        node = _Loader(text).get_single_node()
        return None if node is None else _value(node, (), problems)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        problem = error.problem or error.context
        raise PolicyError(f"policy file '{path}'{line} is not valid YAML: {problem}.") from None
    except yaml.reader.ReaderError as error:
        line = f", line {text.count(chr(10), 0, error.position) + 1}"
        raise PolicyError(f"policy file '{path}'{line}: a character that YAML forbids.") from None
    except RecursionError:
        raise PolicyError(f"policy file '{path}' is nested too deeply to be a policy.") from None


class _Resolver(yaml.resolver.BaseResolver):
    """What a plain word is: the core schema of YAML 1.2, with one spelling of each boolean."""


for _tag, _pattern, _first in [
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
]:
    _Resolver.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first)
    )


class _Loader(
    yaml.reader.Reader,
    yaml.scanner.Scanner,
    yaml.parser.Parser,
    yaml.composer.Composer,
    _Resolver,
):
    def __init__(self, stream: Any) -> None:
        yaml.reader.Reader.__init__(self, stream)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _Resolver.__init__(self)

    def compose_node(self, parent: Any, index: Any) -> Any:
        # A few aliases of aliases expand to gigabytes, and a policy has no use for one.
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed", problem_mark=mark)
        return super().compose_node(parent, index)


def _value(node: Any, loc: Where, problems: list[Problem]) -> Any:
    kind = node.tag.rpartition(":")[2]
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _mapping(node, loc, problems)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_value(item, (*loc, i), problems) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        try:
            match kind:
                case "str":
                    return node.value
                case "null":
                    return None
                case "bool" if node.value in ("true", "false"):
                    return node.value == "true"
                case "int":
                    return int(node.value)
                case "float":
                    return float(node.value)
        except ValueError:  # a number with thousands of digits, or a word forced to be one
            raise yaml.MarkedYAMLError(
                problem="this is not a number", problem_mark=node.start_mark
            ) from None
    raise yaml.MarkedYAMLError(
        problem="this tag (!) is not allowed in a policy", problem_mark=node.start_mark
    )


def _mapping(node: Any, loc: Where, problems: list[Problem]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(
                problem="a key must be text", problem_mark=key_node.start_mark
            )
        # The text as it is written: `NO`, `2020` and `null` are good names of columns.
        key, line = key_node.value, key_node.start_mark.line + 1
        value = _value(value_node, (*loc, key), problems)
        if key in mapping:
            where = f"lines {lines[key]} and {line}" if line != lines[key] else f"line {line}"
            what = f"column '{key}' has two entries" if loc == ("columns",) else "stands twice"
            keep = " A column has one role." if loc == ("columns",) else ""
            problems.append(Problem(path_of((*loc, key)), f"{what} ({where}). Keep one.{keep}"))
        else:
            mapping[key], lines[key] = value, line
    return mapping
