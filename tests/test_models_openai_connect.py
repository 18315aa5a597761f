"""Reaching a server: what it is asked first, and what a person reads when that goes wrong."""

import asyncio
import base64
import traceback
from typing import Any

import orjson
import pytest

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ModelError
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.registry import Regime, find_model
from artifact.models.target import Target
from chat_server import QUICK, ChatServer, Says, completion, error, with_server

KEY = "sk-3bd1f00d+/secret=="
QUOTED_KEY = KEY.replace("/", "%2F")
CHAT = [Message("user", "hello")]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARTIFACT_API_KEY", raising=False)


def reach(model: str | None = None, *, url: str = "http://{}/v1", **how: Any) -> tuple[dict[str, Any], ChatServer]:
    """Reach a server for a model: its identity, and what was asked."""
    async def talk(server: ChatServer) -> tuple[dict[str, Any], ChatServer]:
        opened = await OpenAICompatible.connect(url.format(server.address), model, retry=QUICK)
        await opened.close()
        return opened.identity(), server
    return with_server(talk, **how)


def refused(kind: type[Exception] = RequestError, model: str | None = None, **how: Any) -> str:
    """The one sentence that reaching a server ends with."""
    with pytest.raises(kind) as caught:
        reach(model, **how)
    sentence = str(caught.value)
    assert sentence.endswith(".") and sentence.isprintable()
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return sentence


def page(**told: Any) -> Says:
    return Says(orjson.dumps(told))


def test_the_identity_of_a_vllm_server_is_its_own_answer() -> None:
    identity, server = reach(owner="vllm", max_model_len=32768, pages={"/version": page(version="0.15.1")})
    assert identity == {"name": "qwen", "engine": "vllm", "engine_version": "0.15.1", "endpoint": server.url,
                        "model": "qwen", "context": 32768, "schema_support": "json_schema", "regime": "no_think"}
    assert [asked.path for asked in server.asked] == ["/v1/models", "/version", "/metrics", "/server_info"]


def test_the_identity_of_a_llamacpp_server_is_its_own_answer() -> None:
    properties = page(build_info="b6500-abc", default_generation_settings={"n_ctx": 4096}, total_slots=4)
    identity, _ = reach(owner="llamacpp", meta={"n_ctx_train": 32768}, pages={"/props": properties})
    assert (identity["engine"], identity["engine_version"], identity["context"]) == ("llama.cpp", "b6500-abc", 4096)


@pytest.mark.parametrize("version", [error(404), error(401), error(500), Says(b"<html>"), Says(b"[]"), page(version=3)])
def test_a_server_that_tells_no_version_is_used_all_the_same(version: Says) -> None:
    identity, _ = reach(owner="vllm", pages={"/version": version})
    assert (identity["engine"], identity["engine_version"], identity["context"]) == ("vllm", None, None)


def test_an_engine_that_was_never_met_is_called_compatible() -> None:
    identity, server = reach(owner="acme")
    assert (identity["engine"], len(server.asked)) == ("openai-compatible", 1)


def test_a_url_without_a_path_means_v1() -> None:
    for url in ("http://{}", "http://{}/", "http://{}/v1/"):
        assert reach(url=url)[0]["endpoint"].endswith("/v1")


def test_a_hiccup_while_reaching_a_server_is_overcome() -> None:
    async def talk(server: ChatServer) -> None:
        listing, server.pages["/v1/models"] = server.pages["/v1/models"], error(503, "Loading model")
        asyncio.get_running_loop().call_later(0.05, lambda: server.pages.update({"/v1/models": listing}))
        patient = QUICK.__class__(attempts=6, first_wait_s=0.05)
        await (await OpenAICompatible.connect(server.url, retry=patient)).close()
    with_server(talk)
    assert "503 (Loading model)" in refused(ModelError, pages={"/v1/models": error(503, "Loading model")})


def test_nobody_at_the_address_is_one_sentence_at_once() -> None:
    async def run() -> None:
        async with ChatServer() as server:
            address = server.address
        await OpenAICompatible.connect(f"http://me:{QUOTED_KEY}@{address}/v1?token={KEY}")
    where = r"reached at http://127.0.0.1:\d+/v1 \(Connection refused\)"
    with pytest.raises(InfrastructureError, match=where) as caught:
        asyncio.run(run())
    assert not isinstance(caught.value, ModelError) and caught.value.exit_code == 3
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "ftp://host/v1", "http://?", "http://host:0/v1", "http://h:99999",
                                 "http://ho st/v1", "http://host/\x1b[2Jv1", f"htp://{KEY}@host/v1", "http://[::1/v1",
                                 f"http://me:1/{KEY}@host/v1"])
def test_a_url_that_is_none_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(RequestError, match="base URL") as caught:
        Target(url).access()
    assert url not in str(caught.value)


@pytest.mark.parametrize("listing", [Says(b"<html>hello</html>"), error(404, "Not Found"), error(400),
                                     Says(b'{"error":"Unexpected endpoint or method. (GET /models)"}'), Says(b"[]")])
def test_what_is_no_such_server_is_told_where_the_api_mostly_is(listing: Says) -> None:
    assert "mostly ends in /v1" in refused(pages={"/v1/models": listing})


def test_an_unknown_model_is_told_what_is_served() -> None:
    assert "no model 'qwen3' at http://127" in refused(model="qwen3", models=("llama", "qwen2.5"))
    assert "it serves qwen2.5, llama." in refused(model="qwen3", models=("llama", "qwen2.5"))
    assert "serves none" in refused(model="qwen3", models=())
    assert "serves none" in refused(model="qwen3", pages={"/v1/models": Says(b'{"object":"list","data":null}')})
    assert "and 90 more" in refused(model="zzz", models=tuple(f"m{number:03}" for number in range(100)))


def test_which_of_several_models_is_meant_must_be_said() -> None:
    assert "serves a, b; name one" in refused(models=("b", "a"))
    assert reach("b", models=("b", "a"))[0]["name"] == "b"


def test_a_key_goes_with_every_request_and_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(server: ChatServer) -> str:
        model = await OpenAICompatible.connect(server.url, retry=QUICK)
        await model.complete(CHAT, max_tokens=9)
        with pytest.raises(ModelError, match=r"your key \*\*\* may not") as caught:
            await model.complete(CHAT, max_tokens=9)
        await model.close()
        assert {asked.headers.get("Authorization") for asked in server.asked} == {f"Bearer {KEY}"}
        return f"{model!r} {model.identity()} {Target(server.url)} {''.join(traceback.format_exception(caught.value))}"
    monkeypatch.setenv("ARTIFACT_API_KEY", f" {KEY}\n")
    assert KEY not in with_server(talk, completion(), error(400, f"your key {KEY} may not"))


def test_without_a_key_none_is_sent_and_a_server_that_asks_for_one_is_understood() -> None:
    _, server = reach()
    assert "Authorization" not in server.asked[0].headers
    unauthorized = Says(b'{"error":"Unauthorized"}', 401)
    assert "set the environment variable ARTIFACT_API_KEY" in refused(pages={"/v1/models": unauthorized})


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_names_the_variable_to_correct(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("ARTIFACT_API_KEY", KEY)
    says = error(status, f"Incorrect API key provided: {KEY}", code="invalid_api_key")
    assert "correct the environment variable ARTIFACT_API_KEY" in refused(pages={"/v1/models": says})


def test_a_wrong_key_is_noticed_where_the_list_of_models_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFACT_API_KEY", KEY)
    says = error(401, "Invalid API Key", type="authentication_error")
    assert "refused the key" in refused(owner="llamacpp", pages={"/props": says})


def test_a_key_that_is_none_is_refused_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for unusable in (f"{KEY}\r\nX-Evil: 1", f"{KEY}…"):
        monkeypatch.setenv("ARTIFACT_API_KEY", unusable)
        assert "ARTIFACT_API_KEY holds characters" in refused()


def test_a_key_that_is_lost_during_a_study_stops_it() -> None:
    async def talk(server: ChatServer) -> None:
        model = await OpenAICompatible.connect(server.url, retry=QUICK)
        for says, match in ((error(401), "ARTIFACT_API_KEY"), (error(402, "Insufficient Balance"), "top up"),
                            (error(429, type="insufficient_quota"), "top up"), (error(404, "gone"), "isn't served")):
            server.says = [says]
            with pytest.raises(RequestError, match=match):
                await model.complete(CHAT, max_tokens=9)
        await model.close()
        assert len(server.calls) == 4
    with_server(talk)


def test_user_and_password_of_a_url_are_sent_and_not_shown() -> None:
    identity, server = reach(url=f"http://me:{QUOTED_KEY}@{{}}/v1?version=1")
    assert server.asked[0].headers["Authorization"] == "Basic " + base64.b64encode(f"me:{KEY}".encode()).decode()
    assert identity["endpoint"] == server.url
    unauthorized = {"/v1/models": error(403, f"no {KEY} here")}
    assert "the user and password in its URL" in refused(url=f"http://me:{QUOTED_KEY}@{{}}/v1",
                                                         pages=unauthorized)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_the_key(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async def talk(elsewhere: ChatServer) -> None:
        moved = Says(status=status, headers={"Location": f"http://u:{KEY}@{elsewhere.address}/v1/chat/completions?{KEY}"})
        async with ChatServer(moved) as server:
            model = await OpenAICompatible.connect(server.url, retry=QUICK)
            with pytest.raises(RequestError, match=f"redirects to http://{elsewhere.address}, ") as caught:
                await model.complete(CHAT, max_tokens=9)
            await model.close()
            server.pages["/v1/models"] = moved
            with pytest.raises(RequestError, match="redirects to"):
                await OpenAICompatible.connect(server.url, retry=QUICK)
        assert KEY not in str(caught.value) and not elsewhere.asked
    monkeypatch.setenv("ARTIFACT_API_KEY", KEY)
    with_server(talk)


def test_a_model_of_the_registry_is_reached_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = find_model("deepseek-v4-pro")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "http://127.0.0.1:9/v1")
    target = Target.of_entry(entry, Regime.THINK)
    assert (target.url, target.model, target.name) == ("http://127.0.0.1:9/v1", "deepseek-v4-pro", "deepseek-v4-pro")
    assert (target.key_env, target.schema_support) == ("DEEPSEEK_API_KEY", "json_object")
    assert target.regime_body == {"thinking": {"type": "enabled"}} and target.sampling_body == {"top_p": 1.0}
    monkeypatch.delenv("DEEPSEEK_BASE_URL")
    assert Target.of_entry(entry).access().shown == "https://api.deepseek.com/v1"


def test_a_model_without_a_server_or_a_url_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARTIFACT_QWEN36_URL", raising=False)
    with pytest.raises(RequestError, match="ARTIFACT_QWEN36_URL"):
        Target.of_entry(find_model("qwen3.6-35b-a3b-fp8"))
    with pytest.raises(RequestError, match="embedded"):
        Target.of_entry(find_model("smollm2-135m"))
