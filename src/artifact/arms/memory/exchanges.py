"""The exchanges of a conversation, which is what the memory arms remember, and how a block of them is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from artifact.models.embedder import Vectors

LAST_SHOWN = 2  # exchanges that stand beside the block where it replaces the transcript (§3.3)
RECALLED = 5    # memories a turn (§3.3)
_DIGITS = 6     # of a score: finer differences aren't the same on every machine


@dataclass(frozen=True)
class Exchange:
    """A request and the reply that stands."""

    turn: int
    request: str
    reply: str

    @property
    def id(self) -> str:
        """What pointers name it by."""
        return f"e{self.turn}"

    @property
    def text(self) -> str:
        """As it is embedded and shown."""
        return f"Client: {self.request}\nYou: {self.reply}"


def cosines(memories: Vectors, query: Vectors) -> list[float]:
    """Cosine of each row with the query, all of them of length one."""
    return [round(float(value), _DIGITS) for value in np.asarray(memories @ query, np.float64)]


def best(scores: Sequence[float], count: int = RECALLED) -> list[int]:
    """Positions of the highest scores, best first; of equal scores the earlier memory comes first."""
    return sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:count]


def listed(memories: Iterable[tuple[str, str]]) -> str:
    """Memories one below the other, each under its heading."""
    return "\n".join(f"({heading})\n{text}" for heading, text in memories)
