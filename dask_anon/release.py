"""The whole job: files in, a verified release directory out.

    input ──plan──fit──write──▶ staging ──re-count──evaluate──manifest──▶ put in place by one rename
                                   │
                                   └── anything fails: staging and scratch go, nothing is published

Three directories live beside the output while the job runs, all readable by their owner alone:
scratch (codes), staging (the release that is not one yet) and the recoding. The release appears
whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from dask_anon.audit._promises import refuse_what_cannot_be_verified
from dask_anon.audit.judge import judge_classes
from dask_anon.audit.manifest import Manifest, ReleasedColumn, ReleasedFile
from dask_anon.classes import ClassCounts
from dask_anon.config import settings
from dask_anon.engine.fit import Fitted, fit_parts
from dask_anon.engine.plan import Plan, open_input, plan_source
from dask_anon.engine.scratch import delete_files, scratch_directory
from dask_anon.engine.sources import Source
from dask_anon.engine.target import Target
from dask_anon.engine.write import Writing, WrittenFile, shuffle_key, write_parts
from dask_anon.errors import VerificationError, counted
from dask_anon.evaluation import Evaluation, Judged
from dask_anon.hierarchy import released_fields
from dask_anon.models import settled
from dask_anon.policy import Bound, Policy


@dataclass(frozen=True)
class Release:
    """A release that was verified from its own files.

    Attributes
    ----------
    path, recoding_path : str
        The release, and what `fit` learned; the second stays with the data holder.
    n_records : int
    counts : ClassCounts
        Equivalence classes as counted from the released files.
    evaluation : Evaluation
        Asked, found, holds.
    plan : Plan
    files : tuple of WrittenFile
    passes : int
        Times that the codes were read.
    """

    path: str
    recoding_path: str
    n_records: int
    counts: ClassCounts
    evaluation: Evaluation
    plan: Plan = field(repr=False)
    files: tuple[WrittenFile, ...] = field(repr=False)
    passes: int

    @property
    def holds(self) -> bool:
        """Whether everything that was asked holds; a release is only put in place if it does."""
        return self.evaluation.holds

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "release": self.path,
            "recoding": self.recoding_path,
            "records": self.n_records,
            "classes": self.counts.figures(),
            "evaluation": self.evaluation.to_json(),
            "files": len(self.files),
            "passes": self.passes,
        }

    def __str__(self) -> str:
        n_bytes = sum(file.n_bytes for file in self.files)
        n_files = counted(len(self.files), "file", "files")
        return "\n".join(
            [
                f"{counted(self.n_records, 'record', 'records')} in "
                f"{counted(self.counts.n_classes, 'equivalence class', 'equivalence classes')}, "
                f"the smallest has {self.counts.smallest:,}.",
                str(self.evaluation),
                f"release   {self.path}  ({n_files}, {n_bytes:,} bytes)",
                f"recoding  {self.recoding_path}  (keep it to yourself)",
            ]
        )


def run(policy: Policy, *, overwrite: bool = False) -> Release:
    """Anonymize the files that a policy names into a verified release directory.

    Parameters
    ----------
    policy : Policy
        With `input` and `output`. Columns that it does not name are an error, unless it says
        otherwise.
    overwrite : bool, default False
        Replace an output that exists; the old one stays until the new one is verified.

    Returns
    -------
    Release

    Raises
    ------
    PolicyError, DataError, PlanError, OutputError
        Before or while the data is read; nothing is left on disk.
    VerificationError
        The release that was written does not keep the policy; it is removed.

    Notes
    -----
    Input columns are read at most three times: for the domains where footers do not tell them, for
    the codes, and (all but the quasi-identifiers) for writing; sensitive columns that a privacy
    model looks at once more, before all else. What was written is read again to count it. The
    driver holds nothing that grows with the records.
    """
    policy.check_files()
    assert policy.output is not None
    target = Target(policy.output.path, overwrite)
    source, bound = open_input(policy)
    types = {f.name: f.type for f in source.schema}
    refuse_what_cannot_be_verified(policy, types)
    source, planned = plan_source(source, bound, policy)
    with target.staging() as staging, _scratch(target) as (scratch, recoding_path):
        fitted = fit_parts(
            source.parts, bound, policy, planned, scratch, recoding_path,
            types=types, footer=source.footer_summary,
        )  # fmt: skip
        writing = Writing(
            coding=fitted.coding,
            policy=policy,
            bound=bound,
            recoding_path=recoding_path,
            target=staging.data,
            format=policy.output.format or "parquet",
            compression=settings().parquet_compression,
            shuffle_key=(
                shuffle_key(policy.seed, fitted.checksum) if policy.order == "shuffle" else None
            ),
        )
        files = write_parts(writing, source.parts, fitted.offsets)
        delete_files(staging.data, "*.tmp")  # of a worker that died while it wrote
        scratch.delete("answers.*")
        scratch.delete("regions.*")
        columns = _columns(bound, policy, fitted, source)
        judged = _recount(staging.data, files, columns, policy, types, scratch.path, fitted)
        counts = judged.found.counts
        evaluation = Evaluation.of(judged, fitted.certainty)
        if fitted.recoding.n_records:
            _refuse(evaluation)
        manifest = Manifest.build(
            # Types may be lost on the way, and with them which distance was meant.
            policy=settled(policy, {v.column: v for v in judged.models.values}).to_manifest(),
            columns=columns,
            files=[
                ReleasedFile(
                    path=f"data/{f.name}", sha256=f.sha256, bytes=f.n_bytes, rows=f.n_records
                )
                for f in files
            ],
            counts=counts,
            data_format=cast(Any, writing.format),
            recoding_sha256=_digest_of(recoding_path),
            seed=policy.seed,
            evaluation=evaluation.to_json(),
        )  # fmt: skip
        staging.write_text("evaluation.json", json.dumps(evaluation.to_json(), indent=2) + "\n")
        staging.write_text("manifest.json", json.dumps(manifest.to_json(), indent=2) + "\n")
        target.put_in_place(staging, recoding_path)
    return Release(
        path=target.path,
        recoding_path=target.recoding_path,
        n_records=counts.n_records,
        counts=counts,
        evaluation=evaluation,
        plan=planned,
        files=tuple(files),
        passes=fitted.recoding.passes,
    )


def _refuse(evaluation: Evaluation) -> None:
    try:
        evaluation.raise_if_failed()
    except VerificationError as error:
        raise VerificationError(f"{error} Nothing is published.", **error.parts) from None


@contextmanager
def _scratch(target: Target) -> Iterator[tuple[Any, str]]:
    """Scratch where all workers see it, with room for the recoding beside the codes."""
    parent = settings().scratch_directory or target.parent
    with scratch_directory(parent, prefix=f".{target.name}.scratch-") as scratch:
        yield scratch, scratch.file("recoding")


def _columns(bound: Bound, policy: Policy, fitted: Fitted, source: Source) -> list[ReleasedColumn]:
    """What becomes of every released column, for the manifest."""
    domains = {domain.column: domain for domain in fitted.recoding.domains}
    types = {f.name: str(f.type) for f in source.schema}
    columns = []
    for name in bound.released:
        if name in domains:
            format = policy.format_of(name)
            shown = [f.name for f in released_fields(domains[name], format)]
            role = "quasi-identifier"
        else:
            format, shown = None, [name]
            role = (
                "identifier"
                if name in bound.identifiers_pseudonymized
                else ("sensitive" if name in bound.sensitive else "insensitive")
            )
        columns.append(
            ReleasedColumn(
                name=name, type=types[name], role=role, released=tuple(shown), format=format
            )
        )
    return columns


def _recount(
    data: str, files: list[WrittenFile], columns: list[ReleasedColumn], policy: Policy,
    types: dict[str, Any], scratch_dir: str, fitted: Fitted,
) -> Judged:  # fmt: skip
    """Judge the classes from what was written; a record lost or gained is an error."""
    released = [n for c in columns if c.role == "quasi-identifier" for n in c.released]
    paths = [f"{data}/{file.name}" for file in files]
    judged = judge_classes(paths, released, policy, types=types, scratch_dir=scratch_dir)
    n_written, n_read = judged.found.counts.n_records, fitted.recoding.n_records
    if n_written != n_read:
        raise VerificationError(
            f"{n_written:,} records were written of {n_read:,} that were read. Nothing is "
            "published. This is a fault of dask_anon: please report it."
        )
    return judged


def _digest_of(recoding_path: str) -> str:
    """One hash over the files of the recoding, by name."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(recoding_path):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                inner = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{os.path.relpath(path, recoding_path)} {inner}\n".encode())
    return digest.hexdigest()
