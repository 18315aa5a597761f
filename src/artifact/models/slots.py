"""Which conversation is in which slot of the embedded engine.

A slot keeps the prefix cache of one session. Conversations and helper calls have slots of their own: a helper call in
a conversation's slot would evict the transcript, and the next turn would read it all again.

Invariant: with a single conversation slot, a session finds in its slot what it left there itself or nothing. Its
replies then don't depend on what ran before it: how a prompt's arithmetic is rounded depends on how much of it was
cached, so a prefix left by another episode can turn a close decision.
"""

import asyncio
from dataclasses import dataclass, field

HELPER_MARK = ":state"
"""Stands in the session name of a helper call, after the conversation's own and before its purpose, if any."""


@dataclass(eq=False)
class Slot:
    """One slot: its index in the engine, and the lock under which it serves one call at a time."""

    index: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class Claim:
    """A slot for one call, and whether what it caches may be built upon."""

    slot: Slot
    warm: bool


class Slots:
    """Slots of conversations and of helper calls; a newcomer takes the idle slot that was left the longest ago.

    Parameters
    ----------
    conversations : int
        Slots of conversations.
    helpers : int
        Slots of helper calls. Each purpose asks with a prompt of its own, so that two of them in one slot would
        evict each other.
    """

    def __init__(self, conversations: int, helpers: int) -> None:
        self.conversations = conversations
        self.helpers = helpers
        self.isolated = conversations == 1
        # In order of last use, the oldest first.
        self._talking: dict[Slot, str | None] = {Slot(index): None for index in range(conversations)}
        self._helping: dict[Slot, str | None] = {Slot(conversations + index): None for index in range(helpers)}

    def claim(self, session: str | None) -> Claim:
        """The slot of a session."""
        name = session or ""
        conversation, mark, purpose = name.partition(HELPER_MARK)
        if not mark:
            return self._claim(self._talking, conversation)
        # Where conversations share the engine anyway, helper calls of one purpose share the prefix of their prompt.
        return self._claim(self._helping, name if self.isolated else purpose)

    def _claim(self, slots: dict[Slot, str | None], holder: str) -> Claim:
        held = next((slot for slot, name in slots.items() if name == holder), None)
        slot = held or next((slot for slot in slots if not slot.lock.locked()), next(iter(slots)))
        slots.pop(slot)
        slots[slot] = holder
        return Claim(slot, warm=held is not None or not self.isolated)
