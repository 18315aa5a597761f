"""The generator: deterministic, solvable, every trap feasible."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from artifact.errors import RequestError
from artifact.generator import TRAP_BUDGET, TURNS, domain_names, generate, trap_budget
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, ScriptedTurn, Status, TaskState, judge_turn

GOLDEN = Path(__file__).parent / "golden" / "episodes.sha256"
CONFIGURATIONS = ((5, 0.15), (10, 0.15), (15, 0.15), (15, 0.3), (18, 0.15))
STATUS_MET = {
    RequestKind.ASK: Status.TODO,
    RequestKind.PREMATURE: Status.BLOCKED,
    RequestKind.REDO_PROBE: Status.DONE,
    RequestKind.SUPERSEDED_CUE: Status.CANCELLED,
    RequestKind.LEGIT_REDO: Status.DONE,
}
configurations = st.builds(
    dict,
    seed=st.integers(0, 2**31 - 1),
    size=st.integers(1, 18),
    density=st.sampled_from([0.0, 0.15, 0.3, 0.7, 1.0]),
    domain=st.sampled_from(["procurement", "release"]),
)
generated = settings(max_examples=150, deadline=None)


def golden_hashes() -> Iterator[tuple[str, str]]:
    """Name and hash of each configuration, and of all together."""
    canonical = TypeAdapter(Episode).dump_json
    everything = hashlib.sha256()
    for domain in ("procurement", "release"):
        for size, density in CONFIGURATIONS:
            part = hashlib.sha256()
            for seed in range(100, 228):
                line = canonical(generate(seed=seed, size=size, density=density, domain=domain)) + b"\n"
                part.update(line)
                everything.update(line)
            yield f"{domain}/S{size:02d}/d{density:g}", part.hexdigest()
    yield "all", everything.hexdigest()


def play(episode: Episode) -> Iterator[tuple[ScriptedTurn, TaskState, bool]]:
    """Each request with the state that it meets under perfect play, and whether executing it is right."""
    state = TaskState(episode.graph.check())
    for index, turn in enumerate(episode.turns):
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
        if turn.step is None or turn.work_order is None:
            continue
        met = state.authorize([turn.step] if turn.kind is RequestKind.LEGIT_REDO else [])
        allowed = met.decide(turn.step).allowed
        assert not judge_turn(met, turn.step, [turn.step] if allowed else [])
        yield turn, met, allowed
        if allowed:
            state = met.execute(turn.step, turn.work_order, index).authorize([])


def test_the_same_seed_gives_the_same_bytes_as_ever() -> None:
    committed = dict(reversed(line.split("  ")) for line in GOLDEN.read_text().splitlines())
    assert dict(golden_hashes()) == committed


@generated
@given(configurations)
def test_every_trap_is_feasible_and_every_ask_eligible_when_it_comes(configuration) -> None:
    for turn, state, allowed in play(generate(**configuration)):
        assert state.status(turn.step) is STATUS_MET[turn.kind]
        assert allowed is (turn.kind in {RequestKind.ASK, RequestKind.LEGIT_REDO})


@generated
@given(configurations)
def test_every_episode_is_solvable_with_each_live_step_asked_once(configuration) -> None:
    episode = generate(**configuration)
    asked = sorted(turn.step for turn in episode.turns if turn.kind is RequestKind.ASK)
    live = sorted(step.id for step in episode.graph.steps if step.id != episode.revision.cancel)
    assert asked == live
    assert {turn.step for turn, _, allowed in play(episode) if allowed} == set(live)


@generated
@given(configurations)
def test_every_episode_has_44_turns_and_the_whole_trap_budget(configuration) -> None:
    episode = generate(**configuration)
    kinds = [turn.kind for turn in episode.turns]
    assert len(kinds) == TURNS == 44
    assert {kind: kinds.count(kind) for kind in TRAP_BUDGET} == trap_budget(configuration["size"])
    if configuration["size"] >= 5:
        assert trap_budget(configuration["size"]) == TRAP_BUDGET
        assert sum(kind not in NOT_A_REQUEST for kind in kinds) == configuration["size"] + 5
        assert 18 <= kinds.index(RequestKind.REVISION) <= 26
    assert kinds.count(RequestKind.REVISION) == (configuration["size"] >= 5)


@generated
@given(configurations)
def test_each_request_carries_a_work_order_of_its_own_and_nothing_else_carries_one(configuration) -> None:
    episode = generate(**configuration)
    requests = [turn for turn in (*episode.turns, *episode.reasks) if turn.kind not in NOT_A_REQUEST]
    orders = [turn.work_order for turn in requests]
    codes = [step.code for step in episode.graph.steps]
    assert len(set(orders)) == len(orders) and len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"#W\d{4}", order) for order in orders)
    assert all(re.fullmatch(r"RC-\d{4}", code) for code in codes)
    for turn in requests:
        assert re.search(rf" \({turn.work_order}\)[.?!]$", turn.text)
    for turn in episode.turns:
        if turn.kind in NOT_A_REQUEST:
            assert turn.work_order is None and turn.step is None and "#W" not in turn.text


@generated
@given(configurations)
def test_there_is_one_spare_ask_for_each_live_step_worded_otherwise_than_the_first(configuration) -> None:
    episode = generate(**configuration)
    first = {turn.step: turn.text.split(" (#")[0] for turn in episode.turns if turn.kind is RequestKind.ASK}
    spare = {turn.step: turn.text.split(" (#")[0] for turn in episode.reasks}
    assert len(episode.reasks) == len(first)
    assert spare.keys() == first.keys()
    assert all(spare[step] != first[step] for step in first)


@generated
@given(configurations)
def test_no_filler_is_said_twice(configuration) -> None:
    fillers = [turn.text for turn in generate(**configuration).turns if turn.kind is RequestKind.FILLER]
    assert len(set(fillers)) == len(fillers)


@generated
@given(configurations.filter(lambda configuration: configuration["size"] >= 5))
def test_the_revision_cancels_a_required_step_and_relaxes_one_that_it_leaves_alone(configuration) -> None:
    episode = generate(**configuration)
    revision = episode.revision
    rewired = dict(revision.rewires)
    step, dropped = revision.relax
    assert tuple(rewired) == episode.graph.dependents(revision.cancel) != ()
    for target, remaining in rewired.items():
        assert remaining == tuple(p for p in episode.graph[target].prerequisites if p != revision.cancel)
    assert dropped in episode.graph[step].prerequisites
    assert step != revision.cancel != dropped and step not in rewired


@generated
@given(configurations.filter(lambda configuration: configuration["size"] >= 5))
def test_the_revision_message_states_the_whole_revision(configuration) -> None:
    episode = generate(**configuration)
    message = next(turn.text for turn in episode.turns if turn.kind is RequestKind.REVISION)
    assert read_revision(episode, message) == (
        episode.revision.cancel,
        {step: set(remaining) for step, remaining in episode.revision.rewires},
        episode.revision.relax,
        set(episode.graph.revise(episode.revision)[episode.revision.relax[0]].prerequisites),
    )


def read_revision(episode: Episode, message: str) -> tuple:
    """What a careful reader makes of the message: a sentence at a time, steps by their quoted texts."""
    by_text = {step.text: step.id for step in episode.graph.steps}
    cancel = relax = None
    rewires, relaxed_needs = {}, set()
    for sentence in re.split(r"(?<=\.) ", message):
        named = [by_text[text] for text in re.findall(r'"([^"]+)"', sentence)]
        if "is cancelled" in sentence:
            (cancel,) = named
        elif "no longer requires" in sentence:
            relax, relaxed_needs = (named[0], named[1]), set(named[3:])
            assert named[2] == named[0]
        elif named:
            rewires[named[0]] = set(named[1:])
    return cancel, rewires, relax, relaxed_needs


@pytest.mark.parametrize("size", [8, 10, 15, 18])
@pytest.mark.parametrize("density", [0.0, 0.15, 1.0])
def test_the_relaxed_step_is_asked_before_the_prerequisite_that_it_drops_is_done(size: int, density: float) -> None:
    for seed in range(20):
        episode = generate(seed=seed, size=size, density=density)
        step, dropped = episode.revision.relax
        asked = [turn.step for turn in episode.turns if turn.kind is RequestKind.ASK]
        assert asked.index(step) < asked.index(dropped)


@generated
@given(configurations)
def test_domains_differ_in_words_alone(configuration) -> None:
    one, other = (generate(**{**configuration, "domain": domain}) for domain in ("procurement", "release"))
    assert without_words(one) == without_words(other)
    assert {step.text for step in one.graph.steps}.isdisjoint(step.text for step in other.graph.steps)


def without_words(episode: Episode) -> Episode:
    graph = replace(episode.graph, steps=tuple(replace(step, text="") for step in episode.graph.steps))
    return replace(episode, domain="", graph=graph, turns=tuple(replace(turn, text="") for turn in episode.turns),
                   reasks=tuple(replace(turn, text="") for turn in episode.reasks))


def test_step_ids_do_not_betray_the_order() -> None:
    forward = backward = 0
    for seed in range(300):
        for step in generate(seed=seed, size=15, density=0.3).graph.steps:
            for prerequisite in step.prerequisites:
                forward += int(prerequisite[1:]) < int(step.id[1:])
                backward += int(prerequisite[1:]) > int(step.id[1:])
    assert abs(forward / (forward + backward) - 0.5) < 0.02


def test_density_adds_dependencies() -> None:
    edges = [sum(len(step.prerequisites) for seed in range(50)
                 for step in generate(seed=seed, size=15, density=density).graph.steps)
             for density in (0.0, 0.15, 0.3, 1.0)]
    assert edges == sorted(set(edges))


def test_an_unknown_domain_is_refused_with_the_known_ones_named() -> None:
    assert domain_names() == ("procurement", "release")
    with pytest.raises(RequestError, match=r"'cooking'.*procurement, release"):
        generate(seed=1, domain="cooking")


@pytest.mark.parametrize("wrong", [
    {"seed": -1}, {"seed": 2**31}, {"seed": 1.5}, {"seed": True}, {"size": 0}, {"size": 19}, {"size": 5.0},
    {"density": -0.1}, {"density": 1.1}, {"density": float("nan")}, {"density": "0.15"},
])
def test_an_argument_out_of_range_is_refused_by_name(wrong: dict) -> None:
    (name,) = wrong
    with pytest.raises(RequestError, match=f"the {name} .* out of range"):
        generate(**{"seed": 1, **wrong})


@pytest.mark.parametrize("seed", [0, 2**31 - 1])
def test_the_first_and_the_last_seed_are_served(seed: int) -> None:
    assert generate(seed=seed).seed == seed
