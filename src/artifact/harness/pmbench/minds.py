"""Who acts, matches and compiles: a model, with sampling and sessions settled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifact.log.records import Message
from artifact.models import ChatModel
from artifact.models.base import Reply


@dataclass(frozen=True)
class LiveMind:
    """A chat model in one run of a week.

    Parameters
    ----------
    model : ChatModel
        Who answers.
    session : str
        Name of the conversation.
    temperature : float
        Of the agent; helper calls are greedy.
    seed : int
        Of the agent's sampling.
    """

    model: ChatModel
    session: str
    temperature: float
    seed: int

    async def answer(self, purpose: str, messages: Sequence[Message], *, max_tokens: int,
                     schema: dict[str, Any] | None) -> Reply:
        """Ask the model."""
        if purpose == "act":
            return await self.model.complete(messages, max_tokens=max_tokens, temperature=self.temperature,
                                             seed=self.seed, session=self.session)
        return await self.model.complete(messages, max_tokens=max_tokens, session=f"{self.session}:state/{purpose}",
                                         schema=schema)
