"""Paged context: the window is main memory, the rest is storage that the model reaches by functions (MemGPT).

Source: Packer et al. (2023): read-only instructions, a working context that the model edits by function calls alone,
and a first-in-first-out queue headed by a recursive summary; a warning at 70 % of the window, and at 100 % half of
the queue is evicted into recall storage and folded into a new summary. Every function's result goes back to the model.

Invariant: once it has evicted, brief, instructions, working context, summary, queue and request fit the window, unless
they are too much without the queue already. So working context and summary are bounded by what the window has beside
brief and instructions.
"""

from typing import Any, ClassVar

from artifact.arms.base import Opening, Outcome, Request
from artifact.arms.memory.base import MemoryArm
from artifact.arms.memory.functions import call_functions
from artifact.arms.memory.storage import CHARACTERS_A_TOKEN, Storage, tokens
from artifact.arms.structured import Unusable, ask_json
from artifact.errors import RequestError
from artifact.log.memories import Fallback, Memory, MemoryKind, MemoryRecord
from artifact.log.options import ArmOptions
from artifact.log.records import Booking, Call, Message

WARNED_AT = 0.7
SHARE = 0.4  # of the room beside brief and instructions: the most that working context and summary each take
MOST_ROUNDS = 3  # replies of one turn whose function results are given back at once; later ones wait for the next turn
FUNCTION_CALL = "function_call"  # purpose, in the log, of a reply that called functions and was followed by another
_SUMMARY = {"title": "summary", "type": "object", "additionalProperties": False, "required": ["summary"],
            "properties": {"summary": {"type": "string"}}}


class Paged(MemoryArm):
    """A window of fixed size over everything that was said.

    Parameters
    ----------
    options : ArmOptions
        The size of the window, and whether the transcript is kept beside it.
    """

    name: ClassVar[str] = "paged"
    takes: ClassVar[tuple[str, ...]] = ("mode", "window")

    def __init__(self, options: ArmOptions) -> None:
        super().__init__(options)
        self._round = 0
        self._warned = False
        self._owed = ""  # function results that came too late to be given back within their turn
        self._told = ""  # those of the turn before, which this turn's notice tells
        self._booked: tuple[Booking, ...] = ()

    async def open(self, opening: Opening) -> None:
        """Start with empty tiers.

        Raises
        ------
        RequestError
            When the window has no room for brief and instructions.
        """
        await super().open(opening)
        self._pressure = self._prompts.render("paged_pressure")
        fixed = tokens(self._kit.brief) + tokens(self._block("", ""))
        if fixed >= WARNED_AT * self._options.window:
            raise RequestError(f"a window of {self._options.window} tokens has no room beside the brief and the "
                               f"instructions, which take about {fixed}; give paged a larger one, for instance "
                               f"paged:window={2 * fixed}")
        self._most = int(SHARE * (self._options.window - fixed)) * CHARACTERS_A_TOKEN
        self._storage = Storage(self._kit.embedder, self._most)

    async def _remember(self, request: Request) -> MemoryRecord:
        """Keep the window within its size; the model is warned before that is needed."""
        calls: list[Call] = []
        fallbacks: list[Fallback] = []
        stored: list[Memory] = []
        storage = self._storage
        evicted, summary = storage.evicted, storage.summary
        if self._size(request, summary, evicted) >= self._options.window and storage.queue:
            evicted = storage.half()
            while (evicted < len(storage.said)
                   and self._size(request, "x" * self._most, evicted) >= self._options.window):
                evicted = storage.opening(evicted + 1)
            said = "\n".join(f"{message.role}: {message.content}" for message in storage.said[storage.evicted:evicted])
            prompt = self._prompts.render("paged_summary", summary=summary or "(none yet)", messages=said)
            answer = await ask_json(self._kit.ask, self._prompts, prompt, purpose="memory", schema=_SUMMARY,
                                    read=self._read_summary)
            calls += answer.calls
            if answer.value is None:
                fallbacks.append(Fallback.OLD_SUMMARY)
            summary = answer.value or summary
            stored.append(Memory(f"s{evicted}", MemoryKind.SUMMARY, request.turn, summary))
            pressure = ""
        else:
            size = self._size(request, summary, evicted)
            presses = size >= WARNED_AT * self._options.window and not self._warned
            pressure = self._pressure if presses else ""
        return MemoryRecord(
            request.turn, self._block(storage.working, summary), stored=tuple(stored), evicted=evicted,
            history=tuple(storage.said[evicted:]) if self._options.mode == "replace" else None,
            notice="\n\n".join(filter(None, (self._owed, pressure))), calls=tuple(calls), fallbacks=tuple(fallbacks))

    def _take(self, record: MemoryRecord) -> None:
        """Take over border and summary, and start the turn."""
        self._storage.evicted = record.evicted
        for memory in record.stored:
            self._storage.summary = memory.text
        self._warned = self._pressure in record.notice or (self._warned and not record.stored)
        self._round, self._told, self._owed, self._booked = 0, self._owed, "", ()

    def receive(self, request: Request, reply: str) -> Outcome:
        """Enter every booking, and give back what the functions that the reply called have returned."""
        entered = super().receive(request, reply).bookings
        known = {booking.code for booking in self._booked}
        self._booked += tuple(booking for booking in entered if booking.code not in known)
        results = call_functions(reply, self._storage.functions)
        told = self._prompts.render("paged_result", results="\n".join(results)) if results else ""
        if not self._round:
            self._storage.said.append(Message("user", "\n\n".join(filter(None, (request.text, self._told)))))
        self._storage.said.append(Message("assistant", reply))
        self._round += 1
        if not told or self._round >= MOST_ROUNDS:
            self._owed = told
            return Outcome(self._booked)
        self._storage.said.append(Message("user", told))
        return Outcome(self._booked, told, FUNCTION_CALL)

    def _block(self, working: str, summary: str) -> str:
        return self._prompts.render("paged_context", working=working or "(empty)",
                                    summary=summary or "(nothing has left the window yet)")

    def _size(self, request: Request, summary: str, evicted: int) -> int:
        """About how many tokens the window takes with this summary once so many messages have left."""
        parts = [self._kit.brief, self._block(self._storage.working, summary), request.text, self._owed,
                 *(message.content for message in self._storage.said[evicted:])]
        return sum(map(tokens, parts))

    def _read_summary(self, found: dict[str, Any]) -> str:
        summary = found.get("summary")
        if not isinstance(summary, str) or not summary.strip():
            raise Unusable("\"summary\" must be the summary as text")
        if len(summary.strip()) > self._most:
            raise Unusable(f"the summary has {len(summary.strip())} characters; it may have {self._most}")
        return summary.strip()
