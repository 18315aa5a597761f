"""Several servers of one model: conversations are spread, and each stays on one of them."""

import asyncio
from collections import Counter

import pytest

from agent_server import agent_servers
from artifact.arms import ArmSpec
from artifact.errors import RequestError
from artifact.models import open_model
from artifact.runner import StudyPlan
from artifact.runner.batch import run_study_async
from chat_server import ChatServer
from episode_logs import placeless

POLICY = "reader?directive=0.8&transcript=0.4"


def plan(model: str) -> StudyPlan:
    return StudyPlan("t", model, sizes=(5,), seeds=tuple(range(100, 112)), arms=(ArmSpec("enforcement"),))


def test_each_conversation_stays_on_one_server_and_all_servers_have_some(tmp_path):
    with agent_servers(POLICY, 3) as servers:
        urls = ",".join(server.url for server in servers)
        summary = asyncio.run(run_study_async(plan(urls), runs=tmp_path / "three", concurrency=4))
        alone = asyncio.run(run_study_async(plan(servers[0].url), runs=tmp_path / "one", concurrency=4))
        of_three = [Counter(server.conversations) for server in servers[1:]]
    assert summary.ended == alone.ended == {"completed": 12}
    assert all(calls for calls in of_three)
    assert not of_three[0].keys() & of_three[1].keys()
    assert placeless(tmp_path / "three") == placeless(tmp_path / "one")


def test_a_conversation_is_on_the_same_server_after_a_restart(tmp_path):
    with agent_servers(POLICY, 3) as servers:
        urls = ",".join(server.url for server in servers)
        asyncio.run(run_study_async(plan(urls), runs=tmp_path / "first", concurrency=4))
        first = [set(server.conversations) for server in servers]
        for server in servers:
            server.conversations.clear()
        asyncio.run(run_study_async(plan(urls), runs=tmp_path / "second", concurrency=1))
        assert [set(server.conversations) for server in servers] == first


def test_servers_that_differ_are_refused():
    async def open_both() -> None:
        async with ChatServer(max_model_len=8192) as one, ChatServer(max_model_len=4096) as other:
            await open_model(f"{one.url},{other.url}")
    with pytest.raises(RequestError, match="differ in context"):
        asyncio.run(open_both())
