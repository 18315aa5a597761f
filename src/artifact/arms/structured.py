"""Asking a model for JSON: schema enforced where the server can, validated anyway, one correction round."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import orjson

from artifact.arms.prompts import PromptSet
from artifact.log.records import Call, Message, Usage
from artifact.models.base import Reply

T = TypeVar("T")


class Ask(Protocol):
    """One helper call: to the state model, or for a memory to the agent's; budget and sampling are the runner's."""

    async def __call__(self, messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
        """Answer `messages`; `purpose` is ``"compile"``, ``"match"`` or ``"memory"``."""
        ...


class Unusable(ValueError):
    """An answer that can't be used; the message says why in words that a model can act on."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A validated answer, or the reason why there is none, with the calls that it took."""

    value: T | None
    error: str | None
    calls: tuple[Call, ...]


_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply, fenced or not, or `Unusable` with what is wrong."""
    fenced = _FENCE.search(text)
    body = fenced[1] if fenced else text
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise Unusable("it holds no JSON object")
    try:
        value = orjson.loads(body[start:end + 1])
    except orjson.JSONDecodeError as error:
        raise Unusable(f"it is not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise Unusable("it is not a JSON object")
    return value


async def ask_json(ask: Ask, prompts: PromptSet, prompt: str, *, purpose: str, schema: dict[str, Any],
                      read: Callable[[dict[str, Any]], T], continued: Sequence[Message] = ()) -> Answer[T]:
    """Ask for JSON, validate it with `read`, and ask once more with the problem named.

    Parameters
    ----------
    ask : Ask
        The state model.
    prompts : PromptSet
        For the wording of the correction.
    prompt : str
        The question, sent as one user message.
    purpose : str
        ``"compile"``, ``"match"`` or ``"memory"``: decides the token budget.
    schema : dict
        JSON schema that the server enforces where it can.
    read : callable
        Turns the parsed object into the value, or raises `Unusable` with the problem.
    continued : sequence of Message
        What followed the question when it was asked before: an answer, and what was wrong with it.

    Returns
    -------
    Answer
        With `value` None and the problem in `error` when both tries were unusable.
    """
    messages = [Message("user", prompt), *continued]
    calls: list[Call] = []
    problem = ""
    for _ in range(2):
        reply = await ask(messages, purpose=purpose, schema=schema)
        calls.append(Call(purpose, tuple(messages), reply.text, reply.finish_reason, usage_of(reply), reply.reasoning))
        try:
            return Answer(read(json_object(reply.text)), None, tuple(calls))
        except Unusable as error:
            problem = str(error)
        messages = [*messages, Message("assistant", reply.text),
                    Message("user", prompts.render("correction", problem=problem))]
    return Answer(None, problem, tuple(calls))


def usage_of(reply: Reply) -> Usage:
    """The usage of a reply as it is logged."""
    return Usage(reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens, reply.latency_s, reply.attempts,
                 reply.faults)
