"""One model on several servers: conversations are spread over them, and each stays where its prefix cache is.

Invariant: which server a conversation is on depends on its name and on the list of servers alone, so that it is the
same one for every worker and after every restart, and nothing has to be remembered of conversations that are over.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.base import ChatModel, Reply
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.slots import HELPER_MARK
from artifact.models.target import Target


class Pinned:
    """Servers of the same model.

    Parameters
    ----------
    models : sequence of ChatModel
        The model on each of them.

    Raises
    ------
    RequestError
        When they aren't the same model, engine, version and settings: a study is measured on one thing.
    """

    def __init__(self, models: Sequence[ChatModel]) -> None:
        self._models = tuple(models)
        self.name = models[0].name
        first, *others = ({**model.identity(), "endpoint": None} for model in models)
        for model, other in zip(models[1:], others, strict=True):
            if unlike := sorted(key for key in first.keys() | other.keys() if first.get(key) != other.get(key)):
                raise RequestError(f"{model.identity()['endpoint']} isn't like {models[0].identity()['endpoint']}: "
                                   f"they differ in {', '.join(unlike)}; give servers of one model, started alike")

    def identity(self) -> dict[str, Any]:
        """What all have in common, and where they are."""
        shown = [str(model.identity()["endpoint"]) for model in self._models]
        return {**self._models[0].identity(), "endpoint": ",".join(shown)}

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer on the conversation's server; see `ChatModel.complete`. Its helper calls go there too."""
        return await self._server_of(session).complete(messages, max_tokens=max_tokens, temperature=temperature,
                                                       seed=seed, session=session, schema=schema)

    async def close(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.close()

    def _server_of(self, session: str | None) -> ChatModel:
        conversation = (session or "").partition(HELPER_MARK)[0]
        digest = hashlib.sha256(conversation.encode()).digest()
        return self._models[int.from_bytes(digest[:8]) % len(self._models)]


async def reach_all(target: Target, **settings: Any) -> ChatModel:
    """Reach a target whose URL may name several servers, with commas between.

    Raises
    ------
    RequestError, InfrastructureError
        As `OpenAICompatible.reach`, of the first that can't be used; or the servers differ.
    """
    models: list[OpenAICompatible] = []
    try:
        for url in target.url.split(","):
            models.append(await OpenAICompatible.reach(replace(target, url=url.strip()), **settings))
        return models[0] if len(models) == 1 else Pinned(models)
    except BaseException:
        for model in models:
            await model.close()
        raise
