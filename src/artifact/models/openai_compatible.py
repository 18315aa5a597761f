"""Any server that speaks the OpenAI chat protocol: a client that costs next to nothing beside the model.

Invariant: a request body is the conversation's own bytes between a few options; no message is encoded twice.
A server that comes back from an outage is the one that was measured before, or the study stops.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from artifact.errors import InfrastructureError, RequestError
from artifact.log.faults import Fault
from artifact.log.records import Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.checkpoint import weights_of_checkpoint
from artifact.models.dialects import (
    UNKNOWN_DIALECT,
    ServedModel,
    find_dialect,
    read_models,
    read_properties,
    read_reply,
)
from artifact.models.outage import OUTAGE_LIMIT_S, Outage, Say, say_nothing
from artifact.models.refusals import Failure, printable, reported_error
from artifact.models.registry import ModelEntry, Regime, SchemaSupport
from artifact.models.retry import RetryPolicy
from artifact.models.target import Target
from artifact.models.transcript import Transcript, encode_messages
from artifact.models.transport import Answer, Transport, Unreachable

TIMEOUT_S = 900.0
"""Longest time of one try, in seconds (Appendix B.4)."""

_LOOK_UP_S = 30.0
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
        self._served = ServedModel(target.model or "", None, None)
        self._dialect = UNKNOWN_DIALECT
        self._budget_field = self._dialect.budget_field
        self._switch: Mapping[str, Any] = target.regime_body
        self._version: str | None = None
        self._context: int | None = None
        self._settings: dict[str, Any] = {}
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
        return {
            "name": self.name,
            "engine": self._dialect.engine,
            "engine_version": self._version,
            "endpoint": self._shown,
            "model": self._served.name,
            "context": self._context,
            "schema_support": str(self._target.schema_support),
            "regime": str(self._target.regime),
            **self._settings,
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
        opening = b'{"model":' + orjson.dumps(self._served.name) + b',"messages":['

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
        if not switch and self._dialect.switch.no_think:
            self._switch = self._dialect.switch.no_think
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
        access = self._transport.access
        listing = await self._look_up(access.url("/models"))
        if not listing.is_success and listing.refusal.failure not in (Failure.UNKNOWN_MODEL, Failure.REFUSED):
            raise self._transport.error(listing.refusal, listing.headers)
        try:
            models = read_models(listing.body)
        except ValueError:
            raise RequestError(f"{self._shown}/models gives no list of models (status {listing.status}); give the "
                               "base URL of an OpenAI-compatible server, which mostly ends in /v1.") from None
        self._served = self._choose(models)
        self.name = self._target.name or self._served.name
        self._transport.who = f"{self._transport.quote(self.name)} at {self._shown}"
        self._dialect = find_dialect(self._served.owner)
        self._budget_field = self._dialect.budget_field
        # A model that the registry knows has its switch from there, or needs none.
        if self._target.regime is Regime.THINK and self._target.name is None and not self._target.regime_body:
            self._switch = self._dialect.switch.think
        self._context = self._served.context
        if self._dialect.version_path is None:
            return
        try:
            properties = await self._look_up(access.url_beside(self._dialect.version_path))
        except ModelError:  # a gateway may pass on nothing but the API
            return
        if properties.status == 401 and self._dialect.lists_openly:
            raise self._transport.error(properties.refusal, properties.headers)
        if properties.is_success:
            version, context = read_properties(properties.body, self._dialect)
            self._version = printable(version, 100) if version else None
            self._context = self._context or context
        self._settings = await self._look_up_settings()

    async def _look_up_settings(self) -> dict[str, Any]:
        """What the server tells of weights and settings; empty where it tells nothing, so that no log changes."""
        told: dict[str, Any] = {}
        if self._served.root is not None and self._dialect.settings:
            told["checkpoint"] = self._transport.quote(_checkpoint_name(self._served.root))
            if weights := weights_of_checkpoint(told["checkpoint"]):
                told["weights_sha256"] = weights
        for path, read in self._dialect.settings:
            try:
                answer = await self._look_up(self._transport.access.url_beside(path))
            except (ModelError, InfrastructureError):
                continue
            if answer.is_success:
                told |= read(answer.body)
        return told

    def _choose(self, models: Sequence[ServedModel]) -> ServedModel:
        wanted, served = self._target.model, {model.name: model for model in models}
        if wanted in served:
            return served[wanted]
        if wanted is None and len(models) == 1:
            return models[0]
        near = difflib.get_close_matches(wanted, served, n=3) if wanted else []
        names = [*near, *(name for name in sorted(served) if name not in near)]
        rest = f" and {len(names) - 10} more" if len(names) > 10 else ""
        serves = ", ".join(self._transport.quote(name) for name in names[:10]) + rest if names else "none"
        if wanted is None:
            raise RequestError(f"It isn't clear which model at {self._shown} is meant: it serves {serves}; name one "
                               "behind the URL, as in http://host:8000/v1#model.")
        raise RequestError(f"There is no model {wanted!r} at {self._shown}; it serves {serves}.")

    async def _look_up(self, url: str) -> Answer:
        """What the server answers to a question about itself; what fails in passing is tried again."""
        async def attempt() -> Answer:
            try:
                answer = await self._transport.get(url, timeout_s=_LOOK_UP_S)
            except Unreachable as error:  # said at once, not after six tries: mostly the URL is wrong
                raise InfrastructureError(str(error)) from None
            except ModelTimeout:
                raise InfrastructureError(f"{self._shown} gave no answer within {_LOOK_UP_S:g} s; wait until it is "
                                          "ready, or correct its URL.") from None
            if answer.refusal.failure is Failure.PASSING:
                raise self._transport.error(answer.refusal, answer.headers)
            return answer

        answer, _ = await self._retry.persist(attempt)
        return answer


def _changes(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a server says of itself otherwise than before; what it doesn't tell this time is no change."""
    return ", ".join(f"{key}: {before[key]} before, {after[key]} now" for key in before
                     if after.get(key) not in (None, before[key]))


def _checkpoint_name(root: str) -> str:
    """A checkpoint as its hub names it, or the last part of its folder: where it lies on a server concerns no log."""
    return root.rstrip("/").rpartition("/")[2] if root.startswith(("/", ".", "~")) else root
