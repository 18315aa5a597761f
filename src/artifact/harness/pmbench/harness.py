"""PM-Bench as a harness: weeks made or read, model opened, one log a week, rung and seed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import artifact
from artifact.harness.pmbench.accuracy import meant_in
from artifact.harness.pmbench.compiles import CompiledWeek
from artifact.harness.pmbench.environment import Moment, World
from artifact.harness.pmbench.generate import generate_week
from artifact.harness.pmbench.minds import LiveMind
from artifact.harness.pmbench.plan import WeekPlan
from artifact.harness.pmbench.records import RECORD_TYPES, AnswerRecord, CompileRecord
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.scripted import ScriptedMind
from artifact.harness.pmbench.simulate import MATCH_TOKENS, REPLY_TOKENS, TRIES, Memory, Mind, Run, Setting
from artifact.harness.pmbench.texts import load_texts
from artifact.harness.pmbench.truth import check_ground_truth, intentions
from artifact.harness.pmbench.week import Week, load_week
from artifact.harness.protocol import Item, Journal
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.log.records import EndRecord, Message
from artifact.models import ChatModel, open_model
from artifact.models.base import Reply
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.budgets import BUDGETS
from artifact.runner.commit import commit


class PMBench:
    """Simulated weeks under the couplings.

    Parameters
    ----------
    plan : WeekPlan
        What to run.
    concurrency : int
        Runs at a time, each with a slot of the embedded engine.
    threads : int or None
        Threads of the embedded engine.
    outage_limit_s : float
        How long a server that is down is waited for.
    """

    name = "pmbench"
    record_types: Mapping[str, TypeAdapter[Any]] = RECORD_TYPES

    def __init__(self, plan: WeekPlan, *, concurrency: int = 1, threads: int | None = None,
                 outage_limit_s: float = OUTAGE_LIMIT_S) -> None:
        self._plan, self._concurrency, self._threads = plan, concurrency, threads
        self._outage_limit_s = outage_limit_s
        self._texts = load_texts(plan.prompts)
        self._weeks: dict[str, Week] = {}
        self._compiled: dict[str, CompiledWeek] = {}
        self._model: ChatModel | None = None
        self._commit = commit()

    async def open(self, folder: Path) -> None:
        """Make or read the weeks, open the model, and take up what was compiled before."""
        file = self._plan.week_file
        self._weeks = {str(seed): generate_week(seed) for seed in self._plan.weeks} if file is None else \
            {re.sub(r"[^A-Za-z0-9_-]", "_", file.stem): load_week(file)}
        for week in self._weeks.values():
            check_ground_truth(week)
        if self._plan.policy is None:
            self._model = await open_model(self._plan.model, slots=self._concurrency, threads=self._threads,
                                           outage_limit_s=self._outage_limit_s)
        compiles, slug = folder / "compiled", self._cell().slug
        weights = str(self._model.identity().get("weights_sha256", "")) if self._model is not None else ""
        self._compiled = {name: CompiledWeek(week, self._texts, self._agent, compiles / f"{slug}.{name}.json", weights)
                          for name, week in self._weeks.items()}

    @property
    def _agent(self) -> str:
        return self._model.name if self._model is not None else self._plan.model

    def _cell(self) -> HarnessCell:
        settings = {"temperature": f"T{self._plan.temperature:g}", "prompts": self._plan.prompts}
        settings |= {"history": "daily"} if self._plan.history_is_daily else {}
        return HarnessCell(self.name, self._agent, settings)

    def items(self) -> Sequence[Item]:
        """Every week with every seed on every rung, the rungs of a week side by side."""
        cell = self._cell()
        return [Item(cell, rung.identity, week, seed)
                for week, seed, rung in product(self._weeks, self._plan.seeds, self._plan.rungs)]

    def header(self, item: Item) -> HarnessRecord:
        """What the item is measured on, with all that its score depends on."""
        week = self._weeks[item.name]
        subject = {
            "week_sha256": week.sha256, "generated": self._plan.week_file is None,
            "steps": [step.id for _, step in week.steps()],
            "days": {step.id: week.day_name(day) for day, step in week.steps()},
            "channels": [channel.id for channel in week.all_channels()],
            "meant": [asdict(one) for one in meant_in(week)],
            "intentions": [asdict(intention) for intention in intentions(week)],
        }
        sampling = {"temperature": self._plan.temperature, "seed": item.seed, "max_tokens": REPLY_TOKENS,
                    "match_tokens": MATCH_TOKENS, "tries": TRIES, "max_queries": self._plan.most_queries}
        identity = self._model.identity() if self._model is not None else {"name": self._plan.model}
        return HarnessRecord(SCHEMA, self._plan.study, item.cell, item.arm, item.name, item.seed, subject,
                             self._texts.sha256, {"version": artifact.__version__, "commit": self._commit},
                             {"agent": identity}, sampling, datetime.now(UTC).isoformat(timespec="seconds"))

    async def run_one(self, item: Item, journal: Journal) -> EndRecord:
        """Run one week on one rung."""
        week = self._weeks[item.name]
        world = World(week)
        mind = self._mind(item, week, world)
        rung = next(rung for rung in Rung if rung.identity == item.arm)
        memory = Memory([one for one in journal.recorded if isinstance(one, AnswerRecord)], journal.write)

        async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
            return await mind.answer(purpose, messages, max_tokens=BUDGETS["no_think"].compile, schema=schema)

        async def compiled(moment: Moment) -> tuple[CompileRecord, ...]:
            return await self._compiled[item.name].of(moment, ask)

        setting = Setting(rung, self._texts, self._plan.history_is_daily, self._plan.most_queries)
        end = await Run(week, world, setting, mind, memory, compiled).go()
        return replace(end, seconds=memory.seconds)

    def _mind(self, item: Item, week: Week, world: World) -> Mind:
        if self._plan.policy is not None:
            return ScriptedMind(self._plan.policy, week, world)
        assert self._model is not None
        return LiveMind(self._model, item.label, self._plan.temperature, item.seed)

    async def close(self) -> None:
        """Close the model."""
        if self._model is not None:
            await self._model.close()
