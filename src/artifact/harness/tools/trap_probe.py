"""The trap-turn probe with real tools: each raw-arm episode replayed live, and branched at its trap turns (App. A.4).

Invariant: each branch works in a workspace of its own, so that none sees what another's tools did.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import artifact
from artifact.arms import PromptSet, Request
from artifact.arms.structured import usage_of
from artifact.harness.protocol import Item, Journal
from artifact.harness.reader import HarnessLog
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.harness.tools.plan import scripted_policy
from artifact.harness.tools.records import EMPTY_REPLY, REPLY
from artifact.harness.tools.scripted import ScriptedAgent
from artifact.harness.tools.texts import tool_prompts
from artifact.harness.tools.trap_records import NAME, PROBE_RECORD_TYPES, BranchRecord
from artifact.harness.tools.trap_replay import LiveTrap, ReplayedEpisode
from artifact.harness.tools.trap_sources import source_sha256, tool_episodes
from artifact.harness.tools.trap_variants import tool_variants
from artifact.harness.tools.workspace import Workspace
from artifact.log.calls import Call, Message
from artifact.log.probes import VariantRecord
from artifact.log.records import EndReason, EndRecord
from artifact.models import ChatModel, open_model
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout, Reply
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.models.registry import find_model, model_names
from artifact.models.transcript import Transcript
from artifact.runner.answering import answer
from artifact.runner.budgets import BUDGETS
from artifact.runner.commit import commit
from artifact.runner.probe_plan import ProbePlan, sample_seed
from artifact.runner.probe_variants import ORDER, wordings

# Plain sampling, for a model that no card in the registry speaks of.
_NO_CARD: dict[str, Any] = {"temperature": 1.0}


class ToolsTrapProbe:
    """Every trap turn of logged tool episodes, taken again in every variant.

    Parameters
    ----------
    plan : ProbePlan
        What to ask; its sources are logs of the harness tools.
    concurrency, threads, outage_limit_s
        As in `RealTools`.
    """

    name = NAME
    record_types: Mapping[str, TypeAdapter[Any]] = PROBE_RECORD_TYPES

    def __init__(self, plan: ProbePlan, *, concurrency: int = 1, threads: int | None = None,
                 outage_limit_s: float = OUTAGE_LIMIT_S) -> None:
        self._plan, self._concurrency, self._threads = plan, concurrency, threads
        self._outage_limit_s = outage_limit_s
        self._stack = contextlib.AsyncExitStack()
        self._budgets = BUDGETS[plan.regime]
        self._commit = commit()

    async def open(self, folder: Path) -> None:
        """Open the model, and read the logs that are replayed."""
        plan, policy = self._plan, scripted_policy(self._plan.model)
        if policy is not None:
            self._agent: ChatModel = ScriptedAgent(policy)
        else:
            self._agent = await open_model(plan.model, regime=plan.regime, slots=self._concurrency,
                                           threads=self._threads, outage_limit_s=self._outage_limit_s)
            self._stack.push_async_callback(self._agent.close)
        name = self._agent.name
        logs = tool_episodes(plan.sources, model=name, regime=plan.regime, seeds=plan.seeds)
        self._logs = {(_cell(log).slug, log.header.seed): log for log in logs}
        self._card = find_model(name).sampling.model_dump(exclude_none=True) if name in model_names() else None

    def items(self) -> Sequence[Item]:
        """One for each episode with trap turns."""
        return [Item(_cell(log), log.header.arm, log.header.item, log.header.seed) for log in self._logs.values()]

    def header(self, item: Item) -> HarnessRecord:
        """What is replayed, of whom it is asked again and how."""
        log, plan = self._logs[item.cell.slug, item.seed], self._plan
        source, subject = log.header, log.header.subject
        about = {"cell": subject["cell"], "rounds": subject["rounds"], "idempotent": subject["idempotent"],
                 "source": {"sha256": source_sha256(log), "study": source.study, "models": source.models,
                            "prompts_sha256": source.prompts_sha256, "package": source.package},
                 "variants": [str(variant) for variant in ORDER], "samples": plan.samples, "wordings": wordings()}
        sampling = {**(self._card or _NO_CARD), "from": "model card" if self._card else "default",
                    "seed": plan.sampling_seed, "budgets": asdict(self._budgets)}
        package = {"version": artifact.__version__, "commit": self._commit, "langgraph": version("langgraph")}
        return HarnessRecord(SCHEMA, plan.study, item.cell, item.arm, item.name, item.seed, about,
                             _prompts(log).sha256, package, {"agent": self._agent.identity()}, sampling,
                             datetime.now(UTC).isoformat(timespec="seconds"))

    async def run_one(self, item: Item, journal: Journal) -> EndRecord:
        """Replay one episode, and branch it at its trap turns."""
        log = self._logs[item.cell.slug, item.seed]
        replayed = ReplayedEpisode(log, _prompts(log))
        recorded = [record for record in journal.recorded if isinstance(record, BranchRecord)]
        spent = sum(call.usage.latency_s for branch in recorded for call in branch.replies)
        agent = self._agent.bind(replayed.episode) if isinstance(self._agent, ScriptedAgent) else self._agent
        # A history is read here, not lived through: with one slot there is nothing that a session would keep apart.
        session = f"{item.cell.slug}/{item.seed}" if self._concurrency > 1 else None
        branching = _Branching(self._plan, replayed, agent, session, self._temperature, journal, recorded)
        traps = 0
        try:
            with replayed.workspace() as trunk:
                async with contextlib.aclosing(replayed.traps(trunk)) as lived:
                    async for live in lived:
                        await branching.at(live, trunk)
                        traps += 1
        except ContextOverflow as error:
            return EndRecord(EndReason.CONTEXT_OVERFLOW, traps, str(error), spent, error.faults)
        except ModelTimeout as error:
            return EndRecord(EndReason.TIMEOUT, traps, str(error), spent, error.faults)
        except ModelError as error:
            return EndRecord(EndReason.MODEL_ERROR, traps, str(error), spent, error.faults)
        return EndRecord(EndReason.COMPLETED, traps, seconds=spent)

    @property
    def _temperature(self) -> float:
        return float((self._card or _NO_CARD)["temperature"])

    async def close(self) -> None:
        """Close the model."""
        await self._stack.aclose()


def _cell(log: HarnessLog) -> HarnessCell:
    return replace(log.header.cell, harness=NAME)


def _prompts(log: HarnessLog) -> PromptSet:
    return tool_prompts(log.header.subject["cell"]["prompts"])


class _Branching:
    """The branches of one episode: those that an earlier run recorded are written again, the others lived."""

    def __init__(self, plan: ProbePlan, replayed: ReplayedEpisode, agent: ChatModel, session: str | None,
                 temperature: float, journal: Journal, recorded: Sequence[BranchRecord]) -> None:
        self._plan, self._replayed, self._agent, self._session = plan, replayed, agent, session
        self._temperature, self._write = temperature, journal.write
        self._recorded = list(reversed(recorded))

    async def at(self, live: LiveTrap, trunk: Workspace) -> None:
        """Take a trap turn in every variant, greedily and as often as is to be sampled."""
        self._write(live.record)
        for variant in tool_variants(live, self._replayed.prompts, self._replayed.dispatch(trunk).result):
            self._write(variant)
            begun = bool(self._recorded)
            for sample in range(self._plan.samples + 1):
                if self._recorded:
                    self._write(self._recorded.pop())
                    continue
                if begun and sample:
                    # The embedded engine rounds the first reading of a prompt otherwise than the next ones: a variant
                    # that another process began is taken once more before it goes on.
                    await self._branch(live, variant, trunk, 0)
                begun = False
                self._write(await self._branch(live, variant, trunk, sample))

    async def _branch(self, live: LiveTrap, variant: VariantRecord, trunk: Workspace, sample: int) -> BranchRecord:
        trap, plan = live.trap.record, self._plan
        temperature = self._temperature if sample else 0.0
        seed = sample_seed(plan.sampling_seed, self._replayed.episode.seed, trap.turn, variant.variant,
                           sample) if sample else None
        asked = variant.applied_to(trap.conversation)
        replies: list[Call] = []

        async def complete(messages: Sequence[Message], *, max_tokens: int) -> Reply:
            return await self._agent.complete(messages, max_tokens=max_tokens, temperature=temperature, seed=seed,
                                              session=self._session)

        async def next_reply(said: list[tuple[str, str]]) -> str:
            messages = Transcript((*asked, *(Message(*one) for one in said)))
            reply, emptied = await answer(complete, messages, BUDGETS[plan.regime], thinking=plan.regime == "think")
            replies.extend(replace(call, purpose=EMPTY_REPLY) for call in emptied)
            replies.append(Call(REPLY, (), reply.text, str(reply.finish_reason), usage_of(reply), reply.reasoning))
            return reply.text

        request = Request(trap.turn, asked[-1].content, variant.work_order, is_request=True)
        with trunk.branch() as own:
            played = await self._replayed.play(own, request, next_reply)
            before, after = trunk.artifacts(), own.artifacts()
        stamped = {tool: stamps[len(before.get(tool, ())):] for tool, stamps in after.items()
                   if stamps != before.get(tool, ())}
        return BranchRecord(sample, temperature, seed, tuple(replies), played.calls, stamped)
