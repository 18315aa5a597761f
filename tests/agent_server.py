"""A scripted agent behind a real OpenAI-compatible server, in a thread: for what runs in other processes."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import orjson
from aiohttp import web

from artifact.log.records import Message
from artifact.models.scripted import ScriptedModel, scripted_model


class AgentServer:
    """Answers as a scripted policy does, after a while, and remembers in which conversations it was called."""

    def __init__(self, policy: str) -> None:
        self._model: ScriptedModel = scripted_model(policy)
        self.conversations: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            cards = [{"id": "agent", "owned_by": "vllm", "max_model_len": 32768}]
            return web.json_response({"data": cards}) if request.path == "/v1/models" else web.Response(status=404)
        body = orjson.loads(await request.read())
        messages = [Message(**message) for message in body["messages"]]
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema is None:  # the brief of each seed is another
            self.conversations.append(messages[0].content)
        reply = await self._model.complete(messages, max_tokens=body["max_tokens"], schema=schema)
        usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
        choice = {"message": {"role": "assistant", "content": reply.text}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": usage})


@contextmanager
def agent_servers(policy: str, count: int = 1) -> Iterator[list[AgentServer]]:
    """Servers in a loop and a thread of their own."""
    servers = [AgentServer(policy) for _ in range(count)]
    loop = asyncio.new_event_loop()
    runners = []

    async def start() -> None:
        for server in servers:
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", server.answer)
            runner = web.AppRunner(app, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            runners.append(runner)

    async def stop() -> None:
        for runner in runners:
            await runner.cleanup()

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    with ExitStack() as stack:
        stack.callback(loop.close)
        thread.start()
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, loop.stop)
        asyncio.run_coroutine_threadsafe(start(), loop).result()
        stack.callback(lambda: asyncio.run_coroutine_threadsafe(stop(), loop).result())
        yield servers
