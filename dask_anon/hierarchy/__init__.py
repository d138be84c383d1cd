"""Values, codes and labels: what a column holds, as small integers, and as the text of a release.

values ── summarize ─▶ Summary ── domain_of ─▶ Domain
       ── encode ────▶ codes ── released_arrays, set_labels ─▶ labels
       ◀── values ────                        ◀── parse_label ──
"""

from dask_anon.hierarchy._build import domain_of, restore_domain
from dask_anon.hierarchy._domain import Domain, FloatDomain, IntegerDomain
from dask_anon.hierarchy._labelled import NominalDomain, OrdinalDomain
from dask_anon.hierarchy._parse import Interval, LabelSet, parse_label
from dask_anon.hierarchy._released import released_arrays, released_fields
from dask_anon.hierarchy._sets import set_labels
from dask_anon.hierarchy._summary import Summary, merge_summaries, summarize
from dask_anon.hierarchy._taxonomy import Taxonomy
from dask_anon.hierarchy._types import type_from_name
from dask_anon.hierarchy._value_counts import ValueCounts, count_values, merge_value_counts

__all__ = [
    "Domain",
    "FloatDomain",
    "IntegerDomain",
    "Interval",
    "LabelSet",
    "NominalDomain",
    "OrdinalDomain",
    "Summary",
    "Taxonomy",
    "ValueCounts",
    "count_values",
    "domain_of",
    "merge_summaries",
    "merge_value_counts",
    "parse_label",
    "released_arrays",
    "released_fields",
    "restore_domain",
    "set_labels",
    "summarize",
    "type_from_name",
]
