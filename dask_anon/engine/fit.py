"""Fit: from partitions to a recoding.

parts ──values, domains──▶ encode ──▶ tree ──▶ regroup ──▶ finish ──▶ Recoding
                           codes      cuts     segments    classes
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dask_anon.config import settings
from dask_anon.engine.checks import check_size
from dask_anon.engine.domains import find_domains
from dask_anon.engine.encode import (
    Coding,
    code_type,
    encode,
    refuse_missing,
    scale_of,
    settled,
)
from dask_anon.engine.execute import current_client
from dask_anon.engine.finish import finish
from dask_anon.engine.plan import Plan, limits_of, plan
from dask_anon.engine.regroup import regroup
from dask_anon.engine.scratch import Scratch, delete_files, remove, scratch_directory
from dask_anon.engine.sensitive import find_models, save_models
from dask_anon.engine.tree import Ask, grow
from dask_anon.errors import AnonError
from dask_anon.hierarchy import Summary
from dask_anon.kernels.common import DIVIDE, EITHER, LEFT, Array
from dask_anon.models import Models, columns_of
from dask_anon.policy import Bound, Policy
from dask_anon.recoding import Recoding, save_domains

_TIES = {"left": LEFT, "either": EITHER, "divide": DIVIDE}
_SAMPLE = 200_000


@dataclass(frozen=True)
class Fitted:
    """A recoding, and what writing the release needs of the run that found it."""

    recoding: Recoding
    coding: Coding
    offsets: Array
    checksum: tuple[int, int]
    certainty: dict[str, float]


def fit(data: Any, policy: Policy) -> Recoding:
    """Find the recoding of a table that keeps the policy.

    Parameters
    ----------
    data : pandas or Dask DataFrame
        The original. Only quasi-identifiers are read (with ``ties: divide``, all released columns).
        A Dask frame is computed once for the domains and once for the codes; what comes after works
        on codes.
    policy : Policy
        Columns that it does not name are insensitive, unless it says otherwise.

    Returns
    -------
    Recoding
        Says how many passes it took. Its regions lie in a temporary directory that lives as long as
        it does.

    Raises
    ------
    DataError, PolicyError, PlanError

    Notes
    -----
    O(records x log(records / k)) time; the driver holds nothing that grows with the records.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006.
    """
    names = list(data.columns)
    bound = policy.bind(names, default_role="insensitive")
    planned = plan(data, policy)
    keys = bound.released if policy.algorithm.ties == "divide" else ()
    needed = list(dict.fromkeys((*bound.quasi_identifiers, *columns_of(policy), *keys)))
    parts = _parts(data, needed)
    own = settings()
    home = tempfile.mkdtemp(prefix="anon-recoding-", dir=own.scratch_directory)
    try:
        with scratch_directory(own.scratch_directory) as scratch:
            fitted = fit_parts(
                parts, bound, policy, planned, scratch, home, types={}, footer=lambda _: None
            )
    except BaseException:
        remove(home)
        raise
    return replace(fitted.recoding, owner=_Owner(home))


class _Owner:
    """Removes a directory when nobody refers to it any more."""

    def __init__(self, path: str) -> None:
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


# A cluster computes copies of a lazy frame (persist, Client.compute), maybe after the frame itself
# is gone here. What its tasks read then stays until this process ends.
_lent: list[_Owner] = []


def _parts(data: Any, columns: list[str]) -> list[Any]:
    if isinstance(data, pd.DataFrame):
        return [data[columns]]
    if hasattr(data, "to_delayed"):
        return list(data[columns].to_delayed())
    raise AnonError(f"fit takes a pandas or a Dask DataFrame, found {type(data).__name__}.")


def fit_parts(
    parts: Sequence[Any],
    bound: Bound,
    policy: Policy,
    planned: Plan,
    scratch: Scratch,
    recoding_path: str,
    *,
    types: dict[str, pa.DataType],
    footer: Callable[[str], Summary | None],
) -> Fitted:
    """Fit partitions: Readers of files, or Delayed frames; `scratch` keeps what writing needs."""
    own = settings()
    columns = bound.quasi_identifiers
    models = find_models(parts, policy, own.sensitive_cap)
    save_models(scratch, models)
    domains = find_domains(parts, columns, types=types, footer=footer)
    save_domains(scratch.file("domains"), domains)
    ties = _TIES[policy.algorithm.ties]
    coding = Coding(
        scratch=scratch,
        columns=columns,
        dtype=code_type(domains, models).name,
        key_columns=bound.released if ties == DIVIDE else (),
        seed=policy.seed,
        distinct_cap=own.distinct_cap,
        sample_size=max(256, _SAMPLE // len(parts)),
        sensitive=models.columns,
    )
    encoded = encode(coding, parts)
    check_size(encoded.total, policy)
    if not models.columns:  # nothing was counted, so only now the records are known
        models = Models.of(policy, {}, n_records=encoded.total)
    domains = list(settled(domains, encoded))
    if policy.missing.quasi_identifiers == "error":
        refuse_missing(domains, encoded)
    save_domains(scratch.file("settled"), domains)
    coding = replace(coding, domains_at="settled")
    scale = scale_of(domains, encoded, own.distinct_cap)
    ask = Ask(models.min_size, ties, policy.algorithm.span_ties == "region", own.distinct_cap)
    top = grow(coding, encoded, scale, ask, limits_of(planned))
    tree = top.frozen(coding.dtype)
    offsets = regroup(coding, tree, len(parts))
    # The stage before is complete, so nobody needs its files again.
    scratch.delete("codes.*")
    scratch.delete("keys.*")
    os.makedirs(recoding_path, exist_ok=True)
    finished = finish(coding, scale, ask, top, offsets, recoding_path)
    scratch.delete("segments.*")
    scratch.delete("segment-keys.*")
    delete_files(recoding_path, "*.tmp")  # of a worker that died while it wrote
    penalties = np.sum([f.penalties for f in finished], axis=0) / max(1, encoded.total)
    recoding = Recoding(
        policy=policy,
        columns=bound.columns,
        domains=tuple(domains),
        dtype=coding.dtype,
        key_columns=coding.key_columns,
        tree=tree,
        n_records=encoded.total,
        n_classes=sum(f.n_classes for f in finished),
        smallest_class=min((f.smallest for f in finished if f.n_classes), default=0),
        passes=top.passes + 2,
        path=recoding_path,
    )
    recoding.write_description(recoding_path)
    certainty = dict(zip(columns, map(float, penalties), strict=True))
    return Fitted(recoding, coding, offsets, encoded.checksum, certainty)


def anonymize(data: Any, policy: Policy) -> Any:
    """Anonymize a table: `fit`, then `Recoding.apply`.

    Parameters
    ----------
    data : pandas or Dask DataFrame
    policy : Policy

    Returns
    -------
    pandas or Dask DataFrame
        As `data`, its rows in order and with their index. A Dask frame is fitted now and applied
        lazily.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [23, 23, 24, 25], "salary": [50, 55, 52, 51]})
    >>> policy = Policy(
    ...     columns={"age": "quasi-identifier"}, privacy=[{"model": "k-anonymity", "k": 2}]
    ... )
    >>> anonymize(people, policy)
            age  salary
    0        23      50
    1        23      55
    2  [24, 25]      52
    3  [24, 25]      51
    """
    recoding = fit(data, policy)
    if not isinstance(data, pd.DataFrame) and current_client() is not None:
        _lent.append(recoding.owner)
    return recoding.apply(data)
