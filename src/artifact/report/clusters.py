"""Shares whose trials come in clusters, such as several samples of one conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from artifact.report.statistics import CONFIDENCE

RESAMPLES = 10_000  # DESIGN §7


@dataclass(frozen=True)
class ClusteredShare:
    """k successes of n trials in clusters, with a bootstrap interval over the clusters.

    Parameters
    ----------
    k, n, clusters : int
        Successes, trials, and the clusters that they come in.
    estimate, low, high : float or None
        k/n and the bounds of its 95 % interval; None when there is no trial, the bounds also with a single cluster.
    """

    k: int
    n: int
    clusters: int
    estimate: float | None
    low: float | None
    high: float | None


def clustered_share(trials: Mapping[object, Sequence[bool]], *, seed: int) -> ClusteredShare:
    """A share with the percentile interval of a cluster bootstrap.

    Whole clusters are drawn with replacement, so that trials which resemble each other widen the interval. Where all
    clusters are alike it has no width, which says that the clusters at hand can't tell and not that the share is
    known: show a Wilson interval over the clusters beside it.

    Parameters
    ----------
    trials : mapping of object to sequence of bool
        The trials of each cluster.
    seed : int
        Of the draws; the same trials give the same interval.
    """
    counts = np.array([(sum(cluster), len(cluster)) for cluster in trials.values() if len(cluster)], dtype=float)
    if not len(counts):
        return ClusteredShare(0, 0, 0, None, None, None)
    k, n = counts.sum(axis=0)
    if len(counts) == 1:
        return ClusteredShare(int(k), int(n), 1, float(k / n), None, None)
    draws = np.random.default_rng(seed).integers(0, len(counts), size=(RESAMPLES, len(counts)))
    sums = counts[draws].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return ClusteredShare(int(k), int(n), len(counts), float(k / n), float(low), float(high))


def interval_text(share: ClusteredShare) -> str:
    """The interval in brackets, empty where there is none."""
    return "" if share.low is None else f"[{share.low:.2f}, {share.high:.2f}]"
