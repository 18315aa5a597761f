"""Directive gate: one line a turn says what the state implies; the agent is free to disobey (§3.3)."""

from typing import ClassVar

from artifact.arms.base import Opening, Outgoing, Request
from artifact.gate import DirectiveKind, Gate
from artifact.log.options import ArmOptions
from artifact.log.records import Booking, DirectiveIssued
from artifact.taskstate import Corruption, RefLine, parse_bookings


class Directive:
    """The directed rung: owned state, advanced on receipts, told to the agent.

    A compile that failed leaves no gate: no directive is issued, and the log says why.

    Parameters
    ----------
    options : ArmOptions
        Where state and matches come from, and how they are disturbed.
    """

    name: ClassVar[str] = "directive"
    takes: ClassVar[tuple[str, ...]] = ("state", "matcher", "match_every_turn", "corruption")

    def __init__(self, options: ArmOptions) -> None:
        self._options = options
        self._gate: Gate | None = None

    async def open(self, opening: Opening) -> None:
        """Compile the plan."""
        self._opening = opening
        record = await opening.source.plan()
        self._gate = Gate(record.graph) if record.graph is not None else None
        self._corruption = Corruption(self._options.corruption, opening.seed)

    async def compose(self, request: Request) -> Outgoing:
        """Resolve the request and append the directive for it."""
        directive = await self._directive(request)
        return Outgoing(f"{request.text}\n\n{directive.text}" if directive else request.text, directive=directive)

    async def _directive(self, request: Request) -> DirectiveIssued | None:
        if self._gate is None:
            return None
        self._gate.disturb(self._corruption, request.turn)
        self._gate.authorize()
        if not (request.is_request or self._options.match_every_turn):
            return None
        match = await self._opening.source.match(request)
        if match.step is None:
            return None
        if match.explicit_redo:
            self._gate.authorize(match.step)
        kind = self._gate.directive(match.step)
        missing = ", ".join(self._gate.state.missing(match.step)) if kind is DirectiveKind.BLOCKED else ""
        text = self._opening.prompts.render(f"directive_{kind}", step=match.step, missing=missing)
        return DirectiveIssued(match.step, kind, text)

    def receive(self, request: Request, reply: str) -> tuple[Booking, ...]:
        """Decide every booking by the state at the start of the turn, then advance it."""
        bookings = tuple(self._decide(line) for line in parse_bookings(reply, request.work_order))
        for booking in bookings:
            if booking.accepted and booking.step is not None and self._gate is not None:
                self._gate.receipt(booking.step, work_order=booking.work_order, turn=request.turn)
        return bookings

    def _decide(self, line: RefLine) -> Booking:
        step = self._gate.state.graph.step_with_code(line.code) if self._gate is not None else None
        return Booking(line.code, line.work_order, step, accepted=True)

    async def revise(self, message: str) -> None:
        """Compile the revision; one that fails takes the gate away."""
        if self._gate is None:
            return
        record = await self._opening.source.revision(message)
        if record.revision is None:
            self._gate = None
        else:
            self._gate.revise(record.revision)
