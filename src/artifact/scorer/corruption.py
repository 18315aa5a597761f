"""Corrupted state, event by event, and what a rebuild from the receipt log would have mended (Appendix D.4).

A decision is a directive that was issued, or a gate's answer to one booking; it is changed where the corrupted state
decides otherwise than the same state without corruption, and mended where the state with the done bits of the receipt
log decides as the uncorrupted one. Nothing after a mended decision is replayed.
"""

from dataclasses import dataclass

from artifact.log import EpisodeLog
from artifact.scorer.module_state import ModuleTurn, directive_kind, module_turns
from artifact.taskstate import TaskState


@dataclass(frozen=True)
class CorruptionTally:
    """What was corrupted in one episode, and what that changed.

    Parameters
    ----------
    spurious, lost, dropped : int
        Done bits set without a receipt, done bits lost, prerequisites dropped.
    changed, mended : int
        Decisions that the corruption changed, and how many of them the receipt log would have restored.
    """

    spurious: int
    lost: int
    dropped: int
    changed: int
    mended: int

    @property
    def events(self) -> int:
        """All corruptions."""
        return self.spurious + self.lost + self.dropped


def tally_corruption(log: EpisodeLog) -> CorruptionTally:
    """Count the corruptions of a gate arm's episode from its log."""
    turns = module_turns(log)
    decisions = [decision for turn in turns for decision in _decisions(turn, log.header.arm.name == "enforcement")]
    changed = [(clean, repaired) for corrupted, clean, repaired in decisions if corrupted != clean]
    return CorruptionTally(
        spurious=sum(len(turn.spurious) for turn in turns), lost=sum(len(turn.lost) for turn in turns),
        dropped=sum(len(turn.dropped) for turn in turns), changed=len(changed),
        mended=sum(clean == repaired for clean, repaired in changed))


def _decisions(turn: ModuleTurn, refuses: bool) -> list[tuple[str, str, str]]:
    """Each decision of a turn as the corrupted, the uncorrupted and the repaired state make it."""
    if turn.state is None or turn.clean is None or turn.repaired is None:
        return []
    corrupted, clean, repaired = turn.state, turn.clean, turn.repaired
    found = []
    if turn.record.directive is not None:
        step = turn.record.directive.step
        found.append((directive_kind(corrupted, step), directive_kind(clean, step), directive_kind(repaired, step)))
    for booking in turn.record.bookings if refuses else ():
        if booking.step is not None:
            found.append((_answer(corrupted, booking.step), _answer(clean, booking.step),
                          _answer(repaired, booking.step)))
    return found


def _answer(state: TaskState, step: str) -> str:
    return "admitted" if state.decide(step).allowed else "refused"
