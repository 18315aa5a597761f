"""An OpenAI-compatible server with a scripted model behind it, that fails as often and in the ways it is told to.

Which call fails, and how, follows from the seed, the request's own bytes and how often it was asked before: the same
study meets the same faults, whatever its concurrency. Run as a program it serves until it is killed.
"""

import argparse
import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import web

from artifact.log.faults import Fault
from artifact.log.records import Message
from artifact.models.scripted import scripted_model
from chat_server import Says, completion, error

MODEL = "scripted"

_HALF_REPLY = completion("never heard in full").body[:40]

Make = Callable[[Says], Says]
"""A fault: what is said instead of the answer."""

FAULTS: dict[str, Make] = {
    "429": lambda answer: error(429, "Rate limit reached for requests"),
    "429, retry after": lambda answer: error(429, "busy", headers={"Retry-After": "0.01"}),
    "500": lambda answer: error(500, "EngineCore encountered an issue"),
    "503": lambda answer: error(503, "Loading model", headers={"Retry-After": "0"}),
    "cut before": lambda answer: Says(answer.body, cut="before"),
    "cut within": lambda answer: Says(answer.body, cut="within"),
    "cut after": lambda answer: Says(answer.body, cut="after"),
    "stall": lambda answer: Says(answer.body, after_s=3600),
    "wrong JSON": lambda answer: Says(_HALF_REPLY),
    "a page": lambda answer: Says(b"<html><h1>It works!</h1></html>"),
    "empty choices": lambda answer: Says(b'{"choices":[]}'),
    "null content": lambda answer: completion(None),
    "huge": lambda answer: Says(b" " * (2**24 + 1)),
    "invalid UTF-8": lambda answer: Says(answer.body.replace(b'"content":"', b'"content":"\xff\xfe', 1)),
    "aborted": lambda answer: completion("I was", finish="abort"),
    "error in 200": lambda answer: Says(b'{"error":{"message":"upstream is gone","code":502}}'),
    "length": lambda answer: completion("I was ab", finish="length", usage={"completion_tokens": 3}),
    "overflow of vllm": lambda answer: error(
        400, "This model's maximum context length is 4096 tokens. However, you requested 4100 tokens."),
    "overflow of llama.cpp": lambda answer: error(
        400, "request (431 tokens) exceeds the available context size (256 tokens), try increasing it",
        type="exceed_context_size_error"),
    "overflow of openai": lambda answer: error(400, "Your input exceeds the context window of this model.",
                                               code="context_length_exceeded"),
}

# What each is counted as; a cut after the whole body harms nobody but the next call on that connection.
COUNTED_AS: dict[str, Fault | None] = {
    "429": Fault.RATE_LIMIT, "429, retry after": Fault.RATE_LIMIT, "500": Fault.SERVER_ERROR,
    "503": Fault.UNAVAILABLE, "cut before": Fault.CONNECTION, "cut within": Fault.CONNECTION, "cut after": None,
    "stall": Fault.TIMEOUT, "wrong JSON": Fault.MALFORMED, "a page": Fault.MALFORMED,
    "empty choices": Fault.NO_CHOICE, "null content": Fault.NO_CONTENT, "huge": Fault.OVERSIZED,
    "invalid UTF-8": Fault.MALFORMED, "aborted": Fault.BROKEN_OFF, "error in 200": Fault.UNAVAILABLE,
}
EXCLUDING = frozenset(FAULTS) - COUNTED_AS.keys()
"""What no second try can help: the episode ends with a reason."""

# A stall costs its whole timeout and a huge reply its 16 MiB: rare, but there.
_RARE = frozenset({"stall", "huge"})


def rates(faulty: float, *, excluding: float = 0.0) -> dict[str, float]:
    """Rates of all faults, together `faulty`; those that end an episode have `excluding` of all calls."""
    often = [name for name in COUNTED_AS if name not in _RARE]
    rare = 0.002
    return {**dict.fromkeys(often, (faulty - excluding - len(_RARE) * rare) / len(often)), **dict.fromkeys(_RARE, rare),
            **dict.fromkeys(EXCLUDING, excluding / len(EXCLUDING))}


class ChaosServer:
    """Serves the scripted model of a specification, with faults at the given rates, and counts what it did."""

    def __init__(self, specification: str, faults: Mapping[str, float] | None = None, *, seed: int = 0,
                 port: int = 0, version: str = "0.0-scripted", stalled_after: int | None = None) -> None:
        self._model = scripted_model(specification)
        self._faults = dict(faults or {})
        self._seed, self._port, self._version = seed, port, version
        self._stalled_after = stalled_after
        self._asked: Counter[str] = Counter()
        self.did: Counter[str] = Counter()

    async def __aenter__(self) -> "ChaosServer":
        app = web.Application(client_max_size=2**26)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/version", self._tell_version)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "vllm",
                                                              "max_model_len": 32768}]})

    async def _tell_version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": self._version})

    def _draw(self, body: bytes) -> str | None:
        """The fault of this call, if any."""
        if self._stalled_after is not None and self.did.total() >= self._stalled_after:
            return "stall"
        digest = hashlib.sha256(body).hexdigest()
        self._asked[digest] += 1
        draw = random.Random(f"{self._seed}:{digest}:{self._asked[digest]}").random()
        for name, rate in self._faults.items():
            draw -= rate
            if draw < 0:
                return name
        return None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        fault = self._draw(body)
        self.did[fault or "answered"] += 1
        says = await self._scripted(orjson.loads(body))
        if fault is not None:
            says = FAULTS[fault](says)
        await asyncio.sleep(says.after_s)
        if request.transport is None:  # the client is gone
            return web.Response()
        if says.cut == "before":
            request.transport.abort()
        response = web.StreamResponse(status=says.status, headers={
            "Content-Type": "application/json", "Content-Length": str(len(says.body)), **says.headers})
        await response.prepare(request)
        await response.write(says.body[:len(says.body) // 2] if says.cut == "within" else says.body)
        if says.cut is not None:
            request.transport.close()
        return response

    async def _scripted(self, asked: dict[str, Any]) -> Says:
        messages = [Message(**message) for message in asked["messages"]]
        schema = asked.get("response_format", {}).get("json_schema", {}).get("schema")
        reply = await self._model.complete(messages, max_tokens=asked["max_tokens"], schema=schema)
        return completion(reply.text, usage={
            "prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens}})


async def _serve(options: argparse.Namespace) -> None:
    faults = rates(options.faulty, excluding=options.excluding) if options.faulty else {}
    async with ChaosServer(options.model, faults, seed=options.seed, port=options.port,
                           version=options.version, stalled_after=options.stalled_after) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="reader?directive=0.8&transcript=0.5", help="the scripted policy")
    parser.add_argument("--faulty", type=float, default=0.0, help="share of calls that fail")
    parser.add_argument("--excluding", type=float, default=0.0, help="share of calls that end their episode")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stalled-after", type=int, metavar="CALLS", help="answer so many calls, and none after them")
    parser.add_argument("--version", default="0.0-scripted", help="what the server calls its version")
    asyncio.run(_serve(parser.parse_args()))
