"""What a memory arm recalled against what the right answer needs, turn by turn (Appendix F).

What a request needs follows from the realized state at its start. A step that is done needs a receipt that says so, an
eligible one a receipt of each prerequisite. The revision is needed where the first plan, with the same receipts, would
have had the step otherwise: cancelled, freed, or blocked. A redo that is ordered, a step that is blocked under both
plans and one without prerequisites need nothing that was said: such requests aren't counted.

A text holds a receipt in which one of the step's ref lines stands, any of them where it was carried out more than once.
It holds the revision in its own words, or in a fact, reflection or summary that names the step and tells of a change.

Two texts are looked at. *Recalled* is what the turn carried from memory: block, notice, and what functions gave back.
*Shown* is that and what stood in the window as it was: the last exchanges or the queue in mode replace, the whole
conversation in mode augment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from artifact.log import EpisodeLog, TurnRecord
from artifact.log.records import MemoryRecord
from artifact.scorer.verdicts import EpisodeVerdict, TurnVerdict
from artifact.taskstate import RequestKind, Status, TaskState, parse_ref_lines

_CHANGE = re.compile(r"\b(?:cancel|no longer|not (?:be )?(?:needed|required|carried)|chang|remov|instead|prerequisite)",
                     re.IGNORECASE)
_LITTLE = frozenset(("the", "for", "with", "from", "out", "into", "and", "our", "their"))
_SHORTEST = 3


@dataclass(frozen=True)
class RecallTurn:
    """Receipts and revisions that a turn's right answer needs, how many were recalled, and how many shown at all."""

    needed: int
    held: int
    shown: int


@dataclass(frozen=True)
class _Needs:
    """The step that is asked for, the steps of which a receipt is needed, and whether the revision is."""

    step: str = ""
    receipts: tuple[str, ...] = ()
    revision: bool = False


def recall_turns(log: EpisodeLog, verdict: EpisodeVerdict) -> tuple[RecallTurn, ...]:
    """Compare each turn; for an arm without memory every turn needs nothing."""
    if not log.memories:
        return tuple(RecallTurn(0, 0, 0) for _ in log.turns)
    episode = log.header.episode
    truth, revised = TaskState(episode.graph), ""
    told: list[str] = []
    turns = []
    for record, turn, memory in zip(log.turns, verdict.turns, log.memories, strict=False):
        told += [stored.text for stored in memory.stored if stored.text]
        needs = _needs(turn, truth, TaskState(episode.graph, truth.receipts))
        carried = _carried(record, memory)
        shown = f"{carried}\n{_as_it_was(log, record, memory)}"
        turns.append(RecallTurn(len(needs.receipts) + needs.revision,
                                *(_held(text, needs, truth, revised, told) for text in (carried, shown))))
        for step in turn.executed:
            truth = truth.execute(step, record.work_order or "", record.turn)
        if record.kind is RequestKind.REVISION:
            truth, revised = truth.revise(episode.revision), record.text
    return tuple(turns)


def _needs(turn: TurnVerdict, truth: TaskState, unrevised: TaskState) -> _Needs:
    if turn.step is None or turn.status is None or turn.authorized:
        return _Needs()
    receipts: tuple[str, ...] = ()
    if turn.status is Status.DONE:
        receipts = (turn.step,)
    elif turn.status is Status.TODO:
        receipts = truth.graph[turn.step].prerequisites
    return _Needs(turn.step, receipts, unrevised.status(turn.step) is not turn.status)


def _held(text: str, needs: _Needs, truth: TaskState, revised: str, told: Sequence[str]) -> int:
    """How many of the things needed a text holds."""
    said = {(line.code, line.work_order) for line in parse_ref_lines(text)}
    booked = {receipt.step for receipt in truth.receipts
              if (truth.graph[receipt.step].code, receipt.work_order) in said}
    held = sum(step in booked for step in needs.receipts)
    if needs.revision and revised:
        in_other_words = (memory for memory in told if memory in text and _CHANGE.search(memory))
        held += revised in text or any(_names(memory, truth.graph[needs.step].text) for memory in in_other_words)
    return held


def _names(text: str, step: str) -> bool:
    """Whether a text names a step: two neighbouring words of its own stand in it side by side."""
    said, named = (list(pairwise(re.findall(r"\w+", words.casefold()))) for words in (text, step))
    return any(pair in said for pair in named if not any(len(w) < _SHORTEST or w in _LITTLE for w in pair))


def _carried(record: TurnRecord, memory: MemoryRecord) -> str:
    """All that the turn showed from memory: block, notice, and what functions gave back."""
    told = (message.content for message in record.ephemeral if message.role == "user")
    return "\n".join((memory.block, memory.notice, *told))


def _as_it_was(log: EpisodeLog, record: TurnRecord, memory: MemoryRecord) -> str:
    """The part of the conversation that stood in the window."""
    if memory.history is not None:
        return "\n".join(message.content for message in memory.history)
    return "\n".join(text for earlier in log.turns[:record.turn] for text in (earlier.text, earlier.reply))
