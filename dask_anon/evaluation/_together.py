"""What is lazy, computed together: tables that several answers need are read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dask_anon.engine.execute import compute
from dask_anon.errors import DataError


def together(asked: dict[str, Any]) -> dict[str, Any]:
    """Compute everything in (nested) dicts that is lazy, in one stage.

    Parameters
    ----------
    asked : dict
        Numbers and other values, lazy or not, and dicts of such.
    """
    from dask.base import is_dask_collection

    lazy: list[Any] = []
    shape = _gathered(asked, lazy)
    tasks = [i for i, value in enumerate(lazy) if is_dask_collection(value)]
    if tasks:
        found = compute("measure", [(_itself, _as_task(lazy[i])) for i in tasks])
        for i, value in zip(tasks, found, strict=True):
            lazy[i] = value
    found_all: dict[str, Any] = _filled(shape, lazy)
    return found_all


def with_loss(
    asked: dict[str, Any], loss: Callable[[], Any]
) -> tuple[dict[str, Any], Any, DataError | None]:
    """The same, and the information loss where it can be measured, else why it cannot.

    Cells that nobody can read tell no loss; which records are alike they tell all the same.
    """
    try:
        found = together({**asked, "loss": loss()})
    except DataError as error:
        return together(asked), None, error  # raises again if it was not the loss's fault
    return found, found.pop("loss"), None


def _gathered(asked: Any, values: list[Any]) -> Any:
    """The same nesting with positions for values."""
    if isinstance(asked, dict):
        return {name: _gathered(value, values) for name, value in asked.items()}
    values.append(asked)
    return len(values) - 1


def _filled(shape: Any, values: list[Any]) -> Any:
    if isinstance(shape, dict):
        return {name: _filled(place, values) for name, place in shape.items()}
    return values[shape]


def _as_task(value: Any) -> Any:
    """Numbers and tasks of one kind: Dask computes them together, but with a warning."""
    from dask.delayed import Delayed

    return value if isinstance(value, Delayed) else value.to_delayed()


def _itself(value: Any) -> Any:
    return value
