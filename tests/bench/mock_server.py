"""A chat server that costs next to nothing: it finds where a request ends and sends bytes that were built before.

It runs in a process of its own (`python -m bench.mock_server LATENCY_S`), prints its port, and ends with its
standard input.
"""

import asyncio
import contextlib
import sys
from typing import cast

import orjson

REPLY = ("The request concerns a step whose prerequisites I have checked against the plan, and I have recorded it with "
         "the project office as you asked. The earlier confirmation was ref RC-2048/#W1234; nothing else is open.")
"""What it always says: a reply of ordinary length, with a redisplay in it that books nothing."""

_USAGE = {"prompt_tokens": 1000, "completion_tokens": 48, "total_tokens": 1048,
          "prompt_tokens_details": {"cached_tokens": 950}}
_COMPLETION = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "mock", "usage": _USAGE,
               "choices": [{"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}]}
_MODELS = {"object": "list", "data": [{"id": "mock", "object": "model", "created": 1, "owned_by": "mock"}]}


def _answer(content: object) -> bytes:
    body = orjson.dumps(content)
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)) + body


ANSWER, _LISTING = _answer(_COMPLETION), _answer(_MODELS)


class _Connection(asyncio.Protocol):
    """One connection; a client sends its next request after the answer to the last one."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._head = b""
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are no subclass of it
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
            if not self._missing:
                self._send(ANSWER)
            return
        self._head += data
        end = self._head.find(b"\r\n\r\n") + 4
        if end < 4:
            return
        head, self._head, received = self._head[:end].lower(), b"", len(self._head) - end
        if head.startswith(b"get "):
            self._send(_LISTING)
            return
        at = head.index(b"content-length:") + len(b"content-length:")
        self._missing = int(head[at:head.index(b"\r", at)]) - received
        if not self._missing:
            self._send(ANSWER)

    def _send(self, answer: bytes) -> None:
        if self._latency_s:
            self._loop.call_later(self._latency_s, self._transport.write, answer)
        else:
            self._transport.write(answer)


async def _serve(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    with contextlib.suppress(ImportError):
        import uvloop
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(_serve(float(sys.argv[1])))


if __name__ == "__main__":
    main()
