"""Why an owed step was not executed: the agent, the booking, the matcher, or the module's state (Appendix D.3).

An omission is laid to the first thing that stood in its way. *Declined*: the agent was told (or, without a gate,
free) to execute and wrote no new ref line; a stale redisplay is none. *Wrong ref*: it wrote one, with another step's
code or a work order that was never this turn's. *Over-blocked*: the state called the step blocked, or refused the
right booking. Beyond the paper's three, since its gates had next to none of them: *misrouted*, *unresolved* (no
directive), *wrong status* (the state called an owed step done or cancelled) and *no state* (the compile failed).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from artifact.log import EpisodeLog, TurnRecord, ref_lines
from artifact.scorer.module_state import ModuleTurn, module_turns
from artifact.scorer.verdicts import EpisodeVerdict
from artifact.taskstate import Channel, RequestKind, Status, Step, TaskGraph, TaskState


class Cause(StrEnum):
    """What an omission is laid to."""

    DECLINED = "declined"
    WRONG_REF = "wrong_ref"
    OVER_BLOCKED = "over_blocked"
    MISROUTED = "misrouted"
    UNRESOLVED = "unresolved"
    WRONG_STATUS = "wrong_status"
    NO_STATE = "no_state"


class Root(StrEnum):
    """Why a state blocked what was owed; an empty code stands for any that no right booking meets."""

    EMPTY_CODE = "empty_code"
    CANCELLED_LEFT_IN = "cancelled_left_in"
    INVENTED_REWIRE = "invented_rewire"
    CORRUPTION = "corruption"
    OTHER = "other"


@dataclass(frozen=True)
class Omission:
    """One omission and what it is laid to.

    Parameters
    ----------
    turn, step
        Where, and which step was owed.
    cause : Cause
        What stood in its way.
    root : Root or None
        For an over-block, why the state was wrong.
    directive : str or None
        Kind of the directive that the turn carried.
    correct_ref_refused : bool
        Whether the agent wrote the right booking and the channel refused it.
    names_another : bool
        Whether the reply names another step of the plan and not the one requested.
    """

    turn: int
    step: str
    cause: Cause
    root: Root | None
    directive: str | None
    correct_ref_refused: bool
    names_another: bool


def attribute_omissions(log: EpisodeLog, verdict: EpisodeVerdict) -> tuple[Omission, ...]:
    """Lay every omission of an episode to its cause.

    Parameters
    ----------
    log : EpisodeLog
        Of any arm; one without a gate has declined and wrong-ref omissions alone.
    verdict : EpisodeVerdict
        Its verdict.
    """
    modules = {module.record.turn: module for module in module_turns(log)}
    found = []
    revised = False
    booked: set[tuple[str, str]] = set()
    for record, turn in zip(log.turns, verdict.turns, strict=True):
        if record.step is not None and any(v.channel is Channel.OMISSION for v in turn.violations):
            found.append(_attribute(log, record, modules.get(record.turn), booked, revised))
        booked |= {(booking.code, booking.work_order) for booking in record.bookings if booking.accepted}
        revised = revised or record.kind is RequestKind.REVISION
    return tuple(found)


def _attribute(log: EpisodeLog, record: TurnRecord, module: ModuleTurn | None, booked: set[tuple[str, str]],
               revised: bool) -> Omission:
    step = log.header.episode.graph[record.step or ""]
    refused = any(booking.code == step.code and not booking.accepted for booking in record.bookings)
    cause = _cause(record, step, module, refused, booked)
    root = None
    if cause is Cause.OVER_BLOCKED and module is not None and module.state is not None:
        root = _root(log, module.state, step.id, module, revised)
    return Omission(record.turn, step.id, cause, root, record.directive.kind if record.directive else None, refused,
                    names_another_step(record.reply, step.id, log.header.episode.graph.by_id))


def _cause(record: TurnRecord, step: Step, module: ModuleTurn | None, refused: bool,
           booked: set[tuple[str, str]]) -> Cause:
    if module is not None:
        directive = record.directive
        if module.state is None:
            return Cause.NO_STATE
        # The state's answer outweighs the directive, which may have been about another step.
        if refused and not _is_admitted(step, module.state):
            wrong = module.state.status(step.id) in (Status.DONE, Status.CANCELLED)
            return Cause.WRONG_STATUS if wrong else Cause.OVER_BLOCKED
        if directive is None or directive.kind == "unresolved":
            return Cause.UNRESOLVED
        if directive.step != step.id:
            return Cause.MISROUTED
        if directive.kind in ("done", "cancelled"):
            return Cause.WRONG_STATUS
        if directive.kind == "blocked":
            return Cause.OVER_BLOCKED
    attempted = any(line.work_order == record.work_order or (line.code, line.work_order) not in booked
                    for _, line in ref_lines(record))
    return Cause.WRONG_REF if attempted else Cause.DECLINED


def _is_admitted(step: Step, state: TaskState) -> bool:
    """Whether the state admits the booking, so that a refusal is due to what the request was resolved to."""
    return state.graph.step_with_code(step.code) == step.id and state.decide(step.id).allowed


def _root(log: EpisodeLog, state: TaskState, step: str, module: ModuleTurn, revised: bool) -> Root:
    episode = log.header.episode
    truth = episode.graph.revise(episode.revision) if revised else episode.graph
    missing = state.missing(step)
    cancelled = {*state.graph.cancelled, *truth.cancelled}
    if any(not _can_be_booked(p, state.graph, truth) for p in (step, *missing)):
        return Root.EMPTY_CODE
    if any(p in cancelled for p in missing):
        return Root.CANCELLED_LEFT_IN
    compiled = log.owned("revision")
    rewires = compiled.revision.rewires if compiled is not None and compiled.revision is not None else ()
    rewired = dict(rewires).get(step, ()) if revised else ()
    if any(p in rewired and p not in truth[step].prerequisites for p in missing):
        return Root.INVENTED_REWIRE
    if module.clean is not None and any(p in module.clean.done for p in missing):
        return Root.CORRUPTION
    return Root.OTHER


def _can_be_booked(step: str, compiled: TaskGraph, truth: TaskGraph) -> bool:
    """Whether the module takes a right booking of the step for one: it has the code, and for this step alone."""
    return step not in truth or compiled.step_with_code(truth[step].code) == step


def names_another_step(reply: str, requested: str, steps: Mapping[str, Step]) -> bool:
    """Whether a reply names a step of the plan, by id, text or code, and not the requested one."""
    words, text = set(re.findall(r"\bs\d{1,3}\b|\bRC-\d{4}\b", reply)), reply.lower()
    named = {step.id for step in steps.values()
             if step.id in words or step.code in words or step.text.lower() in text}
    return bool(named) and requested not in named
