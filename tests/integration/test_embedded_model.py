"""The embedded engine on the smallest real model: plumbing, and the invariant that makes its results repeatable."""

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from typing import Any, TypeVar

import aiohttp
import orjson
import pytest

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.llamacpp import LlamaCpp
from artifact.models.registry import find_model
from artifact.models.transcript import Transcript
from artifact.models.weights import fetch

pytestmark = pytest.mark.integration

NAME = "smollm2-135m"
T = TypeVar("T")


def open_smallest(**settings: Any) -> LlamaCpp:
    try:
        weights = fetch(NAME)
    except InfrastructureError as error:
        pytest.skip(str(error))
    return LlamaCpp(find_model(NAME), weights, **{"context": 2048, "threads": 1, **settings})


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCpp]:
    opened = open_smallest()
    yield opened
    asyncio.run(opened.close())


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def wrapped() -> T:
        return await work()
    return asyncio.run(wrapped())


def user(text: str) -> list[Message]:
    return [Message("user", text)]


async def converse(model: LlamaCpp, session: str, turns: int, *,
                   helper: bool = False) -> tuple[Transcript, list[Reply]]:
    transcript, replies = Transcript([Message("system", "You tell stories in two sentences.")]), []
    for turn in range(turns):
        transcript.append(Message("user", f"Tell me about the number {turn * 17 + 3} and the sea, please."))
        replies.append(await model.complete(transcript, max_tokens=48, session=session))
        transcript.append(Message("assistant", replies[-1].text))
        if helper:
            await model.complete(user(f"Name a colour for {turn}."), max_tokens=8, session=f"{session}:state/match")
    return transcript, replies


def test_a_conversation_stays_cached_while_helper_calls_go_on_beside_it(model: LlamaCpp) -> None:
    _, replies = run(lambda: converse(model, "cached", 4, helper=True))
    for earlier, later in itertools.pairwise(replies):
        assert later.cached_tokens >= earlier.prompt_tokens + earlier.completion_tokens - 2
        assert later.prompt_tokens > later.cached_tokens
    assert all(reply.completion_tokens and reply.latency_s > 0 for reply in replies)


# Stories at which a difference in rounding is known to turn a word.
TOPICS = ("the sea", "a red door")


def opening(topic: str) -> list[Message]:
    return [Message("system", "You tell long stories."), *user(f"Tell me a story about {topic}.")]


async def tell(model: LlamaCpp, session: str, messages: list[Message]) -> Reply:
    return await model.complete(messages, max_tokens=120, session=session)


@pytest.mark.parametrize("topic", TOPICS)
def test_greedy_replies_depend_on_the_conversation_alone(model: LlamaCpp, topic: str) -> None:
    before = run(lambda: tell(model, f"{topic} first", opening(topic)))
    after = run(lambda: tell(model, f"{topic} second", opening(topic)))
    assert before.text == after.text


def test_a_conversation_taken_up_by_another_process_goes_on_as_if_uninterrupted(model: LlamaCpp) -> None:
    begun = opening("a red door")
    first = run(lambda: tell(model, "interrupted", begun))
    begun += [Message("assistant", first.text), *user("And what happened the day after?")]
    uninterrupted = run(lambda: tell(model, "interrupted", begun))
    taken_up = open_smallest()
    try:
        reply = run(lambda: tell(taken_up, "interrupted", begun))
    finally:
        asyncio.run(taken_up.close())
    assert (reply.text, reply.prompt_tokens, reply.cached_tokens) == (
        uninterrupted.text, uninterrupted.prompt_tokens, uninterrupted.cached_tokens)


def test_a_prompt_is_read_to_the_same_bits_whether_or_not_its_beginning_was_cached(model: LlamaCpp) -> None:
    async def last_token(http: aiohttp.ClientSession, messages: list[Message], cached: bool) -> tuple[Any, int]:
        body = {"messages": [asdict(message) for message in messages], "max_tokens": 1, "temperature": 0, "id_slot": 0,
                "logprobs": True, "top_logprobs": 4, "cache_prompt": cached}
        async with http.post(f"{model.url}/chat/completions", json=body) as answered:
            answer = await answered.json()
        likely = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return [token["logprob"] for token in likely], answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    async def compare() -> None:
        messages = [Message("system", "You are a project assistant. Answer briefly and precisely.")]
        async with aiohttp.ClientSession() as http:
            for turn in range(4):
                messages += user(f"Please do step {turn} now, {'really ' * turn}(#W{1000 + turn * 37}).")
                warm, reused = await last_token(http, messages, cached=True)
                cold, _ = await last_token(http, messages, cached=False)
                assert warm == cold and (reused > 0 or turn == 0)
                messages.append(Message("assistant", f"Done: ref RC-{1000 + turn * 11}. {'As you asked. ' * turn}"))
    run(compare)


def test_a_schema_is_enforced_on_a_model_that_would_not_meet_it(model: LlamaCpp) -> None:
    schema = {"title": "match", "type": "object", "properties": {"step": {"enum": ["s1", "s2", None]}},
              "required": ["step"], "additionalProperties": False}
    reply = run(lambda: model.complete(user("Tell me a story."), max_tokens=40, session="x:state", schema=schema))
    assert orjson.loads(reply.text)["step"] in ("s1", "s2", None)


def test_a_budget_that_is_used_up_is_told_and_so_is_a_context(model: LlamaCpp) -> None:
    reply = run(lambda: model.complete(user("Tell a long story."), max_tokens=5, session="budget"))
    assert (reply.finish_reason, reply.completion_tokens) == (FinishReason.LENGTH, 5)
    narrow = open_smallest(context=256)
    with pytest.raises(ContextOverflow, match="too long"):
        run(lambda: narrow.complete(user("x " * 300), max_tokens=5, session="overflow"))
    with pytest.raises(ContextOverflow, match="ran out of its context"):
        run(lambda: narrow.complete(user("Tell a very long story."), max_tokens=500, session="overflow"))
    assert run(lambda: narrow.complete(user("Say hi."), max_tokens=5, session="after")).completion_tokens
    asyncio.run(narrow.close())


def test_the_loop_stays_free_while_the_model_answers(model: LlamaCpp) -> None:
    async def count() -> int:
        call = asyncio.create_task(model.complete(user("Tell a long story."), max_tokens=60, session="free"))
        ticks = 0
        while not call.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks
    assert run(count) > 20


def test_a_cancelled_call_stops_at_once_and_leaves_the_engine_usable(model: LlamaCpp) -> None:
    async def cancel() -> float:
        story = user("Tell a very long story.")
        call = asyncio.create_task(model.complete(story, max_tokens=1500, session="cancelled"))
        await asyncio.sleep(0.1)
        started = time.perf_counter()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return time.perf_counter() - started
    assert run(cancel) < 2
    assert run(lambda: model.complete(user("Say hi."), max_tokens=3, session="after")).completion_tokens


def test_a_call_that_takes_too_long_is_a_timeout() -> None:
    hasty = open_smallest(timeout_s=0.05)
    with pytest.raises(ModelTimeout, match=r"within 0\.05 s"):
        run(lambda: hasty.complete(user("Tell a very long story."), max_tokens=1500))
    asyncio.run(hasty.close())


def test_outside_clients_reach_the_same_engine_by_its_name(model: LlamaCpp) -> None:
    async def ask() -> tuple[Any, Any]:
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{model.url}/models") as listed:
                models = await listed.json()
            body = {"messages": [{"role": "user", "content": "Say hi."}], "max_tokens": 4}
            async with http.post(f"{model.url}/chat/completions", json=body) as answered:
                return models, await answered.json()
    models, answer = run(ask)
    assert [entry["id"] for entry in models["data"]] == [NAME]
    assert answer["usage"]["completion_tokens"] and answer["model"] == NAME


def test_the_identity_says_what_was_measured_and_no_path_of_this_machine(model: LlamaCpp) -> None:
    identity = model.identity()
    weights = find_model(NAME).weights
    assert weights is not None
    assert (identity["name"], identity["engine"], identity["weights_sha256"]) == (NAME, "llama.cpp", weights.sha256)
    assert (identity["slots"], identity["context"]) == (1, 2048)
    assert identity["quantization"] and identity["chat_template_sha256"] and identity["threads"] >= 1
    assert ".gguf" not in orjson.dumps(identity).decode()


@pytest.mark.parametrize("settings", [{"context": 0}, {"context": 9000}, {"slots": 0}])
def test_settings_that_the_model_cannot_have_are_refused_before_it_is_loaded(settings: dict[str, int]) -> None:
    with pytest.raises(RequestError):
        open_smallest(**settings)


def test_closing_ends_a_call_that_is_under_way_and_gives_no_half_reply() -> None:
    closing = open_smallest()

    async def close() -> None:
        call = asyncio.create_task(closing.complete(user("Tell a very long story."), max_tokens=1500))
        await asyncio.sleep(0.1)
        await closing.close()
        with pytest.raises(ModelError, match="was closed"):
            await call
    run(close)


def test_a_closed_model_says_so_even_if_it_was_closed_as_soon_as_it_was_open() -> None:
    closed = open_smallest()
    asyncio.run(closed.close())
    asyncio.run(closed.close())
    with pytest.raises(ModelError, match="open the model again"):
        run(lambda: closed.complete(user("Hi."), max_tokens=3))


def test_a_process_ends_promptly_with_the_engine_open_and_a_call_under_way() -> None:
    weights = fetch(NAME)
    script = f"""
import asyncio
from pathlib import Path
from artifact.log.records import Message
from artifact.models.llamacpp import LlamaCpp
from artifact.models.registry import find_model
async def main():
    model = LlamaCpp(find_model({NAME!r}), Path({str(weights)!r}), context=4096, threads=1)
    call = asyncio.create_task(model.complete([Message("user", "Tell a very long story.")], max_tokens=4000))
    await asyncio.sleep(0.1)
    print("under way", flush=True)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"under way\n"
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == b""
