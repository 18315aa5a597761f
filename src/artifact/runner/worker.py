"""A worker of a cluster: one process that runs episodes on connections of its own, and says how they ended.

Invariant: no error of ours leaves a worker as an exception, which would reach the other side wrapped in Ray's words.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import ArtifactError, InfrastructureError, RequestError
from artifact.log.faults import Fault
from artifact.log.flush import Flusher
from artifact.log.records import EndRecord
from artifact.models import ChatModel
from artifact.models.outage import say_nothing
from artifact.runner.batch import Study, open_models
from artifact.runner.context import check_context
from artifact.runner.lock import episode_lock
from artifact.runner.plan import EpisodePlan, StudyPlan
from artifact.runner.progress import Progress


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker is told at its start.

    Parameters
    ----------
    models : StudyPlan
        A plan that names the models.
    runs : Path
        Folder of the runs, on storage that all machines share.
    durable : bool
        Flush each record to the disk before going on.
    slots : int
        Conversations at a time, for an engine that the worker embeds.
    threads : int or None
        Threads of such an engine.
    outage_limit_s : float
        How long a server that goes down is waited for, in seconds.
    """

    models: StudyPlan
    runs: Path
    durable: bool
    slots: int
    threads: int | None
    outage_limit_s: float


@dataclass(frozen=True)
class Names:
    """How the models that a worker reached call themselves."""

    model: str
    state_model: str


@dataclass(frozen=True)
class Refusal:
    """An error of ours on its way back from a worker."""

    message: str
    is_request: bool

    @property
    def error(self) -> ArtifactError:
        """The error that it was."""
        return RequestError(self.message) if self.is_request else InfrastructureError(self.message)


@dataclass(frozen=True)
class Outcome:
    """How a worker's episodes ended, and the faults that their logs tell of."""

    ends: tuple[EndRecord, ...]
    faults: dict[Fault, int]


class Worker:
    """Runs episodes in a process of its own, on its own connections to the model.

    Parameters
    ----------
    settings : WorkerSettings
        Which models, and where logs go.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._stack = contextlib.AsyncExitStack()  # closed with the process: what was written needs no farewell
        self._models: tuple[ChatModel, ChatModel] | None = None
        self._flusher: Flusher | None = None
        self._studies: dict[StudyPlan, Study] = {}

    async def open(self) -> Names | Refusal:
        """Reach the models."""
        settings = self._settings
        try:
            self._models = await open_models(self._stack, settings.models, concurrency=settings.slots,
                                             threads=settings.threads, outage_limit_s=settings.outage_limit_s,
                                             say=say_nothing)
        except ArtifactError as error:
            return Refusal(str(error), isinstance(error, RequestError))
        if settings.durable:
            self._flusher = self._stack.enter_context(Flusher())
        model, state_model = self._models
        return Names(model.name, state_model.name)

    async def run(self, plan: StudyPlan, episodes: Sequence[EpisodePlan]) -> Outcome | Refusal:
        """Run what is missing of some episodes of a plan, one after the other."""
        ends = []
        try:
            study = self._study(plan).counting_anew()
            for episode in episodes:
                async with episode_lock(episode.log_path(study.folder)):
                    end, _ = await study.run_one(episode, Progress.silent())
                    ends.append(end)
        except ArtifactError as error:
            return Refusal(str(error), isinstance(error, RequestError))
        return Outcome(tuple(ends), study.tally.counts)

    def _study(self, plan: StudyPlan) -> Study:
        assert self._models is not None, "a worker is opened before it runs anything"
        if plan not in self._studies:
            model, state_model = self._models
            study = Study(plan, self._settings.runs / plan.study, model, state_model, self._flusher)
            check_context(model.identity(), plan.cells(model.name, state_model.name), study.prompts)
            self._studies[plan] = study
        return self._studies[plan]
