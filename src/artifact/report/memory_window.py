"""What of a conversation reached the model in one turn, block by block, from its log alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from artifact.log import EpisodeLog, iter_logs
from artifact.log.records import MemoryRecord, Message, TurnRecord
from artifact.taskstate import NOT_A_REQUEST

_OTHERS = ("raw",)  # what the memory arms are drawn beside
_MEMORY = ("topk", "mem0", "stream", "paged")


class Block(StrEnum):
    """A part of the window."""

    BRIEF = "brief (procedural)"
    MEMORY = "from memory"
    EXCHANGES = "exchanges as they were"
    REQUEST = "request"


@dataclass(frozen=True)
class Past:
    """An earlier exchange.

    Parameters
    ----------
    tokens : float
        Its length.
    is_shown : bool
        Whether it stands in the window as it was.
    is_recalled : bool
        Whether the memory carried it, something that rests on it, or a summary that covers it.
    """

    tokens: float
    is_shown: bool
    is_recalled: bool


@dataclass(frozen=True)
class Window:
    """One turn of one log.

    Parameters
    ----------
    arm : str
        The arm.
    mode : str
        ``"replace"`` or ``"augment"``; empty for an arm without memory.
    turn : int
        Which turn.
    blocks : dict of Block to float
        Tokens of each part; they add up to the prompt tokens that the backend reported. A part has the share of them
        that it has of the characters.
    past : tuple of Past
        The conversation before the turn, to the same scale.
    """

    arm: str
    mode: str
    turn: int
    blocks: dict[Block, float]
    past: tuple[Past, ...]


def memory_windows(sources: Iterable[Path]) -> tuple[Window, ...]:
    """The windows of the example: the last request that all arms answered, of the cell and seed with the most arms.

    Parameters
    ----------
    sources : iterable of Path
        Where logs lie.

    Returns
    -------
    tuple of Window
        The raw arm first; empty when no memory arm has run.
    """
    cells: dict[tuple[str, int], dict[str, EpisodeLog]] = {}
    for log in iter_logs(sources):
        header = log.header
        if log.completed and header.arm.name in (*_OTHERS, *_MEMORY):
            cell = cells.setdefault((header.cell.slug, header.seed), {})
            cell.setdefault(header.arm.text, log)
    cells = {key: logs for key, logs in cells.items() if any(log.memories for log in logs.values())}
    if not cells:
        return ()
    logs = cells[min(cells, key=lambda key: (-len(cells[key]), key))]
    ordered = sorted(logs.values(), key=lambda log: ((*_OTHERS, *_MEMORY).index(log.header.arm.name),
                                                     -len(log.header.arm.options)))
    at = max(turn.scripted for turn in ordered[0].turns
             if turn.scripted is not None and turn.kind not in NOT_A_REQUEST)
    return tuple(window_of(log, next(turn.turn for turn in log.turns if turn.scripted == at)) for log in ordered)


def window_of(log: EpisodeLog, at: int) -> Window:
    """The window of one turn."""
    turn = log.turns[at]
    memory = log.memories[at] if log.memories else MemoryRecord(at)
    exchanges = [(Message("user", earlier.text), Message("assistant", earlier.reply)) for earlier in log.turns[:at]]
    history = [m for pair in exchanges for m in pair] if memory.history is None else list(memory.history)
    characters = {
        Block.BRIEF: len(log.turns[0].sent[0].content),
        Block.MEMORY: len(memory.block) + len(memory.notice) + sum(len(m.content) for m in _in_turn(turn)),
        Block.EXCHANGES: sum(len(message.content) for message in history),
        Block.REQUEST: len(turn.text),
    }
    scale = turn.usage.prompt / max(1, sum(characters.values()))
    recalled = {number for found in memory.recalled for number in found.turns}
    shown = _shown(exchanges, history)
    if memory.evicted:
        recalled |= set(range(len(exchanges))) - shown  # all that has left the window is in the summary
    past = tuple(Past(scale * sum(len(message.content) for message in pair), number in shown, number in recalled)
                 for number, pair in enumerate(exchanges))
    mode = ("augment" if memory.history is None else "replace") if log.memories else ""
    return Window(log.header.arm.name, mode, at, {block: scale * count for block, count in characters.items()}, past)


def _shown(exchanges: Sequence[tuple[Message, Message]], history: Sequence[Message]) -> set[int]:
    """The exchanges that stand in a history: it is the end of the conversation, function results apart."""
    requests = [message.content for message in history if message.role == "user"]
    shown = set()
    for number in range(len(exchanges) - 1, -1, -1):
        if exchanges[number][0].content not in requests:
            break
        shown.add(number)
    return shown


def _in_turn(turn: TurnRecord) -> tuple[Message, ...]:
    """What passed between agent and memory within the turn."""
    first = next((at for at, message in enumerate(turn.ephemeral) if message.role == "assistant"), None)
    return () if first is None else turn.ephemeral[first:]
