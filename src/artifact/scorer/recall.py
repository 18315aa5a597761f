"""What a memory arm recalled against what the right answer needs, turn by turn (Appendix F).

What a request needs follows from the realized state at its start. A step that is done needs the receipt that says so,
a cancelled one the revision. An eligible step needs the receipts of its prerequisites, and an eligible or blocked one
whose prerequisites were changed needs the revision too. A redo that is ordered, a blocked step of the first plan and a
step without prerequisites need nothing that was said: such requests aren't counted.

A receipt is recalled when the ref line that booked it stands in what the turn carried from memory; the revision when
its message does, or when a recalled memory rests on its turn. So a summary in other words that names no ref line holds
no receipt, and a fact read out of the revision counts for it, whatever it says of it.
"""

from dataclasses import dataclass

from artifact.log import EpisodeLog, TurnRecord
from artifact.log.records import MemoryRecord
from artifact.scorer.verdicts import EpisodeVerdict, TurnVerdict
from artifact.taskstate import RequestKind, Status, TaskState


@dataclass(frozen=True)
class RecallTurn:
    """How many receipts and revisions a turn's right answer needs, and how many of them were recalled."""

    needed: int
    held: int


def recall_turns(log: EpisodeLog, verdict: EpisodeVerdict) -> tuple[RecallTurn, ...]:
    """Compare each turn; for an arm without memory every turn needs nothing."""
    if not log.memories:
        return tuple(RecallTurn(0, 0) for _ in log.turns)
    episode = log.header.episode
    first = TaskState(episode.graph)
    truth, revised, turns = first, None, []
    for record, turn, memory in zip(log.turns, verdict.turns, log.memories, strict=False):
        carried = _carried(record, memory)
        receipts, revision = _needs(turn, truth, first)
        held = sum(line in carried for line in receipts)
        if revision and revised is not None:
            held += revised.text in carried or any(revised.turn in recalled.turns for recalled in memory.recalled)
        turns.append(RecallTurn(len(receipts) + revision, held))
        for step in turn.executed:
            truth = truth.execute(step, record.work_order or "", record.turn)
        if record.kind is RequestKind.REVISION:
            truth, revised = truth.revise(episode.revision), record
    return tuple(turns)


def _needs(turn: TurnVerdict, truth: TaskState, first: TaskState) -> tuple[tuple[str, ...], bool]:
    """The ref lines of the receipts that a turn needs, the latest of each step, and whether it needs the revision."""
    if turn.step is None or turn.status is None or turn.authorized:
        return (), False
    changed = truth.graph[turn.step].prerequisites != first.graph[turn.step].prerequisites
    match turn.status:
        case Status.CANCELLED:
            return (), True
        case Status.DONE:
            return _ref_lines(truth, (turn.step,)), False
        case Status.TODO:
            return _ref_lines(truth, truth.graph[turn.step].prerequisites), changed
        case Status.BLOCKED:
            return (), changed


def _ref_lines(truth: TaskState, steps: tuple[str, ...]) -> tuple[str, ...]:
    latest = {receipt.step: receipt.work_order for receipt in truth.receipts}
    return tuple(f"{truth.graph[step].code}/{latest[step]}" for step in steps)


def _carried(record: TurnRecord, memory: MemoryRecord) -> str:
    """All that the turn showed from memory: block, notice, and what functions gave back."""
    told = (message.content for message in record.ephemeral if message.role == "user")
    return "\n".join((memory.block, memory.notice, *told))
