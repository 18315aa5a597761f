"""Text checklist: the exact state, rendered every turn; nothing constrains what the agent does with it (§3.3)."""

from typing import ClassVar

from artifact.arms.base import Opening, Outcome, Outgoing, Request
from artifact.errors import RequestError
from artifact.gate import Gate
from artifact.log.options import ArmOptions
from artifact.log.records import Booking
from artifact.taskstate import parse_bookings


def in_slot(request: Request, checklist: str, options: ArmOptions) -> Outgoing:
    """A request with a checklist after it, in the transcript or, in mode replace, in this call alone."""
    content = f"{request.text}\n\n{checklist}"
    if options.mode == "replace":
        return Outgoing(request.text, shown=content, checklist=checklist)
    return Outgoing(content, checklist=checklist)


class Checklist:
    """The displayed rung. Its state is the generator's own (an oracle) and is advanced on receipts."""

    name: ClassVar[str] = "checklist"
    takes: ClassVar[tuple[str, ...]] = ("mode", "matched_line", "matcher", "match_every_turn")
    brief_ends_with: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: ArmOptions) -> None:
        if not options.matched_line and (options.matcher != "model" or options.match_every_turn):
            raise RequestError("the checklist runs no matcher without its line: give matched_line=true with matcher or "
                               "match_every_turn")
        self._options = options

    async def open(self, opening: Opening) -> None:
        """Take the reference graph."""
        self._opening = opening
        record = await opening.source.plan()
        assert record.graph is not None, "the reference graph is always there"
        self._gate = Gate(record.graph)

    async def compose(self, request: Request) -> Outgoing:
        """Put the checklist after the request."""
        checklist = self._opening.prompts.checklist(self._gate.state)
        if self._options.matched_line and (request.is_request or self._options.match_every_turn):
            match = await self._opening.source.match(request)
            if match.step is not None:
                text = self._gate.state.graph[match.step].text
                line = self._opening.prompts.render("matched_line", step=match.step, text=text)
                checklist = f"{checklist}\n{line}"
        return in_slot(request, checklist, self._options)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter every booking, and tick off the steps that the plan knows."""
        bookings = tuple(self.judge(line.code, line.work_order) for line in parse_bookings(reply, request.work_order))
        for booking in bookings:
            self.enter(booking, request)
        return Outcome(bookings)

    def judge(self, code: str, work_order: str) -> Booking:
        """Let every call run; the plan says whose it is."""
        return Booking(code, work_order, self._gate.state.graph.step_with_code(code), accepted=True)

    def enter(self, booking: Booking, request: Request) -> None:
        """Tick off the step, if the plan knows it."""
        if booking.step is not None:
            self._gate.receipt(booking.step, work_order=booking.work_order, turn=request.turn)

    async def revise(self, message: str) -> None:
        """Take the revised reference graph."""
        record = await self._opening.source.revision(message)
        assert record.revision is not None, "the reference revision is always there"
        self._gate.revise(record.revision)
