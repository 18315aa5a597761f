"""Everything that is measured side by side: peers, the floor, and our full runner.

A client takes a load (so many conversations, so many at a time, at this URL) and returns the turns that it had
answered.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from artifact.arms import ArmSpec
from artifact.runner import StudyPlan, run_study_async
from bench import floor, inspect_peer, peers
from bench.canned import Canned
from bench.script import TURNS, Script


@dataclass(frozen=True)
class Load:
    """So many conversations of 44 turns at a server, so many of them at a time; logs, if any, go into a folder."""

    url: str
    folder: Path
    script: Script
    episodes: int
    concurrency: int


@dataclass(frozen=True)
class Client:
    """One row of the table.

    Parameters
    ----------
    title : str
        As the table calls it.
    run : callable
        Takes the load on; raises ImportError where it isn't installed.
    uvloop : bool
        Measured on uvloop, and absent where that isn't installed.
    """

    title: str
    run: Callable[[Load], Awaitable[int]]
    uvloop: bool = False


def _spread(peer: peers.Peer) -> Callable[[Load], Awaitable[int]]:
    """A client whose conversations are handed to so many workers."""
    async def run(load: Load) -> int:
        numbers = iter(range(load.episodes))
        async with peer(load.url, load.script) as converse:
            async def worker() -> int:
                return sum([await converse(number) for number in numbers])
            return sum(await asyncio.gather(*(worker() for _ in range(min(load.concurrency, load.episodes)))))
    return run


async def _inspect(load: Load) -> int:
    return await inspect_peer.evaluate(load.url, load.script, load.folder, load.episodes, load.concurrency)


async def _floor(load: Load) -> int:
    return floor.converse(load.url, load.script, load.episodes, load.concurrency)


def _runner(arm: str) -> Callable[[Load], Awaitable[int]]:
    """A study of one arm: generation, arm, log, fsync; the state model of a gate arm is canned."""
    async def run(load: Load) -> int:
        plan = StudyPlan("bench", load.url, arms=(ArmSpec(arm),), seeds=tuple(range(100, 100 + load.episodes)))
        summary = await run_study_async(plan, runs=load.folder, concurrency=load.concurrency, state_model=Canned())
        return summary.ended.get("completed", 0) * TURNS
    return run


CLIENTS: dict[str, Client] = {
    "inspect_ai": Client("inspect_ai, a task with its log", _inspect),
    "langgraph": Client("LangGraph + openai client", _spread(peers.langgraph)),
    "openai": Client("openai async client, messages as keyword", _spread(peers.openai_messages)),
    "openai-extra-body": Client("openai async client, body through extra_body", _spread(peers.openai_extra_body)),
    "httpx": Client("httpx", _spread(peers.httpx)),
    "aiohttp": Client("aiohttp, stdlib json", _spread(peers.aiohttp)),
    "aiohttp-orjson": Client("aiohttp + orjson + uvloop", _spread(peers.aiohttp_orjson), uvloop=True),
    "aiohttp-incremental": Client("the same, body built incrementally", _spread(peers.aiohttp_incremental),
                                  uvloop=True),
    "floor": Client("raw socket (floor)", _floor),
    "raw": Client("our full runner, raw", _runner("raw"), uvloop=True),
    "enforcement": Client("our full runner, enforcement", _runner("enforcement"), uvloop=True),
}
