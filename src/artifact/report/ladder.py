"""A ladder: the four rungs of one configuration on the same seeds, as successes by seed (§4.2)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

import pandas as pd

from artifact.report.reported import Conditions
from artifact.report.statistics import Contrast, Proportion, holm, mcnemar, proportion
from artifact.taskstate import CANONICAL

RUNGS = ("raw", "checklist", "directive", "enforcement")
ADJACENT = tuple(pairwise(RUNGS))
BRIEFS = ("amended", "original")
# The rungs of a ladder are the arms under the paper's own settings on the canonical schedule; any option and any other
# schedule makes it a variant.
MAIN_OPTIONS = "{}"


class Scoring(StrEnum):
    """Column of the episode frame that holds success."""

    PRIMARY = "strict"
    DECLINE_AWARE = "decline_aware"

    @property
    def label(self) -> str:
        """Name in tables."""
        return {"strict": "primary", "decline_aware": "decline-aware"}[self.value]


@dataclass(frozen=True)
class Configuration:
    """What the rungs of one ladder share, and the study that they belong to."""

    study: str
    model: str
    state_model: str
    size: int
    density: float
    domain: str
    brief: str
    regime: str
    prompts: str
    schedule: str = CANONICAL
    cell: str = field(compare=False, default="")

    @property
    def conditions(self) -> Conditions:
        """The part that can be compared with the paper's cells."""
        return Conditions(self.size, self.density, self.domain, self.brief, self.regime)

    @property
    def setting(self) -> str:
        """Graph size and density, and what differs from the main grid."""
        return setting(self.conditions)

    def with_brief(self, brief: str) -> "Configuration":
        """The same configuration under another wording of the brief."""
        return replace(self, brief=brief, cell="" if brief != self.brief else self.cell)


def setting(conditions: Conditions) -> str:
    """Conditions in words, the brief left out."""
    words = [f"S={conditions.size}", f"ρ={conditions.density:g}"]
    words += [conditions.domain] if conditions.domain != "procurement" else []
    words += [conditions.regime.replace("_", " ")] if conditions.regime != "no_think" else []
    return ", ".join(words)


def capability(model: str) -> tuple[float, str]:
    """Sort key of models: billions of parameters where the name tells them, then the name."""
    sizes = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)(b|m)(?![a-z])", model.lower().replace("_", "-"))
    billions = float(sizes[-1][0]) / (1000 if sizes[-1][1] == "m" else 1) if sizes else float("inf")
    return billions, model


@dataclass(frozen=True)
class Ladder:
    """One configuration's rungs.

    Parameters
    ----------
    configuration : Configuration
        What they share.
    outcomes : mapping of (Scoring, str) to mapping of int to bool or None
        Scoring and arm -> seed -> success; None for an episode that infrastructure ended.
    """

    configuration: Configuration
    outcomes: Mapping[tuple[Scoring, str], Mapping[int, bool | None]]

    def by_seed(self, arm: str, scoring: Scoring = Scoring.PRIMARY) -> Mapping[int, bool | None]:
        """Success of an arm by seed; empty when it was not run."""
        return self.outcomes.get((scoring, arm), {})

    def proportion(self, arm: str, scoring: Scoring = Scoring.PRIMARY) -> Proportion:
        """Successes of an arm among its completed episodes."""
        completed = [success for success in self.by_seed(arm, scoring).values() if success is not None]
        return proportion(sum(completed), len(completed))

    def excluded(self, arm: str) -> int:
        """Episodes of an arm that infrastructure ended."""
        return sum(success is None for success in self.by_seed(arm).values())

    def contrast(self, lower: str, upper: str, scoring: Scoring = Scoring.PRIMARY) -> Contrast:
        """Two arms on their shared seeds, not adjusted."""
        return mcnemar(self.by_seed(lower, scoring), self.by_seed(upper, scoring), (lower, upper))

    def best(self, scoring: Scoring = Scoring.PRIMARY) -> frozenset[str]:
        """The arms with the highest success, ties included; empty when fewer than two were measured."""
        measured = {arm: p.estimate for arm in RUNGS if (p := self.proportion(arm, scoring)).estimate is not None}
        if len(measured) < 2:
            return frozenset()
        return frozenset(arm for arm, estimate in measured.items() if estimate == max(measured.values()))


def ladders(episodes: pd.DataFrame, wanted: Iterable[Configuration] = ()) -> tuple[Ladder, ...]:
    """The ladders of an episode frame.

    Parameters
    ----------
    episodes : DataFrame
        One row an episode.
    wanted : iterable of Configuration
        Configurations that must be among the result even when there are no logs of them.

    Returns
    -------
    tuple of Ladder
        Sorted by study, capability of the model, size, density, domain, regime, brief.
    """
    outcomes: dict[Configuration, dict[tuple[Scoring, str], dict[int, bool | None]]] = {c: {} for c in wanted}
    main = episodes[(episodes["options"] == MAIN_OPTIONS) & (episodes["schedule"] == CANONICAL)
                    & episodes["arm"].isin(RUNGS)]  # another arm alone makes no ladder
    for row in main.to_dict("records"):
        found = outcomes.setdefault(configuration_of(row), {})
        for scoring in Scoring:
            success = bool(row[scoring.value]) if row["completed"] else None
            found.setdefault((scoring, str(row["arm"])), {})[int(row["seed"])] = success
    return tuple(Ladder(configuration, outcomes[configuration]) for configuration in sorted(outcomes, key=order))


def configuration_of(row: Mapping[Any, Any]) -> Configuration:
    """The configuration of a row of the episode frame."""
    return Configuration(str(row["study"]), str(row["model"]), str(row["state_model"]), int(row["size"]),
                         float(row["density"]), str(row["domain"]), str(row["brief"]), str(row["regime"]),
                         str(row["prompts"]), str(row["schedule"]), str(row["cell"]))


def in_both_briefs(found: Iterable[Ladder]) -> tuple[Ladder, ...]:
    """The ladders, and for each one the ladder of the other brief, empty when there are no logs of it."""
    present = {ladder.configuration: ladder for ladder in found}
    for configuration in tuple(present):
        for brief in BRIEFS:
            other = configuration.with_brief(brief)
            present.setdefault(other, Ladder(other, {}))
    return tuple(present[configuration] for configuration in sorted(present, key=order))


def adjacent_contrasts(
    found: Iterable[Ladder], scoring: Scoring = Scoring.PRIMARY,
) -> dict[Configuration, tuple[Contrast, ...]]:
    """The contrasts of adjacent rungs, adjusted by Holm's method.

    The family is all adjacent contrasts of one study within a scoring (§4.2), missing ones left out.
    """
    everything = tuple(found)
    adjusted: dict[Configuration, tuple[Contrast, ...]] = {}
    for study in sorted({ladder.configuration.study for ladder in everything}):
        members = [ladder for ladder in everything if ladder.configuration.study == study]
        family = holm([ladder.contrast(*pair, scoring) for ladder in members for pair in ADJACENT])
        width = len(ADJACENT)
        for index, ladder in enumerate(members):
            adjusted[ladder.configuration] = family[index * width:(index + 1) * width]
    return adjusted


def order(c: Configuration) -> tuple[Any, ...]:
    """Sort key of configurations: study, capability of the model, size, density, and the rest."""
    return (c.study, capability(c.model), capability(c.state_model), c.size, c.density, c.domain, c.regime, c.prompts,
            c.schedule,
            BRIEFS.index(c.brief) if c.brief in BRIEFS else len(BRIEFS), c.brief)
