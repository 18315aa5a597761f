"""What a claim is decided on, and when there is too little of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from artifact.report.claims import Claim
from artifact.report.ladder import Configuration, Ladder, Scoring, adjacent_contrasts, ladders
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import FEWEST_SEPARABLE_PAIRS, Contrast

Decision = tuple[bool, str]


class Undecided(Exception):
    """These logs can't decide the claim; the message says why."""


@dataclass(frozen=True)
class Evidence:
    """Everything that a claim may be decided on.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    """

    scored: ScoredLogs

    @cached_property
    def ladders(self) -> Mapping[Configuration, Ladder]:
        """The measured ladders by configuration."""
        return {ladder.configuration: ladder for ladder in ladders(self.scored.episodes)}

    @cached_property
    def contrasts(self) -> Mapping[Scoring, Mapping[Configuration, tuple[Contrast, ...]]]:
        """Adjusted contrasts of adjacent rungs."""
        return {scoring: adjacent_contrasts(self.ladders.values(), scoring) for scoring in Scoring}


def rates_of(claim: Claim, ladder: Ladder, arms: Iterable[str]) -> dict[str, float]:
    """Success of each arm under the claim's scoring, or `Undecided` when one has too few episodes."""
    rates = {}
    for arm in arms:
        value = ladder.proportion(arm, claim.scoring)
        if value.estimate is None or value.n < FEWEST_SEPARABLE_PAIRS:
            raise Undecided(f"{arm}: {value.n} completed episodes, a verdict needs {FEWEST_SEPARABLE_PAIRS}")
        rates[arm] = value.estimate
    return rates


def shown(ladder: Ladder, arms: Iterable[str], scoring: Scoring = Scoring.PRIMARY) -> str:
    """Rates with their counts, as a table prints them."""
    values = {arm: ladder.proportion(arm, scoring) for arm in arms}
    return ", ".join(f"{arm} {value.estimate:.2f} ({value.k}/{value.n})" for arm, value in values.items()
                     if value.estimate is not None)
