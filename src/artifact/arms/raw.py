"""Raw transcript: task state lives only in the text that the agent re-reads (§3.3)."""

from typing import ClassVar

from artifact.arms.base import Opening, Outcome, Outgoing, Request
from artifact.log.options import ArmOptions
from artifact.log.records import Booking
from artifact.taskstate import parse_bookings


class Raw:
    """The uncoupled rung: nothing is added, every booking is entered."""

    name: ClassVar[str] = "raw"
    takes: ClassVar[tuple[str, ...]] = ()
    brief_ends_with: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: ArmOptions) -> None:
        """Take no option."""

    async def open(self, opening: Opening) -> None:
        """Own nothing."""

    async def compose(self, request: Request) -> Outgoing:
        """Send the request as it is."""
        return Outgoing(request.text)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter every booking."""
        return Outcome(tuple(Booking(line.code, line.work_order, None, accepted=True)
                             for line in parse_bookings(reply, request.work_order)))

    def judge(self, code: str, work_order: str) -> Booking:
        """Let every call run."""
        return Booking(code, work_order, None, accepted=True)

    def enter(self, booking: Booking, request: Request) -> None:
        """Own nothing."""

    async def revise(self, message: str) -> None:
        """Own nothing."""
