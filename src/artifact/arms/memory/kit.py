"""What a memory arm is given beside the opening: a model to ask, an encoder, and a journal."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from artifact.arms.structured import Ask
from artifact.log.memories import MemoryRecord
from artifact.models.embedder import Embedder

Journal = Callable[[int, Callable[[], Awaitable[MemoryRecord]]], Awaitable[MemoryRecord]]


@dataclass(frozen=True)
class MemoryKit:
    """What the runner supplies to a memory arm.

    Parameters
    ----------
    ask : Ask
        The agent's own model.
    embedder : Embedder
        Texts to vectors.
    journal : callable
        Gives the turn's record: the one that the log holds, or the one made now, which is then written.
    brief : str
        The system prompt.
    folder : Path
        Where a memory library may keep its store; of this episode alone.
    closing : ExitStack
        What is to be let go of when the episode is over.
    """

    ask: Ask
    embedder: Embedder
    journal: Journal
    brief: str
    folder: Path
    closing: ExitStack
