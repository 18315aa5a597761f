"""Top-k retrieval: the five exchanges most similar to the request, by cosine of their embeddings (§3.3)."""

from typing import ClassVar

from artifact.arms.base import Request
from artifact.arms.memory.base import MemoryArm
from artifact.arms.memory.exchanges import best, cosines, listed
from artifact.log.memories import MemoryRecord, Recalled


class TopK(MemoryArm):
    """Every exchange is a memory; a request recalls those that read like it."""

    name: ClassVar[str] = "topk"
    takes: ClassVar[tuple[str, ...]] = ("mode",)

    async def _remember(self, request: Request) -> MemoryRecord:
        history = self._last_exchanges()
        if not self._exchanges:
            return MemoryRecord(request.turn, history=history)
        vectors = self._kit.embedder.vectors([*(exchange.text for exchange in self._exchanges), request.text])
        scores = cosines(vectors[:-1], vectors[-1])
        found = best(scores)
        recalled = tuple(Recalled(self._exchanges[at].id, scores[at], (self._exchanges[at].turn,)) for at in found)
        block = self._prompts.render("recall", memories=listed(
            (f"message {self._exchanges[at].turn + 1}", self._exchanges[at].text) for at in sorted(found)))
        return MemoryRecord(request.turn, block, recalled, history)

    def _take(self, record: MemoryRecord) -> None:
        """Nothing: the exchanges are all of this memory."""
