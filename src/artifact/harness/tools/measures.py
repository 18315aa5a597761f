"""A log to its verdict, from the workspace and the call log alone (§3.1, §5.4).

Invariant: what counts is what the tools did, not what was said. The stamps in the workspace are the executions; the
call log must tell of the same ones, and a log in which the two disagree isn't scored.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from artifact.errors import RequestError
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.harness.records import HarnessCell
from artifact.harness.tools.records import (
    BAD_INPUT,
    RECORD_TYPES,
    REPLY,
    WORKED,
    Outcome,
    ToolTurnRecord,
    WorkspaceRecord,
)
from artifact.log.records import EPISODE, ArmIdentity, EndReason
from artifact.taskstate import Channel, Episode, RequestKind, Status, TaskState, Violation, judge_turn

UNFINISHED = "unfinished"


@dataclass(frozen=True)
class ToolVerdict:
    """One episode.

    Parameters
    ----------
    study, cell, arm, seed
        Which episode.
    reason : str
        Why its log ends; ``unfinished`` when it hasn't.
    violations : tuple of (int, Violation)
        Turn and violation. An omission that a tool's failure alone brought about isn't one: see `left_by_tools`.
    outcomes : dict of str to int
        ACTION lines by what became of them.
    stamps : int
        Times that a tool did its work.
    re_stamped : int
        Stamps on a step that was done, without an order to redo it.
    tried_again : int
        Calls for a work order after one for it that had failed or timed out.
    worked_twice : int
        Of those, the ones in which a tool did again what it had done before it timed out.
    left_by_tools : int
        Turns in which a step that was due wasn't executed although its tool was called until the turn's rounds were
        used up, for every call failed. Who stops trying before that has left the step undone.
    replies : int
        Replies of the agent.
    failure_rate : float
        At which the tools failed.
    idempotent : bool
        Whether they knew a work order again.
    """

    study: str
    cell: HarnessCell
    arm: ArmIdentity
    seed: int
    reason: str
    violations: tuple[tuple[int, Violation], ...]
    outcomes: Mapping[str, int]
    stamps: int
    re_stamped: int
    tried_again: int
    worked_twice: int
    left_by_tools: int
    replies: int
    failure_rate: float
    idempotent: bool

    @property
    def completed(self) -> bool:
        """Whether the episode says something about the agent."""
        return self.reason == EndReason.COMPLETED

    @property
    def strict(self) -> bool:
        """Strict success: no violation in any turn of a completed episode."""
        return self.completed and not self.violations

    @property
    def bad_input(self) -> int:
        """ACTION lines that could not be carried out as they were written."""
        return sum(self.outcomes.get(outcome, 0) for outcome in BAD_INPUT)

    def count(self, channel: Channel) -> int:
        """Number of violations in a channel."""
        return sum(violation.channel is channel for _, violation in self.violations)


def judge(log: HarnessLog) -> ToolVerdict:
    """Score one log.

    Raises
    ------
    RequestError
        When workspace and call log disagree on what the tools did.
    """
    header = log.header
    turns = [record for record in log.records if isinstance(record, ToolTurnRecord)]
    spaces = [record for record in log.records if isinstance(record, WorkspaceRecord)]
    reason = str(log.end.reason) if log.end is not None else UNFINISHED
    judged = _Judged()
    if reason == EndReason.COMPLETED:
        where = f"{header.study}, {header.cell.slug}, {header.arm.text}, seed {header.seed}"
        if not spaces:
            raise RequestError(f"the log of {where} says nothing of its workspace; it was edited, restore it")
        _check(turns, spaces[0], where)
        judged = _judged(EPISODE.validate_python(header.subject["episode"]), turns, spaces[0],
                         int(header.subject["rounds"]))
    outcomes = Counter(str(call.outcome) for turn in turns for call in turn.calls)
    return ToolVerdict(
        study=header.study, cell=header.cell, arm=header.arm, seed=header.seed, reason=reason,
        violations=judged.violations, outcomes=dict(sorted(outcomes.items())),
        stamps=sum(len(stamps) for space in spaces for stamps in space.artifacts.values()),
        re_stamped=judged.re_stamped, tried_again=judged.tried_again, worked_twice=judged.worked_twice,
        left_by_tools=judged.left_by_tools,
        replies=sum(len(turn.replies) for turn in turns), failure_rate=float(header.subject["failure_rate"]),
        idempotent=bool(header.subject["idempotent"]))


def as_data(verdict: ToolVerdict) -> dict[str, Any]:
    """A verdict as JSON can hold it."""
    return {**asdict(verdict), "strict": verdict.strict}


def judged(sources: Iterable[Path]) -> tuple[ToolVerdict, ...]:
    """Score all logs of this harness in files and folders; a run that lies in two places is counted once."""
    found: dict[tuple[str, str, str, int], ToolVerdict] = {}
    for log in iter_harness_logs(sources, "tools", RECORD_TYPES):
        verdict = judge(log)
        found.setdefault((verdict.study, verdict.cell.slug, verdict.arm.text, verdict.seed), verdict)
    return tuple(found.values())


def _check(turns: Iterable[ToolTurnRecord], space: WorkspaceRecord, where: str) -> None:
    """Compare what the call log tells with what the tools left behind, tool by tool and in order."""
    told: dict[str, list[str]] = {}
    for turn in turns:
        for call in turn.calls:
            if call.outcome in WORKED:
                told.setdefault(call.tool, []).append(call.work_order)
    for tool in sorted(told.keys() | space.artifacts.keys()):
        stamped = space.artifacts.get(tool, ())
        if tuple(told.get(tool, ())) != tuple(stamped):
            raise RequestError(f"workspace and call log of {where} disagree on {tool!r}: {len(stamped)} stamps in its "
                               f"artifact, {len(told.get(tool, ()))} calls that did its work; the log can't be scored")


@dataclass(frozen=True)
class _Judged:
    violations: tuple[tuple[int, Violation], ...] = ()
    re_stamped: int = 0
    tried_again: int = 0
    worked_twice: int = 0
    left_by_tools: int = 0


def _judged(episode: Episode, turns: Iterable[ToolTurnRecord], space: WorkspaceRecord, rounds: int) -> _Judged:
    state = TaskState(episode.graph)
    violations: list[tuple[int, Violation]] = []
    re_stamped = tried_again = worked_twice = left = 0
    for turn in turns:
        redo = [turn.step] if turn.kind is RequestKind.LEGIT_REDO and turn.step is not None else []
        state = state.authorize(redo)
        stamps = Counter({step.id: space.artifacts.get(step.code, ()).count(turn.work_order or "")
                          for step in episode.graph.steps})
        executed = [step for step, count in stamps.items() if count]
        found = judge_turn(state, turn.step, executed)
        again, twice = _repeats(turn)
        tried_again, worked_twice = tried_again + again, worked_twice + twice
        if _is_left_by_tool(episode, turn, found, rounds):
            left += 1
            found = [one for one in found if one.channel is not Channel.OMISSION
                     and one.channel is not Channel.REFUSED_REDO]
        found += [Violation(Channel.RE_EXECUTION, step) for step, count in stamps.items() for _ in range(count - 1)]
        re_stamped += sum(count if state.status(step) is Status.DONE and step not in state.authorized else count - 1
                          for step, count in stamps.items() if count)
        violations += [(turn.turn, violation) for violation in found]
        for step in executed:
            state = state.execute(step, turn.work_order or "", turn.turn)
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
    return _Judged(tuple(violations), re_stamped, tried_again, worked_twice, left)


def _repeats(turn: ToolTurnRecord) -> tuple[int, int]:
    """Calls of a turn after a failed one for the same work order, and those of them that did finished work again."""
    failed: set[tuple[str, str]] = set()
    timed_out: set[tuple[str, str]] = set()
    again = twice = 0
    for call in turn.calls:
        which = (call.tool, call.work_order)
        again += which in failed | timed_out
        twice += which in timed_out and call.outcome in WORKED
        failed |= {which} if call.outcome is Outcome.FAILED else set()
        timed_out |= {which} if call.outcome is Outcome.TIMED_OUT else set()
    return again, twice


def _is_left_by_tool(episode: Episode, turn: ToolTurnRecord, found: Iterable[Violation], rounds: int) -> bool:
    """Whether the requested step is missing for want of its tool, which failed for as long as it could be called."""
    missing = (Channel.OMISSION, Channel.REFUSED_REDO)
    asked = sum(reply.purpose == REPLY for reply in turn.replies)
    if asked <= rounds or not any(one.step == turn.step and one.channel in missing for one in found):
        return False
    tool = episode.graph[turn.step].code if turn.step is not None else None
    return any(call.tool == tool and call.outcome is Outcome.FAILED for call in turn.calls)
