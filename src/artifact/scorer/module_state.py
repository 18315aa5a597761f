"""What a gate's own state was at each turn, rebuilt from the log alone: compiles, matches, receipts, corruption.

Scoring never looks at this (DESIGN §8.1); it says why a gate did what it did. The corruption is drawn from rate, seed
and turn, so the log holds all that is needed to draw it again (Appendix D.4).

Invariant: the rebuilt state issues the directives that the log holds, turn by turn; `agrees` says so for each turn,
and what an arm did beyond what is rebuilt here shows as a turn that doesn't agree.
"""

from dataclasses import dataclass

from artifact.log import EpisodeLog, TurnRecord
from artifact.taskstate import Corruption, RequestKind, Status, TaskState

GATED = ("directive", "enforcement")
_OF_A_STEP = frozenset({"eligible", "blocked", "done", "redo", "cancelled"})


@dataclass(frozen=True)
class ModuleTurn:
    """The module's state when it decided on a turn.

    Parameters
    ----------
    record : TurnRecord
        The turn.
    state : TaskState or None
        As it was, corruption included; None where a compile had failed.
    clean : TaskState or None
        As it would have been had nothing been corrupted, with the same receipts.
    repaired : TaskState or None
        The corrupted graph with the done steps of the receipt log: what a module knows that rebuilds its done bits
        from its accepted bookings before it decides.
    spurious, lost, dropped : tuple
        What was corrupted at the start of this turn: steps that got a done bit without a receipt, steps that lost
        theirs, and the (step, prerequisite) edges that went.
    agrees : bool
        Whether the state implies the directive that the log holds.
    """

    record: TurnRecord
    state: TaskState | None
    clean: TaskState | None
    repaired: TaskState | None
    spurious: tuple[str, ...]
    lost: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    agrees: bool


def module_turns(log: EpisodeLog) -> tuple[ModuleTurn, ...]:
    """Rebuild the state of a gate arm, turn by turn.

    Parameters
    ----------
    log : EpisodeLog
        Of any arm.

    Returns
    -------
    tuple of ModuleTurn
        One a turn; empty for an arm that is no gate.
    """
    if log.header.arm.name not in GATED:
        return ()
    plan, revision = log.owned("plan"), log.owned("revision")
    matches = {match.turn: match for match in log.matches}
    corruption = Corruption(corruption_rate(log), log.header.seed,
                            log.header.arm.options.get("corruption_draws", "two"))
    state = clean = TaskState(plan.graph) if plan is not None and plan.graph is not None else None
    turns = []
    for record in log.turns:
        if record.kind is RequestKind.REVISION and state is not None and clean is not None:
            if revision is None or revision.revision is None:
                state = clean = None
            else:
                state, clean = state.revise(revision.revision), clean.revise(revision.revision)
        before, match = state, matches.get(record.turn)
        redone = [match.step] if match is not None and match.step is not None and match.explicit_redo else []
        if state is not None and clean is not None:
            state = corruption.apply(state, record.turn).authorize(redone)
            clean = clean.authorize(redone)
        repaired = TaskState(state.graph, clean.receipts).authorize(redone) if state and clean else None
        events = _events(before, state)
        if log.header.arm.options.get("heal"):  # such a gate rebuilds its done bits before every decision
            state = repaired
        turns.append(ModuleTurn(record, state, clean, repaired, *events, _agrees(record, state)))
        for booking in record.bookings:
            if booking.accepted and booking.step is not None and state is not None and clean is not None:
                state = state.execute(booking.step, booking.work_order, record.turn)
                clean = clean.execute(booking.step, booking.work_order, record.turn)
    return tuple(turns)


def corruption_rate(log: EpisodeLog) -> float:
    """ε of the arm."""
    return float(log.header.arm.options.get("corruption", 0.0))


def directive_kind(state: TaskState, step: str) -> str:
    """The kind of directive that a state implies for a request, as logs name it."""
    decision = state.decide(step)
    if decision.allowed:
        return "eligible" if decision.status is Status.TODO else "redo"
    return decision.status.value


def _agrees(record: TurnRecord, state: TaskState | None) -> bool:
    issued = record.directive
    if issued is None or issued.kind not in _OF_A_STEP:  # nothing was said of a step's status
        return True
    if state is None:
        return False
    return issued.step in state.graph and issued.kind == directive_kind(state, issued.step)


def _events(
    before: TaskState | None, after: TaskState | None,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    if before is None or after is None:
        return (), (), ()
    dropped = tuple((step.id, prerequisite) for step in before.graph.steps for prerequisite in step.prerequisites
                    if prerequisite not in after.graph[step.id].prerequisites)
    return tuple(sorted(after.done - before.done)), tuple(sorted(before.done - after.done)), dropped
