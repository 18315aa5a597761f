"""pass^1 and its paired difference, with bootstrap intervals over tasks.

Tasks are what is drawn, since the runs of one task aren't independent. An episode that infrastructure ended leaves
its proportion, and its pair.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from artifact.harness.records import HarnessCell
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.measures import Verdict
from artifact.harness.tau2.plan import REFERENCE

RESAMPLES = 10_000
_SEED = 20


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks with its 95 % bootstrap interval; all None without a task.

    Parameters
    ----------
    tasks, episodes : int
        What it is the mean of.
    value, low, high : float or None
        The mean and its bounds.
    """

    tasks: int
    episodes: int
    value: float | None
    low: float | None
    high: float | None


def pass1(verdicts: Iterable[Verdict]) -> Estimate:
    """Share of completed episodes with reward 1."""
    return share(verdicts, lambda verdict: verdict.passed)


def share(verdicts: Iterable[Verdict], of: Callable[[Verdict], bool]) -> Estimate:
    """Share of completed episodes of which something is true."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.completed:
            by_task[verdict.task].append(float(of(verdict)))
    return _estimate(by_task)


def paired_difference(lower: Iterable[Verdict], upper: Iterable[Verdict]) -> Estimate:
    """pass^1 of `upper` minus that of `lower`, over the tasks and seeds that completed on both."""
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for below, above in _pairs(lower, upper):
        by_task[above.task].append(float(above.passed) - float(below.passed))
    return _estimate(by_task)


def discordant(lower: Iterable[Verdict], upper: Iterable[Verdict]) -> tuple[int, int]:
    """How many pairs only `lower` passes, and how many only `upper`."""
    pairs = list(_pairs(lower, upper))
    return (sum(below.passed and not above.passed for below, above in pairs),
            sum(above.passed and not below.passed for below, above in pairs))


def raw_beside(verdicts: Iterable[Verdict], study: str, cell: HarnessCell) -> list[Verdict]:
    """The raw episodes that a cell's are paired with, its own first.

    No rule acts on the raw rung, so those of a cell that differs in its rules alone do as well.
    """
    raw = [verdict for verdict in _same_players(verdicts, study, cell) if verdict.rung == Rung.RAW]
    return sorted(raw, key=lambda verdict: (verdict.cell != cell, verdict.cell.slug))


def reference_beside(verdicts: Iterable[Verdict], study: str, cell: HarnessCell, rung: str) -> list[Verdict]:
    """A rung's episodes under the reference rules, for a cell under others: the rest between them isn't coupling."""
    if cell.settings.get("rules") == REFERENCE:
        return []
    return [verdict for verdict in _same_players(verdicts, study, cell)
            if verdict.rung == rung and verdict.cell.settings.get("rules") == REFERENCE]


def _same_players(verdicts: Iterable[Verdict], study: str, cell: HarnessCell) -> Iterator[Verdict]:
    def players(of: HarnessCell) -> tuple[str, dict[str, str]]:
        return of.model, {name: value for name, value in of.settings.items() if name != "rules"}

    return (verdict for verdict in verdicts if verdict.study == study and players(verdict.cell) == players(cell))


def _pairs(lower: Iterable[Verdict], upper: Iterable[Verdict]) -> Iterator[tuple[Verdict, Verdict]]:
    first: dict[tuple[str, int, int | None], Verdict] = {}
    for verdict in lower:
        if verdict.completed:
            first.setdefault((verdict.task, verdict.seed, verdict.max_steps), verdict)
    for verdict in upper:
        before = first.get((verdict.task, verdict.seed, verdict.max_steps))
        if verdict.completed and before is not None:
            yield before, verdict


def _estimate(by_task: dict[str, list[float]]) -> Estimate:
    if not by_task:
        return Estimate(0, 0, None, None, None)
    ordered = [by_task[task] for task in sorted(by_task)]
    sums, counts = np.array([sum(one) for one in ordered]), np.array([len(one) for one in ordered])
    drawn = np.random.default_rng(_SEED).integers(len(ordered), size=(RESAMPLES, len(ordered)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(len(ordered), int(counts.sum()), float(sums.sum() / counts.sum()), float(low), float(high))
