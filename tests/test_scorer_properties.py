"""Properties of the scoring that hold for any plan, any schedule, any replies (hypothesis)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from artifact.generator import domain_names, generate
from artifact.log import EpisodeLog
from artifact.scorer import score_log
from artifact.taskstate import (
    Channel,
    Episode,
    Receipt,
    RequestKind,
    Revision,
    ScriptedTurn,
    Status,
    Step,
    TaskGraph,
    TaskState,
    Violation,
    judge_turn,
)
from episode_logs import always_book, booking, but, episode_of, owed, perfect, play, state_bound

K = RequestKind
REQUESTS = (K.ASK, K.PREMATURE, K.REDO_PROBE, K.LEGIT_REDO)


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    """Any plan without a circle, of one to seven steps."""
    size = draw(st.integers(1, 7))
    return TaskGraph(tuple(
        Step(f"s{i}", f"step {i}", f"RC-{1000 + i}",
             tuple(f"s{j}" for j in range(i) if draw(st.booleans())))
        for i in range(size))).check()


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """Any schedule over any plan, with a revision in the middle that rewires whatever required its step."""
    graph = draw(graphs())
    names = [step.id for step in graph.steps]
    cancel = draw(st.sampled_from(names))
    rewires = tuple((other, tuple(p for p in graph[other].prerequisites if p != cancel))
                    for other in graph.dependents(cancel))
    request = st.tuples(st.sampled_from(REQUESTS), st.sampled_from(names))
    idle = st.tuples(st.sampled_from((K.FILLER, K.AMBIGUOUS)), st.none())
    turns = st.lists(st.one_of(request, request, request, idle), max_size=12)
    after = draw(st.lists(st.just((K.SUPERSEDED_CUE, cancel)), max_size=2))
    schedule = [*draw(turns), (K.REVISION, None), *draw(turns), *after]
    return episode_of(*schedule, graph=graph, revision=Revision(cancel, rewires))


@st.composite
def states(draw: st.DrawFn) -> TaskState:
    """Any state at all, however it came about."""
    graph = draw(graphs())
    some = st.sets(st.sampled_from([step.id for step in graph.steps]))
    for step in sorted(draw(some)):
        graph = graph.cancel(step)
    receipts = tuple(Receipt(step, "#W0001", 0) for step in sorted(draw(some)))
    return TaskState(graph, receipts).authorize(draw(some))


# The definitions of §3.1, one by one, apart from the code under test.
@dataclass(frozen=True)
class Turn:
    state: TaskState
    requested: str | None
    executed: frozenset[str]

    def right_to_execute(self, step: str) -> bool:
        status = self.state.status(step)
        return status is Status.TODO or (status is Status.DONE and step in self.state.authorized)

    def is_wrong(self, step: str) -> bool:
        return (step in self.executed) != (step == self.requested and self.right_to_execute(step))


DEFINITIONS: dict[Channel, Callable[[Turn, str], bool]] = {
    Channel.RE_EXECUTION: lambda t, v: v == t.requested and v in t.executed and t.state.status(v) is Status.DONE
    and v not in t.state.authorized,
    Channel.SUPERSEDED: lambda t, v: v == t.requested and v in t.executed and t.state.status(v) is Status.CANCELLED,
    Channel.PREMATURE: lambda t, v: v == t.requested and v in t.executed and t.state.status(v) is Status.BLOCKED,
    Channel.OMISSION: lambda t, v: v == t.requested and v not in t.executed and t.state.status(v) is Status.TODO,
    Channel.UNREQUESTED: lambda t, v: v != t.requested and v in t.executed,
    Channel.REFUSED_REDO: lambda t, v: v == t.requested and v not in t.executed and t.state.status(v) is Status.DONE
    and v in t.state.authorized,
}


@given(states(), st.data())
def test_the_channels_partition_the_violations(state: TaskState, data: st.DataObject) -> None:
    names = [step.id for step in state.graph.steps]
    requested = data.draw(st.none() | st.sampled_from(names))
    executed = data.draw(st.frozensets(st.sampled_from(names)))
    turn = Turn(state, requested, executed)
    found = judge_turn(state, requested, executed)
    assert {v.step for v in found} == {step for step in names if turn.is_wrong(step)}
    assert len({v.step for v in found}) == len(found)
    for violation in found:
        assert [channel for channel, holds in DEFINITIONS.items() if holds(turn, violation.step)] == [violation.channel]
    right = [step for step in names if not turn.is_wrong(step)]
    assert not any(holds(turn, step) for step in right for holds in DEFINITIONS.values())


@given(episodes())
def test_perfect_play_is_always_strict(episode: Episode) -> None:
    verdict = score_log(play(episode))
    assert verdict.strict
    assert verdict.decline_aware


@given(episodes())
def test_perfect_play_behind_a_gate_that_knows_the_state_is_refused_nothing(episode: Episode) -> None:
    log = play(episode, channel=state_bound)
    assert all(booking.accepted for turn in log.turns for booking in turn.bookings)
    assert score_log(log).strict


@given(episodes())
def test_the_memoryless_agent_behind_a_gate_that_knows_the_state_is_strict(episode: Episode) -> None:
    assert score_log(play(episode, always_book, channel=state_bound)).strict


def states_of(log: EpisodeLog, episode: Episode) -> list[TaskState]:
    """The realized state at the start of each turn, replayed."""
    state, seen = TaskState(episode.graph), []
    for turn in log.turns:
        seen.append(state)
        for entered in turn.bookings:
            if entered.accepted and entered.step:
                state = state.execute(entered.step, entered.work_order, turn.turn)
        if turn.kind is K.REVISION:
            state = state.revise(episode.revision)
    return seen


def faults(turn: ScriptedTurn, state: TaskState) -> list[tuple[Violation, tuple[str, ...]]]:
    """Each single violation that the turn admits, with the steps to book for it."""
    if turn.work_order is None:
        return []
    served = (turn.step,) if turn.step and owed(turn, state) else ()
    possible: list[tuple[Violation, tuple[str, ...]]] = [
        (Violation(Channel.UNREQUESTED, step.id), (*served, step.id)) for step in state.graph.steps
        if step.id != turn.step]
    if turn.step is not None:
        status = state.status(turn.step)
        if served:
            channel = Channel.OMISSION if status is Status.TODO else Channel.REFUSED_REDO
            possible.append((Violation(channel, turn.step), ()))
        else:
            channel = {Status.DONE: Channel.RE_EXECUTION, Status.CANCELLED: Channel.SUPERSEDED,
                       Status.BLOCKED: Channel.PREMATURE}[status]
            possible.append((Violation(channel, turn.step), (turn.step,)))
    return possible


@given(episodes(), st.data())
@settings(max_examples=200)
def test_one_fault_in_perfect_play_adds_exactly_one_violation_to_its_channel_at_its_turn(
        episode: Episode, data: st.DataObject) -> None:
    before = states_of(play(episode), episode)
    choices = [(number, fault) for number, (turn, state) in enumerate(zip(episode.turns, before, strict=True))
               for fault in faults(turn, state)]
    assume(choices)
    number, (violation, steps) = data.draw(st.sampled_from(choices))
    # After the fault the agent goes on perfectly, on the state that the fault has left.
    verdict = score_log(play(episode, but(number, lambda n, turn, state: booking(turn, state, *steps))))
    assert [(turn.turn, v) for turn in verdict.turns for v in turn.violations] == [(number, violation)]
    assert verdict.count(violation.channel) == 1
    assert not verdict.strict


REPLY_PIECES = ("ref RC-{code}/{work_order}", "ref RC-{code}/#W0001", "**ref: rc-{code} / {work_order}**", "Done.",
                "\n", "I will not perform it. ", "already done; ", "[TASK-STATE] ", "[BOOKING REJECTED] ")


@st.composite
def agents(draw: st.DrawFn) -> Callable[[int, ScriptedTurn, TaskState], str]:
    """An agent that writes anything whatever."""
    pieces = draw(st.lists(st.tuples(st.sampled_from(REPLY_PIECES), st.integers(1000, 1008)), min_size=1, max_size=40))

    def act(number: int, turn: ScriptedTurn, state: TaskState) -> str:
        start = number * 3 % len(pieces)
        return "".join(piece.format(code=code, work_order=turn.work_order) for piece, code in pieces[start:start + 6])
    return act


@given(episodes(), agents())
def test_a_gate_that_knows_the_state_never_commits_a_wrong_status(
        episode: Episode, agent: Callable[[int, ScriptedTurn, TaskState], str]) -> None:
    verdict = score_log(play(episode, agent, channel=state_bound))
    for channel in (Channel.RE_EXECUTION, Channel.SUPERSEDED, Channel.PREMATURE):
        assert verdict.count(channel) == 0


@given(episodes(), agents())
def test_any_replies_can_be_scored_and_each_turn_is_right_or_has_violations(
        episode: Episode, agent: Callable[[int, ScriptedTurn, TaskState], str]) -> None:
    log = play(episode, agent)
    verdict = score_log(log)
    for turn, state in zip(verdict.turns, states_of(log, episode), strict=True):
        assert turn.status == (state.status(turn.step) if turn.step else None)
        assert set(turn.da_executed) <= set(turn.executed)
        assert set(turn.executed) == {b.step for b in log.turns[turn.turn].bookings if b.accepted and b.step}
    assert verdict.strict == all(turn.right for turn in verdict.turns)


@pytest.mark.parametrize("size", [1, 5, 10, 18])
def test_perfect_play_of_a_generated_episode_is_strict_and_meets_every_premise(size: int) -> None:
    for domain, seed in product(domain_names(), range(100, 120)):
        episode = generate(seed=seed, size=size, domain=domain)
        verdict = score_log(play(episode, perfect))
        assert verdict.strict
        assert [turn.label for turn in verdict.turns] == [turn.kind for turn in episode.turns]
