"""The agent's own ledger against the truth, turn by turn (§3.3, self-ledger).

The ledger is what the agent's ``LEDGER <code> DONE|CANCELLED|TODO`` lines say, the last line for a code counting; a
step without a line is open. It is compared at the start of each turn with the realized state, where a blocked step is
an open one.
"""

from dataclasses import dataclass

from artifact.log import EpisodeLog
from artifact.scorer.verdicts import EpisodeVerdict
from artifact.taskstate import RequestKind, Status, TaskState
from artifact.taskstate.ledger import read_ledger

LEDGER_ARM = "ledger"


@dataclass(frozen=True)
class LedgerTurn:
    """How many steps the ledger holds at the start of a turn, and how many of them as they are."""

    entries: int
    right: int


def ledger_turns(log: EpisodeLog, verdict: EpisodeVerdict) -> tuple[LedgerTurn, ...]:
    """Compare the ledger of each turn; for an arm without one every turn has no entries."""
    if log.header.arm.name != LEDGER_ARM:
        return tuple(LedgerTurn(0, 0) for _ in log.turns)
    episode = log.header.episode
    truth, ledger, turns = TaskState(episode.graph), dict[str, Status](), []
    for record, turn in zip(log.turns, verdict.turns, strict=True):
        right = sum(ledger.get(step.code, Status.TODO) is _entry(truth.status(step.id)) for step in episode.graph.steps)
        turns.append(LedgerTurn(len(episode.graph.steps), right))
        ledger |= read_ledger([record.reply])
        for step_id in turn.executed:
            truth = truth.execute(step_id, record.work_order or "", record.turn)
        if record.kind is RequestKind.REVISION:
            truth = truth.revise(episode.revision)
    return tuple(turns)


def _entry(status: Status) -> Status:
    return Status.TODO if status is Status.BLOCKED else status
