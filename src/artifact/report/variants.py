"""Variants of an arm and the logs that hold them, found by what ran and not by the name of its study.

Invariant: a variant and what it is compared with differ in nothing but what the variant names: same agent, state
model, size, density, prompt set, regime, and the same seeds.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from artifact.report.ladder import BRIEFS, Configuration, order
from artifact.report.samples import Sample, samples
from artifact.report.scored import ScoredLogs
from artifact.taskstate import CANONICAL

PROCUREMENT = "procurement"
_CACHE = re.compile(r"held_out=[^,]*")


@dataclass(frozen=True)
class Variant:
    """One row of a comparison.

    Parameters
    ----------
    label : str
        Its name in the table.
    arm : str
        The arm.
    options : mapping
        The options that differ from their defaults.
    against : str
        Label of the row that it is compared with; none when empty.
    schedule, brief, domain : str
        What it ran on. A held-out schedule matches whoever wrote its phrasings.
    size : int or None
        S that it ran on; any when None.
    is_reference : bool
        Whether it is there to be compared with: its logs alone make no table.
    is_optional : bool
        Whether its row is left out, and doesn't read "not run", where there are no logs of it.
    """

    label: str
    arm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    against: str = ""
    schedule: str = CANONICAL
    brief: str = BRIEFS[0]
    domain: str = PROCUREMENT
    size: int | None = None
    is_reference: bool = False
    is_optional: bool = False

    def holds(self, found: Sample) -> bool:
        """Whether a sample is one of it."""
        c = found.configuration
        return (found.arm, json.loads(found.options)) == (self.arm, dict(self.options)) and (
            _CACHE.sub("held_out", c.schedule), c.brief, c.domain) == (self.schedule, self.brief, self.domain) and (
            self.size in (None, c.size))


@dataclass(frozen=True)
class Comparison:
    """The rows of one base configuration.

    Parameters
    ----------
    configuration : Configuration
        What all rows share; schedule, brief and domain are those of the reference.
    samples : mapping of str to Sample
        Label -> sample; a label that was not run is missing.
    """

    configuration: Configuration
    samples: Mapping[str, Sample]


def comparisons(scored: ScoredLogs, variants: Sequence[Variant]) -> tuple[Comparison, ...]:
    """The base configurations on which any variant ran, with every row that has logs.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs of any studies.
    variants : sequence of Variant
        The rows. References count on the seeds of the variants alone.
    """
    everything = list(samples(scored, options=None))
    groups: dict[Configuration, dict[str, list[Sample]]] = {}
    for found in everything:
        for variant in variants:
            if variant.holds(found):
                groups.setdefault(_base(found.configuration), {}).setdefault(variant.label, []).append(found)
    references = {variant.label for variant in variants if variant.is_reference}
    result = []
    for base, by_label in groups.items():
        own = [found for label, members in by_label.items() if label not in references for found in members]
        if not own:
            continue
        study = min(found.configuration.study for found in own)
        seeds = {int(seed) for found in own for seed in found.episodes["seed"]}
        chosen = {label: _best(members, study) for label, members in by_label.items()}
        result.append(Comparison(replace(base, study=study), {
            label: found.on(seeds) if label in references else found for label, found in chosen.items()}))
    return tuple(sorted(result, key=lambda comparison: order(comparison.configuration)))


def _base(c: Configuration) -> Configuration:
    return replace(c, study="", cell="", schedule=CANONICAL, brief=BRIEFS[0])


def _best(members: Iterable[Sample], study: str) -> Sample:
    """Of the same row in several studies the one of the variant's study, else the largest."""
    return min(members, key=lambda found: (found.configuration.study != study, -found.n, found.configuration.study))
