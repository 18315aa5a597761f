"""Self-ledger: the agent owns the state itself, unverified, and is shown what it wrote (§3.3).

Invariant: the ledger is what the agent's own last lines say, and nothing else: no plan, no matcher, no receipt.
"""

from typing import ClassVar

from artifact.arms.base import Opening, Outcome, Outgoing, Request
from artifact.arms.checklist import in_slot
from artifact.log.options import ArmOptions
from artifact.log.records import Booking
from artifact.taskstate import Status, parse_bookings
from artifact.taskstate.ledger import read_ledger


class Ledger:
    """The brief orders LEDGER lines; what they say takes the checklist's slot. Every booking is entered.

    Parameters
    ----------
    options : ArmOptions
        Whether each message keeps its copy.
    """

    name: ClassVar[str] = "ledger"
    takes: ClassVar[tuple[str, ...]] = ("mode",)
    brief_ends_with: ClassVar[tuple[str, ...]] = ("ledger_order",)

    def __init__(self, options: ArmOptions) -> None:
        self._options = options
        self._ledger: dict[str, Status] = {}

    async def open(self, opening: Opening) -> None:
        """Start with no entry."""
        self._opening = opening

    async def compose(self, request: Request) -> Outgoing:
        """Put the ledger after the request."""
        return in_slot(request, self._opening.prompts.ledger(self._ledger), self._options)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter every booking, and take over the reply's ledger lines."""
        self._ledger |= read_ledger([reply])
        return Outcome(tuple(Booking(line.code, line.work_order, None, accepted=True)
                             for line in parse_bookings(reply, request.work_order)))

    async def revise(self, message: str) -> None:
        """Own nothing: taking the change over is the agent's part."""
