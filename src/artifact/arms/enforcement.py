"""Enforcement gate: directives, and a booking that the state calls wrong is not entered (§3.3).

Invariant: no second and no cancelled execution is ever committed, whatever the agent writes, and no premature
one that the state can see. (With ``heal=true`` an episode whose state can't be healed is a directive one.)
"""

from typing import ClassVar

from artifact.arms.base import Outcome, Outgoing, Request
from artifact.arms.directive import Directive
from artifact.log.options import ArmOptions
from artifact.log.records import Booking
from artifact.taskstate import parse_bookings

# With notice=same_turn: how often the agent is asked within a turn to write its reply anew. After that its last reply
# stands, and what was refused in it is told at the next turn, so that an agent which never gives way can't hold up
# the conversation.
SAME_TURN_PROMPTS = 2


class Enforcement(Directive):
    """The enforced rung, state-bound: refuses a booking iff its step is cancelled, done or blocked.

    The agent is told of a refusal at the next turn. Without a state (a failed compile) nothing can be
    shown to be right, so everything is refused and the notice says why.

    With ``notice=same_turn`` it is told at once, and the reply that the client sees is the one written after
    that; the exchange in between never enters the transcript (Appendix D.3). Every reply of the turn is judged, by
    the state at its start: a booking entered from an earlier reply stays entered, a refused one stays refused.

    Parameters
    ----------
    options : ArmOptions
        As for `Directive`; what is admitted, and when a refusal is told.
    """

    name: ClassVar[str] = "enforcement"
    takes: ClassVar[tuple[str, ...]] = (*Directive.takes, "policy", "notice")

    def __init__(self, options: ArmOptions) -> None:
        super().__init__(options)
        self._owed: tuple[str, ...] = ()
        self._decided: dict[str, Booking] = {}
        self._prompts_left = 0

    async def compose(self, request: Request) -> Outgoing:
        """Put the notices of the turn before in front of the request and its directive."""
        outgoing = await super().compose(request)
        notices, self._owed = self._owed, ()
        self._decided = {}
        self._prompts_left = SAME_TURN_PROMPTS if self._options.notice == "same_turn" else 0
        content = "\n\n".join([*notices, outgoing.content])
        return Outgoing(content, system=outgoing.system, directive=outgoing.directive, notices=notices)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter what the state admits, and tell of the rest, now or at the next turn."""
        lines = parse_bookings(reply, request.work_order)
        # Receipts come after the last reply.
        self._decided |= {line.code: self.judge(line.code, line.work_order) for line in lines}
        bookings = tuple(self._decided.values())
        notices = tuple(self._notice(booking) for line in lines
                        if not (booking := self._decided[line.code]).accepted)
        if notices and self._prompts_left:
            self._prompts_left -= 1
            again = self._opening.prompts.render("same_turn", notices="\n".join(notices))
            return Outcome(bookings, again)
        self._owed = notices
        for booking in bookings:
            self.enter(booking, request)
        return Outcome(bookings)

    def _notice(self, booking: Booking) -> str:
        return self._opening.prompts.render("rejection", code=booking.code, work_order=booking.work_order,
                                            reason=booking.reason)

    def judge(self, code: str, work_order: str) -> Booking:
        """Accept what the state, and by the options the request, admits."""
        if self._is_flagged:
            return super().judge(code, work_order)
        if self._gate is None:
            return Booking(code, work_order, None, accepted=False, reason="the task state is not available")
        step = self._gate.state.graph.step_with_code(code)
        verdict = self._gate.check(step)
        reason = verdict.reason or self._unasked(step)
        return Booking(code, work_order, step, not reason, reason)

    def _unasked(self, step: str | None) -> str:
        """Why a step that the state admits is refused all the same, by the options; empty where it isn't."""
        if self._resolved is None and self._options.unresolved == "ask":
            return "the request was not resolved to one step"
        if self._options.policy == "request" and step != self._resolved:
            return f"step {step} is not the step that was requested"
        return ""
