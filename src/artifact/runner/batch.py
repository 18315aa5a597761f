"""Many conversations: concurrency, resume, progress, one log an episode (DESIGN §5.3).

Invariant: after kill -9 at any instant the same command goes on at the next turn, and the finished log says what an
uninterrupted run would have said.
"""

import contextlib
import copy
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import artifact
from artifact import paths
from artifact.arms import MEMORY_ARMS, PromptSet, load_prompts, make_arm
from artifact.arms.memory.kit import MemoryKit
from artifact.arms.memory.library import memory_identity
from artifact.generator import generate
from artifact.log.faults import Fault
from artifact.log.flush import Flusher
from artifact.log.records import SCHEMA, CompileRecord, EndRecord, EpisodeRecord, Message, Record, TurnRecord
from artifact.log.tally import Tally
from artifact.log.writer import EpisodeWriter
from artifact.models import ChatModel, open_model
from artifact.models.base import Reply
from artifact.models.embedder import Embedder, open_embedder
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.budgets import BUDGETS, Budgets
from artifact.runner.commit import commit
from artifact.runner.compiles import CompileCache
from artifact.runner.context import check_context
from artifact.runner.episode import Conversation, hold
from artifact.runner.lock import study_lock
from artifact.runner.loop import run_to_end, side_by_side
from artifact.runner.plan import EpisodePlan, StudyPlan
from artifact.runner.progress import Progress
from artifact.runner.sources import JournaledSource, ModelSource, OracleSource, makers_for, memory_journal
from artifact.taskstate import Episode, ScheduleVariant

TEMPERATURE = 0.0  # Appendix B.4: identical for every model and call


@dataclass(frozen=True)
class RunSummary:
    """What a run left behind.

    Parameters
    ----------
    study : str
        The study.
    folder : Path
        Where its logs lie.
    ended : dict of str to int
        Episodes by the reason of their end, earlier runs included.
    run_now : int
        Episodes that this run finished.
    faults : dict of Fault to int
        Tries of calls that brought no answer, by kind, as the logs of all these episodes tell.
    """

    study: str
    folder: Path
    ended: dict[str, int]
    run_now: int
    faults: dict[Fault, int] = field(default_factory=dict)


async def run_study_async(plan: StudyPlan, *, runs: Path = paths.RUNS, concurrency: int = 1, durable: bool = True,
                          threads: int | None = None, outage_limit_s: float = OUTAGE_LIMIT_S,
                          model: ChatModel | None = None, state_model: ChatModel | None = None,
                          progress: Progress | None = None) -> RunSummary:
    """Run what is missing of a study.

    Parameters
    ----------
    plan : StudyPlan
        What to run.
    runs : Path
        Folder of the runs; the study's logs go to ``runs/<study>/<cell>/<arm>/<seed>.jsonl``.
    concurrency : int
        Conversations at a time; the embedded engine opens as many slots.
    durable : bool
        Flush each record to the disk before going on.
    threads : int or None
        Threads of the embedded engine; None for one a physical core.
    outage_limit_s : float
        How long a server that goes down is waited for, in seconds.
    model, state_model : ChatModel or None
        Opened models; None opens the ones that the plan names.
    progress : Progress or None
        Where progress is shown; None shows none.

    Returns
    -------
    RunSummary
        Counts by reason of end.

    Raises
    ------
    RequestError, InfrastructureError
        What keeps the study from going on; everything answered until then is kept.
    """
    folder = runs / plan.study
    progress = progress or Progress.silent()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(study_lock(folder))
        if model is None:
            model, named = await open_models(stack, plan, concurrency=concurrency, threads=threads,
                                             outage_limit_s=outage_limit_s, say=progress.say)
            state_model = state_model or named
        state_model = state_model or model
        flusher = stack.enter_context(Flusher()) if durable else None
        study = Study(plan, folder, model, state_model, flusher)
        episodes = list(plan.episodes(model.name, state_model.name))
        check_context(model.identity(), plan.cells(model.name, state_model.name), study.prompts)
        return await study.run(episodes, concurrency, progress)


async def open_models(stack: contextlib.AsyncExitStack, plan: StudyPlan, *, concurrency: int, threads: int | None,
                      outage_limit_s: float, say: Callable[[str], None]) -> tuple[ChatModel, ChatModel]:
    """Open the agent of a plan and who compiles and matches, to be closed with the stack."""
    async def opened(name: str) -> ChatModel:
        model = await open_model(name, regime=plan.regime, slots=concurrency, threads=threads,
                                 outage_limit_s=outage_limit_s, say=say)
        stack.push_async_callback(model.close)
        return model

    model = await opened(plan.model)
    if plan.state_model is None or plan.state_model == plan.model:
        return model, model
    return model, await opened(plan.state_model)


def run_study(plan: StudyPlan, *, runs: Path = paths.RUNS, concurrency: int = 1, durable: bool = True,
              threads: int | None = None, outage_limit_s: float = OUTAGE_LIMIT_S,
              progress: Progress | None = None) -> RunSummary:
    """Run what is missing of a study, from code that is not asynchronous; see `run_study_async`.

    Works in a notebook too, see `run_to_end`.
    """
    return run_to_end(lambda: run_study_async(plan, runs=runs, concurrency=concurrency, durable=durable,
                                              threads=threads, outage_limit_s=outage_limit_s,
                                              progress=progress or Progress.shown()))


class Study:
    """Runs episodes of one study, on models that are open."""

    def __init__(self, plan: StudyPlan, folder: Path, model: ChatModel, state_model: ChatModel,
                 flusher: Flusher | None) -> None:
        self.plan, self.folder, self.flusher = plan, folder, flusher
        self.model, self.state_model = model, state_model
        self.prompts: PromptSet = load_prompts(plan.prompts)
        self.budgets: Budgets = BUDGETS[plan.regime]
        self.compiles = CompileCache(folder / "compiled")
        self.identities = (model.identity(), state_model.identity())
        self.commit = commit()
        self.tally = Tally()
        remembering = sorted({arm.name for arm in plan.arms} & set(MEMORY_ARMS))
        self.embedder: Embedder | None = open_embedder() if remembering else None
        # Asked for before the first log is begun: an extra may be missing.
        self.memories = {name: memory_identity(name, self.embedder) for name in remembering if self.embedder}

    async def run(self, episodes: Sequence[EpisodePlan], concurrency: int, progress: Progress) -> RunSummary:
        """Run episodes, so many at a time."""
        ended: Counter[str] = Counter()
        run_now = 0

        async def one(episode: EpisodePlan, _: int) -> None:
            nonlocal run_now
            end, fresh = await self.run_one(episode, progress)
            ended[end.reason] += 1
            run_now += fresh
            progress.finished(episode.label, end, fresh)

        with progress.over(len(episodes)):
            await side_by_side(episodes, one, at_a_time=concurrency)
        return RunSummary(self.plan.study, self.folder, dict(sorted(ended.items())), run_now, self.tally.counts)

    def counting_anew(self) -> "Study":
        """The same study, with a count of its own of the faults that it meets."""
        other = copy.copy(self)
        other.tally = Tally()
        return other

    async def run_one(self, plan: EpisodePlan, progress: Progress) -> tuple[EndRecord, bool]:
        """Run what is missing of an episode; tells how it ended, and whether it did so now."""
        path = plan.log_path(self.folder)
        episode = generate(seed=plan.seed, size=plan.cell.size, density=plan.cell.density, domain=plan.cell.domain,
                           schedule=ScheduleVariant.parse(plan.cell.schedule))
        writer = EpisodeWriter(path, durable=self.flusher is not None, flusher=self.flusher)
        closing = contextlib.ExitStack()
        closing.callback(writer.close)
        with closing:
            writer.write(self._header(plan, episode))
            given_up = writer.take_up()
            recorded = writer.recorded
            if recorded and isinstance(recorded[-1], EndRecord):
                for record in recorded:
                    self.tally.take(record)
                return recorded[-1], False
            started = time.monotonic()
            answered = [r for r in recorded if isinstance(r, TurnRecord)]
            conversation = self._conversation(plan, episode, writer, closing)
            name = f"{plan.cell.slug}/{plan.arm.identity.slug}/{plan.seed}"
            end = await hold(conversation, lambda turns: progress.turn(name, turns))
            seconds = time.monotonic() - started + sum(turn.usage.latency_s for turn in answered)
            end = replace(end, seconds=round(seconds, 3), faults=(*given_up, *end.faults))
            self._write(writer, end)
            await writer.flushed()
            return end, True

    def _write(self, writer: EpisodeWriter, record: Record) -> None:
        writer.write(record)
        self.tally.take(record)

    def _header(self, plan: EpisodePlan, episode: Episode) -> EpisodeRecord:
        model, state_model = self.identities
        return EpisodeRecord(
            schema=SCHEMA, study=self.plan.study, cell=plan.cell, arm=plan.arm.identity, seed=plan.seed,
            episode=episode, prompts_sha256=self.prompts.adding(plan.arm.features).sha256,
            package={"version": artifact.__version__, "commit": self.commit}, model=model, state_model=state_model,
            sampling={"temperature": TEMPERATURE, "seed": None, "budgets": asdict(self.budgets)},
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            memory=self.memories.get(plan.arm.name, {}))

    def _conversation(self, plan: EpisodePlan, episode: Episode, writer: EpisodeWriter,
                      closing: contextlib.ExitStack) -> Conversation:
        session = f"{plan.cell.slug}/{plan.arm.identity.slug}/{plan.seed}"
        prompts, arm = self.prompts.adding(plan.arm.features), make_arm(plan.arm)
        brief = prompts.brief(episode.graph, plan.cell.brief, arm.brief_ends_with)
        agent, helper = _bound(self.model, episode), _bound(self.state_model, episode)
        budgets = {"compile": self.budgets.compile, "match": self.budgets.match, "memory": self.budgets.reply}

        async def answer(messages: Sequence[Message], *, max_tokens: int) -> Reply:
            return await agent.complete(messages, max_tokens=max_tokens, temperature=TEMPERATURE, session=session)

        async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
            budget = budgets[purpose]
            # The state model compiles and matches; what is remembered is the agent's own.
            asked = agent if purpose == "memory" else helper
            return await asked.complete(messages, max_tokens=budget, temperature=TEMPERATURE,
                                         session=f"{session}:state/{schema['title']}", schema=schema)

        async def share(stage: str, make: Callable[[], Awaitable[CompileRecord]]) -> CompileRecord:
            if state is oracle:
                return await make()
            return await self.compiles.get(self._compile_key(plan, stage), make)

        write = partial(self._write, writer)
        model = ModelSource(ask, prompts, brief, several=plan.arm.options.unresolved == "ask")
        oracle = OracleSource(episode)
        state, matcher = makers_for(plan.arm.name, plan.arm.options, model, oracle)
        source = JournaledSource(state, matcher, writer.recorded, write, share)
        kit = None
        if plan.arm.name in MEMORY_ARMS:
            assert self.embedder is not None, "opened for every study with a memory arm"
            kit = MemoryKit(ask, self.embedder, memory_journal(writer.recorded, write), brief,
                            self.folder / "memory" / session, closing)
        return Conversation(
            episode=episode, brief=brief, prompts=prompts, arm=arm, source=source, agent=answer,
            budgets=self.budgets, thinking=plan.cell.regime == "think",
            recorded={r.turn: r for r in writer.recorded if isinstance(r, TurnRecord)}, write=write,
            flush_behind=writer.flush_behind, memory=kit)

    def _compile_key(self, plan: EpisodePlan, stage: str) -> str:
        """Compiles are shared per (model, prompt set, seed, S, density, domain, brief)."""
        cell = plan.cell
        model = self.identities[1].get("weights_sha256") or cell.state_model
        parts = (model, self.prompts.sha256, cell.size, cell.density, cell.domain, str(cell.brief), cell.regime)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return f"{digest}.{plan.seed}.{stage}"


def _bound(model: ChatModel, episode: Episode) -> ChatModel:
    """The perfect agent alone is told which episode it is in: it replays ground truth."""
    bind = getattr(model, "bind", None)
    return bind(episode) if bind is not None else model


