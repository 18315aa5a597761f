"""Workers that are lost, in whatever words Ray says so, cost no episode: real workers, in this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from artifact.arms import ArmSpec
from artifact.errors import InfrastructureError
from artifact.runner import Progress, RunSummary, StudyPlan, run_study_async
from artifact.runner import cluster as cluster_module
from artifact.runner.cluster import run_on_cluster
from artifact.runner.worker import Worker, WorkerSettings
from episode_logs import timeless

ray = pytest.importorskip("ray", reason="ray isn't installed; install it with: pip install '.[ray]'")

PLAN = StudyPlan("t", "scripted:reader?directive=0.8", sizes=(5,), seeds=(100, 101, 102),
                 arms=(ArmSpec("raw"), ArmSpec("enforcement")))
LOSSES = [
    ray.exceptions.ActorDiedError(),
    ray.exceptions.ActorUnavailableError("The actor is temporarily unavailable: Socket closed", None),
    ray.exceptions.OutOfMemoryError("1 worker(s) were killed due to the node running low on memory."),
]


class Method:
    """A method of a worker, called as Ray has it; raises what it is given from its n-th call on."""

    def __init__(self, call: Callable[..., Awaitable[Any]], loss: Exception | None = None, after: int = 0) -> None:
        self._call, self._loss, self._left = call, loss, after

    async def remote(self, *given: Any) -> Any:
        if self._loss is not None and not self._left:
            raise self._loss
        self._left -= 1
        return await self._call(*given)


class Hand:
    """A worker in this process, which is lost with its n-th group of episodes, or at its start."""

    def __init__(self, settings: WorkerSettings, loss: Exception | None = None, *, after: int = 0,
                 at_start: bool = False) -> None:
        worker = Worker(settings)
        self.open = Method(worker.open, loss if at_start else None)
        self.run = Method(worker.run, loss, after)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[Hand]:
    hands: list[Hand] = []
    monkeypatch.setattr(ray, "kill", hands.append)
    return hands


def run(monkeypatch: pytest.MonkeyPatch, runs: Path, said: list[str], *hands: dict[str, Any]) -> RunSummary:
    @asynccontextmanager
    async def workers(settings: WorkerSettings, count: int | None) -> AsyncIterator[list[Hand]]:
        yield [Hand(settings, **how) for how in hands]
    monkeypatch.setattr(cluster_module, "_workers", workers)
    [summary] = asyncio.run(run_on_cluster([PLAN], lambda model, state_model: [PLAN], runs=runs, durable=False,
                                           progress=Progress(said.append, bar=False)))
    return summary


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_others_take_over_what_a_lost_worker_had_in_hand(tmp_path, monkeypatch, killed, loss) -> None:
    said: list[str] = []
    asyncio.run(run_study_async(PLAN, runs=tmp_path / "calm", durable=False))
    summary = run(monkeypatch, tmp_path / "lossy", said, {"loss": loss, "after": 1}, {})
    assert summary.ended == {"completed": 6}
    assert timeless(tmp_path / "lossy") == timeless(tmp_path / "calm")
    [told] = [line for line in said if "; the others go on with its episodes" in line]
    by_monitor = isinstance(loss, ray.exceptions.OutOfMemoryError)
    assert told.startswith("worker 0 is ended by Ray, since its machine" if by_monitor else "worker 0 is lost;")
    assert len(killed) == 1, "one that is out of reach must not go on"


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_where_every_worker_is_lost_the_study_stops_with_a_sentence(tmp_path, monkeypatch, killed, loss) -> None:
    with pytest.raises(InfrastructureError, match="every worker of the cluster was lost"):
        run(monkeypatch, tmp_path, [], {"loss": loss, "after": 1})
    with pytest.raises(InfrastructureError, match="a worker of the cluster ended at its start"):
        run(monkeypatch, tmp_path, [], {"loss": loss, "at_start": True})
