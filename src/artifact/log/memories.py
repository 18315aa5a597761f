"""What a memory arm kept and recalled for one turn: the whole of it, so that nothing has to be embedded to read a log.

Invariant: the messages that a turn of a memory arm showed are those of its `memory` record and its own request.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from artifact.log.calls import Call, Message


class MemoryKind(StrEnum):
    """What a memory is."""

    EXCHANGE = "exchange"
    REFLECTION = "reflection"
    FACT = "fact"
    SUMMARY = "summary"


class Fallback(StrEnum):
    """What was done where the model gave no usable answer; each occurrence is counted."""

    UNRATED = "unrated"              # an importance that the model didn't give: the middle of the scale
    NO_REFLECTION = "no_reflection"  # questions or insights that can't be read: none is stored
    OLD_SUMMARY = "old_summary"      # a summary that can't be read: the earlier one stands
    NO_FACTS = "no_facts"            # facts that the memory library couldn't read from the model's answer: none
    VERBATIM = "verbatim"            # the extraction prompt doesn't fit the context: the exchange is stored as it is


@dataclass(frozen=True)
class Memory:
    """One memory that came in.

    Parameters
    ----------
    id : str
        What pointers name it by: ``e7`` for the exchange of turn 7, ``r2`` for the third reflection.
    kind : MemoryKind
        What it is.
    turn : int
        The exchange that it was made after.
    text : str
        What it says; empty for an exchange, whose text stands in its turn.
    importance : int or None
        From 1 to 10, by the model; None for a memory without.
    cites : tuple of str
        The memories that it rests on.
    """

    id: str
    kind: MemoryKind
    turn: int
    text: str = ""
    importance: int | None = None
    cites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recalled:
    """One memory that was recalled, best first in a record: its id, its score, and the turns that it rests on."""

    id: str
    score: float
    turns: tuple[int, ...]


@dataclass(frozen=True)
class MemoryRecord:
    """What a memory arm did before one turn.

    Parameters
    ----------
    turn : int
        Index of the turn that it was done for.
    block : str
        What the turn carried from memory, as it was shown; empty when nothing.
    recalled : tuple of Recalled
        What the block holds.
    history : tuple of Message or None
        The messages that stood between system prompt and request; None for the whole transcript.
    stored : tuple of Memory
        What came into the memory since the turn before.
    evicted : int
        With paged context, how many messages of the conversation have left the window by now, the oldest first.
    notice : str
        What the memory told the agent beside the block: memory pressure.
    calls : tuple of Call
        The helper calls made.
    fallbacks : tuple of Fallback
        What was done for want of a usable answer.
    """

    turn: int
    block: str = ""
    recalled: tuple[Recalled, ...] = ()
    history: tuple[Message, ...] | None = None
    stored: Annotated[tuple[Memory, ...], Field(exclude_if=lambda stored: not stored)] = ()
    evicted: Annotated[int, Field(exclude_if=lambda evicted: not evicted)] = 0
    notice: Annotated[str, Field(exclude_if=lambda notice: not notice)] = ""
    calls: tuple[Call, ...] = ()
    fallbacks: Annotated[tuple[Fallback, ...], Field(exclude_if=lambda fallbacks: not fallbacks)] = ()
    record: Literal["memory"] = "memory"
