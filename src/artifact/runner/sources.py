"""Where an arm's state comes from: compiler and matcher calls, or the generator's own for an oracle.

Invariant: only the checklist and arms with ``state=oracle`` or ``matcher=oracle`` are ever handed an episode.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from artifact.arms import ArmOptions, PromptSet, Request
from artifact.arms.compiler import compile_plan, compile_revision
from artifact.arms.healing import Earlier
from artifact.arms.matcher import match
from artifact.arms.memory.kit import Journal
from artifact.arms.structured import Ask
from artifact.log.records import CompileRecord, MatchRecord, MemoryRecord, Record
from artifact.taskstate import Episode, RequestKind, TaskGraph


class ModelSource:
    """State compiled and matched by a model from the texts that the agent sees.

    Parameters
    ----------
    ask : Ask
        The state model.
    prompts : PromptSet
        How it is asked.
    brief : str
        The system prompt of the agent.
    several : bool
        Whether a request may be resolved to two steps.
    """

    def __init__(self, ask: Ask, prompts: PromptSet, brief: str, *, several: bool = False) -> None:
        self._ask, self._prompts, self._brief, self._several = ask, prompts, brief, several

    async def plan(self, earlier: Earlier | None) -> CompileRecord:
        """Compile the brief."""
        return await compile_plan(self._ask, self._prompts, self._brief, earlier)

    async def revision(self, graph: TaskGraph, message: str, earlier: Earlier | None) -> CompileRecord:
        """Compile the revision message."""
        return await compile_revision(self._ask, self._prompts, graph, message, earlier)

    async def match(self, graph: TaskGraph, request: Request) -> MatchRecord:
        """Resolve a request."""
        return await match(self._ask, self._prompts, graph, request.turn, request.text, several=self._several)


class OracleSource:
    """The generator's own graph, revision and script."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._by_work_order = {turn.work_order: turn for turn in (*episode.turns, *episode.reasks) if turn.work_order}

    async def plan(self, earlier: Earlier | None) -> CompileRecord:
        """The generated graph."""
        return CompileRecord("plan", "oracle", self._episode.graph)

    async def revision(self, graph: TaskGraph, message: str, earlier: Earlier | None) -> CompileRecord:
        """The generated revision, applied."""
        revision = self._episode.revision
        return CompileRecord("revision", "oracle", graph.revise(revision), revision=revision)

    async def match(self, graph: TaskGraph, request: Request) -> MatchRecord:
        """The scripted step and redo flag."""
        turn = self._by_work_order.get(request.work_order or "")
        if turn is None:
            return MatchRecord(request.turn, None, False)
        return MatchRecord(request.turn, turn.step, turn.kind is RequestKind.LEGIT_REDO)


class StateMaker(Protocol):
    """What makes state: a model that reads, or the generator that knows."""

    async def plan(self, earlier: Earlier | None) -> CompileRecord:
        """The graph of the brief."""
        ...

    async def revision(self, graph: TaskGraph, message: str, earlier: Earlier | None) -> CompileRecord:
        """The revision that a message orders of a graph."""
        ...

    async def match(self, graph: TaskGraph, request: Request) -> MatchRecord:
        """The step that a request is about."""
        ...


Share = Callable[[str, Callable[[], Awaitable[CompileRecord]]], Awaitable[CompileRecord]]


class JournaledSource:
    """An arm's state source whose answers stand in the log: what is recorded is not asked for again.

    Parameters
    ----------
    plan, matcher : StateMaker
        Who makes graph and revision, and who matches.
    recorded : tuple of Record
        The log so far.
    write : callable
        Appends a record to the log.
    share : callable
        Makes a compile once for all the arms that share it: called with the stage and the compile itself.
    """

    def __init__(self, plan: StateMaker, matcher: StateMaker, recorded: tuple[Record, ...],
                 write: Callable[[Record], None], share: Share) -> None:
        self._maker, self._matcher, self._write, self._share = plan, matcher, write, share
        self._compiles = {r.stage: r for r in recorded if isinstance(r, CompileRecord)}
        self._matches = {r.turn: r for r in recorded if isinstance(r, MatchRecord)}
        self._graph: TaskGraph | None = None

    async def plan(self, earlier: Earlier | None = None) -> CompileRecord:
        """The plan, recorded or made."""
        record = await self._compile("plan_again" if earlier else "plan", lambda: self._maker.plan(earlier))
        self._graph = record.graph or self._graph
        return record

    async def revision(self, message: str, earlier: Earlier | None = None) -> CompileRecord:
        """The revision of the plan as it was compiled, recorded or made."""
        graph = self._owned()
        return await self._compile("revision_again" if earlier else "revision",
                                   lambda: self._maker.revision(graph, message, earlier))

    async def _compile(self, stage: str, make: Callable[[], Awaitable[CompileRecord]]) -> CompileRecord:
        record = self._compiles.get(stage) or await self._share(stage, make)
        self._write(record)
        return record

    async def match(self, request: Request) -> MatchRecord:
        """The match, recorded or made."""
        record = self._matches.get(request.turn) or await self._matcher.match(self._owned(), request)
        self._write(record)
        return record

    def _owned(self) -> TaskGraph:
        assert self._graph is not None, "an arm without a graph asks for nothing"
        return self._graph


def memory_journal(recorded: tuple[Record, ...], write: Callable[[Record], None]) -> Journal:
    """The journal of a memory arm: what is recorded for a turn is not recalled again."""
    known = {record.turn: record for record in recorded if isinstance(record, MemoryRecord)}

    async def journal(turn: int, make: Callable[[], Awaitable[MemoryRecord]]) -> MemoryRecord:
        record = known.get(turn) or await make()
        write(record)
        return record

    return journal


def makers_for(name: str, options: ArmOptions, model: StateMaker, oracle: StateMaker) -> tuple[StateMaker, StateMaker]:
    """Who makes state and matches for an arm, by what it is entitled to."""
    state = oracle if name == "checklist" or options.state == "oracle" else model
    return state, oracle if options.matcher == "oracle" else model
