"""Who answers: the interface that every backend meets, its reply, and the ways in which a call can fail (DESIGN §5.1).

Infrastructure is not behaviour: whatever prevents an answer is one of the errors below, never a reply. What the
request itself got wrong (an unknown model, a bad key) is a `RequestError`: it concerns every episode, not one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from artifact.errors import InfrastructureError
from artifact.log.calls import Faults, Message
from artifact.log.faults import Fault


class FinishReason(StrEnum):
    """Why a reply ended: by itself, or at its token budget."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Parameters
    ----------
    text : str
        The reply without its reasoning.
    reasoning : str
        The reasoning, where the backend returns it apart from the text.
    finish_reason : FinishReason
        ``stop`` or ``length``, whatever the backend calls it.
    prompt_tokens, cached_tokens, completion_tokens : int
        As the backend reports them; zero where it reports none.
    latency_s : float
        Wall time of the call in seconds, retries and their waits included.
    attempts : int
        Tries that the call took.
    faults : tuple of Fault
        Why each try but the last brought no answer.
    """

    text: str
    reasoning: str = ""
    finish_reason: FinishReason = FinishReason.STOP
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0
    attempts: int = 1
    faults: Faults = ()


class ModelError(InfrastructureError):
    """A call that brought no answer.

    Parameters
    ----------
    message : str
        One sentence.
    transient : bool
        Whether the same call may succeed on another try.
    retry_after_s : float or None
        How long the server asked to wait before that try, in seconds.
    fault : Fault
        What kind of failure it is, for counting.

    Attributes
    ----------
    attempts : int
        Tries that the call took.
    faults : tuple of Fault
        Why each of them that could be made again brought no answer.
    """

    def __init__(self, message: str, *, transient: bool = False, retry_after_s: float | None = None,
                 fault: Fault = Fault.OTHER) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after_s = retry_after_s
        self.fault = fault
        self.attempts = 1
        self.faults: tuple[Fault, ...] = ()


class ModelTimeout(ModelError):
    """A call that brought no answer within its time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=True, fault=Fault.TIMEOUT)


class ContextOverflow(ModelError):
    """Prompt and reply budget together exceed the model's context; a second try can't help, a shorter one may."""


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a chat.

    Attributes
    ----------
    name : str
        The name by which cells and logs call it.
    """

    name: str

    def identity(self) -> dict[str, Any]:
        """What a result was measured on: weights hash, engine, version, settings. Holds no secret."""
        ...

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer a conversation.

        Parameters
        ----------
        messages : sequence of Message
            The conversation; a `Transcript` spares backends that speak JSON from encoding it again.
        max_tokens : int
            Budget of the reply, reasoning included.
        temperature : float
            0 decodes greedily.
        seed : int or None
            Sampling seed, where temperature is above 0.
        session : str or None
            Names the conversation, so that a backend can keep its prefix cache; a helper call of the
            conversation ``s`` is named ``s:state/KIND``.
        schema : dict or None
            JSON schema that the reply must meet, enforced where the server can.

        Raises
        ------
        ContextOverflow, ModelTimeout, ModelError
            No answer came.
        RequestError
            No answer can come: unknown model, bad key.
        """
        ...

    async def close(self) -> None:
        """Release the engine or its connections. Closing twice does no harm."""
        ...
