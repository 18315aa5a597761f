"""The tool study as a harness: models opened, one log an episode and arm."""

import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

import artifact
from artifact.arms import ArmSpec, make_arm
from artifact.arms.base import DispatchArm
from artifact.generator import generate
from artifact.harness.protocol import Item, Journal
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.harness.tools.conversation import ToolConversation, converse
from artifact.harness.tools.failures import Failures
from artifact.harness.tools.plan import ToolsPlan
from artifact.harness.tools.records import RECORD_TYPES, ToolTurnRecord
from artifact.harness.tools.scripted import ScriptedAgent
from artifact.harness.tools.texts import tool_prompts
from artifact.harness.tools.tooling import with_tools
from artifact.log.options import options_in
from artifact.log.records import EPISODE, Cell, CompileRecord, EndRecord, Message
from artifact.models import ChatModel, open_model
from artifact.models.base import Reply
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.budgets import BUDGETS
from artifact.runner.commit import commit
from artifact.runner.compiles import CompileCache
from artifact.runner.sources import JournaledSource, ModelSource, OracleSource, makers_for
from artifact.taskstate import Episode, ScheduleVariant

TEMPERATURE = 0.0  # Appendix B.4: identical for every model and call


class RealTools:
    """The ladder where steps are tools.

    Parameters
    ----------
    plan : ToolsPlan
        What to run.
    concurrency : int
        Conversations at a time; the embedded engine opens as many slots.
    threads : int or None
        Threads of the embedded engine.
    outage_limit_s : float
        How long a server that goes down is waited for, in seconds.
    """

    name = "tools"
    record_types: Mapping[str, TypeAdapter[Any]] = RECORD_TYPES

    def __init__(self, plan: ToolsPlan, *, concurrency: int = 1, threads: int | None = None,
                 outage_limit_s: float = OUTAGE_LIMIT_S) -> None:
        self._plan, self._concurrency, self._threads = plan, concurrency, threads
        self._outage_limit_s = outage_limit_s
        self._stack = contextlib.AsyncExitStack()
        self._prompts = tool_prompts(plan.study.prompts)
        self._budgets = BUDGETS[plan.study.regime]
        self._commit = commit()
        self._cells: dict[str, Cell] = {}

    async def open(self, folder: Path) -> None:
        """Open the models."""
        study = self._plan.study
        self._compiles = CompileCache(folder / "compiled")
        self._agent: ChatModel = (ScriptedAgent(self._plan.policy) if self._plan.policy is not None
                                  else await self._opened(study.model))
        other = study.state_model
        self._state_model = self._agent if other in (None, study.model) else await self._opened(str(other))

    async def _opened(self, name: str) -> ChatModel:
        model = await open_model(name, regime=self._plan.study.regime, slots=self._concurrency, threads=self._threads,
                                 outage_limit_s=self._outage_limit_s)
        self._stack.push_async_callback(model.close)
        return model

    def items(self) -> Sequence[Item]:
        """Every arm on every cell and seed, the arms of a seed side by side."""
        items = []
        for episode in self._plan.study.episodes(self._agent.name, self._state_model.name):
            cell = HarnessCell(self.name, self._agent.name, self._plan.settings(episode.cell))
            self._cells[cell.slug] = episode.cell
            items.append(Item(cell, episode.arm.identity, "episode", episode.seed))
        return items

    def header(self, item: Item) -> HarnessRecord:
        """What the item is measured on: the whole episode with its tools, and how they fail."""
        arm = _spec(item)
        plan, cell = self._plan, self._cells[item.cell.slug]
        subject = {"episode": EPISODE.dump_python(self._episode(item), mode="json"),
                   "cell": TypeAdapter(Cell).dump_python(cell, mode="json"), "rounds": plan.rounds,
                   "failure_rate": plan.failure_rate,
                   "failing": [str(kind) for kind in plan.failing] if plan.failure_rate else [],
                   "idempotent": plan.idempotent}
        package = {"version": artifact.__version__, "commit": self._commit, "langgraph": version("langgraph")}
        sampling = {"temperature": TEMPERATURE, "seed": None, "budgets": asdict(self._budgets)}
        models = {"agent": self._agent.identity(), "state": self._state_model.identity()}
        return HarnessRecord(SCHEMA, plan.study.study, item.cell, item.arm, item.name, item.seed, subject,
                             self._prompts.adding(arm.features).sha256, package, models, sampling,
                             datetime.now(UTC).isoformat(timespec="seconds"))

    def _episode(self, item: Item) -> Episode:
        cell = self._cells[item.cell.slug]
        return with_tools(generate(seed=item.seed, size=cell.size, density=cell.density, domain=cell.domain,
                                   schedule=ScheduleVariant.parse(cell.schedule)))

    async def run_one(self, item: Item, journal: Journal) -> EndRecord:
        """Hold one conversation."""
        episode, arm = self._episode(item), _spec(item)
        cell = self._cells[item.cell.slug]
        session = f"{item.cell.slug}/{item.arm.slug}/{item.seed}"
        prompts = self._prompts.adding(arm.features)
        brief = prompts.brief(episode.graph, cell.brief)
        agent = self._agent.bind(episode) if isinstance(self._agent, ScriptedAgent) else self._agent
        helper = self._state_model

        async def answer(messages: Sequence[Message], *, max_tokens: int) -> Reply:
            return await agent.complete(messages, max_tokens=max_tokens, temperature=TEMPERATURE, session=session)

        async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
            budget = self._budgets.compile if purpose == "compile" else self._budgets.match
            return await helper.complete(messages, max_tokens=budget, temperature=TEMPERATURE,
                                         session=f"{session}:state/{schema['title']}", schema=schema)

        async def share(stage: str, make: Callable[[], Awaitable[CompileRecord]]) -> CompileRecord:
            if state is oracle:
                return await make()
            return await self._compiles.get(self._compile_key(cell, item.seed, stage), make)

        oracle = OracleSource(episode)
        reader = ModelSource(ask, prompts, brief, several=arm.options.unresolved == "ask")
        state, matcher = makers_for(arm.name, arm.options, reader, oracle)
        turns = {record.turn: record for record in journal.recorded if isinstance(record, ToolTurnRecord)}
        plan = self._plan
        end = await converse(ToolConversation(
            episode=episode, brief=brief, prompts=prompts, arm=cast(DispatchArm, make_arm(arm)),
            source=JournaledSource(state, matcher, journal.recorded, journal.write, share), agent=answer,
            budgets=self._budgets, thinking=cell.regime == "think", rounds=plan.rounds,
            failures=Failures(plan.failure_rate, plan.failing, item.seed), idempotent=plan.idempotent,
            recorded=turns, write=journal.write))
        spent = sum(call.usage.latency_s for turn in turns.values() for call in turn.replies)
        return EndRecord(end.reason, end.turns, end.detail, spent, end.faults)

    def _compile_key(self, cell: Cell, seed: int, stage: str) -> str:
        """Compiles are shared by the gate arms per (model, prompts, seed, S, density, domain, brief)."""
        model = self._state_model.identity().get("weights_sha256") or cell.state_model
        parts = (model, self._prompts.sha256, cell.size, cell.density, cell.domain, str(cell.brief), cell.regime)
        return f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.{seed}.{stage}"

    async def close(self) -> None:
        """Close the models."""
        await self._stack.aclose()


def _spec(item: Item) -> ArmSpec:
    return ArmSpec(item.arm.name, options_in(item.arm.options))
