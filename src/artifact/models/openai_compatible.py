"""Any server that speaks the OpenAI chat protocol: a client that costs next to nothing beside the model.

Invariant: a request body is the conversation's own bytes between a few options; no message is encoded twice.
"""

import difflib
from collections.abc import Sequence
from typing import Any

import orjson

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.dialects import (
    UNKNOWN_DIALECT,
    ServedModel,
    find_dialect,
    read_models,
    read_properties,
    read_reply,
)
from artifact.models.refusals import Failure, printable, reported_error
from artifact.models.registry import ModelEntry, Regime, SchemaSupport
from artifact.models.retry import RetryPolicy
from artifact.models.target import Target
from artifact.models.transcript import Transcript, encode_messages
from artifact.models.transport import Answer, Transport, Unreachable

TIMEOUT_S = 900.0
"""Longest time of one try, in seconds (Appendix B.4)."""

_LOOK_UP_S = 30.0
_NEW_BUDGET_FIELD = "max_completion_tokens"


class OpenAICompatible:
    """A model on a server; made by `connect`, `of_entry` or `reach`."""

    def __init__(self, target: Target, transport: Transport, *, timeout_s: float, retry: RetryPolicy) -> None:
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
        self._version: str | None = None
        self._context: int | None = None

    @classmethod
    async def connect(cls, url: str, model: str | None = None, *, regime: Regime = Regime.NO_THINK,
                      timeout_s: float = TIMEOUT_S, retry: RetryPolicy | None = None) -> "OpenAICompatible":
        """Reach the server at a URL, for a model by its name there; None takes the only one. See `reach`."""
        return await cls.reach(Target(url, model, regime=regime), timeout_s=timeout_s, retry=retry)

    @classmethod
    async def of_entry(cls, entry: ModelEntry, *, regime: Regime = Regime.NO_THINK, timeout_s: float = TIMEOUT_S,
                       retry: RetryPolicy | None = None) -> "OpenAICompatible":
        """Reach the server of a registry entry, at the URL that the environment tells. See `reach`."""
        return await cls.reach(Target.of_entry(entry, regime), timeout_s=timeout_s, retry=retry)

    @classmethod
    async def reach(cls, target: Target, *, timeout_s: float = TIMEOUT_S,
                    retry: RetryPolicy | None = None) -> "OpenAICompatible":
        """Reach a server and ask what it is, before anything depends on it.

        Parameters
        ----------
        target : Target
            The server and the model.
        timeout_s : float
            Longest time of one try of a call, in seconds.
        retry : RetryPolicy or None
            How often a call is tried; None takes the usual policy.

        Raises
        ------
        InfrastructureError
            Nothing answers at the address, or nothing sound.
        RequestError
            The server refuses the key, redirects, isn't OpenAI-compatible, or doesn't serve the model.
        """
        transport = Transport(target.access())
        model = cls(target, transport, timeout_s=timeout_s, retry=retry or RetryPolicy())
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
        }

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer a conversation; see `ChatModel.complete`. The server finds its prefix cache without `session`."""
        options: dict[str, Any] = {"temperature": temperature, **self._target.regime_body}
        if temperature > 0:
            options |= self._target.sampling_body
            if seed is not None:
                options["seed"] = seed
        if schema is not None:
            options |= self._schema_body(schema)
        encoded = messages.body if isinstance(messages, Transcript) else encode_messages(messages)
        opening = b'{"model":' + orjson.dumps(self._served.name) + b',"messages":['

        async def attempt() -> Reply:
            field = self._budget_field
            body = b"".join((opening, encoded, b"],", orjson.dumps({field: max_tokens, **options})[1:]))
            return await self._ask(body, field)

        reply = await self._retry.run(attempt)
        self._check_sound(reply, max_tokens)
        return reply

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
            raise ContextOverflow(f"{who} ran out of its context, or of its own limit of a reply, after "
                                  f"{reply.completion_tokens} of {max_tokens} tokens.")
        if reply.reasoning and self._target.regime is Regime.NO_THINK and self._target.regime_body:
            raise RequestError(f"{who} was asked not to reason and sent reasoning all the same; serve it with an "
                               "engine that knows the switch in data/models.toml, or run the regime think.")

    async def _ask(self, body: bytes, budget_field: str) -> Reply:
        answer = await self._transport.post(self._chat_url, body, timeout_s=self._timeout_s)
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
            raise ModelError(f"{self._transport.who} wants the field {_NEW_BUDGET_FIELD}.", transient=True)
        raise self._transport.error(refusal, answer.headers)

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
        self._transport.who = f"{self.name} at {self._shown}"
        self._dialect = find_dialect(self._served.owner)
        self._budget_field = self._dialect.budget_field
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
