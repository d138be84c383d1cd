"""Equivalence classes as a table: one row a class, and what is counted from it.

    released ──released_columns──▶ quasi-identifiers ──equivalence_classes──▶ ClassTable

pandas in, pandas out; a Dask frame gives a lazy Dask frame. A missing value is a value of its own.
"""

from dask_anon.classes._columns import released_columns
from dask_anon.classes._counts import ClassCounts
from dask_anon.classes._table import ClassTable, equivalence_classes

__all__ = ["ClassCounts", "ClassTable", "equivalence_classes", "released_columns"]
