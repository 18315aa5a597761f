"""What passes between this program and a model, as logs keep it: messages, helper calls, their usage."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from artifact.log.faults import Fault

# Left out of the log where there were none.
Faults = Annotated[tuple[Fault, ...], Field(exclude_if=lambda faults: not faults)]


@dataclass(frozen=True)
class Message:
    """One chat message: role ``system``, ``user`` or ``assistant``, and its text."""

    role: str
    content: str


@dataclass(frozen=True)
class Usage:
    """Tokens and time of one model call.

    Parameters
    ----------
    prompt, cached, completion : int
        Prompt tokens, how many of them came from the prefix cache, and completion tokens.
    latency_s : float
        Wall time of the call in seconds, retries included.
    attempts : int
        Tries that the call took.
    faults : tuple of Fault
        Why each try but the last brought no answer.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    latency_s: float = 0.0
    attempts: int = 1
    faults: Faults = ()


@dataclass(frozen=True)
class Call:
    """One helper call (compile or match) as it was made: the prompt in full, the reply and its usage."""

    purpose: str
    messages: tuple[Message, ...]
    reply: str
    finish_reason: str
    usage: Usage
    reasoning: str = ""
