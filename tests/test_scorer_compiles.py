"""Compile accuracy: each part against the generator's graph, by hand."""

from dataclasses import replace

import pytest

from artifact.scorer.compiles import CompileScore, score_compiles
from artifact.taskstate import Revision, Step, TaskGraph
from episode_logs import GRAPH, REVISION, every_kind, perfect, play
from gate_logs import play_gate


def score(graph: TaskGraph | None = GRAPH, revision: Revision | None = REVISION) -> CompileScore:
    """The score of a compiled state in the episode with every kind of request."""
    found = score_compiles(play_gate(every_kind(), graph=graph, revision=revision))
    assert found is not None
    return found


FLAWED = TaskGraph((GRAPH["s1"], replace(GRAPH["s2"], code=""), *GRAPH.steps[2:]))


def changed(**steps: Step) -> TaskGraph:
    """The plan with some steps compiled otherwise."""
    return TaskGraph(tuple(steps.get(step.id, step) for step in GRAPH.steps))


def test_a_state_that_was_compiled_right_is_right_in_every_part() -> None:
    found = score()
    assert (found.steps, found.dependencies, found.codes) == (5, 5, 5)
    assert (found.cancel, found.rewire, found.relax) == (True, True, True)
    assert found.whole and not found.failed and not found.flagged


def test_dependencies_count_as_sets_and_codes_step_by_step() -> None:
    turned = replace(GRAPH["s4"], prerequisites=("s3", "s2"))  # the same set in another order
    short = replace(GRAPH["s5"], prerequisites=("s4",))
    mistyped = replace(GRAPH["s2"], code="RC-9999")
    found = score(changed(s4=turned, s5=short, s2=mistyped))
    assert (found.steps, found.dependencies, found.codes) == (5, 4, 4)
    assert not found.whole


@pytest.mark.parametrize(("revision", "expected"), [
    (replace(REVISION, cancel="s2"), (False, True, True)),
    (replace(REVISION, rewires=()), (True, False, True)),
    (replace(REVISION, rewires=(("s4", ("s2", "s1")),)), (True, False, True)),
    (replace(REVISION, relax=None), (True, True, False)),
    (replace(REVISION, relax=("s5", "s4")), (True, True, False)),
    # A step that the change doesn't touch: invented where it changes something, nothing where it doesn't.
    (replace(REVISION, rewires=(("s4", ("s2",)), ("s2", ("s5",)))), (True, False, True)),
    (replace(REVISION, rewires=(("s4", ("s2",)), ("s2", ("s1",)))), (True, True, True)),
    # The relaxation said as what the step still requires, and said so wrongly.
    (Revision("s3", (("s4", ("s2",)), ("s5", ("s4",)))), (True, True, True)),
    (Revision("s3", (("s4", ("s2",)), ("s5", ()))), (True, True, False)),
    (Revision(), (False, False, False)),
])
def test_the_three_parts_of_a_revision_are_judged_apart(
    revision: Revision, expected: tuple[bool, bool, bool],
) -> None:
    found = score(revision=revision)
    assert (found.cancel, found.rewire, found.relax) == expected
    assert found.whole is all(expected)


def test_a_compile_that_failed_is_wrong_in_every_part_and_flagged() -> None:
    plan, revision = score(graph=None), score(revision=None)
    assert (plan.dependencies, plan.codes, plan.cancel) == (0, 0, False)
    assert (revision.dependencies, revision.codes, revision.cancel, revision.relax) == (5, 5, False, False)
    assert plan.failed and plan.flagged and revision.failed and revision.flagged
    assert not plan.whole and not revision.whole


def test_a_revision_that_was_never_asked_for_is_left_out() -> None:
    log = play_gate(every_kind())
    early = replace(log, turns=log.turns[:3], compiles=log.compiles[:1], end=None)
    found = score_compiles(early)
    assert found is not None
    assert (found.revised, found.cancel, found.rewire, found.relax) == (False, None, None, None)
    assert found.whole


def test_the_validator_flags_what_can_be_seen_without_the_truth() -> None:
    assert score(changed(s1=replace(GRAPH["s1"], code=""))).flagged
    assert score(revision=Revision("s3")).flagged  # s4 still requires the cancelled step
    assert not score(revision=replace(REVISION, cancel="s5", rewires=())).flagged  # wrong, and cannot be seen


@pytest.mark.parametrize(("again", "fell_back"), [(GRAPH, False), (FLAWED, True), (None, True)])
def test_a_second_compile_is_told_apart_and_falls_back_where_it_is_flagged_too(
    again: TaskGraph | None, fell_back: bool,
) -> None:
    log = play_gate(every_kind(), graph=FLAWED)
    first = log.compiles[0]
    second = replace(first, stage="plan_again", graph=again, defects=first.defects if again is FLAWED else ())
    once, twice = score_compiles(log), score_compiles(replace(log, compiles=(first, second, *log.compiles[1:])))
    assert once is not None and twice is not None
    assert (once.flagged, once.recompiled, once.fell_back) == (True, False, False)
    assert (twice.flagged, twice.recompiled, twice.fell_back) == (True, True, fell_back)


def test_an_arm_without_a_compiled_state_has_no_score() -> None:
    assert score_compiles(play(every_kind(), perfect, arm="raw")) is None
