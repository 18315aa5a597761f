"""Mem0: the real library between conversation and recall block, the agent's own model reading facts out of exchanges.

Invariant: the log is the memory. The store on disk is made anew from it, recorded answers included, so that a resumed
episode recalls from what an uninterrupted one would have.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import orjson

from artifact.arms.base import Opening, Request
from artifact.arms.memory.base import MemoryArm
from artifact.arms.memory.exchanges import RECALLED, Exchange, listed
from artifact.arms.memory.library import Found, Library
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
        """The answer; empty where none came, which the library reads as nothing to store."""
        if self.recorded:
            return self.recorded.pop(0)
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

    async def _remember(self, request: Request) -> MemoryRecord:
        self._answering.loop = asyncio.get_running_loop()
        return await self._answering.loop.run_in_executor(self._thread, self._stored_and_found, request)

    def _take(self, record: MemoryRecord) -> None:
        """Keep the record: the store can be made anew from it."""
        self._records.append(record)

    def _stored_and_found(self, request: Request) -> MemoryRecord:
        if self._library is None:
            self._library = self._rebuilt()
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
        return added, () if added or _is_usable(self._answering.calls) else (Fallback.NO_FACTS,)

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


def _is_usable(calls: Sequence[Call]) -> bool:
    """Whether the library could read the answer, if only that there is nothing to store."""
    try:
        found = orjson.loads(calls[-1].reply[calls[-1].reply.find("{"):calls[-1].reply.rfind("}") + 1])
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and isinstance(found.get("memory"), list)
