"""The real vLLM, without a GPU, on the smallest model that ends its replies: an episode of each rung through it.

The 135M model writes on to its token budget in every turn, twenty times as many tokens as the 0.5B.
"""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from artifact import paths
from artifact.arms import RUNGS, ArmSpec
from artifact.errors import InfrastructureError
from artifact.log import EpisodeLog
from artifact.log.reader import iter_logs
from artifact.log.records import Message
from artifact.models import open_model
from artifact.models.registry import find_model
from artifact.models.vllm_environment import prepare, vllm_python
from artifact.models.vllm_server import RunningServer, VllmSettings, vllm_server
from artifact.models.weights import fetch
from artifact.runner import StudyPlan
from artifact.runner.batch import run_study_async

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NAME = "qwen2.5-coder-0.5b"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    try:
        fetch(NAME)
        try:
            vllm_python("cpu")
        except InfrastructureError:
            prepare()
    except InfrastructureError as error:
        pytest.skip(str(error))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Not compiled: that takes longer than these four episodes.
    settings = VllmSettings(device="cpu", port=port, sequences=len(RUNGS), context=8192, compiled=False)
    with vllm_server(find_model(NAME), settings) as running:
        yield running
    assert running.ended() is not None


@pytest.fixture(scope="module")
def logs(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, EpisodeLog]:
    runs: Path = tmp_path_factory.mktemp("runs")
    plan = StudyPlan("t", f"{server.url}#{server.model}", sizes=(5,), seeds=(100,), prompts="fewshot",
                     arms=tuple(ArmSpec(name) for name in RUNGS))
    asyncio.run(run_study_async(plan, runs=runs, concurrency=len(RUNGS)))
    return {log.header.arm.name: log for log in iter_logs([runs])}


def test_an_episode_of_each_rung_runs_through_vllm(logs: dict[str, EpisodeLog]) -> None:
    assert sorted(logs) == sorted(RUNGS)
    for log in logs.values():
        assert log.end is not None and log.end.reason == "completed", log.end
        assert len(log.turns) >= 44 and all(turn.usage.completion > 0 for turn in log.turns)


def test_prompts_that_only_grow_come_from_vllms_prefix_cache(logs: dict[str, EpisodeLog]) -> None:
    for log in logs.values():
        prompt, cached = (sum(getattr(turn.usage, kind) for turn in log.turns) for kind in ("prompt", "cached"))
        assert cached >= 0.9 * prompt, (log.header.arm.name, cached, prompt)


def test_the_log_says_what_the_server_says_of_itself(logs: dict[str, EpisodeLog]) -> None:
    weights = find_model(NAME).weights
    assert weights is not None
    for log in logs.values():
        told = log.header.model
        assert told["engine"] == "vllm" and told["engine_version"][0].isdigit()
        assert told["weights_sha256"] == weights.sha256
        assert (told["context"], told["max_num_seqs"], told["seed"], told["dtype"]) == (8192, 4, 0, "bfloat16")
        assert told["prefix_caching"] is True and told["batch_invariant"] is False and told["compiled"] is False


def test_a_sampled_reply_with_a_seed_to_a_long_prompt_leaves_the_engine_alive(server: RunningServer) -> None:
    async def ask() -> list[str]:
        model = await open_model(f"{server.url}#{server.model}", slots=4)
        try:
            prompts = [[Message("user", f"{number} " + "and so on " * 1500)] for number in range(4)]
            replies = await asyncio.gather(*(model.complete(prompt, max_tokens=8, temperature=0.7, seed=number)
                                             for number, prompt in enumerate(prompts)))
            return [reply.text for reply in replies]
        finally:
            await model.close()

    assert len(asyncio.run(ask())) == 4 and server.ended() is None


def test_the_server_keeps_a_log_file(server: RunningServer, logs: dict[str, EpisodeLog]) -> None:
    assert server.log.parent == paths.SERVER_LOGS
    assert "POST /v1/chat/completions" in server.log.read_text()
