"""The embedded model: llama.cpp inside this process, on weights whose hash was checked.

Invariant: with one conversation slot and greedy decoding, a conversation's replies depend on the conversation alone,
neither on what the engine answered before nor on whether the conversation was taken up after a crash.

That takes more than a deterministic engine. How a token's state is rounded depends on how it came into the prefix
cache, and the difference, up to an eighth of a nat, is enough to turn a word. Three things make it not matter:

- kernels that read a token the same way wherever it stands in a batch: no repacked weights, no flash attention. Both
  also cost more on a CPU than they save at this size;
- a newcomer shares at most the system prompt with what its slot held before;
- a conversation that began in another process is lived through again, not read, since a token that was decoded is
  not rounded like one that was read.
"""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.engine import (
    BATCH,
    SMALL_BATCH,
    EngineCall,
    engine_build,
    engine_properties,
    physical_cores,
    start_engine,
)
from artifact.models.registry import ModelEntry, Regime
from artifact.models.slots import HELPER_MARK, Slot, Slots
from artifact.models.transcript import Transcript, encode_messages

DEFAULT_CONTEXT = 16384
"""Tokens a slot; 44 turns of the embedded models' replies fit several times over."""

HELPER_SLOTS = 3
"""A matcher's two questions, and one for what is asked now and then."""

_NOBODY = Message("user", " -" * 2 * SMALL_BATCH)


class LlamaCpp:
    """A model of the registry, answered by llama.cpp in this process.

    Parameters
    ----------
    entry : ModelEntry
        The registry's entry.
    weights : Path
        The file with the entry's hash, already checked.
    slots : int
        Conversations that are held at once; one is the reproducible default, since what is decoded together
        changes the arithmetic. Helper calls have `HELPER_SLOTS` more.
    context : int or None
        Tokens a slot; None takes `DEFAULT_CONTEXT`, or the model's own limit where that is less.
    threads : int or None
        Threads of the arithmetic; None takes the physical cores that this process may use.
    regime : Regime
        The regime, where the model has a switch.
    timeout_s : float
        Longest time of one call in seconds.
    port : int
        Port of the HTTP side, on this machine only; 0 takes a free one.
    """

    def __init__(self, entry: ModelEntry, weights: Path, *, slots: int = 1, context: int | None = None,
                 threads: int | None = None, regime: Regime = Regime.NO_THINK, timeout_s: float = 900.0,
                 port: int = 0) -> None:
        if slots < 1:
            raise RequestError(f"{slots} conversation slots were asked for; the embedded engine needs at least 1.")
        context = min(DEFAULT_CONTEXT, entry.context) if context is None else context
        if not 0 < context <= entry.context:
            raise RequestError(f"A context of {context} tokens was asked for, but {entry.name} takes 1 to "
                               f"{entry.context}; choose one in that range.")
        self.name = entry.name
        self.context = context
        self._entry = entry
        self._regime = regime
        self._regime_body = entry.regime_body(regime)
        self._timeout_s = timeout_s
        self._threads = threads or physical_cores()
        self._slots = Slots(slots, HELPER_SLOTS)
        self._met: set[str] = set()
        self._calls: set[EngineCall] = set()
        in_all = slots + HELPER_SLOTS
        self._server = start_engine(weights, entry.name, slots=in_all, context=context, threads=self._threads,
                                    port=port)
        self._executor = ThreadPoolExecutor(in_all, thread_name_prefix="llama.cpp")
        self._properties = engine_properties(self._server)

    @property
    def url(self) -> str:
        """Base URL of the same engine over HTTP, OpenAI-compatible, on this machine only."""
        return f"{self._running().listening_address}/v1"

    def identity(self) -> dict[str, Any]:
        """Weights, engine, build, slots and settings."""
        template = self._properties.get("chat_template", "")
        assert self._entry.weights is not None
        return {
            "name": self.name,
            **engine_build(),
            "weights_sha256": self._entry.weights.sha256,
            "weights_size": self._entry.weights.size,
            "quantization": self._properties.get("model_ftype", self._entry.quantization),
            "chat_template_sha256": hashlib.sha256(template.encode()).hexdigest() if template else None,
            "slots": self._slots.conversations,
            "helper_slots": self._slots.helpers,
            "context": self.context,
            "batch": BATCH,
            "flash_attention": False,
            "repacked_weights": False,
            "threads": self._threads,
            "regime": str(self._regime),
        }

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer in the session's slot; see `ChatModel.complete`."""
        options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature, **self._regime_body}
        if temperature > 0:
            options |= self._entry.sampling.body()
            if seed is not None:
                options["seed"] = seed
        if schema is not None:
            options["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        claim = self._slots.claim(session)
        isolated = self._slots.conversations == 1 and HELPER_MARK not in (session or "")
        async with claim.slot.lock:
            started = time.perf_counter()
            cached = None
            if isolated and claim.newcomer:
                cached = await self._admit(claim.slot, messages, options)
            if isolated and temperature == 0 and self._is_taken_up(session, messages):
                await self._live_again(claim.slot, messages, options)
                started, cached = time.perf_counter(), None
            reply = self._reply(await self._answer(claim.slot, messages, options), max_tokens)
        cached = reply.cached_tokens if cached is None else min(cached, reply.cached_tokens)
        return replace(reply, cached_tokens=cached, latency_s=time.perf_counter() - started)

    async def close(self) -> None:
        """Stop what is under way, then the engine, and free its memory."""
        server, self._server = self._server, None
        for call in self._calls:
            call.stop()
        self._executor.shutdown(wait=True)
        del server

    def _running(self) -> Any:
        if self._server is None:
            raise self._closed()
        return self._server

    def _closed(self) -> ModelError:
        return ModelError(f"The embedded engine of {self.name} was closed; open the model again.")

    async def _admit(self, slot: Slot, messages: Sequence[Message], options: dict[str, Any]) -> int:
        """Leave nothing in the slot but the newcomer's system prompt; tells how much of that was cached already.

        The slot is asked for no tokens of reply to a conversation that has but the system prompt in common.
        """
        opening = [message for message in messages[:1] if message.role == "system"]
        return (await self._answer(slot, [*opening, _NOBODY], {**options, "max_tokens": 0})).cached_tokens

    def _is_taken_up(self, session: str | None, messages: Sequence[Message]) -> bool:
        """Whether a conversation that this process meets for the first time is under way already."""
        if session is None or session in self._met:
            return False
        self._met.add(session)
        return any(message.role == "assistant" for message in messages)

    async def _live_again(self, slot: Slot, messages: Sequence[Message], options: dict[str, Any]) -> None:
        for index, message in enumerate(messages):
            if message.role == "assistant":
                await self._answer(slot, messages[:index], options)

    async def _answer(self, slot: Slot, messages: Sequence[Message], options: dict[str, Any]) -> EngineCall:
        """Make a call in a thread; when time is up or the caller is cancelled, stop it before the slot is free."""
        encoded = messages.body if isinstance(messages, Transcript) else encode_messages(messages)
        options = {**options, "id_slot": slot.index, "cache_prompt": True, "stream": True, "return_progress": True,
                   "stream_options": {"include_usage": True}}
        call = EngineCall(self._running(), b'{"messages":[' + encoded + b"]," + orjson.dumps(options)[1:])
        self._calls.add(call)
        running = asyncio.get_running_loop().run_in_executor(self._executor, call.run)
        try:
            async with asyncio.timeout(self._timeout_s):  # wait_for may swallow a cancellation before Python 3.12
                await asyncio.shield(running)
            if call.stopped:
                raise self._closed()
        except TimeoutError:
            raise ModelTimeout(f"{self.name} gave no full answer within {self._timeout_s:g} s; "
                               "allow more time or fewer tokens.") from None
        finally:
            call.stop()
            await asyncio.wait([running])
            self._calls.discard(call)
        return call

    def _reply(self, call: EngineCall, max_tokens: int) -> Reply:
        if call.error:
            message = str(call.error.get("message", call.error))
            if call.error.get("type") == "exceed_context_size_error":
                raise ContextOverflow(f"The prompt is too long for {self.name}: {message}.")
            raise ModelError(f"The embedded engine of {self.name} refused a request: {message}.")
        produced = int(call.usage.get("completion_tokens", 0))
        finish = FinishReason.LENGTH if call.finish == "length" else FinishReason.STOP
        if finish is FinishReason.LENGTH and produced < max_tokens:
            raise ContextOverflow(f"{self.name} ran out of its context of {self.context} tokens after {produced} of "
                                  f"{max_tokens} reply tokens.")
        return Reply(text="".join(call.text), reasoning="".join(call.reasoning), finish_reason=finish,
                     prompt_tokens=int(call.usage.get("prompt_tokens", 0)), cached_tokens=call.cached_tokens,
                     completion_tokens=produced)
