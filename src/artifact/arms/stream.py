"""Memory stream: exchanges with their importance, and reflections over them, in one retrieval (Park et al., 2023).

Invariant: a reflection cites memories that were there before it, and competes with them in the same score.
"""

from dataclasses import replace
from typing import ClassVar

from artifact.arms.base import Request
from artifact.arms.memory.base import MemoryArm
from artifact.arms.memory.exchanges import best, cosines, listed
from artifact.arms.memory.reflection import Reflecting
from artifact.arms.memory.scoring import stream_scores
from artifact.log.memories import Memory, MemoryKind, MemoryRecord, Recalled
from artifact.log.options import ArmOptions


class Stream(MemoryArm):
    """Recalls what is recent, important and relevant; reflects when much of importance has gathered.

    Parameters
    ----------
    options : ArmOptions
        Whether the block takes the transcript's place, when it reflects, and how much time a turn takes.
    """

    name: ClassVar[str] = "stream"
    takes: ClassVar[tuple[str, ...]] = ("mode", "reflect_at", "unit")

    def __init__(self, options: ArmOptions) -> None:
        super().__init__(options)
        self._memories: list[Memory] = []
        self._recalled_at: dict[str, int] = {}

    async def _remember(self, request: Request) -> MemoryRecord:
        model = Reflecting(self._kit.ask, self._prompts)
        known = {memory.id for memory in self._memories}
        stored = [Memory(e.id, MemoryKind.EXCHANGE, e.turn, importance=await model.importance(e.text))
                  for e in self._exchanges if e.id not in known]
        if self._gathered([*self._memories, *stored]) > self._options.reflect_at:
            stored += await self._reflect(model, [*self._memories, *stored], request.turn)
        memories = [*self._memories, *stored]
        found, scores = self._best(memories, request.text, request.turn)
        recalled = tuple(Recalled(memories[at].id, scores[at], self._turns(memories[at], memories)) for at in found)
        block = self._prompts.render("recall", memories=listed(
            self._shown(memories[at], memories) for at in sorted(found))) if found else ""
        return MemoryRecord(request.turn, block, recalled, self._last_exchanges(), tuple(stored),
                            calls=tuple(model.calls), fallbacks=tuple(model.fallbacks))

    def _take(self, record: MemoryRecord) -> None:
        """Take over what was stored, and that what was recalled was looked at just now."""
        self._memories += record.stored
        self._recalled_at |= {recalled.id: record.turn for recalled in record.recalled}

    def _gathered(self, memories: list[Memory]) -> int:
        """The importance of what was observed since the last reflection, or the last try at one."""
        gathered = 0
        for memory in memories:
            if memory.kind is MemoryKind.EXCHANGE:
                gathered = memory.importance or 0 if gathered > self._options.reflect_at else (
                    gathered + (memory.importance or 0))
        return gathered

    async def _reflect(self, model: Reflecting, memories: list[Memory], now: int) -> list[Memory]:
        """Insights about the questions that the last memories raise, each with what it cites."""
        number = sum(memory.kind is MemoryKind.REFLECTION for memory in memories)
        made: list[Memory] = []
        for question in await model.questions([self._text(memory) for memory in memories]):
            found, _ = self._best(memories, question, now)
            cited = [memories[at] for at in sorted(found)]
            for insight in await model.insights(question, [self._text(memory) for memory in cited]):
                made.append(Memory(f"r{number + len(made)}", MemoryKind.REFLECTION, now - 1, insight.text,
                                   cites=tuple(cited[at].id for at in insight.because)))
        return [replace(memory, importance=await model.importance(memory.text)) for memory in made]

    def _best(self, memories: list[Memory], query: str, now: int) -> tuple[list[int], list[float]]:
        """Positions of the memories with the highest score, best first, and all scores."""
        if not memories:
            return [], []
        vectors = self._kit.embedder.vectors([*map(self._text, memories), query])
        ages = [self._options.unit * (now - max(memory.turn, self._recalled_at.get(memory.id, 0)))
                for memory in memories]
        importances = [memory.importance or 0 for memory in memories]
        scores = stream_scores(ages, importances, cosines(vectors[:-1], vectors[-1]))
        return best(scores), scores

    def _text(self, memory: Memory) -> str:
        return memory.text or self._exchanges[memory.turn].text

    def _turns(self, memory: Memory, memories: list[Memory]) -> tuple[int, ...]:
        """The turns that a memory rests on, through whatever it cites."""
        if memory.kind is MemoryKind.EXCHANGE:
            return (memory.turn,)
        by_id = {other.id: other for other in memories}
        return tuple(sorted({turn for cited in memory.cites for turn in self._turns(by_id[cited], memories)}))

    def _shown(self, memory: Memory, memories: list[Memory]) -> tuple[str, str]:
        if memory.kind is MemoryKind.EXCHANGE:
            return f"message {memory.turn + 1}", self._text(memory)
        about = ", ".join(str(turn + 1) for turn in self._turns(memory, memories))
        return f"a conclusion of yours from messages {about}", memory.text
