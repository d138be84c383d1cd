"""Values, codes and labels: what a column holds, as small integers, and as the text of a release.

values ── summarize ─▶ Summary ── domain_of ─▶ Domain ── encode ─▶ codes ── released_arrays ─▶ labels
                                                                       ◀── parse_label ──
"""

from dask_anon.hierarchy._build import domain_of, restore_domain
from dask_anon.hierarchy._domain import Domain, FloatDomain, IntegerDomain
from dask_anon.hierarchy._labelled import NominalDomain, OrdinalDomain
from dask_anon.hierarchy._summary import Summary, merge_summaries, summarize

__all__ = [
    "Domain",
    "FloatDomain",
    "IntegerDomain",
    "NominalDomain",
    "OrdinalDomain",
    "Summary",
    "domain_of",
    "merge_summaries",
    "restore_domain",
    "summarize",
]
