"""The floor: sockets and a selector, bodies of bytes that only grow, no parsing beyond where an answer ends."""

import selectors
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import orjson

from bench.mock_server import ANSWER, REPLY
from bench.script import MAX_TOKENS, Script

_TAIL = b'],"model":"mock","max_tokens":%d,"temperature":0.0}' % MAX_TOKENS


@dataclass(eq=False)
class _Talk:
    """A connection and the conversation on it."""

    connection: socket.socket
    body: bytearray = field(default_factory=bytearray)
    turn: int = 0
    received: int = 0


def converse(url: str, script: Script, episodes: int, concurrency: int) -> int:
    """Hold so many conversations, so many at a time, and return the turns answered."""
    where = urlsplit(url)
    head = f"POST {where.path}/chat/completions HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    opening = b'{"messages":[' + orjson.dumps(script.opening()[0])
    requests = [b"," + orjson.dumps(request) for request in script]
    reply = b"," + orjson.dumps({"role": "assistant", "content": REPLY})
    waiting = iter(range(episodes))
    turns = 0

    def send(talk: _Talk) -> None:
        talk.body += requests[talk.turn]
        length = len(talk.body) + len(_TAIL)
        talk.connection.sendall(b"%sContent-Length: %d\r\n\r\n%s%s" % (head.encode(), length, talk.body, _TAIL))

    def begin(talk: _Talk, numbers: Iterator[int]) -> bool:
        if next(numbers, None) is None:
            return False
        talk.body, talk.turn = bytearray(opening), 0
        send(talk)
        return True

    with selectors.DefaultSelector() as selector:
        for _ in range(min(concurrency, episodes)):
            talk = _Talk(socket.create_connection((where.hostname, where.port)))
            talk.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(talk.connection, selectors.EVENT_READ, talk)
            begin(talk, waiting)
        while selector.get_map():
            for key, _ in selector.select():
                talk = key.data
                talk.received += len(talk.connection.recv(65536))
                if talk.received < len(ANSWER):
                    continue
                talk.received, talk.turn = 0, talk.turn + 1
                turns += 1
                talk.body += reply
                if talk.turn < len(requests):
                    send(talk)
                elif not begin(talk, waiting):
                    selector.unregister(talk.connection)
                    talk.connection.close()
    return turns
