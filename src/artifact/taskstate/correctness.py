"""Per-turn correctness and the six error channels that partition its violations (§3.1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from artifact.taskstate.state import Status, TaskState


class Channel(StrEnum):
    """How a turn can be wrong; the six partition the violations."""

    RE_EXECUTION = "re_execution"
    SUPERSEDED = "superseded"
    PREMATURE = "premature"
    OMISSION = "omission"
    UNREQUESTED = "unrequested"
    REFUSED_REDO = "refused_redo"


@dataclass(frozen=True)
class Violation:
    """One violation: the channel and the step it concerns."""

    channel: Channel
    step: str


_WRONG_EXECUTION = {
    Status.DONE: Channel.RE_EXECUTION,
    Status.CANCELLED: Channel.SUPERSEDED,
    Status.BLOCKED: Channel.PREMATURE,
}


def judge_turn(state: TaskState, requested: str | None, executed: Iterable[str]) -> list[Violation]:
    """Violations of the per-turn correctness rule.

    Parameters
    ----------
    state : TaskState
        The realized state at the start of the turn, with α set by the turn's request.
    requested : str or None
        The step that the turn requests; None for a turn that requests none.
    executed : iterable of str
        Steps whose booking was accepted in this turn; each counts once.

    Returns
    -------
    list of Violation
        Empty when the turn is served correctly; the requested step first, then the others by id.
    """
    done_now = set(executed)
    violations = []
    if requested is not None:
        decision = state.decide(requested)
        if requested in done_now and not decision.allowed:
            violations.append(Violation(_WRONG_EXECUTION[decision.status], requested))
        elif requested not in done_now and decision.allowed:
            channel = Channel.OMISSION if decision.status is Status.TODO else Channel.REFUSED_REDO
            violations.append(Violation(channel, requested))
    violations += [Violation(Channel.UNREQUESTED, step) for step in sorted(done_now - {requested})]
    return violations
