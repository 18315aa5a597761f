"""Any server that speaks the OpenAI chat protocol: a client that costs next to nothing beside the model.

Invariant: a request body is the conversation's own bytes between a few options; no message is encoded twice.
A server that comes back from an outage is the one that was measured before, or the study stops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from artifact.errors import InfrastructureError, RequestError
from artifact.log.faults import Fault
from artifact.log.records import Message
from artifact.models.acquaintance import Acquaintance, get_acquainted
from artifact.models.base import ContextOverflow, FinishReason, ModelError, Reply
from artifact.models.dialects import ServedModel, read_reply
from artifact.models.outage import OUTAGE_LIMIT_S, Outage, Say, say_nothing
from artifact.models.refusals import Failure, reported_error
from artifact.models.registry import ModelEntry, Regime, SchemaSupport
from artifact.models.retry import RetryPolicy
from artifact.models.target import Target
from artifact.models.transcript import Transcript, encode_messages
from artifact.models.transport import Transport, Unreachable

TIMEOUT_S = 900.0
"""Longest time of one try, in seconds (Appendix B.4)."""

_PROBE_S = 10.0
_NEW_BUDGET_FIELD = "max_completion_tokens"
# From a proxy whose server is gone, or from a server that isn't ready; one that is busy lists its models all the same.
_GATEWAY_STATUSES = frozenset({502, 503, 504})


class OpenAICompatible:
    """A model on a server; made by `connect`, `of_entry` or `reach`."""

    def __init__(self, target: Target, transport: Transport, *, timeout_s: float, retry: RetryPolicy,
                 outage_limit_s: float, say: Say) -> None:
        self.name = target.name or target.model or ""
        self._target = target
        self._transport = transport
        self._timeout_s = timeout_s
        self._retry = retry
        self._shown = transport.access.shown
        self._chat_url = transport.access.url("/chat/completions")
        self._known = Acquaintance(ServedModel(target.model or "", None, None))
        self._budget_field = self._known.dialect.budget_field
        self._switch: Mapping[str, Any] = target.regime_body
        self._outage = Outage(f"the server at {self._shown}", self._is_back, limit_s=outage_limit_s, say=say)

    @classmethod
    async def connect(cls, url: str, model: str | None = None, *, regime: Regime = Regime.NO_THINK,
                      **settings: Any) -> "OpenAICompatible":
        """Reach the server at a URL, for a model by its name there; None takes the only one. See `reach`."""
        return await cls.reach(Target(url, model, regime=regime), **settings)

    @classmethod
    async def of_entry(cls, entry: ModelEntry, *, regime: Regime = Regime.NO_THINK,
                       **settings: Any) -> "OpenAICompatible":
        """Reach the server of a registry entry, at the URL that the environment tells. See `reach`."""
        return await cls.reach(Target.of_entry(entry, regime), **settings)

    @classmethod
    async def reach(cls, target: Target, *, timeout_s: float = TIMEOUT_S, retry: RetryPolicy | None = None,
                    outage_limit_s: float = OUTAGE_LIMIT_S, say: Say = say_nothing) -> "OpenAICompatible":
        """Reach a server and ask what it is, before anything depends on it.

        Parameters
        ----------
        target : Target
            The server and the model.
        timeout_s : float
            Longest time of one try of a call, in seconds.
        retry : RetryPolicy or None
            How often a call is tried; None takes the usual policy.
        outage_limit_s : float
            How long the server is waited for when it is down later on, in seconds.
        say : callable
            Told in a sentence when it is down, and when it is back.

        Raises
        ------
        InfrastructureError
            Nothing answers at the address, or nothing sound.
        RequestError
            The server refuses the key, redirects, isn't OpenAI-compatible, or doesn't serve the model.
        """
        transport = Transport(target.access())
        model = cls(target, transport, timeout_s=timeout_s, retry=retry or RetryPolicy(),
                    outage_limit_s=outage_limit_s, say=say)
        try:
            await model._get_acquainted()
        except BaseException:
            await transport.close()
            raise
        return model

    def identity(self) -> dict[str, Any]:
        """What a result is measured on, as the server told it: engine, version, served model, context."""
        known = self._known
        return {
            "name": self.name,
            "engine": known.dialect.engine,
            "engine_version": known.version,
            "endpoint": self._shown,
            "model": known.served.name,
            "context": known.context,
            "schema_support": str(self._target.schema_support),
            "regime": str(self._target.regime),
            **known.settings,
        }

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer a conversation; see `ChatModel.complete`. The server finds its prefix cache without `session`."""
        options: dict[str, Any] = {"temperature": temperature}
        if temperature > 0:
            options |= self._target.sampling_body
            if seed is not None:
                options["seed"] = seed
        if schema is not None:
            options |= self._schema_body(schema)
        encoded = messages.body if isinstance(messages, Transcript) else encode_messages(messages)
        opening = b'{"model":' + orjson.dumps(self._known.served.name) + b',"messages":['

        async def attempt() -> Reply:
            field, switch = self._budget_field, self._switch
            ending = orjson.dumps({field: max_tokens, **switch, **options})[1:]
            reply = await self._ask(b"".join((opening, encoded, b"],", ending)), field)
            self._check_regime(reply, switch)
            return reply

        reply = await self._retry.run(attempt)
        self._check_sound(reply, max_tokens)
        scrub = self._transport.access.scrub_reply
        return replace(reply, text=scrub(reply.text), reasoning=scrub(reply.reasoning))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r} at {self._shown})"

    def _schema_body(self, schema: dict[str, Any]) -> dict[str, Any]:
        match self._target.schema_support:
            case SchemaSupport.JSON_SCHEMA:
                described = {"name": "reply", "strict": True, "schema": schema}
                return {"response_format": {"type": "json_schema", "json_schema": described}}
            case SchemaSupport.JSON_OBJECT:
                return {"response_format": {"type": "json_object"}}
            case SchemaSupport.NONE:
                return {}

    def _check_sound(self, reply: Reply, max_tokens: int) -> None:
        who = self._transport.who
        # Some engines count the token that ends a reply, some don't.
        if reply.finish_reason is FinishReason.LENGTH and 0 < reply.completion_tokens < max_tokens - 1:
            cut = ContextOverflow(f"{who} ran out of its context, or of its own limit of a reply, after "
                                  f"{reply.completion_tokens} of {max_tokens} tokens.")
            cut.attempts, cut.faults = reply.attempts, reply.faults
            raise cut

    def _check_regime(self, reply: Reply, switch: Mapping[str, Any]) -> None:
        """A reply with reasoning is none of the regime no_think: asked again with the server's switch, or an error."""
        if not reply.reasoning or self._target.regime is Regime.THINK:
            return
        who = self._transport.who
        if not switch and self._known.dialect.switch.no_think:
            self._switch = self._known.dialect.switch.no_think
            raise ModelError(f"{who} reasons unless it is told not to.", transient=True, fault=Fault.OTHER_FIELDS)
        asked = "was asked not to reason and sent reasoning all the same" if switch \
            else "reasons, and there is no known way to ask it not to"
        raise RequestError(f"{who} {asked}; serve it so that it doesn't, or run the regime think.")

    async def _ask(self, body: bytes, budget_field: str) -> Reply:
        if self._outage.is_on:
            await self._outage.wait_out("it was a moment ago")
        try:
            answer = await self._transport.post(self._chat_url, body, timeout_s=self._timeout_s)
        except Unreachable as error:
            await self._outage.wait_out(error.cause)
            raise
        if answer.is_success:
            try:
                return read_reply(answer.body, who=self._transport.who, thinks=self._target.regime is Regime.THINK)
            except ModelError:
                reported = reported_error(answer.body)
                if reported is None:
                    raise
                raise self._transport.error(reported, answer.headers) from None
        refusal = answer.refusal
        if budget_field != _NEW_BUDGET_FIELD and refusal.failure is Failure.REFUSED \
                and _NEW_BUDGET_FIELD in refusal.words:
            self._budget_field = _NEW_BUDGET_FIELD
            raise ModelError(f"{self._transport.who} wants the field {_NEW_BUDGET_FIELD}.", transient=True,
                             fault=Fault.OTHER_FIELDS)
        if answer.status in _GATEWAY_STATUSES and refusal.failure is Failure.PASSING:
            await self._outage.wait_out(f"status {answer.status}")
        raise self._transport.error(refusal, answer.headers)

    async def _is_back(self) -> bool:
        """Whether the server is ready again, as the one that it was."""
        try:
            listing = await self._transport.get(self._transport.access.url("/models"), timeout_s=_PROBE_S)
        except ModelError:
            return False
        if not listing.is_success:
            return listing.refusal.failure is not Failure.PASSING
        if self._outage.is_on:
            before = self.identity()
            try:
                await self._get_acquainted()
            except InfrastructureError:
                return False
            if changes := _changes(before, self.identity()):
                raise RequestError(f"The server at {self._shown} came back as another one ({changes}); start the one "
                                   "that the study was begun on, or run another study.")
        return True

    async def _get_acquainted(self) -> None:
        told = await get_acquainted(self._target, self._transport, self._retry)
        # What a server doesn't tell this time is as it was.
        self._known = replace(told, version=told.version or self._known.version,
                              context=told.context or self._known.context,
                              settings={**self._known.settings, **told.settings})
        self.name = self._target.name or told.served.name
        self._budget_field = told.dialect.budget_field
        # A model that the registry knows has its switch from there, or needs none.
        if self._target.regime is Regime.THINK and self._target.name is None and not self._target.regime_body:
            self._switch = told.dialect.switch.think


def _changes(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a server says of itself otherwise than before; what it doesn't tell this time is no change."""
    return ", ".join(f"{key}: {before[key]} before, {after[key]} now" for key in before
                     if after.get(key) not in (None, before[key]))
