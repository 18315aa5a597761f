"""Mem0: the real library between conversation and recall block, the agent's own model reading facts out of exchanges.

Invariant: the log is the memory. The store on disk is made anew from it, recorded answers included, so that a resumed
episode recalls from what an uninterrupted one would have.
"""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from artifact.arms.base import Opening, Request
from artifact.arms.memory.base import MemoryArm
from artifact.arms.memory.exchanges import RECALLED, Exchange, listed
from artifact.arms.memory.library import Found, Library, facts_in
from artifact.arms.structured import Ask, usage_of
from artifact.errors import ArtifactError, InfrastructureError
from artifact.log.memories import Fallback, Memory, MemoryKind, MemoryRecord, Recalled
from artifact.log.options import ArmOptions
from artifact.log.records import Call, Message
from artifact.models.base import ContextOverflow

# The library asks for a JSON object, and its prompt says which.
_SCHEMA: dict[str, Any] = {"title": "facts", "type": "object"}


class _Answering:
    """The library's side of a model: asks it from the library's thread, or says again what is recorded."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.loop: asyncio.AbstractEventLoop | None = None
        self.recorded: list[str] = []
        self.calls: list[Call] = []
        self.failed: ArtifactError | None = None

    def answer(self, messages: list[dict[str, str]]) -> str:
        """The facts of the answer, as the library takes them; empty, which it reads as none, where there are none."""
        facts = facts_in(self.recorded.pop(0) if self.recorded else self._reply(messages))
        return json.dumps({"memory": facts}) if facts else ""

    def _reply(self, messages: list[dict[str, str]]) -> str:
        assert self.loop is not None, "a model is asked within a turn"
        asked = [Message(message["role"], message["content"]) for message in messages]
        try:
            reply = asyncio.run_coroutine_threadsafe(
                self._ask(asked, purpose="memory", schema=_SCHEMA), self.loop).result()
        except ArtifactError as error:
            self.failed = error
            return ""
        self.calls.append(Call("memory", tuple(asked), reply.text, reply.finish_reason, usage_of(reply),
                               reply.reasoning))
        return reply.text


class Mem0(MemoryArm):
    """Facts that a library had the model read out of each exchange, searched by the request.

    Where the library's prompt doesn't fit the model's context, exchanges are stored as they are (``infer=False``).

    Parameters
    ----------
    options : ArmOptions
        Whether the block takes the transcript's place.
    """

    name: ClassVar[str] = "mem0"
    takes: ClassVar[tuple[str, ...]] = ("mode",)

    def __init__(self, options: ArmOptions) -> None:
        super().__init__(options)
        self._records: list[MemoryRecord] = []
        self._facts: dict[str, Memory] = {}  # by the library's id
        self._library: Library | None = None
        # The store's database wants to be used from the thread that opened it.
        self._thread = ThreadPoolExecutor(1)

    async def open(self, opening: Opening) -> None:
        """Start with nothing stored."""
        await super().open(opening)
        self._answering = _Answering(self._kit.ask)

    def _close(self) -> None:
        assert self._library is not None, "only a library that was opened is closed"
        self._thread.submit(self._library.close).result()
        self._thread.shutdown()

    async def _remember(self, request: Request) -> MemoryRecord:
        self._answering.loop = asyncio.get_running_loop()
        return await self._answering.loop.run_in_executor(self._thread, self._stored_and_found, request)

    def _take(self, record: MemoryRecord) -> None:
        """Keep the record: the store can be made anew from it."""
        self._records.append(record)

    def _stored_and_found(self, request: Request) -> MemoryRecord:
        if self._library is None:
            self._library = self._rebuilt()
            self._kit.closing.callback(self._close)
        stored: tuple[Memory, ...] = ()
        fallbacks: tuple[Fallback, ...] = ()
        self._answering.calls = []
        if self._exchanges:
            added, fallbacks = self._add(self._library, self._exchanges[-1])
            stored = self._enter(added, self._exchanges[-1].turn)
        found = sorted(self._library.search(request.text), key=self._order)[:RECALLED]
        facts = [self._facts[hit.key] for hit in found]
        block = self._prompts.render("recall", memories=listed(
            (f"from message {fact.turn + 1}", fact.text) for fact in sorted(facts, key=_number))) if found else ""
        return MemoryRecord(
            request.turn, block,
            tuple(Recalled(fact.id, hit.score, (fact.turn,)) for hit, fact in zip(found, facts, strict=True)),
            self._last_exchanges(), stored, calls=tuple(self._answering.calls), fallbacks=fallbacks)

    def _add(self, library: Library, exchange: Exchange) -> tuple[list[tuple[str, str]], tuple[Fallback, ...]]:
        if any(Fallback.VERBATIM in record.fallbacks for record in self._records):
            return library.add(exchange, infer=False), (Fallback.VERBATIM,)
        added = library.add(exchange, infer=True)
        if isinstance(self._answering.failed, ContextOverflow):
            return library.add(exchange, infer=False), (Fallback.VERBATIM,)
        if self._answering.failed is not None:
            raise self._answering.failed
        is_usable = bool(added) or facts_in(self._answering.calls[-1].reply) is not None
        return added, () if is_usable else (Fallback.NO_FACTS,)

    def _enter(self, added: Sequence[tuple[str, str]], turn: int) -> tuple[Memory, ...]:
        number = len(self._facts)
        facts = tuple(Memory(f"f{number + at}", MemoryKind.FACT, turn, text) for at, (_, text) in enumerate(added))
        self._facts |= {key: fact for (key, _), fact in zip(added, facts, strict=True)}
        return facts

    def _order(self, hit: Found) -> tuple[float, int]:
        return -hit.score, _number(self._facts[hit.key])

    def _rebuilt(self) -> Library:
        """The store as it stands after the recorded turns, the model's recorded answers given again."""
        library = Library(self._kit.folder, self._kit.brief, self._kit.embedder, self._answering.answer)
        for record in self._records[1:]:
            exchange = self._exchanges[record.turn - 1]
            self._answering.recorded = [call.reply for call in record.calls]
            added = library.add(exchange, infer=Fallback.VERBATIM not in record.fallbacks)
            if self._enter(added, exchange.turn) != record.stored:
                raise InfrastructureError(f"the memory library stores something else for turn {exchange.turn} than the "
                                          "log holds; install the version that the log names, or move the log away")
        return library


def _number(fact: Memory) -> int:
    return int(fact.id[1:])
