"""The embedded engine: llama.cpp's server inside this process, on weights whose hash was checked.

Invariant: with one conversation slot and greedy decoding, a conversation's replies depend on the conversation alone,
neither on what the engine answered before nor on whether the conversation was taken up after a crash.

That takes more than a deterministic engine. Rounding depends on how a token came into the prefix cache, and an
eighth of a nat is enough to turn a word. Three things make the cache not matter:

- kernels that read a token the same way wherever it stands in a batch: no repacked weights, no flash attention
  (both are slower on a CPU at that: 24.4 s of processor time for ten turns of the 1.5B model against 22.8 s);
- a newcomer shares at most the system prompt with what its slot held before;
- a conversation that began in another process is lived through again, not read, since a token that was decoded is
  not rounded like one that was read.
"""

import asyncio
import hashlib
import http.client
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.registry import ModelEntry, Regime
from artifact.models.slots import HELPER_MARK, Claim, Slot, Slots
from artifact.models.transcript import Transcript, encode_messages

DEFAULT_CONTEXT = 16384
"""Tokens a slot; 44 turns of the embedded models' replies fit several times over."""

HELPER_SLOTS = 3
"""A matcher's two questions, and one for what is asked now and then."""

BATCH = 128
"""Prompt tokens that are read at once; a call can be stopped in between."""

# Longer than the eight tokens below which a batch is read by another kernel.
_NOBODY = Message("user", "- - - - - - - - - - - -")


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
        if context is None:
            context = min(DEFAULT_CONTEXT, entry.context)
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
        self._server = _start(weights, slots=slots + HELPER_SLOTS, context=context, threads=self._threads, port=port)
        self._executor = ThreadPoolExecutor(slots + HELPER_SLOTS, thread_name_prefix="llama.cpp")
        self._properties = _get_json(self._server.listening_address, "/props")

    @property
    def url(self) -> str:
        """Base URL of the same server over HTTP, OpenAI-compatible, on this machine only."""
        return f"{self._running().listening_address}/v1"

    def identity(self) -> dict[str, Any]:
        """Weights, engine, build, slots and settings."""
        import xllamacpp

        template = self._properties.get("chat_template", "")
        assert self._entry.weights is not None
        return {
            "name": self.name,
            "engine": "llama.cpp",
            "engine_version": f"xllamacpp {xllamacpp.__version__}",
            "engine_build": dict(xllamacpp.BUILD_INFO),
            "cpu_features": xllamacpp.get_system_info().strip(),
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
        async with claim.slot.lock:
            started = time.perf_counter()
            shared = await self._admit(claim, messages, options) if claim.newcomer and self._isolates(session) else None
            if self._is_taken_up(messages, session, temperature):
                for index in (index for index, message in enumerate(messages) if message.role == "assistant"):
                    await self._answer(claim.slot, messages[:index], options)
                started = time.perf_counter()
            reply = self._reply(await self._answer(claim.slot, messages, options), max_tokens)
        cached = reply.cached_tokens if shared is None else min(shared, reply.cached_tokens)
        return replace(reply, cached_tokens=cached, latency_s=time.perf_counter() - started)

    async def close(self) -> None:
        """Stop the engine and free its memory."""
        if self._server is not None:
            server, self._server = self._server, None
            self._executor.shutdown(wait=True)
            del server

    def _running(self) -> Any:
        if self._server is None:
            raise ModelError(f"The embedded engine of {self.name} was closed; open the model again.")
        return self._server

    def _isolates(self, session: str | None) -> bool:
        return self._slots.conversations == 1 and HELPER_MARK not in (session or "")

    async def _admit(self, claim: Claim, messages: Sequence[Message], options: dict[str, Any]) -> int:
        """Leave nothing in the slot but the newcomer's system prompt; tells how much of that was cached already.

        The slot is asked for a reply of no tokens to a conversation that has but the system prompt in common.
        """
        opening = [message for message in messages[:1] if message.role == "system"]
        call = await self._answer(claim.slot, [*opening, _NOBODY], {**options, "max_tokens": 0})
        return int((call.usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0))

    def _is_taken_up(self, messages: Sequence[Message], session: str | None, temperature: float) -> bool:
        """Whether this is a greedy conversation that began in another process."""
        if session is None or session in self._met or not self._isolates(session):
            return False
        self._met.add(session)
        return temperature == 0 and any(message.role == "assistant" for message in messages)

    async def _answer(self, slot: Slot, messages: Sequence[Message], options: dict[str, Any]) -> "_Call":
        """Make a call in a thread; when time is up or the caller is cancelled, stop it before the slot is free."""
        encoded = messages.body if isinstance(messages, Transcript) else encode_messages(messages)
        options = {**options, "id_slot": slot.index, "cache_prompt": True, "stream": True, "return_progress": True,
                   "stream_options": {"include_usage": True}}
        call = _Call(self._running(), b'{"messages":[' + encoded + b"]," + orjson.dumps(options)[1:])
        running = asyncio.get_running_loop().run_in_executor(self._executor, call.run)
        try:
            return await asyncio.wait_for(asyncio.shield(running), self._timeout_s)
        except TimeoutError:
            raise ModelTimeout(f"{self.name} gave no full answer within {self._timeout_s:g} s; "
                               "allow more time or fewer tokens.") from None
        finally:
            call.stop()
            await asyncio.wait([running])

    def _reply(self, call: "_Call", max_tokens: int) -> Reply:
        if call.error:
            message = str(call.error.get("message", call.error))
            if call.error.get("type") == "exceed_context_size_error":
                raise ContextOverflow(f"The prompt is too long for {self.name}: {message}.")
            raise ModelError(f"The embedded engine of {self.name} refused a request: {message}.")
        reply = Reply(text="".join(call.text), reasoning="".join(call.reasoning),
                      finish_reason=FinishReason.LENGTH if call.finish == "length" else FinishReason.STOP,
                      prompt_tokens=call.usage.get("prompt_tokens", 0),
                      cached_tokens=(call.usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
                      completion_tokens=call.usage.get("completion_tokens", 0))
        if reply.finish_reason is FinishReason.LENGTH and reply.completion_tokens < max_tokens:
            raise ContextOverflow(f"{self.name} ran out of its context of {self.context} tokens after "
                                  f"{reply.completion_tokens} of {max_tokens} reply tokens.")
        return reply


class _Call:
    """One streamed call: it can be stopped between tokens, which a plain one can't."""

    def __init__(self, server: Any, body: bytes) -> None:
        self._server = server
        self._body = body
        self._stopped = threading.Event()
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish: str | None = None
        self.usage: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    def run(self) -> "_Call":
        try:
            self._server.handle_chat_completions(self._body, self._take)
        except (ValueError, RuntimeError) as error:
            self.error = {"message": str(error).splitlines()[0] if str(error) else type(error).__name__}
        return self

    def stop(self) -> None:
        self._stopped.set()

    def _take(self, chunk: bytes) -> bool:
        """Read one chunk; True tells the engine to stop."""
        data = orjson.loads(chunk)
        if "error" in data:
            self.error = data["error"]
        for choice in data.get("choices", ()):
            delta = choice["delta"]
            self.text.append(delta.get("content") or "")
            self.reasoning.append(delta.get("reasoning_content") or "")
            self.finish = choice["finish_reason"] or self.finish
        self.usage = data.get("usage") or self.usage
        return self._stopped.is_set()


def physical_cores() -> int:
    """Physical cores that this process may use; hyper-threads share their core's arithmetic."""
    try:
        allowed = os.sched_getaffinity(0)
        siblings = Path("/sys/devices/system/cpu")
        return len({(siblings / f"cpu{cpu}/topology/thread_siblings_list").read_text() for cpu in allowed})
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _start(weights: Path, *, slots: int, context: int, threads: int, port: int) -> Any:
    # OpenMP threads spin at their barriers by default: with any other process on the same cores a token then takes
    # some fifty times as long. The runtime reads this variable once, when the engine is first loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError:
        raise InfrastructureError("The embedded engine needs the package xllamacpp, which isn't installed; "
                                  "install it with: pip install xllamacpp.") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.no_extra_bufts = True
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.n_gpu_layers = 0
    params.fit_params = False
    # Prompts that leave a slot are gone: kept aside, they would be copied at every change of conversation.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.slot_prompt_similarity = 0.0
    params.port = port
    params.endpoint_props = True
    params.ui = False
    params.verbosity = -1
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise InfrastructureError(f"llama.cpp could not start on {weights.name} ({error}); check that {slots} slots "
                                  f"of {context} tokens fit into memory, or ask for a smaller context.") from None


def _get_json(address: str, path: str) -> dict[str, Any]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=10)
    try:
        connection.request("GET", path)
        answer = orjson.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, orjson.JSONDecodeError) as error:
        raise InfrastructureError(f"The embedded engine did not answer {path} ({error}).") from None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else {}
