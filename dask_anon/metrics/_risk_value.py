"""A risk that was measured on a sample of attacks: its value, how sure it is, what it compares to.

A share of 3 hits in 10 trials is not 0.3, it is somewhere between 0.11 and 0.60. Risks that come
from trials carry that interval, and, where there is one, the share that an attacker without the
release would have reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from dask_anon.errors import AnonError


@dataclass(frozen=True)
class Risk:
    """A re-identification risk with its confidence interval.

    Attributes
    ----------
    value : float
        The risk, 0 to 1.
    ci : tuple of float
        Lower and upper end of its confidence interval.
    baseline : float, optional
        The same risk for somebody who has not seen the release. Only what is above it is the
        release's doing.
    confidence : float, default 0.95
        How often intervals made this way hold the true risk.

    Examples
    --------
    >>> print(Risk(0.3, (0.108, 0.603), baseline=0.1))
    risk 30.0 % (95 % confidence: 10.8 % to 60.3 %), 10.0 % without the release
    """

    value: float
    ci: tuple[float, float]
    baseline: float | None = None
    confidence: float = 0.95

    @classmethod
    def of_trials(
        cls,
        n_hits: int,
        n_trials: int,
        *,
        baseline: float | None = None,
        confidence: float = 0.95,
    ) -> Risk:
        """Share of hits among trials, with its Wilson interval.

        Examples
        --------
        >>> print(Risk.of_trials(3, 10))
        risk 30.0 % (95 % confidence: 10.8 % to 60.3 %)
        """
        ci = wilson_interval(n_hits, n_trials, confidence=confidence)
        return cls(n_hits / n_trials if n_trials else 0.0, ci, baseline, confidence)

    def __str__(self) -> str:
        low, high = self.ci
        sentence = (
            f"risk {_percent(self.value)} ({100 * self.confidence:.3g} % confidence: "
            f"{_percent(low)} to {_percent(high)})"
        )
        if self.baseline is None:
            return sentence
        return f"{sentence}, {_percent(self.baseline)} without the release"


def wilson_interval(n_hits: int, n_trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Where the true share of hits lies, from hits among trials.

    The score interval of Wilson [1]_: unlike the usual value ± z·error it stays within 0 and 1
    and is not a point when all trials, or none, are hits.

    Parameters
    ----------
    n_hits, n_trials : int
        How many trials there were, and how many hit. Without trials nothing is known: (0, 1).
    confidence : float, default 0.95
        How often intervals made this way hold the true share.

    Returns
    -------
    tuple of float
        Lower and upper end.

    Raises
    ------
    AnonError
        If there are more hits than trials, or the confidence is not between 0 and 1.

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(3, 10)]
    [0.108, 0.603]
    >>> [round(end, 3) for end in wilson_interval(0, 10)]
    [0.0, 0.278]

    References
    ----------
    .. [1] Wilson, Probable inference, the law of succession, and statistical inference,
       JASA 22(158), 1927.
    """
    if not 0 <= n_hits <= n_trials:
        raise AnonError(
            f"hits are some of the trials, found {n_hits} hits of {n_trials} trials. "
            "Give the hits first and the trials second."
        )
    if not 0 < confidence < 1:
        raise AnonError(
            f"confidence must be above 0 and below 1, found {confidence:g}. 0.95 is usual."
        )
    if n_trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = n_hits / n_trials
    width = 1 + z * z / n_trials
    middle = (share + z * z / (2 * n_trials)) / width
    half = z / width * sqrt(share * (1 - share) / n_trials + (z / (2 * n_trials)) ** 2)
    # At 0 and n hits the ends are 0 and 1, but for the last bit.
    low = 0.0 if n_hits == 0 else middle - half
    high = 1.0 if n_hits == n_trials else middle + half
    return low, high


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
