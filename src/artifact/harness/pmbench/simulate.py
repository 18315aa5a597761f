"""One week, one rung: the agent meets every step, asks what it likes, chooses. Pure but for the model.

Invariants: a reply that can't be read selects nothing; infrastructure that failed ends the week with a reason.
"""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from artifact.arms.structured import Answer, Ask, Unusable, usage_of
from artifact.harness.pmbench.coupling import Coupling
from artifact.harness.pmbench.environment import CLOCK, Moment, World
from artifact.harness.pmbench.matcher import Evidence, Questions
from artifact.harness.pmbench.record import Record
from artifact.harness.pmbench.records import AnswerRecord, CompileRecord, StepRecord
from artifact.harness.pmbench.replies import Choice, Query, read_reply
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.texts import Texts
from artifact.harness.pmbench.week import CueKind, Week
from artifact.log.records import EndReason, EndRecord, Message
from artifact.models.base import ContextOverflow, FinishReason, ModelError, ModelTimeout, Reply
from artifact.models.transcript import Transcript
from artifact.runner.loop import together

REPLY_TOKENS, MATCH_TOKENS = 256, 128
TRIES = 2
"""Replies that may be given where one is asked for; the last unusable one ends the step with nothing selected."""
MOST_QUERIES = 20
UNKNOWN = "unknown"


class Mind(Protocol):
    """Who acts and matches."""

    async def answer(self, purpose: str, messages: Sequence[Message], *, max_tokens: int,
                     schema: dict[str, Any] | None) -> Reply:
        """Answer; `purpose` is ``"act"``, ``"match"``, ``"compile_plan"`` or ``"compile_note"``."""
        ...


@dataclass(frozen=True)
class Setting:
    """What a week is run under.

    Parameters
    ----------
    rung : Rung
        The coupling.
    texts : Texts
        The prompt set.
    history_is_daily : bool
        Whether each morning begins a new conversation, which has the plans and scenes of the days before, but neither
        their menus nor what was answered. The benchmark never prunes.
    most_queries : int
        Queries that are answered in a step.
    """

    rung: Rung
    texts: Texts
    history_is_daily: bool = False
    most_queries: int = MOST_QUERIES


@dataclass
class Memory:
    """The answers of an earlier run, to be given again in order, and where new ones are written."""

    recorded: list[AnswerRecord]
    write: Callable[[Any], None]
    seconds: float = 0.0

    async def answer(self, mind: Mind, purpose: Any, messages: Sequence[Message], *, max_tokens: int,
                     schema: dict[str, Any] | None = None, write: Callable[[Any], None] | None = None) -> Reply:
        """An answer, the first recorded one to the same question or a new one; `write` takes it in the log's place."""
        sent = messages[-1].content
        place = next((place for place, one in enumerate(self.recorded) if (one.purpose, one.sent) == (purpose, sent)),
                     None)
        if place is not None:
            record = self.recorded.pop(place)
            self.seconds += record.usage.latency_s
            reply = Reply(record.reply, record.reasoning, FinishReason(record.finish_reason), record.usage.prompt,
                          record.usage.cached, record.usage.completion, record.usage.latency_s, record.usage.attempts,
                          record.usage.faults)
        else:  # where the log says something else, the writer refuses what is written next
            reply = await mind.answer(purpose, messages, max_tokens=max_tokens, schema=schema)
        (write or self.write)(AnswerRecord(purpose, sent, reply.text, str(reply.finish_reason), usage_of(reply),
                                           reply.reasoning))
        return reply


Compiled = Callable[[Moment], Awaitable[tuple[CompileRecord, ...]]]
"""What the texts of a step do to the record, compiled."""


class Run:
    """One run of a week.

    Parameters
    ----------
    week : Week
        The week.
    world : World
        It as it goes by.
    setting : Setting
        Rung, words and limits.
    mind : Mind
        Who acts and matches.
    memory : Memory
        Answers recorded and new.
    compiled : callable
        Gives what a step's texts do to the record; asked only by rungs that own one.
    """

    def __init__(self, week: Week, world: World, setting: Setting, mind: Mind, memory: Memory,
                 compiled: Compiled) -> None:
        self._week, self._world, self._setting, self._mind = week, world, setting, mind
        self._memory, self._compiled = memory, compiled
        self._texts = setting.texts
        self._channels = [channel.id for channel in week.all_channels()]
        days = [week.day_name(number) for number in range(len(week.days))]
        self._coupling = Coupling(setting.rung, setting.texts, Record(days, self._channels), self._ask_all)
        self._transcript = Transcript()
        self._ledger: tuple[str, ...] = ()

    async def _ask_all(self, questions: Questions) -> list[Answer[Any]]:
        """Ask the matcher's questions at the same time; the log has the answers in the order of the questions."""
        held: list[list[AnswerRecord]] = [[] for _ in questions]

        async def one(question: Callable[[Ask], Awaitable[Answer[Any]]], written: list[AnswerRecord]) -> Answer[Any]:
            async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
                return await self._memory.answer(self._mind, purpose, messages, max_tokens=MATCH_TOKENS, schema=schema,
                                                 write=written.append)
            return await question(ask)

        try:
            return await together(map(one, questions, held))
        finally:
            for record in itertools.chain(*held):
                self._memory.write(record)

    async def go(self) -> EndRecord:
        """Live the week to its end."""
        steps = 0
        try:
            for steps in range(len(self._world)):
                await self._step(self._world.moment(steps))
        except ContextOverflow as error:
            return EndRecord(EndReason.CONTEXT_OVERFLOW, steps, str(error), faults=error.faults)
        except ModelTimeout as error:
            return EndRecord(EndReason.TIMEOUT, steps, str(error), faults=error.faults)
        except ModelError as error:
            return EndRecord(EndReason.MODEL_ERROR, steps, str(error), faults=error.faults)
        return EndRecord(EndReason.COMPLETED, len(self._world))

    async def _step(self, moment: Moment) -> None:
        if self._setting.rung.owns_record:
            for compiled in await self._compiled(moment):
                self._memory.write(compiled)
                for operation in compiled.operations:
                    self._coupling.record.apply(operation, moment.day)
        begins = moment.index == 0 or (self._setting.history_is_daily and moment.is_morning)
        if begins:
            self._transcript = Transcript([Message("system", self._protocol())])
        earlier = [self._earlier(moment.day)] if begins and moment.day else []
        lines = [*earlier, self._shown(moment), *await self._coupling.at_step(moment)]
        if self._setting.rung is Rung.LEDGER:
            lines.append(self._texts.render("ledger", lines="\n".join(f"- {one}" for one in self._ledger) or "- empty"))
        exchange = _Exchange()
        choice = await self._exchange(moment, "\n".join(lines), exchange)
        self._finish(moment, choice, exchange)

    def _protocol(self) -> str:
        keeps = self._setting.rung is Rung.LEDGER
        protocol = self._texts.render("protocol", channels=", ".join(self._channels),
                                      ledger=self._texts.render("ledger_example") if keeps else "")
        return f"{protocol}\n\n{self._texts.render('ledger_order')}" if keeps else protocol

    def _earlier(self, day: int) -> str:
        """Plans and scenes of the days before."""
        days = (f"[{self._week.day_name(number)}]\n{one.start_instructions}\n"
                + "\n".join(step.text for step in one.steps) for number, one in enumerate(self._week.days[:day]))
        return self._texts.render("earlier", days="\n".join(days))

    def _shown(self, moment: Moment) -> str:
        day, step = self._week.days[moment.day], moment.step
        morning = self._texts.render("morning", plan=day.start_instructions) + "\n" if moment.is_morning else ""
        number = next(place for place, one in enumerate(day.steps, start=1) if one.id == step.id)
        return self._texts.render(
            "step", morning=morning, day=self._week.day_name(moment.day), number=str(number), text=step.text,
            a=step.options.A, b=step.options.B, c=step.options.C,
            menu="\n".join(f"- {entry.handle}: {entry.words}" for entry in moment.menu))

    async def _exchange(self, moment: Moment, sent: str, exchange: "_Exchange") -> Choice | None:
        """Send and answer until a choice comes; None when none that can be read does."""
        failures = 0
        while True:
            self._transcript.append(Message("user", sent))
            reply = await self._memory.answer(self._mind, "act", self._transcript, max_tokens=REPLY_TOKENS)
            self._transcript.append(Message("assistant", reply.text))
            try:
                asked = read_reply(reply.text)
            except Unusable as problem:
                exchange.invalid += 1
                failures += 1
                sent = self._texts.render("correction", problem=str(problem))
            else:
                if isinstance(asked, Choice):
                    return asked
                if len(exchange.queries) < self._setting.most_queries:
                    failures = 0
                    sent = await self._answered(moment, asked, exchange)
                else:  # a query that could be read: unanswered, but not invalid
                    exchange.is_capped = True
                    failures += 1
                    sent = self._texts.render("no_more")
            if failures == TRIES:
                return None

    async def _answered(self, moment: Moment, asked: Query, exchange: "_Exchange") -> str:
        known = asked.channel is None or asked.channel in self._channels
        exchange.queries.append((asked.channel or CLOCK) if known else UNKNOWN)
        if asked.channel is None:
            evidence = Evidence(self._texts.render("answer", source="Clock", answer=self._world.clock(moment.index)),
                                CueKind.TIME)
        else:
            said = self._world.query(asked.channel, moment.index)
            if said is None:
                return self._texts.render("no_channel", channel=asked.channel[:40], channels=", ".join(self._channels))
            evidence = Evidence(self._texts.render("answer", source=asked.channel, answer=said), CueKind.CHANNEL,
                                asked.channel)
        return "\n".join([evidence.text, *await self._coupling.on_answer(moment, evidence)])

    def _finish(self, moment: Moment, choice: Choice | None, exchange: "_Exchange") -> None:
        handles = choice.handles if choice is not None else ()
        selected = [entry for handle in handles for entry in moment.menu if entry.handle == handle]
        refused = [one.entry.target for one in self._coupling.judge(selected)]
        self._world.execute([entry.target for entry in selected if entry.target not in refused], moment.index)
        written = choice.ledger if choice is not None else None
        self._ledger = self._ledger if written is None else written
        coupling = self._coupling
        self._memory.write(StepRecord(
            moment.step.id, choice.option if choice is not None else None, tuple(entry.target for entry in selected),
            tuple(refused), len(handles) - len(selected), tuple(exchange.queries),
            tuple(entry.target for entry in coupling.announced.values()),
            tuple(entry.target for entry in coupling.carried.values()), exchange.invalid, exchange.is_capped,
            coupling.matcher_failures, written is not None))


class _Exchange:
    """What happened in a step until its choice."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.invalid = 0
        self.is_capped = False
