"""Logs of gate arms in hand-made episodes: the real arm, a state and matches that the test supplies, a given agent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from artifact.arms import ArmOptions, ArmSpec, Opening, Request, load_prompts, make_arm
from artifact.log import CompileRecord, EpisodeLog, MatchRecord, Message, TurnRecord, Usage
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, Revision, TaskGraph, TaskState, validate
from episode_logs import Agent, perfect, play

Match = tuple[str | None, bool]


@dataclass
class SuppliedState:
    """A state source that says what the test wants, and remembers it as a run would have logged it."""

    episode: Episode
    graph: TaskGraph | None
    change: Revision | None
    matches: Mapping[int, Match]

    def __post_init__(self) -> None:
        self.compiled: list[CompileRecord] = []
        self.matched: list[MatchRecord] = []

    async def plan(self) -> CompileRecord:
        """The graph of the test."""
        return self._compile("plan", self.graph)

    async def revision(self, message: str) -> CompileRecord:
        """The revision of the test."""
        assert self.graph is not None
        return self._compile("revision", self.graph.revise(self.change) if self.change else None)

    def _compile(self, stage: str, graph: TaskGraph | None) -> CompileRecord:
        found = tuple(validate(graph)) if graph is not None else ()
        self.compiled.append(CompileRecord(
            stage, "compiled", graph, revision=self.change if stage == "revision" else None,
            error=None if graph is not None else "no answer", defects=found))
        return self.compiled[-1]

    async def match(self, request: Request) -> MatchRecord:
        """The match of the test, or the right one."""
        turn = self.episode.turns[request.turn]
        step, redo = self.matches.get(request.turn, (turn.step, turn.kind is RequestKind.LEGIT_REDO))
        self.matched.append(MatchRecord(request.turn, step, redo))
        return self.matched[-1]


_SAME = object()


def play_gate(
    episode: Episode, agent: Agent = perfect, *, arm: str = "enforcement", graph: TaskGraph | object | None = _SAME,
    revision: Revision | object | None = _SAME, matches: Mapping[int, Match] | None = None, corruption: float = 0.0,
    study: str = "study",
) -> EpisodeLog:
    """The log of an agent behind a gate: compiled right and matched right unless told otherwise."""
    source = SuppliedState(
        episode, episode.graph if graph is _SAME else graph,  # type: ignore[arg-type]
        episode.revision if revision is _SAME else revision, matches or {})  # type: ignore[arg-type]
    spec = ArmSpec(arm, ArmOptions(corruption=corruption))
    turns = asyncio.run(_converse(episode, agent, spec, source))
    plain = play(episode, arm=arm, options=spec.identity.options, study=study)
    assert plain.end is not None
    return replace(plain, turns=tuple(turns), compiles=tuple(source.compiled), matches=tuple(source.matched),
                   end=replace(plain.end, turns=len(turns)))


async def _converse(episode: Episode, agent: Agent, spec: ArmSpec, source: SuppliedState) -> list[TurnRecord]:
    arm = make_arm(spec)
    await arm.open(Opening(load_prompts("paper"), source, episode.seed))
    realized, turns = TaskState(episode.graph), []
    for number, turn in enumerate(episode.turns):
        request = Request(number, turn.text, turn.work_order, turn.kind not in NOT_A_REQUEST)
        if turn.kind is RequestKind.REVISION:
            await arm.revise(turn.text)
        outgoing = await arm.compose(request)
        now = realized.authorize([turn.step] if turn.kind is RequestKind.LEGIT_REDO and turn.step else [])
        reply = agent(number, turn, now)
        bookings = arm.receive(request, reply).bookings
        turns.append(TurnRecord(
            turn=number, scripted=number, kind=turn.kind, text=turn.text, step=turn.step, work_order=turn.work_order,
            sent=(Message("user", outgoing.content),), ephemeral=(), reply=reply, reasoning="", finish_reason="stop",
            bookings=bookings, directive=outgoing.directive, notices=outgoing.notices, checklist="",
            usage=Usage(100, 90, 10, 0.5)))
        for booking in bookings:
            owner = episode.graph.step_with_code(booking.code)
            if booking.accepted and owner is not None:
                realized = realized.execute(owner, booking.work_order, number)
        if turn.kind is RequestKind.REVISION:
            realized = realized.revise(episode.revision)
    return turns
