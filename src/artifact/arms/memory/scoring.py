"""The retrieval score of a memory stream: recency, importance and relevance, each scaled, equally weighted.

Source: Park et al. (2023), Section 4.1: score = recency + importance + relevance with recency = 0.995^h, h being the
time since the memory was last recalled, and each term min-max scaled to [0, 1] over all memories.
"""

from collections.abc import Sequence

DECAY = 0.995
_DIGITS = 6


def scaled(values: Sequence[float]) -> list[float]:
    """Min-max scaled to [0, 1]; all 0 where all are equal, since they then order nothing."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def stream_scores(ages: Sequence[float], importances: Sequence[int], relevances: Sequence[float]) -> list[float]:
    """The score of each memory.

    Parameters
    ----------
    ages : sequence of float
        Time since each was last recalled, in units of the recency's decay.
    importances : sequence of int
        From 1 to 10.
    relevances : sequence of float
        Cosine with the query.
    """
    terms = (scaled([DECAY**age for age in ages]), scaled(importances), scaled(relevances))
    return [round(sum(parts), _DIGITS) for parts in zip(*terms, strict=True)]
