"""The recoding: from a record's codes to its equivalence class and its generalized labels."""

from dask_anon.recoding._classes import (
    LabelSets,
    OrderedBounds,
    RegionClasses,
    classes_of,
    load_sets,
    save_region,
    without_repetition,
)
from dask_anon.recoding._codes import encode_table, load_domains, record_keys, save_domains
from dask_anon.recoding._labels import RecordSets, released
from dask_anon.recoding._pseudonyms import pseudonyms
from dask_anon.recoding._recoding import Recoding
from dask_anon.recoding._tables import table_from_frame
from dask_anon.recoding._tree import CutTree

__all__ = [
    "CutTree",
    "LabelSets",
    "OrderedBounds",
    "Recoding",
    "RecordSets",
    "RegionClasses",
    "classes_of",
    "encode_table",
    "load_domains",
    "load_sets",
    "pseudonyms",
    "record_keys",
    "released",
    "save_domains",
    "save_region",
    "table_from_frame",
    "without_repetition",
]
