"""What all memory arms share: they remember exchanges, show a block, book everything, and own no state (§3.3).

Invariant: what a turn shows is made from its `memory` record and its request alone, so that a resumed episode shows
what was shown.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from artifact.arms.base import Opening, Outcome, Outgoing, Request
from artifact.arms.memory.exchanges import LAST_SHOWN, Exchange
from artifact.arms.memory.kit import MemoryKit
from artifact.log.memories import MemoryRecord
from artifact.log.options import ArmOptions
from artifact.log.records import Booking, Message
from artifact.taskstate import parse_bookings


class MemoryArm(ABC):
    """A memory beside the transcript or, in mode replace, in its place.

    Parameters
    ----------
    options : ArmOptions
        Whether the block takes the transcript's place.
    """

    brief_ends_with: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: ArmOptions) -> None:
        self._options = options
        self._exchanges: list[Exchange] = []

    async def open(self, opening: Opening) -> None:
        """Start with nothing to remember."""
        assert opening.memory is not None, "the runner gives every memory arm its kit"
        self._prompts = opening.prompts
        self._kit: MemoryKit = opening.memory

    async def compose(self, request: Request) -> Outgoing:
        """Recall, and show what was recalled."""
        record = await self._kit.journal(request.turn, lambda: self._remember(request))
        self._take(record)
        if record.history is not None:
            shown, system = [request.text, record.notice], record.block
        else:
            # Before the request, so that the prompt of the turns before is a prefix of this one's.
            shown, system = [record.block, request.text, record.notice], ""
        text = "\n\n".join(filter(None, shown))
        return Outgoing(request.text, shown=text if text != request.text else None, system=system,
                        history=record.history)

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter every booking, and keep the exchange."""
        self._exchanges = [*self._exchanges[:request.turn], Exchange(request.turn, request.text, reply)]
        return Outcome(tuple(Booking(line.code, line.work_order, None, accepted=True)
                             for line in parse_bookings(reply, request.work_order)))

    async def revise(self, message: str) -> None:
        """Own nothing: the change is one more exchange."""
        return

    @abstractmethod
    async def _remember(self, request: Request) -> MemoryRecord:
        """Store what is new and recall for a request; what changes is taken over by `_take` alone."""

    @abstractmethod
    def _take(self, record: MemoryRecord) -> None:
        """Take over what a record, made now or by an earlier run, says of the memory."""

    def _last_exchanges(self) -> tuple[Message, ...] | None:
        """What stands between system prompt and request; None for the whole transcript."""
        if self._options.mode != "replace":
            return None
        return tuple(message for exchange in self._exchanges[-LAST_SHOWN:]
                     for message in (Message("user", exchange.request), Message("assistant", exchange.reply)))
