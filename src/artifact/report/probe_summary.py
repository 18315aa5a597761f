"""The trap-turn probe, counted: what became of each variant (Appendix A.4).

Decided here: samples of one trap turn, and the trap turns of one episode, share their history and aren't independent.
The share of booking samples therefore has the interval of a seeded cluster bootstrap over episodes; beside it stands
the number of trap turns at which most samples book, with its Wilson interval, which stays honest where all are alike.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from artifact.log.probe_reader import iter_probes
from artifact.log.probes import ProbeLog, ProbeRecord, ProbeVariant
from artifact.report.clusters import ClusteredShare, clustered_share
from artifact.report.ladder import Configuration, configuration_of, order
from artifact.report.statistics import Proportion, proportion
from artifact.scorer.probe_frame import probe_frame
from artifact.scorer.probe_replies import ReplySort

_BOOTSTRAP_SEED = 3
# The columns that name one probe log, and one trap turn.
LOG = ("study", "cell", "options", "seed")
TRAP = (*LOG, "turn")


def load_probes(sources: Iterable[Path]) -> pd.DataFrame:
    """Every reply of the probe logs among files and folders, sorted; where a probe lies twice, the first copy stands.

    Parameters
    ----------
    sources : iterable of Path
        E.g. `artifact.report.scored.log_sources()`; folders without probe logs give an empty frame.
    """
    return probe_frame(_each_once(sources))


def probe_headers(sources: Iterable[Path]) -> tuple[ProbeRecord, ...]:
    """What each of these logs was asked of, and how."""
    return tuple(log.header for log in _each_once(sources))


def _each_once(sources: Iterable[Path]) -> Iterator[ProbeLog]:
    seen: set[tuple[str, str, str, str, int]] = set()
    for log in iter_probes(sources):
        if log.key not in seen:
            seen.add(log.key)
            yield log


@dataclass(frozen=True)
class VariantSummary:
    """What became of one variant over all trap turns.

    Parameters
    ----------
    samples : ClusteredShare
        Sampled replies that book the finished step again, clustered by episode.
    traps : Proportion
        Trap turns at which more than half of them do.
    sorts : mapping of ReplySort to int
        Sampled replies by their sort.
    cited, another, redisplays : int
        Sampled replies whose booking decline-aware scoring takes as a citation; that book a step which the request
        isn't about; that hold a ref line of the step with another work order.
    greedy : Proportion
        Greedy re-asks that book.
    greedy_unmentioned, greedy_stated : int
        Those of them that say nothing of completion, and that state it.
    reproduced, same_text : Proportion
        Greedy re-asks of the recorded request with the recorded outcome, and word for word; not run for others.
    """

    samples: ClusteredShare
    traps: Proportion
    sorts: Mapping[ReplySort, int]
    cited: int
    another: int
    redisplays: int
    greedy: Proportion
    greedy_unmentioned: int
    greedy_stated: int
    reproduced: Proportion
    same_text: Proportion


def summarize(probes: pd.DataFrame, variant: ProbeVariant) -> VariantSummary:
    """Count one variant of one configuration, completed logs only."""
    of_variant = probes[(probes["variant"] == variant.value) & probes["completed"]]
    sampled, greedy = of_variant[~of_variant["greedy"]], of_variant[of_variant["greedy"]]
    majority = sampled.groupby(["seed", "turn"], sort=True)["books"].mean() > 0.5
    episodes = {seed: tuple(group["books"]) for seed, group in sampled.groupby("seed", sort=True)}
    compared = greedy[greedy["reproduces"].notna()]
    sorts = sampled["sort"].value_counts()
    ways = greedy["sort"].value_counts()
    return VariantSummary(
        clustered_share(episodes, seed=_BOOTSTRAP_SEED), proportion(int(majority.sum()), len(majority)),
        {sort: int(sorts.get(sort.value, 0)) for sort in ReplySort}, int(sampled["cited"].sum()),
        int(sampled["books_another"].sum()), int(sampled["redisplays"].sum()),
        proportion(int(greedy["books"].sum()), len(greedy)), int(ways.get(ReplySort.BOOKS_UNMENTIONED.value, 0)),
        int(ways.get(ReplySort.BOOKS_STATED.value, 0)),
        proportion(int(compared["reproduces"].sum()), len(compared)),
        proportion(int(compared["same_text"].sum()), len(compared)))


def totals(probes: pd.DataFrame) -> tuple[int, int, int]:
    """Episodes, trap turns and replies of the completed logs."""
    done = probes[probes["completed"]]
    return len(done.groupby(list(LOG))), len(done.groupby(list(TRAP))), len(done)


def probe_sentence(probes: pd.DataFrame) -> str:
    """What was probed, and how often the greedy re-ask reproduces the record, in one computed sentence."""
    episodes, turns, replies = totals(probes)
    if not replies:
        return "No trap turn was probed: not run."
    reproduced = summarize(probes, ProbeVariant.AS_RECORDED).reproduced
    models = ", ".join(sorted(set(probes["model"][probes["completed"]])))
    left_out = len(probes.groupby(list(LOG))) - episodes
    excluded = f" {left_out} unfinished logs are left out." if left_out else ""
    return (f"{turns} trap turns of {episodes} raw-arm episodes ({models}), {replies} replies; the greedy re-ask "
            f"reproduces the recorded outcome at {reproduced.k} of {reproduced.n} trap turns.{excluded}")


def configurations(probes: pd.DataFrame) -> Iterator[tuple[Configuration, pd.DataFrame]]:
    """The replies of each configuration, in the order of every table; those of a raw arm with options apart."""
    groups = [(configuration_of(group.iloc[0]), str(options), group)
              for (_, _, options), group in probes.groupby(["study", "cell", "options"], sort=True)]
    for configuration, _, group in sorted(groups, key=lambda found: (order(found[0]), found[1])):
        yield configuration, group
