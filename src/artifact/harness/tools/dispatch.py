"""Where calls are dispatched: the arm is asked before a tool runs, and told the evidence after it.

Invariant: a receipt is issued on evidence alone. Whatever a tool answers, its artifact says whether it did its work.
"""

from collections import Counter
from collections.abc import Sequence

from artifact.arms import PromptSet, Request
from artifact.arms.base import DispatchArm
from artifact.harness.tools.actions import Action, Malformed, parse_actions
from artifact.harness.tools.failures import Failing, Failures
from artifact.harness.tools.records import Outcome, ToolCall
from artifact.harness.tools.workspace import Workspace

_REPEATED = "it was carried out for this work order before"
_QUOTED = 60  # characters of a model's own text that a result repeats


class Dispatch:
    """The execution channel of one episode.

    Parameters
    ----------
    workspace : Workspace
        What the tools work on.
    failures : Failures
        Which calls fail.
    idempotent : bool
        Whether a tool that did its work for a work order knows that order again, and leaves it at that.
    arm : DispatchArm
        The coupling.
    prompts : PromptSet
        The texts of results.
    """

    def __init__(self, workspace: Workspace, failures: Failures, arm: DispatchArm, prompts: PromptSet, *,
                 idempotent: bool) -> None:
        self._workspace, self._failures, self._arm, self._prompts = workspace, failures, arm, prompts
        self._idempotent = idempotent
        self._attempts: Counter[tuple[str, str]] = Counter()

    def run(self, request: Request, reply: str) -> tuple[ToolCall, ...]:
        """Carry out what a reply asks for; empty when it asks for nothing."""
        actions = parse_actions(reply)
        current = [a for a in actions if isinstance(a, Action) and a.work_order == request.work_order]
        if len(current) > 1:
            return tuple(self._ambiguous(action) if action in current else self._one(request, action)
                         for action in actions)
        return tuple(self._one(request, action) for action in actions)

    def put_off(self, reply: str) -> tuple[ToolCall, ...]:
        """Carry out nothing of a reply, for the turn has had its share of actions."""
        return tuple(ToolCall(*_as_written(action), Outcome.OVER_LIMIT,
                              reason="this turn has had all the actions that a turn may have")
                     for action in parse_actions(reply))

    def _ambiguous(self, action: Action) -> ToolCall:
        return ToolCall(action.tool, action.work_order, Outcome.TWO_ACTIONS,
                        reason="the reply holds more than one action for this work order, so none was carried out")

    def _one(self, request: Request, action: Action | Malformed) -> ToolCall:
        if isinstance(action, Malformed):
            return ToolCall(action.text, "", Outcome.MALFORMED, reason=f"the ACTION line can't be read: "
                                                                       f"{action.problem}")
        tool, order = action.tool, action.work_order
        if tool not in self._workspace:
            return ToolCall(tool, order, Outcome.UNKNOWN_TOOL, reason="there is no such tool")
        if request.work_order is None or order != request.work_order:
            reason = "this message carries no work order" if request.work_order is None else (
                f"the work order of this message is {request.work_order}")
            return ToolCall(tool, order, Outcome.WRONG_WORK_ORDER, reason=reason)
        booking = self._arm.judge(tool, order)
        if not booking.accepted:
            return ToolCall(tool, order, Outcome.REFUSED, booking.step, booking.reason)
        if self._idempotent and order in self._workspace.stamps(tool):
            return ToolCall(tool, order, Outcome.REPEATED, booking.step, _REPEATED)
        before = len(self._workspace.stamps(tool))
        outcome = self._execute(tool, order)
        if self._workspace.stamps(tool)[before:] == (order,):
            self._arm.enter(booking, request)
        return ToolCall(tool, order, outcome, booking.step)

    def _execute(self, tool: str, work_order: str) -> Outcome:
        """The tool itself."""
        attempt = self._attempts[tool, work_order]
        self._attempts[tool, work_order] += 1
        failing = self._failures.of_call(tool, work_order, attempt)
        if failing is Failing.BEFORE:
            return Outcome.FAILED
        self._workspace.stamp(tool, work_order)
        return Outcome.TIMED_OUT if failing is Failing.AFTER else Outcome.DONE

    def result(self, calls: Sequence[ToolCall]) -> str:
        """What the agent is told of its calls: one line each; calls of the same fate together are told once."""
        lines = (self._prompts.render("rejection", code=_short(call.tool), work_order=_short(call.work_order),
                                      reason=call.reason) if call.outcome is Outcome.REFUSED
                 else self._prompts.render(f"result_{_TEXT[call.outcome]}", tool=_short(call.tool),
                                           work_order=_short(call.work_order), reason=call.reason)
                 for call in calls)
        return "\n".join(dict.fromkeys(lines))


_TEXT = {
    Outcome.DONE: "done", Outcome.TIMED_OUT: "timed_out", Outcome.FAILED: "failed", Outcome.REPEATED: "repeated",
    Outcome.UNKNOWN_TOOL: "not_run", Outcome.WRONG_WORK_ORDER: "not_run", Outcome.TWO_ACTIONS: "unread",
    Outcome.MALFORMED: "unread", Outcome.OVER_LIMIT: "not_run",
}


def _as_written(action: Action | Malformed) -> tuple[str, str]:
    return (action.text, "") if isinstance(action, Malformed) else (action.tool, action.work_order)


def _short(text: str) -> str:
    """A model's own words on one line, cut where they are long."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text[:_QUOTED])
    return shown if len(text) <= _QUOTED else f"{shown}..."
