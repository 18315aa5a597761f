"""Directive gate: one line a turn says what the state implies; the agent is free to disobey (§3.3)."""

from typing import ClassVar

from artifact.arms.base import Opening, Outcome, Outgoing, Request
from artifact.arms.healing import Earlier
from artifact.gate import Gate
from artifact.log.options import ArmOptions
from artifact.log.records import Booking, CompileRecord, DirectiveIssued, MatchRecord
from artifact.taskstate import Corruption, Finding, parse_bookings

UNRESOLVED = "unresolved"  # the kind of a directive to ask back: no state of a step implies it


class Directive:
    """The directed rung: owned state, advanced on receipts, told to the agent.

    A compile that failed leaves no gate: no directive is issued, and the log says why.

    Parameters
    ----------
    options : ArmOptions
        Where state and matches come from, how they are disturbed and healed, how directives are put.
    """

    name: ClassVar[str] = "directive"
    takes: ClassVar[tuple[str, ...]] = ("state", "matcher", "match_every_turn", "corruption", "corruption_draws",
                                        "role", "unresolved", "named", "heal")
    brief_ends_with: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: ArmOptions) -> None:
        self._options = options
        self._gate: Gate | None = None
        self._is_flagged = False  # even after another compile: nothing may be refused on such a state
        self._seen: tuple[Finding, ...] = ()
        self._resolved: str | None = None

    async def open(self, opening: Opening) -> None:
        """Compile the plan."""
        self._opening = opening
        record = await opening.source.plan()
        if self._must_heal(record):
            again = await opening.source.plan(Earlier(record, record.defects))
            self._is_flagged = self._must_heal(again)
            record = again if again.graph is not None else record
        self._seen = record.defects
        self._gate = Gate(record.graph) if record.graph is not None else None
        self._corruption = Corruption(self._options.corruption, opening.seed, self._options.corruption_draws)

    async def compose(self, request: Request) -> Outgoing:
        """Resolve the request and add the directive for it."""
        directive = await self._directive(request)
        if directive is None:
            return Outgoing(request.text)
        if self._options.role == "system":
            return Outgoing(request.text, system=directive.text, directive=directive)
        return Outgoing(f"{request.text}\n\n{directive.text}", directive=directive)

    async def _directive(self, request: Request) -> DirectiveIssued | None:
        self._resolved = None
        if self._gate is None:
            return None
        self._gate.disturb(self._corruption, request.turn)
        if self._options.heal:
            self._gate.rebuild()
        self._gate.authorize()
        if not (request.is_request or self._options.match_every_turn):
            return None
        match = await self._opening.source.match(request)
        if match.step is None:
            return self._question(match) if self._options.unresolved == "ask" and request.is_request else None
        self._resolved = match.step
        if match.explicit_redo:
            self._gate.authorize(match.step)
        kind = self._gate.directive(match.step)
        text = self._gate.directive_text(match.step, self._opening.prompts.render, self._naming(match.step))
        return DirectiveIssued(match.step, kind, text)

    def _question(self, match: MatchRecord) -> DirectiveIssued:
        """The directive to ask back: the steps that may be meant are named where the matcher named them."""
        steps = ", ".join(self._naming(step) for step in match.candidates)
        text = (self._opening.prompts.render("directive_ambiguous", steps=steps) if match.candidates
                else self._opening.prompts.render("directive_unresolved"))
        return DirectiveIssued("", UNRESOLVED, text)

    def _naming(self, step: str) -> str:
        if not self._options.named or self._gate is None:
            return step
        return self._opening.prompts.render("named_step", step=step, text=self._gate.state.graph[step].text)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Decide every booking by the state at the start of the turn, then advance it."""
        bookings = tuple(self.judge(line.code, line.work_order) for line in parse_bookings(reply, request.work_order))
        for booking in bookings:
            self.enter(booking, request)
        return Outcome(bookings)

    def judge(self, code: str, work_order: str) -> Booking:
        """Let every booking pass; the owned state says whose it is."""
        step = self._gate.state.graph.step_with_code(code) if self._gate is not None else None
        return Booking(code, work_order, step, accepted=True)

    def enter(self, booking: Booking, request: Request) -> None:
        """Advance the owned state by a booking that was accepted."""
        if booking.accepted and booking.step is not None and self._gate is not None:
            self._gate.receipt(booking.step, work_order=booking.work_order, turn=request.turn)

    async def revise(self, message: str) -> None:
        """Compile the revision; one that fails takes the gate away."""
        if self._gate is None:
            return
        record = await self._opening.source.revision(message)
        if self._must_heal(record):
            fresh = tuple(finding for finding in record.defects if finding not in self._seen)
            again = await self._opening.source.revision(message, Earlier(record, fresh))
            self._is_flagged = self._is_flagged or self._must_heal(again)
            record = again if again.revision is not None else record
        if record.revision is None:
            self._gate = None
        else:
            self._gate.revise(record.revision)

    def _must_heal(self, record: CompileRecord) -> bool:
        """Whether a compile failed, or shows defects that were not there before it."""
        return self._options.heal and (record.graph is None or not {*record.defects} <= {*self._seen})
