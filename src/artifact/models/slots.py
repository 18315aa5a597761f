"""Which conversation is in which slot of the embedded engine.

A slot keeps the prefix cache of what it served last. Conversations and helper calls have slots of their own: a helper
call in a conversation's slot would evict the transcript, and the next turn would read it all again.
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
    """A slot for one call, and whether another session was in it."""

    slot: Slot
    newcomer: bool


class Slots:
    """Slots of conversations and of helper calls; a newcomer takes the idle slot that was left the longest ago.

    Parameters
    ----------
    conversations : int
        Slots of conversations.
    helpers : int
        Slots of helper calls, each held by one purpose (``match_step`` in ``s:state/match_step``), whichever
        conversation it is for: what all prompts of a purpose have in common stays cached.
    """

    def __init__(self, conversations: int, helpers: int) -> None:
        self.conversations = conversations
        self.helpers = helpers
        # In order of last use, the oldest first.
        self._talking: dict[Slot, str | None] = {Slot(index): None for index in range(conversations)}
        self._helping: dict[Slot, str | None] = {Slot(conversations + index): None for index in range(helpers)}

    def claim(self, session: str | None) -> Claim:
        """The slot of a session."""
        conversation, mark, purpose = (session or "").partition(HELPER_MARK)
        return self._claim(self._helping, purpose) if mark else self._claim(self._talking, conversation)

    @staticmethod
    def _claim(slots: dict[Slot, str | None], holder: str) -> Claim:
        held = next((slot for slot, name in slots.items() if name == holder), None)
        slot = held or next((slot for slot in slots if not slot.lock.locked()), next(iter(slots)))
        slots.pop(slot)
        slots[slot] = holder
        return Claim(slot, newcomer=held is None)
