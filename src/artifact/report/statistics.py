"""Proportions, contrasts and their correction (§4.2): Wilson, exact McNemar, Holm.

Decided before any result was seen: an episode that infrastructure ended is never a success nor a failure. It
is no trial of its proportion, and a pair with such an episode on either side leaves the contrast. Both are
counted in plain sight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar as exact_mcnemar
from statsmodels.stats.multitest import multipletests

CONFIDENCE = 0.95
ALPHA = 0.05
# With fewer discordant pairs than this the exact test can't fall under ALPHA: 2 * 0.5**5 > 0.05 > 2 * 0.5**6.
FEWEST_SEPARABLE_PAIRS = 6


@dataclass(frozen=True)
class Proportion:
    """k successes of n trials with a Wilson interval.

    Parameters
    ----------
    k, n : int
        Successes and trials.
    estimate, low, high : float or None
        k/n and the bounds of its 95 % Wilson interval; None when there is no trial.
    """

    k: int
    n: int
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def is_measured(self) -> bool:
        """Whether there was any trial."""
        return self.n > 0


NOT_RUN = Proportion(0, 0, None, None, None)


def proportion(k: int, n: int) -> Proportion:
    """A proportion with its Wilson interval; `NOT_RUN` when n is 0.

    Parameters
    ----------
    k, n : int
        Successes and trials, 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"k = {k} successes of n = {n} trials is no proportion")
    if n == 0:
        return NOT_RUN
    interval = binomtest(k, n).proportion_ci(confidence_level=CONFIDENCE, method="wilson")
    return Proportion(k, n, k / n, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Contrast:
    """Two arms compared on shared seeds by the exact McNemar test.

    Parameters
    ----------
    lower, upper : str
        The arms, the more weakly coupled one first.
    pairs : int
        Shared seeds with both episodes completed.
    only_lower, only_upper : int
        Discordant pairs: seeds on which only that arm succeeded (b and c).
    excluded : int
        Shared seeds that left the contrast because infrastructure ended an episode of theirs.
    p : float or None
        Exact two-sided p; None when there is no pair.
    p_holm : float or None
        After Holm's correction over the family; None before it, and for a missing contrast.
    """

    lower: str
    upper: str
    pairs: int
    only_lower: int
    only_upper: int
    excluded: int
    p: float | None
    p_holm: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether there was any pair."""
        return self.pairs > 0

    @property
    def separates(self) -> bool:
        """Whether the adjusted p is below 0.05."""
        return self.p_holm is not None and self.p_holm < ALPHA


def mcnemar(
    lower: Mapping[int, bool | None], upper: Mapping[int, bool | None], names: tuple[str, str] = ("lower", "upper"),
) -> Contrast:
    """Compare two arms on the seeds that both have.

    Parameters
    ----------
    lower, upper : mapping of int to bool or None
        Seed -> success of the episode; None for an episode that infrastructure ended.
    names : (str, str)
        What to call the arms.

    Returns
    -------
    Contrast
        Without adjusted p, which needs the family: see `holm`.
    """
    shared = sorted(lower.keys() & upper.keys())
    complete = [seed for seed in shared if lower[seed] is not None and upper[seed] is not None]
    table = np.zeros((2, 2), dtype=int)
    for seed in complete:
        table[int(bool(lower[seed])), int(bool(upper[seed]))] += 1
    only_lower, only_upper = int(table[1, 0]), int(table[0, 1])
    p = None
    if complete:
        # No discordant pair is no evidence at all; the binomial of zero trials isn't defined.
        p = float(exact_mcnemar(table, exact=True).pvalue) if only_lower + only_upper else 1.0
    return Contrast(*names, len(complete), only_lower, only_upper, len(shared) - len(complete), p)


def holm(family: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Adjust a family of contrasts; the ones without a pair leave the family before the correction.

    Parameters
    ----------
    family : sequence of Contrast
        All contrasts that the table names as its family, measured or not.

    Returns
    -------
    tuple of Contrast
        The same contrasts in the same order, with adjusted p where measured.
    """
    measured = [contrast.p for contrast in family if contrast.p is not None]
    adjusted = iter(multipletests(measured, method="holm")[1] if measured else ())
    return tuple(contrast if contrast.p is None else replace(contrast, p_holm=float(next(adjusted)))
                 for contrast in family)
