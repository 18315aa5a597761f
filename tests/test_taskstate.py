"""Graph, derived status, revision, per-turn correctness, validator (§3.1)."""

import pytest

from artifact.errors import RequestError
from artifact.taskstate import (
    BadGraph,
    Channel,
    Defect,
    Finding,
    Revision,
    Status,
    Step,
    TaskGraph,
    TaskState,
    Violation,
    judge_turn,
    validate,
)
from episode_logs import GRAPH, REVISION


def state_after(*executed: str, graph: TaskGraph = GRAPH) -> TaskState:
    state = TaskState(graph)
    for turn, step in enumerate(executed):
        state = state.execute(step, f"#W{3000 + turn}", turn)
    return state


def graph_of(*steps: tuple[str, str, tuple[str, ...]], cancelled: tuple[str, ...] = ()) -> TaskGraph:
    return TaskGraph(tuple(Step(name, name, code, needs) for name, code, needs in steps), cancelled)


# Status is derived


def test_a_step_without_prerequisites_is_todo_and_one_with_unmet_ones_is_blocked() -> None:
    state = TaskState(GRAPH)
    assert [state.status(s.id) for s in GRAPH.steps] == [Status.TODO, *[Status.BLOCKED] * 4]


def test_a_receipt_and_nothing_else_makes_a_step_done() -> None:
    assert state_after("s1").status("s1") is Status.DONE
    assert state_after("s1").status("s2") is Status.TODO


def test_a_step_stays_blocked_until_its_last_prerequisite_is_done() -> None:
    assert state_after("s1", "s2").status("s4") is Status.BLOCKED
    assert state_after("s1", "s2").missing("s4") == ("s3",)
    assert state_after("s1", "s2", "s3").status("s4") is Status.TODO


def test_a_premature_execution_makes_its_step_done_all_the_same() -> None:
    assert state_after("s4").status("s4") is Status.DONE


def test_cancelled_outranks_done() -> None:
    assert state_after("s1", "s2", "s3", graph=GRAPH.cancel("s3")).status("s3") is Status.CANCELLED


def test_a_done_step_that_was_cancelled_still_meets_the_prerequisite() -> None:
    state = state_after("s1", "s2", "s3", graph=GRAPH.cancel("s3"))
    assert state.status("s4") is Status.TODO


def test_a_cancelled_prerequisite_that_was_never_done_keeps_blocking_until_it_is_rewired() -> None:
    state = state_after("s1", "s2", graph=GRAPH.cancel("s3"))
    assert state.status("s4") is Status.BLOCKED
    assert TaskState(state.graph.rewire("s4", ["s2"]), state.receipts).status("s4") is Status.TODO


# Authorization


def test_only_a_done_step_can_be_authorized() -> None:
    assert state_after("s1").authorize(["s1", "s2"]).authorized == {"s1"}


def test_an_authorized_done_step_may_be_executed_and_an_authorized_cancelled_one_not() -> None:
    assert state_after("s1").authorize(["s1"]).decide("s1").allowed
    cancelled = state_after("s1", "s2", "s3", graph=GRAPH.cancel("s3")).authorize(["s3"])
    assert not cancelled.decide("s3").allowed


def test_authorization_holds_for_the_current_request_alone() -> None:
    assert not state_after("s1").authorize(["s1"]).authorize([]).decide("s1").allowed


# Revision


def test_a_revision_rewires_relaxes_and_cancels_in_one_go() -> None:
    revised = GRAPH.revise(REVISION)
    assert revised.cancelled == ("s3",)
    assert revised["s4"].prerequisites == ("s2",)
    assert revised["s5"].prerequisites == ("s4",)


def test_a_revision_leaves_the_old_graph_and_the_receipts_as_they_were() -> None:
    state = state_after("s1")
    revised = state.revise(REVISION)
    assert state.graph.cancelled == () and state.graph["s4"].prerequisites == ("s2", "s3")
    assert revised.receipts == state.receipts


def test_relaxing_an_edge_that_is_not_there_changes_nothing() -> None:
    assert GRAPH.relax("s2", "s4") == GRAPH


def test_cancelling_twice_is_cancelling_once() -> None:
    assert GRAPH.cancel("s3").cancel("s3") == GRAPH.cancel("s3")


@pytest.mark.parametrize("revision", [
    Revision(cancel="s9"), Revision(rewires=(("s9", ()),)), Revision(rewires=(("s4", ("s9",)),)),
    Revision(relax=("s9", "s1"))])
def test_a_revision_of_an_unknown_step_is_refused_by_name(revision: Revision) -> None:
    with pytest.raises(BadGraph, match="there is no step 's9'"):
        GRAPH.revise(revision)


# Per-turn correctness: each row is one sentence of §3.1


@pytest.mark.parametrize(("done", "authorized", "requested", "executed", "expected"), [
    pytest.param((), (), "s1", ("s1",), [], id="a todo step that is executed is right"),
    pytest.param((), (), "s1", (), [("omission", "s1")], id="a todo step that isn't is an omission"),
    pytest.param((), (), "s2", ("s2",), [("premature", "s2")], id="a blocked step executed is premature"),
    pytest.param((), (), "s2", (), [], id="a blocked step deferred is right"),
    pytest.param(("s1",), (), "s1", ("s1",), [("re_execution", "s1")], id="a done step executed is a re-execution"),
    pytest.param(("s1",), (), "s1", (), [], id="a done step confirmed is right"),
    pytest.param(("s1",), ("s1",), "s1", ("s1",), [], id="an authorized redo executed is right"),
    pytest.param(("s1",), ("s1",), "s1", (), [("refused_redo", "s1")], id="an authorized redo that isn't is refused"),
    pytest.param((), (), "s3", ("s3",), [("superseded", "s3")], id="a cancelled step executed is superseded"),
    pytest.param((), (), "s3", (), [], id="a cancelled step declined is right"),
    pytest.param((), (), None, (), [], id="a turn that requests nothing and gets nothing is right"),
    pytest.param((), (), None, ("s1",), [("unrequested", "s1")], id="a turn that requests nothing executes nothing"),
    pytest.param((), (), "s1", ("s2",), [("omission", "s1"), ("unrequested", "s2")], id="another step is two wrongs"),
    pytest.param(("s2",), (), "s1", ("s1", "s2"), [("unrequested", "s2")], id="another done one is unrequested"),
    pytest.param((), (), "s1", ("s3", "s1"), [("unrequested", "s3")], id="another cancelled one is unrequested"),
])
def test_per_turn_correctness(done: tuple[str, ...], authorized: tuple[str, ...], requested: str | None,
                              executed: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    state = state_after(*done, graph=GRAPH.cancel("s3")).authorize(authorized)
    assert judge_turn(state, requested, executed) == [Violation(Channel(c), step) for c, step in expected]


def test_executing_a_step_twice_in_a_turn_counts_once() -> None:
    assert judge_turn(TaskState(GRAPH), "s1", ["s1", "s1"]) == []
    assert len(judge_turn(TaskState(GRAPH), None, ["s1", "s1"])) == 1


# Bad graphs


@pytest.mark.parametrize(("graph", "sentence"), [
    (graph_of(("s1", "RC-1", ("s7",))), "step 's1' requires 's7', which is not in the plan"),
    (graph_of(("s1", "RC-1", ("s1",))), "step 's1' requires itself"),
    (graph_of(("s1", "RC-1", ("s2",)), ("s2", "RC-2", ("s1",))), "the prerequisites run in a circle"),
    (graph_of(("s1", "RC-1", ()), ("s2", "RC-1", ())), "steps 's1' and 's2' share the completion code RC-1"),
    (graph_of(("s1", "", ())), "step 's1' has no completion code"),
    (graph_of(("s1", "RC-1", ()), ("s1", "RC-2", ())), "step 's1' is listed twice"),
    (graph_of(("s1", "RC-1", ()), cancelled=("s8",)), "the cancelled step 's8' is not in the plan"),
], ids=["unknown step", "self-edge", "cycle", "duplicate code", "no code", "duplicate id", "unknown cancelled step"])
def test_a_bad_graph_is_refused_with_the_sentence_that_fits(graph: TaskGraph, sentence: str) -> None:
    with pytest.raises(BadGraph) as refusal:
        graph.check()
    assert isinstance(refusal.value, RequestError)
    assert str(refusal.value).startswith(sentence)
    assert "\n" not in str(refusal.value)


def test_the_sentence_about_a_circle_names_its_steps() -> None:
    with pytest.raises(BadGraph, match=r"s\d -> s\d -> s\d -> s\d"):
        graph_of(("s1", "RC-1", ("s3",)), ("s2", "RC-2", ("s1",)), ("s3", "RC-3", ("s2",))).check()


def test_a_good_graph_checks_as_itself() -> None:
    assert GRAPH.check() is GRAPH


def test_an_unknown_step_is_refused_by_name() -> None:
    with pytest.raises(BadGraph, match="there is no step 's9' in this plan; its steps are s1, s2, s3, s4, s5"):
        TaskState(GRAPH).decide("s9")


def test_a_code_that_two_steps_share_belongs_to_none() -> None:
    graph = graph_of(("s1", "RC-1", ()), ("s2", "RC-1", ()), ("s3", "RC-1", ()), ("s4", "RC-2", ()))
    assert graph.step_with_code("RC-1") is None
    assert graph.step_with_code("RC-2") == "s4"
    assert graph.step_with_code("") is None


# Validator


def test_the_validator_finds_nothing_wrong_with_a_good_graph() -> None:
    assert validate(GRAPH) == []
    assert validate(GRAPH.revise(REVISION)) == []


@pytest.mark.parametrize(("graph", "findings"), [
    (graph_of(("s1", "", ()), ("s2", "RC-2", ())), [Finding(Defect.EMPTY_CODE, ("s1",))]),
    (graph_of(("s1", "RC-1", ()), ("s2", "RC-1", ())),
     [Finding(Defect.DUPLICATE_CODE, ("s1",)), Finding(Defect.DUPLICATE_CODE, ("s2",))]),
    (GRAPH.cancel("s3"), [Finding(Defect.CANCELLED_PREREQUISITE, ("s4", "s3"))]),
    (graph_of(("s1", "RC-1", ("s1",))), [Finding(Defect.CYCLE, ("s1", "s1"))]),
], ids=["empty code", "duplicate code", "cancelled step left as prerequisite", "cycle"])
def test_the_validator_names_each_defect_and_its_steps(graph: TaskGraph, findings: list[Finding]) -> None:
    assert validate(graph) == findings


def test_a_cancelled_step_may_keep_cancelled_prerequisites() -> None:
    assert validate(GRAPH.revise(REVISION).cancel("s2").rewire("s4", [])) == []
