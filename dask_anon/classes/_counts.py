"""How many equivalence classes there are of each size, as a manifest records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ClassCounts:
    """How many equivalence classes there are of each size.

    Examples
    --------
    >>> counts = ClassCounts({2: 1, 4: 1})  # a, a, a, a, b, b
    >>> counts.n_records, counts.n_classes, counts.smallest, counts.sum_of_squares
    (6, 2, 2, 20)
    """

    sizes: Mapping[int, int]

    @property
    def n_records(self) -> int:
        """Records in all classes."""
        return sum(size * n for size, n in self.sizes.items())

    @property
    def n_classes(self) -> int:
        """Equivalence classes."""
        return sum(self.sizes.values())

    @property
    def smallest(self) -> int:
        """Records in the smallest class; 0 without records."""
        return min(self.sizes, default=0)

    @property
    def largest(self) -> int:
        """Records in the largest class; 0 without records."""
        return max(self.sizes, default=0)

    @property
    def sum_of_squares(self) -> int:
        """Sum of the squared class sizes, the discernibility if nothing is suppressed."""
        return sum(size * size * n for size, n in self.sizes.items())

    def n_classes_below(self, k: int) -> int:
        """Classes with fewer than `k` records."""
        return sum(n for size, n in self.sizes.items() if size < k)

    def n_records_below(self, k: int) -> int:
        """Count the records in classes with fewer than `k` records."""
        return sum(size * n for size, n in self.sizes.items() if size < k)

    def share_of_records_up_to(self, size: int) -> float:
        """Share of records in classes of at most `size` records; 0 without records."""
        return self.n_records_below(size + 1) / self.n_records if self.sizes else 0.0

    def figures(self) -> dict[str, int]:
        """Figures that a manifest records."""
        return {
            "n_classes": self.n_classes,
            "smallest": self.smallest,
            "largest": self.largest,
            "sum_of_squares": self.sum_of_squares,
        }

    def __str__(self) -> str:
        if not self.sizes:
            return "0 records"
        return (
            f"{self.n_records:,} records in {self.n_classes:,} equivalence classes, "
            f"of {self.smallest:,} to {self.largest:,} records"
        )
