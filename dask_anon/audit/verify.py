"""Does a release keep its promise? Everything is read again from what was written.

    manifest ──▶ files: present, none extra, SHA-256, size ──▶ rows ──▶ classes ≥ k ──▶ labels

A problem is a sentence; the release holds if there is none. Notes say what is worth knowing and
breaks no promise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask_anon.audit._digest import digests_of
from dask_anon.audit._files import is_parquet, rows_of_files
from dask_anon.audit._labels import Shown, label_problems
from dask_anon.audit.count import count_classes
from dask_anon.audit.manifest import DATA_DIR, Manifest
from dask_anon.classes import ClassCounts
from dask_anon.engine.execute import compute
from dask_anon.errors import DataError, VerificationError

# Problems of one kind that are listed one by one; the rest is counted.
LISTED = 10


@dataclass(frozen=True)
class Recount:
    """Equivalence classes as counted from files, and what is wrong with them."""

    counts: ClassCounts | None
    problems: tuple[str, ...]

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
    """What was found when a release was read again."""

    path: str
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    k: int | None = None
    n_files: int = 0
    counts: ClassCounts | None = field(default=None, repr=False)

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
                f"{counts.n_records:,} records in {counts.n_classes:,} equivalence "
                f"class{'es' if counts.n_classes > 1 else ''}, the smallest has {counts.smallest:,}"
            )
        )
        files = "1 file matches" if self.n_files == 1 else f"{self.n_files:,} files match"
        head = f"{self.path} holds: {found} (k={self.k}). {files} the manifest."
        return "\n".join([head, *(f"  {note}" for note in self.notes)])


def verify(
    path: str | os.PathLike[str], *, scratch_dir: str | os.PathLike[str] | None = None
) -> Verification:
    """Verify a release from its own files.

    Every file must have the hash, size and rows that the manifest says; none may be missing and
    none may stand beside them. Equivalence classes are counted from the files: the smallest must
    have k records, and the figures must be those recorded. Every label of a quasi-identifier must
    be one that can be read back.

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
    root = _Root(path)
    manifest = Manifest.load(root.path)
    problems: list[str] = []
    present = _check_presence(root, manifest, problems)
    changed = _check_digests(root, manifest, present, problems)
    counts = None
    if len(present) == len(manifest.files) and not _check_kinds(manifest, problems):
        files = [root.join(file.path) for file in manifest.files]
        recount = check_release(
            files,
            manifest,
            rows={root.join(file.path): file.rows for file in manifest.files},
            scratch_dir=scratch_dir,
        )
        problems += recount.problems
        counts = recount.counts
    elif not problems and not changed:  # pragma: no cover - every way here has a sentence
        problems.append("the classes could not be counted.")
    return Verification(
        path=os.fspath(path),
        problems=tuple(problems),
        notes=tuple(root.leftovers() + _unchecked_models(manifest)),
        k=max(manifest.k, default=None),
        n_files=len(manifest.files),
        counts=counts,
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
        Its policy, columns, number of records and class figures are compared.
    rows : mapping of file to rows, optional
        Rows that each file must have.
    labels : bool, default True
        Whether labels and bounds are read as well, which takes another pass.
    scratch_dir : path, optional
        Where the count may write, see `count_classes`.
    """
    columns = [name for column in promised.quasi_identifiers for name in column.released]
    problems: list[str] = []
    try:
        if rows:
            found = rows_of_files(files, delimiter=promised.delimiter)
            problems += _listed(
                f"{file} has {n_found:,} rows, the manifest says {rows[file]:,}."
                for file, n_found in zip(files, found, strict=True)
                if n_found != rows[file]
            )
        counts = count_classes(
            files, columns, scratch_dir=scratch_dir, delimiter=promised.delimiter
        )
        shown = [Shown.of(column) for column in promised.quasi_identifiers]
        if labels:
            problems += label_problems(files, shown, delimiter=promised.delimiter)
    except DataError as error:
        return Recount(None, (*problems, str(error)))
    problems += _class_problems(counts, promised)
    return Recount(counts, tuple(problems))


def _class_problems(counts: ClassCounts, promised: Manifest) -> list[str]:
    problems = []
    if not promised.k:
        problems.append("the manifest promises no k-anonymity, so there is nothing to hold.")
    for k in promised.k:
        if k < 2:
            problems.append(f"the manifest promises k={k}, which protects nobody.")
        if n := counts.n_classes_below(k):
            problems.append(
                f"{n:,} of {counts.n_classes:,} equivalence classes have fewer than k={k} records "
                f"({counts.n_records_below(k):,} records; the smallest class has "
                f"{counts.smallest:,})."
            )
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


def _check_presence(root: _Root, manifest: Manifest, problems: list[str]) -> list[str]:
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
    root: _Root, manifest: Manifest, present: Sequence[str], problems: list[str]
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


def _unchecked_models(manifest: Manifest) -> list[str]:
    models = manifest.policy.get("privacy")
    names = (
        [m.get("model") for m in models if isinstance(m, dict)] if isinstance(models, list) else []
    )
    return [
        f"{name} is promised as well; it is not counted again here."
        for name in names
        if isinstance(name, str) and name != "k-anonymity"
    ]


def _listed(sentences: Any) -> list[str]:
    found = list(sentences)
    more = len(found) - LISTED
    return found if more <= 0 else [*found[:LISTED], f"… and {more:,} more problems of this kind."]


class _Root:
    """A release directory on any file system."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path).rstrip("/") or "/"
        self._is_local = "://" not in self.path

    def join(self, name: str) -> str:
        return f"{self.path}/{name}"

    def data_files(self) -> set[str]:
        """All files below data/, hidden ones too, by their path in the release."""
        if self._is_local:
            return {
                os.path.relpath(os.path.join(folder, name), self.path).replace(os.sep, "/")
                for folder, folders, names in os.walk(os.path.join(self.path, DATA_DIR))
                # A link to a directory is not walked into: it counts as a file that is extra.
                for name in (*names, *(f for f in folders if Path(folder, f).is_symlink()))
            }
        import fsspec

        fs, root = fsspec.core.url_to_fs(self.path)
        found = fs.find(f"{root.rstrip('/')}/{DATA_DIR}")
        return {name.removeprefix(root.rstrip("/") + "/") for name in found}

    def contains(self, name: str) -> bool:
        """Whether a file is really inside, also when links are followed."""
        if not self._is_local:
            return True
        return Path(self.path, name).resolve().is_relative_to(Path(self.path).resolve() / DATA_DIR)

    def leftovers(self) -> list[str]:
        """Directories beside the release that an interrupted run left."""
        if not self._is_local:
            return []
        here = Path(self.path).resolve()
        patterns = (f".{here.name}.scratch-", f".{here.name}.staging-")
        try:
            names = sorted(n for n in os.listdir(here.parent) if n.startswith(patterns))
        except OSError:
            return []
        return [
            f"{name} beside the release was left by a run that was interrupted; remove it, "
            "it may hold data."
            for name in names
        ]
