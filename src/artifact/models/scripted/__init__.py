"""Scripted models: policies that see only the messages that a model sees, and the perfect agent."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.base import FinishReason, Reply
from artifact.models.scripted.clerk import answer_helper_call
from artifact.models.scripted.policies import (
    AlwaysBook,
    Gullible,
    LedgerKeeper,
    NeverBook,
    Perfect,
    Policy,
    Reader,
    SystemReader,
    describe,
)
from artifact.taskstate import Episode

_POLICIES: dict[str, Callable[..., Policy | None]] = {
    "perfect": lambda: None,  # needs an episode: see `ScriptedModel.bind`
    "always-book": AlwaysBook,
    "never-book": NeverBook,
    "gullible": Gullible,
    "reader": Reader,
    "system-reader": SystemReader,
    "ledger-keeper": LedgerKeeper,
}


class ScriptedModel:
    """A chat model that follows a policy; it compiles and matches by reading, without error.

    Parameters
    ----------
    name : str
        As it stands in cells and logs.
    policy : Policy or None
        None for the perfect agent before `bind`.
    delay : float
        Seconds that each answer takes, to stand in for a model's latency.
    """

    def __init__(self, name: str, policy: Policy | None, delay: float = 0.0) -> None:
        self.name = name
        self._policy = policy
        self._delay = delay

    def identity(self) -> dict[str, Any]:
        """Engine and parameters."""
        return {"engine": "scripted", "name": self.name, "parameters": describe(self._policy)}

    def bind(self, episode: Episode) -> "ScriptedModel":
        """This model for one episode; only the perfect agent makes use of it."""
        return ScriptedModel(self.name, Perfect(episode), self._delay) if self._policy is None else self

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer by the policy; tokens are counted as words, all but the last message as cached."""
        if self._delay:
            await asyncio.sleep(self._delay)
        if schema is not None:
            text = answer_helper_call(messages, schema)
        elif self._policy is not None:
            text = self._policy.reply(messages)
        else:
            raise RequestError("the perfect agent replays ground truth and can only be run inside an episode")
        words = [len(message.content.split()) for message in messages]
        return Reply(text, "", FinishReason.STOP, sum(words), sum(words[:-1]), len(text.split()))

    async def close(self) -> None:
        """Nothing to release."""


def scripted_model(specification: str) -> ScriptedModel:
    """The scripted model of a specification such as ``perfect`` or ``reader?directive=0.9&wrong_code=0.01``.

    Raises
    ------
    RequestError
        When there is no such policy or parameter.
    """
    policy, _, query = specification.partition("?")
    if policy not in _POLICIES:
        raise RequestError(f"there is no scripted policy {policy!r}; the policies are {', '.join(_POLICIES)}")
    parameters: dict[str, float] = {}
    for key, text in parse_qsl(query, keep_blank_values=True):
        try:
            parameters[key] = int(text) if key == "seed" else float(text)
        except ValueError:
            raise RequestError(f"{key}={text} of the scripted policy {policy!r} is not a number; write for instance "
                               "reader?directive=0.9") from None
    delay = parameters.pop("delay", 0.0)
    try:
        made = _POLICIES[policy](**parameters)
    except TypeError:
        raise RequestError(f"the scripted policy {policy!r} doesn't take {', '.join(parameters)}; a reader takes "
                           "transcript, checklist, directive, wrong_code and seed, a ledger keeper forgets and seed, "
                           "and every policy delay") from None
    suffix = "-" + hashlib.sha256(orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]
    return ScriptedModel(f"scripted-{policy}{suffix if parameters else ''}", made, delay)
