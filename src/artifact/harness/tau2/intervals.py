"""pass^1 and its paired difference, with bootstrap intervals over tasks.

Tasks are what is drawn, since the runs of one task aren't independent. An episode that infrastructure ended leaves
its proportion, and its pair.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from artifact.harness.tau2.measures import Verdict

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


def _pairs(lower: Iterable[Verdict], upper: Iterable[Verdict]) -> Iterator[tuple[Verdict, Verdict]]:
    first = {(verdict.task, verdict.seed): verdict for verdict in lower if verdict.completed}
    for verdict in upper:
        before = first.get((verdict.task, verdict.seed))
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
