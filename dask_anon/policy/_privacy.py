"""Privacy models: what every equivalence class must satisfy.

A model is a class with a ``model`` word. To add one, write the class and put it into ``MODELS``:
its keys, its mistakes and the list of known models follow from there. Each says whether it is
*monotone*, that is, whether merging two classes that satisfy it always gives one that does, and
why. Algorithms that merge classes need that.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, SerializeAsAny, ValidationInfo, model_validator

from dask_anon.errors import nearest
from dask_anon.policy._base import Part, Where, reject, sentence
from dask_anon.policy._numbers import number, whole
from dask_anon.policy._problems import kind_of

Distance = Literal["equal", "ordered", "numeric", "hierarchical"]
AtLeast2 = Annotated[int, whole(2)]
Positive = Annotated[float, number(0, open_low=True)]
Share = Annotated[float, number(0, 1)]
PositiveShare = Annotated[float, number(0, 1, open_low=True)]


class PrivacyModelBase(Part):
    """What all privacy models share: the word that names them."""

    model: str

    monotone: ClassVar[bool] = True
    because: ClassVar[str]

    @property
    def min_size(self) -> int:
        """The fewest records that a class which satisfies the model can have."""
        return 1

    @property
    def sensitive(self) -> str | None:
        """The sensitive column that the model looks at."""
        return getattr(self, "column", None)

    @property
    def weighed(self) -> str | None:
        """The column whose numbers are added up."""
        return None

    @property
    def subject(self) -> tuple[Any, ...]:
        """What the model limits; of two models with one subject, one is too many."""
        return (self.model, self.sensitive)

    def __str__(self) -> str:
        choices = self.model_dump(exclude={"model", "column"}, exclude_none=True)
        asked = ", ".join(f"{key}={_plain(value)}" for key, value in choices.items())
        of = f" of '{self.sensitive}'" if self.sensitive is not None else ""
        return f"{self.model}{of} with {asked}"


class KAnonymity(PrivacyModelBase):
    """Every record shares its quasi-identifiers with at least k-1 others (Sweeney, 2002)."""

    model: Literal["k-anonymity"] = "k-anonymity"
    k: AtLeast2

    because: ClassVar[str] = "a merged class is larger than either"

    @property
    def min_size(self) -> int:
        return self.k


class AlphaKAnonymity(PrivacyModelBase):
    """No sensitive value makes up more than alpha of a class of k or more (Wong et al., 2006)."""

    model: Literal["alpha-k-anonymity"] = "alpha-k-anonymity"
    column: str
    alpha: PositiveShare
    k: AtLeast2

    because: ClassVar[str] = "a share of a merged class lies between the shares of the two"

    @property
    def min_size(self) -> int:
        return self.k


class KMap(PrivacyModelBase):
    """Every class stands for at least k people of the population (Sweeney, 2002).

    The population is either counted by a weight of each record, or known by its size alone; then
    the class size that leaves a chance of at most `alpha` for fewer than k is asked for.
    """

    model: Literal["k-map"] = "k-map"
    k: AtLeast2
    weight: str | None = None
    population: Annotated[int, whole(1)] | None = None
    alpha: Annotated[float, number(0, 1, open_low=True, open_high=True)] | None = None
    estimator: Literal["zero-truncated", "poisson"] | None = None

    because: ClassVar[str] = "a merged class stands for the people of both"

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("population") is not None:
            return {"alpha": 0.01, "estimator": "zero-truncated", **data}
        return data

    @model_validator(mode="after")
    def _one_population(self) -> KMap:
        mistakes: list[tuple[Where, str]] = []
        if (self.weight is None) == (self.population is None):
            found = "none was found" if self.weight is None else "both were found"
            mistakes.append(((), f"needs exactly one of weight and population, {found}."))
        if self.population is None:
            mistakes += [
                ((key,), "belongs to population. Leave it out.")
                for key in ("alpha", "estimator")
                if getattr(self, key) is not None
            ]
        elif self.k > self.population:
            mistakes.append(
                (
                    ("k",),
                    f"is {self.k:,}, more than the {self.population:,} of population. Lower it.",
                )
            )
        reject("KMap", mistakes)
        return self

    @property
    def weighed(self) -> str | None:
        return self.weight

    @property
    def subject(self) -> tuple[Any, ...]:
        return (self.model, self.weight)


class DistinctLDiversity(PrivacyModelBase):
    """Every class has at least l distinct sensitive values (Machanavajjhala et al., 2006)."""

    model: Literal["distinct-l-diversity"] = "distinct-l-diversity"
    column: str
    l: AtLeast2

    because: ClassVar[str] = "a merged class has the values of both"

    @property
    def min_size(self) -> int:
        return self.l


class EntropyLDiversity(PrivacyModelBase):
    """The entropy of the sensitive values is at least ln l (Machanavajjhala et al., 2006).

    As diverse as l equally frequent values; l need not be whole.
    """

    model: Literal["entropy-l-diversity"] = "entropy-l-diversity"
    column: str
    l: Annotated[float, number(1, open_low=True)]

    because: ClassVar[str] = "entropy is concave: that of a mixture is at least the smaller one"

    @property
    def min_size(self) -> int:
        return math.ceil(self.l - 1e-9)


class RecursiveCLDiversity(PrivacyModelBase):
    """The most frequent value stays rare: r1 < c (r_l + … + r_m) (Machanavajjhala et al., 2006)."""

    model: Literal["recursive-cl-diversity"] = "recursive-cl-diversity"
    column: str
    c: Positive
    l: AtLeast2

    because: ClassVar[str] = (
        "the most frequent value has at most what it had in both, the rare ones at least"
    )

    @property
    def min_size(self) -> int:
        return self.l

    @property
    def subject(self) -> tuple[Any, ...]:
        # (3, 2) and (5, 3) do not imply one another.
        return (self.model, self.column, self.l)


class TCloseness(PrivacyModelBase):
    """Sensitive values are distributed as in the whole table, up to t (Li et al., 2007)."""

    model: Literal["t-closeness"] = "t-closeness"
    column: str
    t: Share
    distance: Distance | None = None

    because: ClassVar[str] = "the distance is convex: that of a mixture is at most the larger one"

    @property
    def subject(self) -> tuple[Any, ...]:
        return (self.model, self.column, self.distance)


class BasicBetaLikeness(PrivacyModelBase):
    """No value is more than 1 + beta times as frequent as in the table (Cao and Karras, 2012)."""

    model: Literal["basic-beta-likeness"] = "basic-beta-likeness"
    column: str
    beta: Positive

    because: ClassVar[str] = "a share of a merged class lies between the shares of the two"


class EnhancedBetaLikeness(PrivacyModelBase):
    """Basic beta-likeness, and no gain above -ln p of the value (Cao and Karras, 2012)."""

    model: Literal["enhanced-beta-likeness"] = "enhanced-beta-likeness"
    column: str
    beta: Positive

    because: ClassVar[str] = "a share of a merged class lies between the shares of the two"


class DeltaDisclosure(PrivacyModelBase):
    """All values of the table occur, with |ln(q / p)| < delta (Brickell and Shmatikov, 2008)."""

    model: Literal["delta-disclosure"] = "delta-disclosure"
    column: str
    delta: Positive

    because: ClassVar[str] = "a share of a merged class lies between the shares of the two"


class DeltaPresence(PrivacyModelBase):
    """The share of a class that is in the study lies within limits (Nergiz et al., 2007)."""

    model: Literal["delta-presence"] = "delta-presence"
    column: str
    min: Share
    max: Share

    because: ClassVar[str] = "a share of a merged class lies between the shares of the two"

    @model_validator(mode="after")
    def _limits_in_order(self) -> DeltaPresence:
        if self.min > self.max:
            text = f"min ({self.min:g}) is above max ({self.max:g}). Exchange them."
            reject("DeltaPresence", [((), text)])
        return self


class AverageRisk(PrivacyModelBase):
    """The average risk, classes / records, is at most max."""

    model: Literal["average-risk"] = "average-risk"
    max: PositiveShare

    because: ClassVar[str] = "fewer classes for as many records"

    @property
    def min_size(self) -> int:
        return _size_for(self.max)


class StrictAverageRisk(PrivacyModelBase):
    """Average risk, and at most a share of records with a risk above highest."""

    model: Literal["strict-average-risk"] = "strict-average-risk"
    average: PositiveShare
    highest: PositiveShare
    records_at_risk: Annotated[float, number(0, 1, open_high=True)] = 0.0

    because: ClassVar[str] = "fewer classes for as many records, and no record in a smaller one"

    @property
    def min_size(self) -> int:
        return max(_size_for(self.average), _size_for(self.highest))


class SampleUniqueness(PrivacyModelBase):
    """The share of records that are alone in their class is at most max."""

    model: Literal["sample-uniqueness"] = "sample-uniqueness"
    max: Annotated[float, number(0, 1, open_high=True)]

    because: ClassVar[str] = "merging makes nobody unique"

    @property
    def min_size(self) -> int:
        return 2


class PopulationUniqueness(PrivacyModelBase):
    """The estimated share of records that are unique in the population is at most max."""

    model: Literal["population-uniqueness"] = "population-uniqueness"
    max: Annotated[float, number(0, 1, open_high=True)]
    sampling_fraction: PositiveShare
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"

    monotone: ClassVar[bool] = False
    because: ClassVar[str] = "estimates depend on all class sizes, and may rise where two merge"

    @property
    def min_size(self) -> int:
        return 2


def _size_for(risk: float) -> int:
    """The smallest class in which a record's risk is at most `risk`."""
    # 1 / 0.05 is 20, not 21.
    return math.ceil(1 / risk - 1e-9)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


MODELS: dict[str, type[PrivacyModelBase]] = {
    str(kind.model_fields["model"].default): kind
    for kind in (
        KAnonymity,
        AlphaKAnonymity,
        KMap,
        DistinctLDiversity,
        EntropyLDiversity,
        RecursiveCLDiversity,
        TCloseness,
        BasicBetaLikeness,
        EnhancedBetaLikeness,
        DeltaDisclosure,
        DeltaPresence,
        AverageRisk,
        StrictAverageRisk,
        SampleUniqueness,
        PopulationUniqueness,
    )
}


def _known(value: Any) -> type[PrivacyModelBase]:
    known = ", ".join(MODELS)
    if not isinstance(value, dict):
        raise sentence(
            f"must be a mapping such as {{model: k-anonymity, k: 5}}, found {kind_of(value)}."
        )
    name = value.get("model")
    if name is None:
        raise sentence(f"has no key 'model'. Known models: {known}.")
    if not isinstance(name, str):
        raise sentence(f"the model must be one of {known}, found {kind_of(name)}.")
    if name not in MODELS:
        close = nearest(name[:80], MODELS)
        hint = f" Did you mean '{close}'?" if close else ""
        raise sentence(f"{name[:40]!r} is not a known privacy model.{hint} Known models: {known}.")
    return MODELS[name]


def build_model(value: Any, context: Any = None) -> PrivacyModelBase:
    """A privacy model from its mapping."""
    if isinstance(value, PrivacyModelBase):
        return value
    return _known(value).model_validate(value, context=context)


def _build(value: Any, info: ValidationInfo) -> PrivacyModelBase:
    return build_model(value, info.context)


# Discriminated by hand: ours names the nearest word.
PrivacyModel = Annotated[SerializeAsAny[PrivacyModelBase], BeforeValidator(_build)]
