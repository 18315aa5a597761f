"""Running the trap-turn probe: every trap turn of logged conversations, asked again in every variant (Appendix A.4).

Invariant: after kill -9 at any instant the same command goes on at the next reply, and the finished log says what an
uninterrupted run would have said.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import artifact
from artifact import paths
from artifact.arms import PromptSet, load_prompts
from artifact.arms.structured import usage_of
from artifact.log.faults import Fault
from artifact.log.probes import (
    PROBE_SCHEMA,
    PROBE_TYPES,
    AnswerRecord,
    ProbeLine,
    ProbeRecord,
    TrapRecord,
    VariantRecord,
)
from artifact.log.reader import PROBE_UNPACKED
from artifact.log.records import EndReason, EndRecord, Message
from artifact.log.writer import LogWriter
from artifact.models import ChatModel, open_model
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout, Reply
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.models.registry import find_model, model_names
from artifact.models.transcript import Transcript
from artifact.runner.batch import RunSummary
from artifact.runner.budgets import BUDGETS, Budgets
from artifact.runner.commit import commit
from artifact.runner.lock import study_lock
from artifact.runner.loop import run_to_end, side_by_side
from artifact.runner.probe_plan import ProbePlan, sample_seed
from artifact.runner.probe_variants import ORDER, variants_of, wordings
from artifact.runner.progress import Progress
from artifact.runner.trap_turns import TrapEpisode

# Plain sampling, for a model that no card in the registry speaks of: a server given by its URL, a scripted policy.
_NO_CARD: dict[str, Any] = {"temperature": 1.0}


async def run_trap_probe_async(plan: ProbePlan, *, runs: Path = paths.RUNS, concurrency: int = 1,
                               durable: bool = True, threads: int | None = None,
                               outage_limit_s: float = OUTAGE_LIMIT_S, model: ChatModel | None = None,
                               progress: Progress | None = None) -> RunSummary:
    """Ask what is missing of a trap-turn probe.

    Parameters
    ----------
    plan : ProbePlan
        What to ask.
    runs, concurrency, durable, threads, outage_limit_s, model, progress
        As in `run_study_async`; logs go to ``runs/<study>/<cell>/<arm>/<seed>.probe.jsonl``, and as many episodes as
        `concurrency` says are asked at a time.

    Returns
    -------
    RunSummary
        Counts by reason of end.

    Raises
    ------
    RequestError, InfrastructureError
        What keeps the probe from going on; everything answered until then is kept.
    """
    folder = runs / plan.study
    progress = progress or Progress.silent()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(study_lock(folder))
        if model is None:
            model = await open_model(plan.model, regime=plan.regime, slots=concurrency, threads=threads,
                                     outage_limit_s=outage_limit_s, say=progress.say)
            stack.push_async_callback(model.close)
        episodes = await asyncio.to_thread(plan.episodes, model.name)
        run = _ProbeRun(plan, folder, model, durable)
        return await run.all(episodes, concurrency, progress)


def run_trap_probe(plan: ProbePlan, *, runs: Path = paths.RUNS, concurrency: int = 1, durable: bool = True,
                   threads: int | None = None, outage_limit_s: float = OUTAGE_LIMIT_S,
                   progress: Progress | None = None) -> RunSummary:
    """Ask what is missing of a trap-turn probe, from code that is not asynchronous; see `run_trap_probe_async`."""
    return run_to_end(lambda: run_trap_probe_async(plan, runs=runs, concurrency=concurrency, durable=durable,
                                                   threads=threads, outage_limit_s=outage_limit_s,
                                                   progress=progress or Progress.shown()))


class _ProbeRun:
    def __init__(self, plan: ProbePlan, folder: Path, model: ChatModel, durable: bool) -> None:
        self.plan, self.folder, self.model, self.durable = plan, folder, model, durable
        self.budgets: Budgets = BUDGETS[plan.regime]
        self.card = find_model(model.name).sampling.model_dump(exclude_none=True) \
            if model.name in model_names() else None
        self.identity, self.commit = model.identity(), commit()
        self.faults: Counter[Fault] = Counter()

    async def all(self, episodes: Sequence[TrapEpisode], concurrency: int, progress: Progress) -> RunSummary:
        ended: Counter[str] = Counter()
        run_now = 0

        async def one(episode: TrapEpisode, worker: int) -> None:
            nonlocal run_now
            # A history is read here, not lived through. A session would tell the embedded engine otherwise, and it
            # would have every reply of it written again; with one slot there is nothing to keep apart.
            session = f"{self.plan.study}/{worker}" if concurrency > 1 else None
            end, fresh = await self._one(episode, session, progress)
            ended[end.reason] += 1
            run_now += fresh
            header = episode.log.header
            progress.finished(f"{header.cell.slug} {header.arm.name} seed {header.seed}", end, fresh)

        with progress.over(len(episodes)):
            await side_by_side(episodes, one, at_a_time=concurrency)
        return RunSummary(self.plan.study, self.folder, dict(sorted(ended.items())), run_now,
                          dict(sorted(self.faults.items())))

    async def _one(self, episode: TrapEpisode, session: str | None, progress: Progress) -> tuple[EndRecord, bool]:
        header = episode.log.header
        name = episode.name
        prompts = load_prompts(header.cell.prompts)
        writer: LogWriter[ProbeLine] = LogWriter(self.folder / f"{name}{PROBE_UNPACKED}", PROBE_TYPES,
                                                 durable=self.durable)
        try:
            writer.write(self._header(episode, prompts))
            given_up = writer.take_up()
            recorded = writer.recorded
            if recorded and isinstance(recorded[-1], EndRecord):
                for record in recorded:
                    self._count(record)
                return recorded[-1], False
            answers = [record for record in recorded if isinstance(record, AnswerRecord)]
            started = time.monotonic()
            end = await _Asking(self, episode, prompts, session, writer, answers).all(
                lambda asked: progress.turn(name, asked))
            seconds = time.monotonic() - started + sum(answer.usage.latency_s for answer in answers)
            end = replace(end, seconds=round(seconds, 3), faults=(*given_up, *end.faults))
            self.write(writer, end)
            return end, True
        finally:
            writer.close()

    def write(self, writer: LogWriter[ProbeLine], record: ProbeLine) -> None:
        """Write a record, and count the faults that it tells of."""
        writer.write(record)
        self._count(record)

    def _count(self, record: ProbeLine) -> None:
        if isinstance(record, AnswerRecord):
            self.faults.update(record.usage.faults)
        elif isinstance(record, EndRecord):
            self.faults.update(record.faults)

    def _header(self, episode: TrapEpisode, prompts: PromptSet) -> ProbeRecord:
        header = episode.log.header
        sampling = {**(self.card or _NO_CARD), "from": "model card" if self.card else "default",
                    "seed": self.plan.sampling_seed, "reply": self.budgets.reply}
        return ProbeRecord(
            schema=PROBE_SCHEMA, study=self.plan.study, cell=header.cell, arm=header.arm, seed=header.seed,
            source=episode.source, variants=ORDER, samples=self.plan.samples, sampling=sampling,
            wordings=dict(wordings()), prompts_sha256=prompts.sha256,
            package={"version": artifact.__version__, "commit": self.commit}, model=self.identity,
            started=datetime.now(UTC).isoformat(timespec="seconds"))

    async def answer(self, messages: Sequence[Message], sample: int, seed: int | None,
                     session: str | None) -> AnswerRecord:
        """One reply; an empty one of a thinking model is asked again with more room, as in an episode."""
        temperature = float((self.card or _NO_CARD)["temperature"]) if sample else 0.0
        budget = self.budgets.reply
        while True:
            reply: Reply = await self.model.complete(messages, max_tokens=budget, temperature=temperature, seed=seed,
                                                     session=session)
            if reply.text.strip() or self.plan.regime == "no_think" or budget >= self.budgets.reply_ceiling:
                break
            budget = min(2 * budget, self.budgets.reply_ceiling)
        return AnswerRecord(sample, temperature, seed, budget, reply.text, reply.reasoning, reply.finish_reason,
                            usage_of(reply))


class _Asking:
    """The probe of one episode: answers that an earlier run recorded are written again, the others asked for."""

    def __init__(self, run: _ProbeRun, episode: TrapEpisode, prompts: PromptSet, session: str | None,
                 writer: LogWriter[ProbeLine], recorded: Sequence[AnswerRecord]) -> None:
        self._run, self._episode, self._prompts, self._session = run, episode, prompts, session
        self._writer = writer
        self._recorded = list(reversed(recorded))

    async def all(self, on_answer: Callable[[int], None]) -> EndRecord:
        traps = asked = 0
        try:
            for trap in self._episode.traps:
                self._writer.write(trap.record)
                for variant in variants_of(trap, self._prompts):
                    self._writer.write(variant)
                    await self._variant(trap.record, variant)
                    asked += self._run.plan.samples + 1
                    on_answer(asked)
                traps += 1
        except ContextOverflow as error:
            return EndRecord(EndReason.CONTEXT_OVERFLOW, traps, str(error), faults=error.faults)
        except ModelTimeout as error:
            return EndRecord(EndReason.TIMEOUT, traps, str(error), faults=error.faults)
        except ModelError as error:
            return EndRecord(EndReason.MODEL_ERROR, traps, str(error), faults=error.faults)
        return EndRecord(EndReason.COMPLETED, traps)

    async def _variant(self, trap: TrapRecord, variant: VariantRecord) -> None:
        messages = Transcript(variant.applied_to(trap.conversation))
        begun = bool(self._recorded)
        for sample in range(self._run.plan.samples + 1):
            if self._recorded:
                self._run.write(self._writer, self._recorded.pop())
                continue
            if begun and sample:
                # The embedded engine rounds the first reading of a prompt otherwise than the next ones: a variant
                # that another process began is read once more before it goes on.
                await self._run.answer(messages, 0, None, self._session)
            begun = False
            seed = sample_seed(self._run.plan.sampling_seed, self._episode.log.header.seed, trap.turn,
                               variant.variant, sample) if sample else None
            self._run.write(self._writer, await self._run.answer(messages, sample, seed, self._session))
