"""Episodes an hour on a real engine at several concurrencies, what comes from the prefix cache, and the engine's limit.

    PYTHONPATH=tests python -m bench.engine_throughput MODEL [--engine llamacpp|vllm] [--concurrency 1,4,16,32]
                                                       [--turns 44] [--size 5] [--prompts fewshot]

Each line is a study of all four rungs through the full runner: generation, arms, compiles, matches, log, fsync. With
fewer than 44 turns the conversations are broken off after so many, and the hour is one of episodes of that many turns
times 44: opening turns are then overrepresented, the same in each line.

The limit is what the engine does with the same calls and nobody behind them, as many at a time as its best line had.
llama.cpp is asked by a bare loop over its embedded engine. vLLM runs them offline, in its own environment, all handed
over at once. Replies have the recorded lengths. Both engines run on the CPU.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from artifact.arms import RUNGS
from artifact.generator import TURNS
from artifact.log import iter_logs
from artifact.log.records import Message
from artifact.models import ChatModel, open_model
from artifact.models.base import ContextOverflow, Reply
from artifact.models.checkpoint import checkpoint_of
from artifact.models.llamacpp import LlamaCpp
from artifact.models.registry import ModelEntry, find_model
from artifact.models.vllm_environment import vllm_python
from artifact.models.vllm_server import VllmSettings, cpu_cache_gib, vllm_server, vllm_variables
from artifact.models.weights import checked_weights
from artifact.runner import StudyPlan, run_study_async

_CONTEXT, _PORT = 8192, 8399
_OFFLINE = Path(__file__).with_name("vllm_offline.py")


@dataclass(frozen=True)
class Recorded:
    """One call: what was asked in which conversation, and how long the answer was in tokens."""

    conversation: str
    session: str
    messages: tuple[Message, ...]
    schema: dict[str, Any] | None
    tokens: int


class Overheard:
    """A model that keeps what it was asked, and breaks a conversation off after so many turns.

    Parameters
    ----------
    model : ChatModel
        Who answers.
    turns : int
        Turns of a conversation.
    """

    def __init__(self, model: ChatModel, turns: int) -> None:
        self.name, self.identity, self.close = model.name, model.identity, model.close
        self._model, self._turns = model, turns
        self._answered: defaultdict[str, int] = defaultdict(int)
        self.calls: list[Recorded] = []

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer, or raise ContextOverflow when the conversation has had its turns."""
        session = session or ""
        conversation = session.partition(":state/")[0]
        if session == conversation:
            if self._answered[session] == self._turns:
                raise ContextOverflow(f"broken off after {self._turns} turns")
            self._answered[session] += 1
        reply = await self._model.complete(messages, max_tokens=max_tokens, temperature=temperature, seed=seed,
                                           session=session, schema=schema)
        self.calls.append(Recorded(conversation, session, tuple(messages), schema, reply.completion_tokens))
        return reply


@dataclass(frozen=True)
class Line:
    """What a concurrency gave.

    Parameters
    ----------
    concurrency, turns : int
        Conversations at a time; turns answered in all.
    wall_s : float
        Seconds, model loaded and prompts not yet read.
    cached : dict of str to float
        For each arm the share of its conversations' prompt tokens that came from the prefix cache.
    calls : list of Recorded
        All calls, helper calls included, in the order of their answers.
    """

    concurrency: int
    turns: int
    wall_s: float
    cached: dict[str, float]
    calls: list[Recorded]

    @property
    def episodes_an_hour(self) -> float:
        """Episodes of 44 turns an hour."""
        return self.turns / TURNS / self.wall_s * 3600


async def measure(model: ChatModel, concurrency: int, *, turns: int, size: int, prompts: str) -> Line:
    """Run each rung on as many seeds as it takes to keep so many conversations busy."""
    plan = StudyPlan("bench", model.name, sizes=(size,), prompts=prompts,
                     seeds=tuple(range(100, 100 + -(-concurrency // len(RUNGS)))))
    overheard = Overheard(model, turns)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        await run_study_async(plan, runs=Path(folder), concurrency=concurrency, model=overheard)
        wall = time.perf_counter() - started
        answered, prompt, cached = 0, defaultdict[str, int](int), defaultdict[str, int](int)
        for log in iter_logs([Path(folder)]):
            answered += len(log.turns)
            prompt[log.header.arm.name] += sum(turn.usage.prompt for turn in log.turns)
            cached[log.header.arm.name] += sum(turn.usage.cached for turn in log.turns)
    shares = {arm: cached[arm] / prompt[arm] for arm in RUNGS if prompt[arm]}
    return Line(concurrency, answered, wall, shares, overheard.calls)


async def bare_loop(model: ChatModel, calls: Sequence[Recorded], concurrency: int) -> float:
    """Seconds that the calls take in a bare loop, each conversation's in their order, so many at a time."""
    conversations: defaultdict[str, list[Recorded]] = defaultdict(list)
    for call in calls:
        conversations[call.conversation].append(call)
    waiting = iter(conversations.values())

    async def worker() -> None:
        for conversation in waiting:
            for call in conversation:
                await model.complete(call.messages, max_tokens=max(1, call.tokens), session=f"bare {call.session}",
                                     schema=call.schema)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return time.perf_counter() - started


def vllm_offline(entry: ModelEntry, calls: Sequence[Recorded], concurrency: int) -> float:
    """Seconds that vLLM takes for the calls when they are handed over all at once, in its own environment."""
    python = vllm_python("cpu")
    checkpoint = checkpoint_of(entry, python)
    cache = cpu_cache_gib(checkpoint, concurrency * _CONTEXT)
    variables = {**vllm_variables(VllmSettings("cpu")), "VLLM_CPU_KVCACHE_SPACE": str(cache)}
    asked = {"checkpoint": str(checkpoint), "context": _CONTEXT, "sequences": concurrency,
             "calls": [{"messages": [asdict(message) for message in call.messages], "tokens": max(1, call.tokens)}
                       for call in calls]}
    done = subprocess.run([str(python), str(_OFFLINE)], input=json.dumps(asked), stdout=subprocess.PIPE, text=True,
                          check=True, env=os.environ | variables)
    return next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("seconds "))


@contextlib.asynccontextmanager
async def _opened(entry: ModelEntry, engine: str, concurrency: int) -> AsyncIterator[ChatModel]:
    """An engine that nothing was asked of yet, for so many conversations at a time."""
    async with contextlib.AsyncExitStack() as stack:
        if engine == "llamacpp":
            model: ChatModel = LlamaCpp(entry, checked_weights(entry), slots=concurrency, context=_CONTEXT)
        else:
            settings = VllmSettings("cpu", port=_PORT, context=_CONTEXT, sequences=concurrency)
            server = stack.enter_context(vllm_server(entry, settings))
            model = await open_model(f"{server.url}#{server.model}")
        stack.push_async_callback(model.close)
        yield model


async def _lines(entry: ModelEntry, options: argparse.Namespace) -> list[Line]:
    found = []
    for concurrency in options.concurrency:
        async with _opened(entry, options.engine, concurrency) as model:
            line = await measure(model, concurrency, turns=options.turns, size=options.size, prompts=options.prompts)
        print(_row(line), flush=True)
        found.append(line)
    return found


async def _limit(entry: ModelEntry, engine: str, line: Line) -> float:
    if engine == "vllm":
        return vllm_offline(entry, line.calls, line.concurrency)
    async with _opened(entry, engine, line.concurrency) as model:
        return await bare_loop(model, line.calls, line.concurrency)


def _row(line: Line) -> str:
    shares = "  ".join(f"{arm} {share:.1%}" for arm, share in line.cached.items())
    return (f"{line.concurrency:>3} at a time: {line.turns:>5} turns in {line.wall_s:6.1f} s, "
            f"{line.episodes_an_hour:6.1f} episodes an hour; from the cache: {shares}")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> int:
    """Measure, and print a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--engine", choices=("llamacpp", "vllm"), default="llamacpp")
    parser.add_argument("--concurrency", type=_numbers, default=[1, 4, 16, 32], metavar="N,N,...")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of a conversation (default: all)")
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--prompts", default="fewshot")
    options = parser.parse_args()
    entry = find_model(options.model)
    print(f"{entry.title} on {options.engine}, S={options.size}, {options.turns} turns a conversation, rungs "
          f"{', '.join(RUNGS)}", flush=True)
    best = max(asyncio.run(_lines(entry, options)), key=lambda line: line.episodes_an_hour)
    limit = asyncio.run(_limit(entry, options.engine, best))
    print(f"the engine alone, {best.concurrency} at a time: {limit:.1f} s for the calls that took {best.wall_s:.1f} s "
          f"through the runner, which reaches {limit / best.wall_s:.1%} of its throughput")
    return 0


if __name__ == "__main__":
    sys.exit(main())
