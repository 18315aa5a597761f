"""A study over a real Ray cluster of two nodes, one of which is killed in the middle: nothing is lost or done twice."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_server import agent_servers
from artifact.arms import ArmSpec
from artifact.errors import InfrastructureError, RequestError
from artifact.log.reader import read_episode
from artifact.runner import Progress, RunSummary, StudyPlan
from artifact.runner import cluster as cluster_module
from artifact.runner.batch import run_study_async
from artifact.runner.cluster import run_on_cluster
from artifact.runner.lock import episode_lock
from artifact.runner.worker import Worker
from episode_logs import placeless

pytestmark = [pytest.mark.integration, pytest.mark.slow]

POLICY = "reader?directive=0.8&transcript=0.4&delay=0.03"
ARMS = ("raw", "enforcement")
SEEDS = range(100, 108)


def plan(model: str) -> StudyPlan:
    return StudyPlan("t", model, sizes=(5,), seeds=tuple(SEEDS), arms=tuple(ArmSpec(name) for name in ARMS))


def on_cluster(*plans: StudyPlan, **how: Any) -> tuple[RunSummary, ...]:
    return asyncio.run(run_on_cluster(plans, lambda model, state_model: plans, **how))


def turns_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"record":"turn"') for path in folder.rglob("*.jsonl"))


@pytest.fixture
def two_nodes(monkeypatch):
    """A cluster of two nodes, each with a raylet and workers of its own, and this process connected to it."""
    ray = pytest.importorskip("ray", reason="ray isn't installed; install it with: pip install '.[ray]'")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # By default each node ends workers where the machine is 95 % full, whoever fills it, and both nodes here stand on
    # one machine. The only loss is to be the one made; how one to the monitor ends is tested in test_runner_cluster.py.
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
    # Workers are other processes: they find the package and the tests' helpers where this one does.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entry for entry in sys.path if entry))
    memory = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**memory, "include_dashboard": False})
    second = cluster.add_node(**memory)
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


def test_a_node_killed_in_the_middle_costs_no_episode_and_no_turn(tmp_path, two_nodes):
    cluster, second = two_nodes
    said: list[str] = []
    with agent_servers(POLICY, 2) as servers:
        urls = ",".join(server.url for server in servers)
        asyncio.run(run_study_async(plan(urls), runs=tmp_path / "calm", concurrency=8))
        total = turns_in(tmp_path / "calm")
        for server in servers:
            server.conversations.clear()

        def kill() -> None:
            while turns_in(tmp_path / "killed") < total // 3:
                time.sleep(0.02)
            said.append(f"killed at {turns_in(tmp_path / 'killed')}")
            cluster.remove_node(second, allow_graceful=False)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        [summary] = on_cluster(plan(urls), runs=tmp_path / "killed", concurrency=4, durable=False,
                               progress=Progress(said.append, bar=False))
        killer.join(timeout=60)
        calls = Counter(call for server in servers for call in server.conversations)
    assert any("is lost; the others go on" in line for line in said), said
    assert summary.ended == {"completed": len(ARMS) * len(SEEDS)} == {"completed": summary.run_now}
    assert placeless(tmp_path / "killed") == placeless(tmp_path / "calm")
    for log in map(read_episode, (tmp_path / "killed").rglob("*.jsonl")):
        assert [turn.turn for turn in log.turns] == list(range(len(log.turns)))
    # What was answered before the kill wasn't asked again: at most the turns that were on their way.
    assert total <= sum(calls.values()) <= total + 4


def test_what_a_worker_ended_before_it_was_lost_counts_as_run_now_though_it_never_said_so(tmp_path, two_nodes,
                                                                                         monkeypatch):
    del two_nodes
    marker = tmp_path / "lost"

    class LostAtItsReport(Worker):
        async def run(self, plan, episodes):
            outcome = await super().run(plan, episodes)
            try:
                marker.touch(exist_ok=False)  # of two workers that report at once one is lost
            except FileExistsError:
                return outcome
            os._exit(1)

    monkeypatch.setattr(cluster_module, "Worker", LostAtItsReport)
    with agent_servers(POLICY) as [server]:
        [summary] = on_cluster(plan(server.url), runs=tmp_path, concurrency=1)
        assert marker.exists()
        assert summary.ended == {"completed": len(ARMS) * len(SEEDS)} == {"completed": summary.run_now}
        [again] = on_cluster(plan(server.url), runs=tmp_path, concurrency=1)
        assert again.run_now == 0


def test_the_command_goes_on_where_a_cluster_or_one_process_stopped(tmp_path, two_nodes):
    del two_nodes
    with agent_servers(POLICY) as [server]:
        first = StudyPlan("t", server.url, sizes=(5,), seeds=(100, 101), arms=(ArmSpec("raw"),))
        both = StudyPlan("t", server.url, sizes=(5,), seeds=(100, 101, 102), arms=(ArmSpec("raw"),))
        assert asyncio.run(run_study_async(first, runs=tmp_path)).run_now == 2
        [summary] = on_cluster(both, runs=tmp_path, concurrency=2)
        assert (summary.run_now, summary.ended) == (1, {"completed": 3})
        with pytest.raises(RequestError, match="9 workers were asked for, and the cluster has 2 CPUs"):
            on_cluster(both, runs=tmp_path, workers=9)
        unknown = StudyPlan("u", f"{server.url}#nobody", sizes=(5,), seeds=(100,))
        with pytest.raises(RequestError, match="There is no model 'nobody'"):
            on_cluster(unknown, runs=tmp_path)


HOLDER = """
import asyncio, sys
from pathlib import Path
from artifact.runner.lock import episode_lock
from artifact.runner.worker import Worker
async def hold():
    async with episode_lock(Path(sys.argv[1])):
        print("held", flush=True)
        await asyncio.sleep(60)
asyncio.run(hold())
"""


def test_two_workers_never_hold_one_log_and_a_killed_one_lets_go(tmp_path, monkeypatch):
    async def take() -> None:
        async with episode_lock(tmp_path / "cell" / "100.jsonl"):
            pass
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "cell" / "100.jsonl")],
                              stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    monkeypatch.setattr("artifact.runner.lock._PATIENCE_S", 0.2)
    with pytest.raises(InfrastructureError, match="is being written by another worker"):
        asyncio.run(take())
    holder.kill()
    holder.wait()
    asyncio.run(take())
