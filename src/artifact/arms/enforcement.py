"""Enforcement gate: directives, and a booking that the state calls wrong is not entered (§3.3).

Invariant: no second and no cancelled execution is ever committed, whatever the agent writes, and no premature
one that the state can see.
"""

from typing import ClassVar

from artifact.arms.base import Outgoing, Request
from artifact.arms.directive import Directive
from artifact.log.options import ArmOptions
from artifact.log.records import Booking
from artifact.taskstate import RefLine


class Enforcement(Directive):
    """The enforced rung, state-bound: refuses a booking iff its step is cancelled, done or blocked.

    The agent is told of a refusal at the next turn. Without a state (a failed compile) nothing can be
    shown to be right, so everything is refused and the notice says why.

    Parameters
    ----------
    options : ArmOptions
        As for `Directive`.
    """

    name: ClassVar[str] = "enforcement"
    takes: ClassVar[tuple[str, ...]] = Directive.takes

    def __init__(self, options: ArmOptions) -> None:
        super().__init__(options)
        self._owed: tuple[str, ...] = ()

    async def compose(self, request: Request) -> Outgoing:
        """Put the notices of the turn before in front of the request and its directive."""
        outgoing = await super().compose(request)
        notices, self._owed = self._owed, ()
        content = "\n\n".join([*notices, outgoing.content])
        return Outgoing(content, outgoing.directive, notices)

    def receive(self, request: Request, reply: str) -> tuple[Booking, ...]:
        """Enter what the state admits, and owe a notice for the rest."""
        bookings = super().receive(request, reply)
        self._owed = tuple(
            self._opening.prompts.render("rejection", code=booking.code, work_order=booking.work_order,
                                         reason=booking.reason)
            for booking in bookings if not booking.accepted)
        return bookings

    def _decide(self, line: RefLine) -> Booking:
        if self._gate is None:
            return Booking(line.code, line.work_order, None, accepted=False, reason="the task state is not available")
        step = self._gate.state.graph.step_with_code(line.code)
        verdict = self._gate.check(step)
        return Booking(line.code, line.work_order, step, verdict.allowed, verdict.reason)
