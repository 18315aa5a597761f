"""The airline study as a harness: models opened, policy compiled, one log a task, rung and seed."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import artifact
from artifact.errors import RequestError
from artifact.harness.protocol import Item, Journal
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.harness.tau2 import benchmark, endpoint
from artifact.harness.tau2.affected import affected
from artifact.harness.tau2.agreement import agreements, asked_sha256
from artifact.harness.tau2.compile import CompiledPolicy, compile_policy, keep_compiled, read_compiled
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.plan import CALLER, COMPILED, REFERENCE, AirlinePlan
from artifact.harness.tau2.players import Memory, calling_user, live_agent, live_user
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.records import RECORD_TYPES, MessageRecord
from artifact.harness.tau2.rules import RuleSet, load_rules, reference_rules
from artifact.harness.tau2.scripted import script, scripted_agent, scripted_user
from artifact.harness.tau2.simulate import MAX_ERRORS, Setting, simulate
from artifact.harness.tau2.texts import prompts_sha256
from artifact.log.records import ArmIdentity, EndRecord, Message
from artifact.models import ChatModel, open_model
from artifact.models.base import Reply
from artifact.models.outage import OUTAGE_LIMIT_S
from artifact.runner.budgets import BUDGETS
from artifact.runner.commit import commit
from artifact.runner.loop import together

COMPILE_TEMPERATURE = 0.7
"""Of the second compile and the following ones; the first is greedy."""


class Airline:
    """τ²-bench airline behind the gate.

    Parameters
    ----------
    plan : AirlinePlan
        What to run.
    concurrency : int
        Items at a time; the embedded engine opens two slots for each, agent and user.
    threads : int or None
        Threads of the embedded engine.
    outage_limit_s : float
        How long the compile waits for a server that is down.
    """

    name = "tau2"
    record_types: Mapping[str, TypeAdapter[Any]] = RECORD_TYPES

    def __init__(self, plan: AirlinePlan, *, concurrency: int = 1, threads: int | None = None,
                 outage_limit_s: float = OUTAGE_LIMIT_S) -> None:
        self._plan, self._concurrency, self._threads = plan, concurrency, threads
        self._outage_limit_s = outage_limit_s
        self._stack = contextlib.AsyncExitStack()
        self._agent: ChatModel | None = None
        self._user: ChatModel | None = None
        self._rules = self._reference = reference_rules()
        self._commit = commit()

    async def open(self, folder: Path) -> None:
        """Open the models and get the rules, compiled once and kept in the study's folder."""
        benchmark.prepare()
        unknown = [task for task in self._plan.tasks if task not in benchmark.tasks()]
        if unknown:
            raise RequestError(f"the benchmark has no airline task {unknown[0]!r}; its tasks are 0 to "
                               f"{len(benchmark.tasks()) - 1}")
        if self._plan.policy is None:
            self._agent = await self._opened(self._plan.model)
            other = self._plan.user_model
            if not self._plan.caller:
                self._user = self._agent if other in (None, self._plan.model) else await self._opened(str(other))
        self._rules = await self._rules_in_force(folder)

    async def _opened(self, name: str) -> ChatModel:
        model = await open_model(name, slots=2 * self._concurrency, threads=self._threads,
                                 outage_limit_s=self._outage_limit_s)
        self._stack.push_async_callback(model.close)
        return model

    async def _rules_in_force(self, folder: Path) -> RuleSet:
        if self._plan.rules == REFERENCE:
            return reference_rules(self._plan.optional)
        if self._plan.rules != COMPILED:
            return load_rules(Path(self._plan.rules), optional=self._plan.optional)
        assert self._agent is not None
        compiled = await together(self._compiled(self._agent, number, folder) for number in range(self._plan.compiles))
        return compiled[0].rule_set()

    async def _compiled(self, model: ChatModel, number: int, folder: Path) -> CompiledPolicy:
        path = folder / "compiled" / f"{HarnessCell(self.name, model.name).slug}.{number}.json"
        temperature = COMPILE_TEMPERATURE if number else 0.0
        identity, policy, tools = model.identity(), benchmark.policy(), benchmark.described_tools()

        async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
            return await model.complete(messages, max_tokens=BUDGETS["no_think"].compile, temperature=temperature,
                                        seed=number, session=f"compile:state/{number}", schema=schema)

        compiled = read_compiled(path)
        if compiled is None or not compiled.is_of(identity, policy, tools):
            compiled = await compile_policy(ask, model.name, policy, tools, temperature=temperature, seed=number,
                                            identity=identity)
        if compiled.agreement is None or compiled.agreement.asked_sha256 != asked_sha256():
            compiled = replace(compiled, agreement=agreements([compiled.usable])[0])
            keep_compiled(compiled, path)
        return compiled

    def items(self) -> Sequence[Item]:
        """Every task on every rung, the rungs of a task side by side."""
        settings = {"user": self._user.name if self._user else CALLER.removeprefix("scripted:") if self._plan.caller
                    else "scripted", "rules": self._rules_name()}
        cell = HarnessCell(self.name, self._agent.name if self._agent else self._plan.model, settings)
        tasks = self._plan.tasks or tuple(benchmark.tasks())
        return [Item(cell, ArmIdentity(str(rung)), task, seed)
                for task, seed, rung in product(tasks, self._plan.seeds, self._plan.rungs)]

    def _rules_name(self) -> str:
        named = self._plan.rules if self._plan.rules in (REFERENCE, COMPILED) else Path(self._plan.rules).stem
        return "+".join((named, *self._plan.optional))

    def header(self, item: Item) -> HarnessRecord:
        """What the item is measured on: the rules in full, the gold writes, and whether doing nothing passes."""
        task = benchmark.tasks()[item.name]
        writes = [(name, arguments) for name, arguments in benchmark.gold_calls(task) if name in set(WriteTool)]
        subject = {
            "gold_writes": [{"tool": name, "arguments": arguments} for name, arguments in writes],
            "idle_passes": benchmark.idle_passes(item.name), "unaffected": not affected(item.name),
            "policy_sha256": benchmark.policy_sha256(), "reference_sha256": self._reference.sha256,
            "rules": {"name": self._rules.name, "sha256": self._rules.sha256,
                      "rules": [rule.as_data() for rule in self._rules.rules]},
        }
        package = {"version": artifact.__version__, "commit": self._commit, "benchmark": benchmark.benchmark_version()}
        sampling = {"temperature": endpoint.TEMPERATURE, "max_tokens": endpoint.MOST_TOKENS, "seed": item.seed,
                    "max_steps": self._plan.max_steps, "max_errors": MAX_ERRORS}
        models = {"agent": self._agent.identity() if self._agent else {"name": self._plan.model},
                  "user": self._user.identity() if self._user else {"name": self._plan.user_model or self._plan.model}}
        return HarnessRecord(SCHEMA, self._plan.study, item.cell, item.arm, item.name, item.seed, subject,
                             prompts_sha256(), package, models, sampling,
                             datetime.now(UTC).isoformat(timespec="seconds"))

    async def run_one(self, item: Item, journal: Journal) -> EndRecord:
        """Run one task on one rung, in a thread of its own: the benchmark's orchestrator isn't asynchronous."""
        return await asyncio.to_thread(self._simulate, item, journal)

    def _simulate(self, item: Item, journal: Journal) -> EndRecord:
        task = benchmark.tasks()[item.name]
        setting = Setting(Rung(item.arm.name), self._rules, self._reference,
                          item.seed if self._plan.policy is None else None, self._plan.max_steps)
        memory = Memory([r for r in journal.recorded if isinstance(r, MessageRecord)], journal.write)

        def players(environment: Any, shown: Any) -> tuple[Any, Any]:
            if self._plan.policy is not None:
                calls, last_words = script(self._plan.policy, task)
                return (scripted_agent(environment, calls, last_words, journal.write),
                        scripted_user(journal.write))
            assert self._agent is not None
            agent = live_agent(environment, endpoint.endpoint(self._plan.model, self._agent), memory, shown)
            if self._user is None:
                return agent, calling_user(task, memory)
            user = endpoint.endpoint(self._plan.user_model or self._plan.model, self._user)
            return agent, live_user(task, user, memory)

        end = simulate(task, setting, players, journal.write)
        return replace(end, seconds=memory.seconds)

    async def close(self) -> None:
        """Close the models."""
        await self._stack.aclose()
