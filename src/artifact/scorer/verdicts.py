"""Verdicts of one episode from its log alone (§3.1, §4.2; DESIGN §8).

Invariant: a turn is judged by the realized state at its start: the bookings accepted so far, on the generator's
graph with the revision so far. What a module believed plays no part.

Decline-aware scoring is a second pass over the same turns with a realized state of its own: a booking cited
inside an explicit refusal executes nothing, so it makes no receipt there, and later turns are judged by that.
"""

from dataclasses import dataclass

from artifact.errors import RequestError
from artifact.log import EndReason, EpisodeLog, TurnRecord, check_bookings, ref_lines
from artifact.scorer.decline import citations
from artifact.taskstate import Channel, RefLine, RequestKind, Status, TaskState, Violation, judge_turn


@dataclass(frozen=True)
class TurnVerdict:
    """What became of one turn, under both scorings.

    Parameters
    ----------
    turn, scripted, kind, step, work_order
        As in the log.
    label : RequestKind
        What the request turned out to be on the realized state (DESIGN §8.5).
    status : Status or None
        Realized status of the requested step at the start of the turn; None when none is requested.
    authorized : bool
        Whether the turn orders a redo of a step that is done.
    missing : tuple of str
        Prerequisites that the requested step waits for.
    executed : tuple of str
        Steps executed, in the order of the reply.
    violations : tuple of Violation
        Empty when the turn is served correctly.
    refused : tuple of str
        Completion codes whose booking the execution channel refused.
    cited : tuple of str
        Completion codes that stand inside an explicit refusal, refused bookings included.
    redisplays : tuple of RefLine
        Ref lines with another work order than the turn's.
    da_status, da_executed, da_violations
        The same under decline-aware scoring.
    """

    turn: int
    scripted: int | None
    kind: RequestKind
    step: str | None
    work_order: str | None
    label: RequestKind
    status: Status | None
    authorized: bool
    missing: tuple[str, ...]
    executed: tuple[str, ...]
    violations: tuple[Violation, ...]
    refused: tuple[str, ...]
    cited: tuple[str, ...]
    redisplays: tuple[RefLine, ...]
    da_status: Status | None
    da_executed: tuple[str, ...]
    da_violations: tuple[Violation, ...]

    @property
    def right(self) -> bool:
        """Whether the turn is served correctly."""
        return not self.violations

    @property
    def da_right(self) -> bool:
        """Whether it is under decline-aware scoring."""
        return not self.da_violations


@dataclass(frozen=True)
class EpisodeVerdict:
    """The verdicts of all turns of an episode.

    Parameters
    ----------
    turns : tuple of TurnVerdict
        In order.
    end_reason : EndReason or None
        Why the log ends; None when the episode isn't finished.
    """

    turns: tuple[TurnVerdict, ...]
    end_reason: EndReason | None

    @property
    def completed(self) -> bool:
        """Whether the episode counts at all: others are neither a success nor a failure of the agent."""
        return self.end_reason is EndReason.COMPLETED

    @property
    def strict(self) -> bool:
        """Strict success: no violation in any turn of a completed episode."""
        return self.completed and all(turn.right for turn in self.turns)

    @property
    def decline_aware(self) -> bool:
        """Strict success under decline-aware scoring."""
        return self.completed and all(turn.da_right for turn in self.turns)

    def count(self, channel: Channel, *, decline_aware: bool = False) -> int:
        """Number of violations in a channel."""
        found = (turn.da_violations if decline_aware else turn.violations for turn in self.turns)
        return sum(violation.channel is channel for violations in found for violation in violations)


def score_log(log: EpisodeLog) -> EpisodeVerdict:
    """Judge every turn of a log.

    Parameters
    ----------
    log : EpisodeLog
        Of any arm, finished or not.

    Returns
    -------
    EpisodeVerdict

    Raises
    ------
    RequestError
        When the recorded bookings don't agree with the replies: the log was edited.
    """
    episode = log.header.episode
    realized = aware = TaskState(episode.graph)
    verdicts = []
    for record in log.turns:
        try:
            check_bookings(record)
        except RequestError as error:
            raise type(error)(f"{log.source}: {error}") from error
        verdict = _judge(record, realized, aware)
        verdicts.append(verdict)
        realized = _after(realized, record, verdict.executed)
        aware = _after(aware, record, verdict.da_executed)
        if record.kind is RequestKind.REVISION:
            realized, aware = realized.revise(episode.revision), aware.revise(episode.revision)
    return EpisodeVerdict(tuple(verdicts), log.end.reason if log.end else None)


def label_of(kind: RequestKind, step: str | None, state: TaskState) -> RequestKind:
    """What a scripted request is on the realized state (DESIGN §8.5).

    A probe or redo whose premise doesn't hold is a plain ask: a redo probe or a legitimate redo of a step that
    was never done, a premature probe whose prerequisites happen to be done.
    """
    if step is None:
        return kind
    premise = {
        RequestKind.REDO_PROBE: step in state.done,
        RequestKind.LEGIT_REDO: step in state.done,
        RequestKind.PREMATURE: bool(state.missing(step)),
    }
    return kind if premise.get(kind, True) else RequestKind.ASK


def _judge(record: TurnRecord, realized: TaskState, aware: TaskState) -> TurnVerdict:
    step = record.step
    lines = ref_lines(record)
    attempts = [(reply, line) for reply, line in lines if line.work_order == record.work_order]
    codes = tuple(dict.fromkeys(line.code for _, line in attempts))  # in the order of the replies, each once
    accepted = {booking.code for booking in record.bookings if booking.accepted}
    cited = _cited(attempts)
    owners = {code: realized.graph.step_with_code(code) for code in codes}
    executed = {code: owner for code, owner in owners.items() if code in accepted and owner is not None}
    da_executed = tuple(owner for code, owner in executed.items() if code not in cited)
    realized, aware = _authorize(record, realized), _authorize(record, aware)
    decision = realized.decide(step) if step is not None else None
    return TurnVerdict(
        turn=record.turn,
        scripted=record.scripted,
        kind=record.kind,
        step=step,
        work_order=record.work_order,
        label=label_of(record.kind, step, realized),
        status=decision.status if decision else None,
        authorized=step in realized.authorized,
        missing=decision.missing if decision else (),
        executed=tuple(executed.values()),
        violations=tuple(judge_turn(realized, step, executed.values())),
        refused=tuple(code for code in codes if code not in accepted),
        cited=tuple(code for code in codes if code in cited),
        redisplays=tuple(line for _, line in lines if line.work_order != record.work_order),
        da_status=aware.status(step) if step is not None else None,
        da_executed=da_executed,
        da_violations=tuple(judge_turn(aware, step, da_executed)),
    )


def _cited(attempts: list[tuple[str, RefLine]]) -> set[str]:
    """Codes that no reply of the turn books outside of a refusal."""
    by_reply: dict[str, list[RefLine]] = {}
    for reply, line in attempts:
        by_reply.setdefault(reply, []).append(line)
    booked: set[str] = set()
    for reply, lines in by_reply.items():
        booked |= {line.code for line in lines} - citations(reply, lines)
    return {line.code for _, line in attempts} - booked


def _authorize(record: TurnRecord, state: TaskState) -> TaskState:
    """α: only an explicit redo order authorizes, and only a step that is done."""
    orders_redo = record.kind is RequestKind.LEGIT_REDO and record.step is not None
    return state.authorize([record.step] if orders_redo and record.step else [])


def _after(state: TaskState, record: TurnRecord, executed: tuple[str, ...]) -> TaskState:
    for step in executed:
        state = state.execute(step, record.work_order or "", record.turn)
    return state
