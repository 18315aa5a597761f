"""Calls to a server: what is sent, what comes back, and what the client stands up to."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models import openai_compatible
from artifact.models.base import ChatModel, ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.registry import Regime, SchemaSupport, find_model
from artifact.models.retry import RetryPolicy
from artifact.models.target import Target
from artifact.models.transcript import Transcript
from chat_server import QUICK, ChatServer, Says, completion, error, with_server

CHAT = [Message("system", 'Keep the "plan".'), Message("user", "Order the pump (#W1234) — now.\n\u2028")]
SCHEMA = {"title": "match", "type": "object", "properties": {"redo": {"type": "boolean"}}, "required": ["redo"],
          "additionalProperties": False}


def ask(*says: Says, messages: Sequence[Message] = CHAT, target: dict[str, Any] | None = None,
        timeout_s: float = 10.0, retry: RetryPolicy = QUICK, how: dict[str, Any] | None = None,
        **settings: Any) -> tuple[Reply, ChatServer]:
    """One call to a server that answers as told."""
    async def talk(server: ChatServer) -> tuple[Reply, ChatServer]:
        model = await OpenAICompatible.reach(Target(server.url, **(target or {})), timeout_s=timeout_s, retry=retry)
        try:
            return await model.complete(messages, **{"max_tokens": 400, **settings}), server
        finally:
            await model.close()
    return with_server(talk, *says, **(how or {}))


def fails(kind: type[Exception], *says: Says, **how: Any) -> Exception:
    with pytest.raises(kind) as caught:
        ask(*says, **how)
    return caught.value


@pytest.mark.parametrize("messages", [CHAT, Transcript(CHAT)], ids=["list", "transcript"])
def test_a_request_is_what_encoding_it_as_a_whole_would_give(messages: Sequence[Message]) -> None:
    reply, server = ask(messages=messages)
    assert server.calls[0].body == orjson.dumps({"model": "qwen", "messages": list(CHAT), "max_tokens": 400,
                                                 "temperature": 0.0})
    assert server.calls[0].headers["Content-Type"] == "application/json"
    assert (reply.text, reply.finish_reason, reply.attempts) == ("ref RC-2048/#W1234", FinishReason.STOP, 1)


def test_a_transcript_is_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> bytes:
        raise AssertionError("encoded again")
    monkeypatch.setattr(openai_compatible, "encode_messages", refuse)
    reply, _ = ask(messages=Transcript(CHAT))
    assert reply.text


def test_it_is_a_chat_model() -> None:
    async def talk(server: ChatServer) -> bool:
        model = await OpenAICompatible.connect(server.url, "qwen")
        await model.close()
        return isinstance(model, ChatModel)
    assert with_server(talk)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_fails_in_passing_is_tried_again(status: int) -> None:
    reply, server = ask(error(status, "busy"), error(status), completion("here"))
    assert (reply.text, reply.attempts, len(server.calls)) == ("here", 3, 3)
    assert len({call.body for call in server.calls}) == 1


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    started = time.perf_counter()
    reply, _ = ask(error(429, headers={"Retry-After": "0.3"}), completion())
    assert time.perf_counter() - started > 0.3 and 0.3 < reply.latency_s < 5


def test_a_wait_that_is_asked_for_is_bounded() -> None:
    patient = RetryPolicy(attempts=2, first_wait_s=0.001, longest_wait_s=0.002, longest_retry_after_s=0.05)
    reply, _ = ask(error(503, headers={"Retry-After": "3600"}), completion(), retry=patient)
    assert reply.latency_s < 5


WHOLE = completion("a whole reply")


@pytest.mark.parametrize("fault", [
    Says(WHOLE.body, cut="before"), Says(WHOLE.body, cut="within"), Says(b""), Says(b"<html>busy</html>"),
    Says(WHOLE.body[:-9]), Says(b"null"), Says(b'{"choices":[]}'), Says(b'{"choices":null}'), Says(b"{}"),
    completion(None), completion("?", finish="abort"), completion("?", finish="insufficient_system_resource"),
    Says(WHOLE.body.replace(b"whole", b"\xff\xfe")), Says(WHOLE.body.replace(b"whole", b"\\ud83d")),
    Says(b'{"error":{"message":"upstream is gone","code":502}}'), Says(b'{"error":"no slot"}'),
    Says(b" " * (2**24 + 1)),
], ids=["cut before", "cut within", "empty", "html", "half", "null", "no choice", "null choices", "no key",
        "null content", "abort", "no resource", "no utf-8", "lone surrogate", "error in 200", "text in 200", "huge"])
def test_a_broken_answer_is_tried_again_and_then_an_error(fault: Says) -> None:
    reply, _ = ask(fault, completion("sound"))
    assert (reply.text, reply.attempts) == ("sound", 2)
    caught = fails(ModelError, fault)
    assert isinstance(caught, ModelError) and caught.attempts == 3 and caught.exit_code == 3
    assert "qwen at http://127.0.0.1:" in str(caught) and "\n" not in str(caught)


def test_a_bad_request_is_not_tried_again() -> None:
    async def talk(server: ChatServer) -> int:
        model = await OpenAICompatible.connect(server.url, retry=QUICK)
        with pytest.raises(ModelError, match=r"status 400 \(temperature must be 1 \[2J\)\.$") as caught:
            await model.complete(CHAT, max_tokens=400)
        await model.close()
        assert not caught.value.transient
        return len(server.calls)
    assert with_server(talk, error(400, "temperature must\n be 1 \x1b[2J.")) == 1


@pytest.mark.parametrize(("status", "message", "code"), [
    (400, "This model's maximum context length is 4096 tokens. However, you requested 4100 tokens.", 400),
    (400, "request (431 tokens) exceeds the available context size (256 tokens), try increasing it", 400),
    (400, "Your messages are too long.", "context_length_exceeded"),
    (500, "the request exceeds the available context size. try increasing the context size", 500),
])
def test_an_overflow_is_told_apart_and_not_tried_again(status: int, message: str, code: object) -> None:
    caught = fails(ContextOverflow, error(status, message, code=code), completion("too late"))
    assert message.rstrip(".") in str(caught)


def test_an_overflow_behind_a_status_of_success_is_one() -> None:
    fails(ContextOverflow, Says(error(400, "exceeds the available context size (256 tokens)").body))


def test_a_reply_cut_short_of_its_budget_ran_out_of_context() -> None:
    usage = {"prompt_tokens": 33, "completion_tokens": 223}
    caught = fails(ContextOverflow, completion(finish="length", usage=usage), max_tokens=300)
    assert "223 of 300" in str(caught)
    reply, _ = ask(completion(finish="length", usage=usage), max_tokens=223)
    assert reply.finish_reason is FinishReason.LENGTH


def test_a_slow_answer_is_a_timeout() -> None:
    once = RetryPolicy(attempts=1)
    caught = fails(ModelTimeout, Says(after_s=2), timeout_s=0.1, retry=once)
    assert "within 0.1 s" in str(caught)


def test_a_timeout_is_tried_again() -> None:
    reply, _ = ask(Says(after_s=2), completion("in time"), timeout_s=0.4)
    assert (reply.text, reply.attempts) == ("in time", 2)


def test_sampling_is_sent_only_where_there_is_any() -> None:
    target = {"sampling_body": {"top_p": 0.8, "top_k": 20}}
    _, greedy = ask(target=target, seed=7)
    _, sampled = ask(target=target, temperature=0.7, seed=7)
    assert greedy.calls[0].json.keys() == {"model", "messages", "max_tokens", "temperature"}
    assert {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "seed": 7}.items() <= sampled.calls[0].json.items()


@pytest.mark.parametrize(("support", "sent"), [
    (SchemaSupport.JSON_SCHEMA, {"response_format": {
        "type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}}),
    (SchemaSupport.JSON_OBJECT, {"response_format": {"type": "json_object"}}),
    (SchemaSupport.NONE, {}),
])
def test_a_schema_is_enforced_as_far_as_the_server_can(support: SchemaSupport, sent: dict[str, Any]) -> None:
    _, server = ask(target={"schema_support": support}, schema=SCHEMA)
    assert {key: value for key, value in server.calls[0].json.items() if key == "response_format"} == sent


def test_the_budget_goes_by_the_name_that_the_server_knows() -> None:
    _, server = ask(how={"owner": "system"})
    assert server.calls[0].json["max_completion_tokens"] == 400 and "max_tokens" not in server.calls[0].json


def test_a_server_that_wants_the_other_name_of_the_budget_gets_it() -> None:
    async def talk(server: ChatServer) -> list[bool]:
        model = await OpenAICompatible.connect(server.url, retry=QUICK)
        for _ in range(2):
            await model.complete(CHAT, max_tokens=400)
        await model.close()
        return ["max_tokens" in call.json for call in server.calls]
    wants = error(400, "Unsupported parameter: 'max_tokens' is not supported with this model. "
                       "Use 'max_completion_tokens' instead.", code="unsupported_parameter")
    assert with_server(talk, wants, completion()) == [True, False, False]


def test_the_regime_goes_with_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(server: ChatServer) -> tuple[Any, str]:
        monkeypatch.setenv("ARTIFACT_QWEN36_URL", server.url)
        entry = find_model("qwen3.6-35b-a3b-fp8")
        model = await OpenAICompatible.of_entry(entry, regime=Regime.THINK)
        reply = await model.complete(CHAT, max_tokens=400)
        await model.close()
        assert (model.name, model.identity()["regime"]) == (entry.name, "think")
        return server.calls[0].json, reply.reasoning
    says = completion("<think>\nhm\n</think>\n\nyes")
    sent, reasoning = with_server(talk, says, models=("Qwen/Qwen3.6-35B-A3B-FP8",))
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    assert reasoning == "hm"


def test_reasoning_that_was_switched_off_is_an_error_not_a_label() -> None:
    says = completion(message={"reasoning": "hm"})
    off = {"regime_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    assert isinstance(fails(RequestError, says, target=off), RequestError)
    assert "no known way" in str(fails(RequestError, says, how={"owner": "acme"}))


@pytest.mark.parametrize(("owner", "switch"), [
    ("vllm", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("llamacpp", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("sglang", {"chat_template_kwargs": {"enable_thinking": False}}), ("library", {"reasoning_effort": "none"}),
    ("organization_owner", {"reasoning_effort": "none"}), ("system", {"reasoning_effort": "none"}),
    ("deepseek", {"thinking": {"type": "disabled"}})])
def test_a_server_that_reasons_by_itself_is_asked_not_to_in_its_own_words(owner: str, switch: dict[str, Any]) -> None:
    thinks, says = completion(message={"reasoning": "hm"}), completion("no reasoning")
    reply, server = ask(thinks, says, how={"owner": owner})
    assert (reply.text, reply.faults) == ("no reasoning", ("other_fields",))
    assert not switch.keys() & server.calls[0].json.keys() and switch.items() <= server.calls[1].json.items()
    fails(RequestError, thinks, how={"owner": owner})


@pytest.mark.parametrize(("owner", "switch"), [
    ("vllm", {"chat_template_kwargs": {"enable_thinking": True}}), ("library", {"reasoning_effort": "medium"}),
    ("deepseek", {"thinking": {"type": "enabled"}}), ("acme", {})])
def test_a_server_is_asked_to_reason_in_its_own_words(owner: str, switch: dict[str, Any]) -> None:
    reply, server = ask(completion(message={"reasoning": "hm"}), target={"regime": Regime.THINK}, how={"owner": owner})
    assert reply.reasoning == "hm" and server.calls[0].json.keys() == {"model", "messages", "max_tokens",
                                                                       "temperature", *switch}
    assert switch.items() <= server.calls[0].json.items()


def test_any_number_of_calls_are_under_way_at_once() -> None:
    async def talk(server: ChatServer) -> int:
        model = await OpenAICompatible.connect(server.url, retry=QUICK)
        await asyncio.gather(*(model.complete(CHAT, max_tokens=9, session=f"s{i}") for i in range(150)))
        await model.close()
        return len(server.calls)
    started = time.perf_counter()
    assert with_server(talk, Says(completion().body, after_s=0.5)) == 150
    assert time.perf_counter() - started < 10  # a hundred at a time would do, one at a time takes 75 s


def test_a_closed_model_says_so() -> None:
    async def talk(server: ChatServer) -> None:
        model = await OpenAICompatible.connect(server.url)
        await model.close()
        await model.close()
        with pytest.raises(ModelError, match="was closed"):
            await model.complete(CHAT, max_tokens=9)
    with_server(talk)
