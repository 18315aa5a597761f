"""The peers: the same conversation held through each of them, as its own documentation shows it.

Every peer is a coroutine that holds one conversation and returns the number of turns answered, made by a factory
that opens what its conversations share. A factory imports what it needs, so that a peer that isn't installed raises
ImportError and nothing else is loaded beside the one that is measured.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bench.script import MAX_TOKENS, Script

Converse = Callable[[int], Awaitable[int]]
"""Holds the conversation of this number."""

Peer = Callable[[str, Script], AbstractAsyncContextManager[Converse]]
"""Opens a peer on a server's URL."""

_BODY: dict[str, Any] = {"model": "mock", "max_tokens": MAX_TOKENS, "temperature": 0.0}
_JSON = {"Content-Type": "application/json"}


async def _hold(script: Script, answer: Callable[[list[dict[str, str]]], Awaitable[str]]) -> int:
    messages, turns = script.opening(), 0
    for request in script:
        messages.append(request)
        messages.append({"role": "assistant", "content": await answer(messages)})
        turns += 1
    return turns


@asynccontextmanager
async def langgraph(url: str, script: Script) -> AsyncIterator[Converse]:
    """A graph of one node that calls the openai client, checkpoints in memory."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from openai import AsyncOpenAI

    roles = {"system": "system", "human": "user", "ai": "assistant"}
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        async def agent(state: MessagesState) -> dict[str, Any]:
            messages = [{"role": roles[message.type], "content": message.content} for message in state["messages"]]
            completion = await client.chat.completions.create(messages=messages, **_BODY)  # type: ignore[arg-type]
            return {"messages": [{"role": "assistant", "content": completion.choices[0].message.content}]}

        builder = StateGraph(MessagesState)
        builder.add_node("agent", agent)
        builder.add_edge(START, "agent")
        graph = builder.compile(checkpointer=InMemorySaver())

        async def converse(number: int) -> int:
            fresh, turns = script.opening(), 0
            for request in script:
                await graph.ainvoke({"messages": [*fresh, request]}, {"configurable": {"thread_id": str(number)}})
                fresh, turns = [], turns + 1
            return turns
        yield converse


@asynccontextmanager
async def openai_messages(url: str, script: Script) -> AsyncIterator[Converse]:
    """The openai client, messages as a keyword."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        async def answer(messages: list[dict[str, str]]) -> str:
            completion = await client.chat.completions.create(messages=messages, **_BODY)  # type: ignore[arg-type]
            return completion.choices[0].message.content or ""
        yield lambda number: _hold(script, answer)


@asynccontextmanager
async def openai_extra_body(url: str, script: Script) -> AsyncIterator[Converse]:
    """The openai client, messages past its validation."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        async def answer(messages: list[dict[str, str]]) -> str:
            completion = await client.chat.completions.create(messages=[], extra_body={"messages": messages}, **_BODY)
            return completion.choices[0].message.content or ""
        yield lambda number: _hold(script, answer)


@asynccontextmanager
async def httpx(url: str, script: Script) -> AsyncIterator[Converse]:
    """httpx as it comes."""
    import httpx as library

    limits = library.Limits(max_connections=None, max_keepalive_connections=None)
    async with library.AsyncClient(limits=limits, timeout=900) as client:
        async def answer(messages: list[dict[str, str]]) -> str:
            response = await client.post(f"{url}/chat/completions", json={"messages": messages, **_BODY})
            return str(response.json()["choices"][0]["message"]["content"])
        yield lambda number: _hold(script, answer)


@asynccontextmanager
async def aiohttp(url: str, script: Script) -> AsyncIterator[Converse]:
    """aiohttp as it comes: json of the standard library."""
    import aiohttp as library

    async with library.ClientSession(connector=library.TCPConnector(limit=0)) as session:
        async def answer(messages: list[dict[str, str]]) -> str:
            async with session.post(f"{url}/chat/completions", json={"messages": messages, **_BODY}) as response:
                return str((await response.json())["choices"][0]["message"]["content"])
        yield lambda number: _hold(script, answer)


@asynccontextmanager
async def aiohttp_orjson(url: str, script: Script) -> AsyncIterator[Converse]:
    """aiohttp with orjson; measured on uvloop."""
    import aiohttp as library
    import orjson

    async with library.ClientSession(connector=library.TCPConnector(limit=0)) as session:
        async def answer(messages: list[dict[str, str]]) -> str:
            body = orjson.dumps({"messages": messages, **_BODY})
            async with session.post(f"{url}/chat/completions", data=body, headers=_JSON) as response:
                return str(orjson.loads(await response.read())["choices"][0]["message"]["content"])
        yield lambda number: _hold(script, answer)


@asynccontextmanager
async def aiohttp_incremental(url: str, script: Script) -> AsyncIterator[Converse]:
    """The same, the body of a turn being that of the last one with what is new appended."""
    import aiohttp as library
    import orjson

    tail = b"]," + orjson.dumps(_BODY)[1:]
    async with library.ClientSession(connector=library.TCPConnector(limit=0)) as session:
        async def converse(number: int) -> int:
            body, turns = bytearray(b'{"messages":[' + orjson.dumps(script.opening()[0])), 0
            for request in script:
                body += b"," + orjson.dumps(request)
                async with session.post(f"{url}/chat/completions", data=bytes(body + tail), headers=_JSON) as response:
                    reply = orjson.loads(await response.read())["choices"][0]["message"]
                body += b"," + orjson.dumps({"role": "assistant", "content": reply["content"]})
                turns += 1
            return turns
        yield converse
