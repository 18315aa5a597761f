"""An OpenAI-compatible server on this machine that answers from a script and remembers what it was asked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from aiohttp import web

from artifact.models.retry import RetryPolicy

QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002)

T = TypeVar("T")


@dataclass
class Says:
    """An HTTP answer, and how it is cut: ``before`` (no answer at all), ``within`` the body, or not."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: str | None = None
    after_s: float = 0.0


def completion(text: str | None = "ref RC-2048/#W1234", *, finish: str | None = "stop",
               message: dict[str, Any] | None = None, **more: Any) -> Says:
    """A reply in the protocol's shape."""
    said = {"role": "assistant", "content": text} | (message or {})
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return Says(orjson.dumps({"id": "c-1", "object": "chat.completion", "choices": [choice]} | more))


def error(status: int, message: str = "no", *, headers: dict[str, str] | None = None, **more: Any) -> Says:
    """A refusal in the protocol's shape."""
    return Says(orjson.dumps({"error": {"message": message, "code": status} | more}), status, headers or {})


@dataclass
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class ChatServer:
    """Answers calls from a list, the last one again and again, and everything else from `pages`."""

    def __init__(self, *says: Says, owner: str = "vllm", models: tuple[str, ...] = ("qwen",),
                 pages: dict[str, Says] | None = None, **card: Any) -> None:
        self.says = list(says) or [completion()]
        listing = {"object": "list", "data": [{"id": name, "object": "model", "owned_by": owner} | card
                                              for name in models]}
        self.pages = {"/v1/models": Says(orjson.dumps(listing))} | (pages or {})
        self.asked: list[Asked] = []

    @property
    def calls(self) -> list[Asked]:
        """The chat calls among what was asked."""
        return [asked for asked in self.asked if asked.method == "POST"]

    async def __aenter__(self) -> "ChatServer":
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.address = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.url = f"http://{self.address}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(Asked(request.method, request.path, dict(request.headers), await request.read()))
        if request.method == "POST":
            says = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        else:
            says = self.pages.get(request.path, error(404, "Not Found"))
        await asyncio.sleep(says.after_s)
        if says.cut == "before":
            assert request.transport is not None
            request.transport.abort()
        headers = {"Content-Type": "application/json"} | says.headers
        if says.cut != "within":
            return web.Response(status=says.status, body=says.body, headers=headers)
        response = web.StreamResponse(status=says.status, headers={**headers, "Content-Length": str(len(says.body))})
        await response.prepare(request)
        await response.write(says.body[:len(says.body) // 2])
        assert request.transport is not None
        request.transport.close()
        return response


def with_server(talk: Callable[[ChatServer], Awaitable[T]], *says: Says, **how: Any) -> T:
    """Start a server, talk to it, stop it."""
    async def run() -> T:
        async with ChatServer(*says, **how) as server:
            return await talk(server)
    return asyncio.run(run())
