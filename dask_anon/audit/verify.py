"""Does a release keep its promise? Everything is read again from what was written.

    manifest ──▶ files: present, none extra, SHA-256, size ──▶ rows ──▶ privacy models ──▶ labels

A problem is a sentence; the release holds if there is none. Notes say what is worth knowing and
breaks no promise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dask_anon.audit._digest import digests_of
from dask_anon.audit._files import is_parquet, rows_of_files
from dask_anon.audit._labels import Shown, label_problems
from dask_anon.audit._promises import Promises
from dask_anon.audit._root import Root
from dask_anon.audit.count import count_classes
from dask_anon.audit.judge import judge_classes
from dask_anon.audit.manifest import Manifest
from dask_anon.classes import ClassCounts
from dask_anon.engine.execute import compute
from dask_anon.errors import DataError, PolicyError, VerificationError, counted
from dask_anon.evaluation import Judged, Requirement

# Problems of one kind that are listed one by one; the rest is counted.
LISTED = 10


@dataclass(frozen=True)
class Recount:
    """Equivalence classes as counted from files, and what is wrong with them."""

    counts: ClassCounts | None
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    models: tuple[Requirement, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every promise about the classes holds."""
        return not self.problems

    def raise_if_failed(self) -> None:
        """Raise what is wrong, if anything is."""
        if self.problems:
            raise VerificationError(" ".join(self.problems), problems=self.problems)


@dataclass(frozen=True)
class Verification:
    """What was found when a release was read again.

    Attributes
    ----------
    problems : tuple of str
        What is wrong, a sentence each.
    notes : tuple of str
        What is worth knowing and breaks no promise.
    k : int or None
        Of k-anonymity, as promised.
    models : tuple of Requirement
        The limits of the privacy models, and what was found; empty if nothing could be counted.
    counts : ClassCounts or None
        The equivalence classes.
    """

    path: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    k: int | None = None
    n_files: int = 0
    counts: ClassCounts | None = field(default=None, repr=False)
    models: tuple[Requirement, ...] = field(default=(), repr=False)

    @property
    def holds(self) -> bool:
        """Whether the release keeps its promise."""
        return not self.problems

    def raise_if_failed(self) -> None:
        """Raise what is wrong, if anything is.

        Raises
        ------
        VerificationError
            With all problems in its message and as ``problems``.
        """
        if self.problems:
            raise VerificationError(str(self), problems=self.problems)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "path": self.path,
            "holds": self.holds,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "k": self.k,
            "n_files": self.n_files,
            "models": [row.to_json() for row in self.models],
            "n_records": self.counts.n_records if self.counts else None,
            "classes": self.counts.figures() if self.counts else None,
        }

    def __str__(self) -> str:
        if self.problems:
            n = len(self.problems)
            head = f"{self.path} does not hold: {n} problem{'s' if n > 1 else ''}."
            return "\n".join([head, *(f"  {text}" for text in (*self.problems, *self.notes))])
        counts = self.counts or ClassCounts({})
        found = (
            "0 records"
            if not counts.sizes
            else (
                f"{counted(counts.n_records, 'record', 'records')} in "
                f"{counted(counts.n_classes, 'equivalence class', 'equivalence classes')}, "
                f"the smallest has {counts.smallest:,}"
            )
        )
        asked = f" (k={self.k})" if self.k is not None else ""
        files = "1 file matches" if self.n_files == 1 else f"{self.n_files:,} files match"
        head = f"{self.path} holds: {found}{asked}. {files} the manifest."
        # k stands in the first line.
        models = [f"{row}." for row in self.models if row.name != "k-anonymity"]
        return "\n".join([head, *(f"  {text}" for text in (*models, *self.notes))])


def verify(
    path: str | os.PathLike[str], *, scratch_dir: str | os.PathLike[str] | None = None
) -> Verification:
    """Verify a release from its own files.

    Every file must have the hash, size and rows that the manifest says; none may be missing and
    none may stand beside them. Equivalence classes are counted from the files, with the sensitive
    values in them: every privacy model of the policy must hold, by the distribution that the
    release itself has, and the figures must be those recorded. Every label of a quasi-identifier
    must be one that can be read back.

    Parameters
    ----------
    path : path
        The release directory, local or a URL that fsspec opens.
    scratch_dir : path, optional
        Where the count may write, see `count_classes`.

    Returns
    -------
    Verification
        With a sentence for each problem; nothing is raised for a release that does not hold.

    Raises
    ------
    VerificationError
        If there is no manifest to verify by.
    """
    root = Root(path)
    manifest = Manifest.load(root.path)
    problems: list[str] = []
    present = _check_presence(root, manifest, problems)
    changed = _check_digests(root, manifest, present, problems)
    recount = Recount(None, ())
    if len(present) == len(manifest.files) and not _check_kinds(manifest, problems):
        files = [root.join(file.path) for file in manifest.files]
        recount = check_release(
            files,
            manifest,
            rows={root.join(file.path): file.rows for file in manifest.files},
            scratch_dir=scratch_dir,
        )
        problems += recount.problems
    elif not problems and not changed:  # pragma: no cover - every way here has a sentence
        problems.append("the classes could not be counted.")
    return Verification(
        path=os.fspath(path),
        problems=tuple(problems),
        notes=(*root.leftovers(), *recount.notes),
        k=max(manifest.k, default=None),
        n_files=len(manifest.files),
        counts=recount.counts,
        models=recount.models,
    )


def check_release(
    files: Sequence[str],
    promised: Manifest,
    *,
    rows: Mapping[str, int] | None = None,
    labels: bool = True,
    scratch_dir: str | os.PathLike[str] | None = None,
) -> Recount:
    """Re-count released files and compare them with what a manifest promises about classes.

    Parameters
    ----------
    files : sequence of str
        All data files, where they are now (before they are put in place, say).
    promised : Manifest
        Its policy, columns, number of records and class figures are compared with what is found.
    rows : mapping of file to rows, optional
        Rows that each file must have.
    labels : bool, default True
        Whether labels and bounds are read as well, which takes another pass.
    scratch_dir : path, optional
        Where the count may write, see `count_classes`.
    """
    columns = [name for column in promised.quasi_identifiers for name in column.released]
    promises = Promises.of(promised)
    problems = list(promises.problems)
    how: dict[str, Any] = {"scratch_dir": scratch_dir, "delimiter": promised.delimiter}
    models: tuple[Requirement, ...] = ()
    try:
        if rows:
            found = rows_of_files(files, delimiter=promised.delimiter)
            problems += _listed(
                f"{file} has {n_found:,} rows, the manifest says {rows[file]:,}."
                for file, n_found in zip(files, found, strict=True)
                if n_found != rows[file]
            )
        if promises.policy is None:
            counts = count_classes(files, columns, **how)
        else:
            judged = judge_classes(files, columns, promises.policy, types=promises.types, **how)
            counts, models = judged.found.counts, judged.rows
            problems += _model_problems(judged)
        shown = [Shown.of(column) for column in promised.quasi_identifiers]
        if labels:
            problems += label_problems(files, shown, delimiter=promised.delimiter)
    except DataError as error:
        return Recount(None, (*problems, str(error)), promises.notes)
    except PolicyError as error:
        return Recount(None, (*problems, *map(str, error.problems)), promises.notes)
    problems += _class_problems(counts, promised)
    return Recount(counts, tuple(problems), promises.notes, models)


def _model_problems(judged: Judged) -> list[str]:
    """A sentence for every limit that does not hold."""
    counts, problems = judged.found.counts, []
    for row in judged.of_sizes:
        if row.holds:
            continue
        if row.name == "k-anonymity":
            k = int(row.asked.removeprefix("k >= "))
            problems.append(
                f"{counts.n_classes_below(k):,} of {counts.n_classes:,} equivalence classes have "
                f"fewer than k={k} records ({counts.n_records_below(k):,} records; the smallest "
                f"class has {counts.smallest:,})."
            )
        else:
            problems.append(f"{row.name} asks for {row.asked}, found {row.found_in_words}.")
    for row, finding in judged.of_values:
        if not row.holds:
            problems.append(
                f"{row.name} asks for {row.asked}: {finding.n_classes:,} of {counts.n_classes:,} "
                f"equivalence classes break it ({finding.n_records:,} records; the worst has "
                f"{row.found_in_words})."
            )
    return problems


def _class_problems(counts: ClassCounts, promised: Manifest) -> list[str]:
    """What differs from what the manifest recorded."""
    problems = []
    if counts.n_records != promised.n_records:
        problems.append(
            f"the files hold {counts.n_records:,} records, the manifest says "
            f"{promised.n_records:,}."
        )
    words = {
        "n_classes": "number of equivalence classes",
        "smallest": "size of the smallest class",
        "largest": "size of the largest class",
        "sum_of_squares": "sum of squared class sizes",
    }
    recorded = promised.classes.model_dump()
    for name, value in counts.figures().items():
        if value != recorded[name]:
            problems.append(
                f"the {words[name]} is {value:,}, the manifest says {recorded[name]:,}."
            )
    return problems


def _check_presence(root: Root, manifest: Manifest, problems: list[str]) -> list[str]:
    named = [file.path for file in manifest.files]
    standing = root.data_files()
    missing = [name for name in named if name not in standing]
    extra = sorted(standing - set(named))
    escaping = [name for name in named if name in standing and not root.contains(name)]
    problems += _listed(f"{name} is missing." for name in missing)
    problems += _listed(f"{name} is not in the manifest." for name in extra)
    problems += _listed(f"{name} leads out of the release." for name in escaping)
    return [name for name in named if name in standing and name not in escaping]


def _check_digests(
    root: Root, manifest: Manifest, present: Sequence[str], problems: list[str]
) -> bool:
    paths = [root.join(name) for name in present]
    found = compute("hash", [(digests_of, [path]) for path in paths])
    recorded = {file.path: file for file in manifest.files}
    texts = []
    for name, [digest] in zip(present, found, strict=True):
        file = recorded[name]
        if digest is None:
            texts.append(f"{name} cannot be read.")
        elif digest[1] != file.bytes:
            texts.append(f"{name} has {digest[1]:,} bytes, the manifest says {file.bytes:,}.")
        elif digest[0] != file.sha256:
            texts.append(f"{name} was changed: its SHA-256 is not the one in the manifest.")
    problems += _listed(texts)
    return bool(texts)


def _check_kinds(manifest: Manifest, problems: list[str]) -> bool:
    wrong = [
        file.path
        for file in manifest.files
        if is_parquet(file.path) != (manifest.data_format == "parquet")
    ]
    problems += _listed(
        f"{name} is not a {manifest.data_format} file by its name." for name in wrong
    )
    return bool(wrong)


def _listed(sentences: Any) -> list[str]:
    found = list(sentences)
    more = len(found) - LISTED
    return found if more <= 0 else [*found[:LISTED], f"… and {more:,} more problems of this kind."]
