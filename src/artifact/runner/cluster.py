"""Studies over the machines of a Ray cluster: one asyncio loop a worker, one log file an episode on shared storage.

Invariant: an episode is in the hands of one worker at a time, and no two workers share a file. What a lost worker had
in hand is given to another, which goes on at the next turn, as after any kill.

The arms of a seed stay together: they share compiles, and the beginning of their prompts on the model server.
"""

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from artifact import paths
from artifact.errors import InfrastructureError, RequestError, missing_extra
from artifact.log.faults import Fault
from artifact.log.pace import has_ended
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.batch import RunSummary
from artifact.runner.lock import study_lock
from artifact.runner.plan import EpisodePlan, StudyPlan
from artifact.runner.progress import Progress
from artifact.runner.several import Choose
from artifact.runner.worker import Names, Outcome, Refusal, Worker, WorkerSettings


async def run_on_cluster(plans: Sequence[StudyPlan], choose: Choose, *, runs: Path = paths.RUNS, concurrency: int = 1,
                         workers: int | None = None, durable: bool = True, threads: int | None = None,
                         outage_limit_s: float = OUTAGE_LIMIT_S,
                         progress: Progress | None = None) -> tuple[RunSummary, ...]:
    """Run what is missing of several plans on a Ray cluster, one plan after another.

    Parameters
    ----------
    plans, choose
        As for `run_several_async`.
    runs : Path
        Folder of the runs, on storage that all machines share.
    concurrency : int
        Conversations at a time of each worker.
    workers : int or None
        Workers in all, each on a CPU; None takes one a machine.
    durable, threads, outage_limit_s, progress
        As for `run_study_async`.

    Returns
    -------
    tuple of RunSummary
        One a plan.

    Raises
    ------
    RequestError, InfrastructureError
        What keeps a study from going on; everything answered until then is kept.
    """
    progress = progress or Progress.silent()
    runs = await asyncio.to_thread(runs.resolve)
    summaries = []
    async with _workers(WorkerSettings(plans[0], runs, durable, concurrency, threads, outage_limit_s),
                        workers) as hands:
        names = await _open(hands)
        chosen = choose(names.model, names.state_model)
        # Every plan's cells are checked before the first one starts.
        episodes = [list(plan.episodes(names.model, names.state_model)) for plan in chosen]
        lost: set[int] = set()
        for plan, of_plan in zip(chosen, episodes, strict=True):
            folder = runs / plan.study
            with study_lock(folder), progress.over(len(of_plan)):
                summaries.append(await _Foreman(plan, folder, progress, of_plan, lost).run(hands, concurrency))
    return tuple(summaries)


class _Foreman:
    """Hands a plan's episodes out, and takes back those of workers that are lost, now or with an earlier plan."""

    def __init__(self, plan: StudyPlan, folder: Path, progress: Progress, episodes: Sequence[EpisodePlan],
                 lost: set[int]) -> None:
        self._plan, self._folder, self._progress = plan, folder, progress
        # Asked before anything runs: of an episode that a lost worker ended and didn't report, its next one can't tell.
        self._ended_before = {episode for episode in episodes if has_ended(episode.log_path(folder))}
        groups = [list(group) for _, group in groupby(episodes, key=lambda episode: (episode.cell, episode.seed))]
        self._left = len(groups)
        self._queue: asyncio.Queue[list[EpisodePlan]] = asyncio.Queue()
        for group in groups:
            self._queue.put_nowait(group)
        self._all_done = asyncio.Event()
        self._lost = lost
        self._ended: Counter[str] = Counter()
        self._faults: Counter[Fault] = Counter()
        self._run_now = 0

    async def run(self, hands: Sequence[Any], concurrency: int) -> RunSummary:
        done = asyncio.create_task(self._all_done.wait())
        feeding = {asyncio.create_task(self._feed(number, hand)) for number, hand in enumerate(hands)
                   for _ in range(concurrency)}
        try:
            while feeding and not done.done():
                finished, _ = await asyncio.wait({done, *feeding}, return_when=asyncio.FIRST_COMPLETED)
                feeding -= finished
                for task in finished - {done}:
                    task.result()
        finally:
            for task in (done, *feeding):
                task.cancel()
            await asyncio.gather(done, *feeding, return_exceptions=True)
        if not self._all_done.is_set():
            raise InfrastructureError("every worker of the cluster was lost; nothing that was answered is: give the "
                                      "same command again when its machines are back")
        return RunSummary(self._plan.study, self._folder, dict(sorted(self._ended.items())), self._run_now,
                          dict(sorted(self._faults.items())))

    async def _feed(self, number: int, hand: Any) -> None:
        """Give a worker one group after another, until it is lost."""
        import ray

        lost, short_of_memory = _losses()
        while number not in self._lost:
            group = await self._queue.get()
            try:
                outcome: Outcome = _sound(await hand.run.remote(self._plan, group))
            except (lost, short_of_memory) as error:
                self._queue.put_nowait(group)
                if number not in self._lost:
                    self._lost.add(number)
                    ray.kill(hand)  # one that is merely out of reach must not go on
                    why = "ended by Ray, since its machine is short of memory" \
                        if isinstance(error, short_of_memory) else "lost"
                    self._progress.say(f"worker {number} is {why}; the others go on with its episodes")
                return
            self._faults.update(outcome.faults)
            for episode, end in zip(group, outcome.ends, strict=True):
                fresh = episode not in self._ended_before
                self._ended[end.reason] += 1
                self._run_now += fresh
                self._progress.finished(episode.label, end, fresh)
            self._left -= 1
            if not self._left:
                self._all_done.set()


async def _open(hands: Sequence[Any]) -> Names:
    """Have every worker reach the models; tells what they call themselves."""
    try:
        names = {_sound(answer) for answer in await asyncio.gather(*(hand.open.remote() for hand in hands))}
    except _losses():
        raise InfrastructureError("a worker of the cluster ended at its start; check that this package is installed on "
                                  "every machine, and that their memory holds the model if it is embedded") from None
    if len(names) > 1:
        raise RequestError(f"the workers reach different models ({', '.join(sorted(name.model for name in names))}); "
                           "give a URL that means the same server on every machine")
    return names.pop()


def _losses() -> tuple[type[Exception], type[Exception]]:
    """What a call raises whose worker is gone, and where Ray's memory monitor ended it, which isn't one of the first.

    The monitor goes by the memory of the whole machine, or of its control group where that has a limit: a worker may
    pay for what others use.
    """
    import ray

    return ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError


def _sound(answer: Any) -> Any:
    if isinstance(answer, Refusal):
        raise answer.error
    return answer


@contextlib.asynccontextmanager
async def _workers(settings: WorkerSettings, count: int | None) -> AsyncIterator[list[Any]]:
    """Workers spread over the cluster, killed at the end: what they wrote needs no farewell."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("the executor ray", "ray") from None
    ours = not ray.is_initialized()
    if ours:
        ray.init(log_to_driver=False, include_dashboard=False)
    hands: list[Any] = []
    try:
        machines = sum(bool(node["Alive"]) for node in ray.nodes())
        count = count or machines
        if count > (cpus := int(ray.cluster_resources().get("CPU", 0))):
            raise RequestError(f"{count} workers were asked for, and the cluster has {cpus} CPUs; ask for no more")
        remote = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(Worker)
        hands = [remote.options(max_concurrency=settings.slots + 1).remote(settings) for _ in range(count)]
        yield hands
    finally:
        for hand in hands:
            ray.kill(hand)
        if ours:
            ray.shutdown()
