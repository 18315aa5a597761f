"""The agent's own ledger against the truth, turn by turn (§3.3, self-ledger).

The ledger is what the agent's ``LEDGER <code> DONE|CANCELLED|TODO`` lines say, the last line for a code counting; a
step without a line is open. It is compared at the start of each turn with the realized state, where a blocked step is
an open one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from artifact.log import EpisodeLog
from artifact.scorer.verdicts import EpisodeVerdict
from artifact.taskstate import RequestKind, Status, TaskState
from artifact.taskstate.ledger import read_ledger

LEDGER_ARM = "ledger"


@dataclass(frozen=True)
class LedgerTurn:
    """The ledger at the start of a turn: how many steps it has as they are, and what it gets wrong of the others.

    Parameters
    ----------
    entries : int
        Steps of the plan, each of which the ledger says something of; 0 for an arm without a ledger.
    right : int
        Those that it has as they are.
    open : int
        Those that are open: what an empty ledger would have right.
    said_done, said_open : int
        Open steps that it has as done, and done ones that it has as open.
    cancellation_missed, cancellation_made_up : int
        Cancelled steps that it has otherwise, and others that it has as cancelled.
    """

    entries: int = 0
    right: int = 0
    open: int = 0
    said_done: int = 0
    said_open: int = 0
    cancellation_missed: int = 0
    cancellation_made_up: int = 0


def ledger_turns(log: EpisodeLog, verdict: EpisodeVerdict) -> tuple[LedgerTurn, ...]:
    """Compare the ledger of each turn; for an arm without one every turn has no entries."""
    if log.header.arm.name != LEDGER_ARM:
        return tuple(LedgerTurn() for _ in log.turns)
    episode = log.header.episode
    truth, ledger, turns = TaskState(episode.graph), dict[str, Status](), []
    for record, turn in zip(log.turns, verdict.turns, strict=True):
        turns.append(_compared([(ledger.get(step.code, Status.TODO), _entry(truth.status(step.id)))
                                for step in episode.graph.steps]))
        ledger |= read_ledger([record.reply])
        for step_id in turn.executed:
            truth = truth.execute(step_id, record.work_order or "", record.turn)
        if record.kind is RequestKind.REVISION:
            truth = truth.revise(episode.revision)
    return tuple(turns)


def _compared(entries: Sequence[tuple[Status, Status]]) -> LedgerTurn:
    """Count what is said of each step against what it is."""
    todo, done, cancelled = Status.TODO, Status.DONE, Status.CANCELLED
    return LedgerTurn(
        entries=len(entries), right=sum(said is true for said, true in entries),
        open=sum(true is todo for _, true in entries), said_done=entries.count((done, todo)),
        said_open=entries.count((todo, done)),
        cancellation_missed=entries.count((todo, cancelled)) + entries.count((done, cancelled)),
        cancellation_made_up=entries.count((cancelled, todo)) + entries.count((cancelled, done)))


def _entry(status: Status) -> Status:
    return Status.TODO if status is Status.BLOCKED else status
