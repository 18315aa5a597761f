"""Tools that fail: before their work, or by a time-out after it."""

import random
from dataclasses import dataclass
from enum import StrEnum


class Failing(StrEnum):
    """How a call of a tool goes wrong."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Failures:
    """Which calls fail, drawn from the episode's seed and the call alone.

    Parameters
    ----------
    rate : float
        Probability that a call fails; 0 for tools that always work.
    kinds : tuple of Failing
        How they fail, each kind with the same probability.
    seed : int
        The episode's seed.
    """

    rate: float
    kinds: tuple[Failing, ...]
    seed: int

    def of_call(self, tool: str, work_order: str, attempt: int) -> Failing | None:
        """How the given attempt, counted from 0, of a tool at a work order fails; None when it works."""
        if self.rate <= 0:
            return None
        draw = random.Random(f"tool-failure:{self.seed}:{tool}:{work_order}:{attempt}")
        return draw.choice(self.kinds) if draw.random() < self.rate else None
