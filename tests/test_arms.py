"""The couplings, arm by arm, on a plan small enough to follow by hand."""

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.arms import ArmOptions, ArmSpec, make_arm, parse_arm
from artifact.errors import RequestError
from artifact.gate import DirectiveKind, Gate
from artifact.log import iter_logs
from artifact.runner import StudyPlan, run_study
from artifact.scorer.module_state import module_turns
from artifact.taskstate import Corruption, Status, TaskState, judge_turn
from fixed_arms import CODES, GRAPH, ask, open_arm


def test_raw_adds_nothing_and_enters_everything():
    arm, _ = open_arm("raw")
    request, outgoing = ask(arm, 0)
    assert outgoing.content == "please (#W0001)"
    bookings = arm.receive(request, "ref RC-1004/#W0001 and ref RC-9999/#W0001").bookings
    assert [(b.code, b.accepted) for b in bookings] == [("RC-1004", True), ("RC-9999", True)]


def test_checklist_is_appended_and_ticks_off_receipts():
    arm, _ = open_arm("checklist")
    request, outgoing = ask(arm, 0)
    assert outgoing.content.startswith("please (#W0001)\n\n[PROJECT CHECKLIST")
    assert "- s1: TODO (ready)\n- s2: TODO (waiting on: s1)" in outgoing.checklist
    arm.receive(request, "ref RC-1001/#W0001")
    asyncio.run(arm.revise("drop the frames"))
    _, outgoing = ask(arm, 1)
    assert "- s1: DONE\n- s2: TODO (ready)\n- s3: CANCELLED\n- s4: TODO (waiting on: s2)" in outgoing.checklist


@pytest.mark.parametrize(("matched", "redo", "kind"), [
    ("s1", False, "eligible"), ("s2", False, "blocked"), ("s3", False, "done"), ("s3", True, "redo"),
])
def test_directive_says_what_the_state_implies(matched, redo, kind):
    arm, _ = open_arm("directive", {0: ("s3", False), 1: (matched, redo)})
    request, _ = ask(arm, 0)
    arm.receive(request, "ref RC-1003/#W0001")
    _, outgoing = ask(arm, 1)
    assert outgoing.directive is not None
    assert (outgoing.directive.step, outgoing.directive.kind) == (matched, kind)
    assert outgoing.content == f"please (#W0001)\n\n{outgoing.directive.text}"
    assert outgoing.directive.text.startswith(f"[TASK-STATE] step {matched} ")


def test_directive_gate_lets_the_agent_disobey():
    arm, _ = open_arm("directive", {0: ("s2", False)})
    request, outgoing = ask(arm, 0)
    assert "BLOCKED -- prerequisites still missing: s1." in outgoing.content
    assert arm.receive(request, "ref RC-1002/#W0001").bookings[0].accepted


def test_enforcement_refuses_and_tells_at_the_next_turn():
    arm, _ = open_arm("enforcement", {0: ("s2", False), 1: (None, False), 2: (None, False)})
    request, _ = ask(arm, 0)
    booking, = arm.receive(request, "ref RC-1002/#W0001").bookings
    assert (booking.accepted, booking.step, booking.reason) == (False, "s2", "step s2 is BLOCKED")
    _, outgoing = ask(arm, 1)
    assert outgoing.content == ("[BOOKING REJECTED] Your line 'ref RC-1002/#W0001' was REJECTED -- step s2 is BLOCKED; "
                                "that work was NOT booked.\n\nplease (#W0001)")
    assert ask(arm, 2)[1].notices == ()


def test_a_redo_is_admitted_only_while_it_is_authorized():
    arm, _ = open_arm("enforcement", {0: ("s1", False), 1: ("s1", True), 2: ("s1", False)})
    outcomes = []
    for turn in range(3):
        request, _ = ask(arm, turn, order=f"#W000{turn}")
        outcomes.append(arm.receive(request, f"ref RC-1001/#W000{turn}").bookings[0].accepted)
    assert outcomes == [True, True, False]


def test_fillers_pass_the_matcher_by_unless_it_runs_on_every_turn():
    for every_turn, asked in ((False, []), (True, [0])):
        arm, source = open_arm("directive", options=ArmOptions(match_every_turn=every_turn))
        ask(arm, 0, "nice weather", None, is_request=False)
        assert source.asked == asked


def test_a_failed_compile_gives_no_directives_and_enters_no_booking():
    arm, _ = open_arm("directive", {0: ("s1", False)}, graph=None)
    assert ask(arm, 0)[1].directive is None
    arm, _ = open_arm("enforcement", {0: ("s1", False)}, graph=None)
    request, _ = ask(arm, 0)
    booking, = arm.receive(request, "ref RC-1001/#W0001").bookings
    assert (booking.accepted, booking.reason) == (False, "the task state is not available")


def test_an_unknown_arm_is_named_with_the_known_ones():
    with pytest.raises(RequestError, match="no arm 'nudge'; the arms are raw, checklist"):
        make_arm(ArmSpec("nudge"))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.lists(st.sampled_from(sorted(CODES.values())), max_size=4),
                          st.sampled_from([None, *CODES]), st.booleans()), min_size=1, max_size=12),
       st.integers(0, 12))
def test_enforcement_never_commits_a_second_or_a_cancelled_execution(turns, revised_at):
    matches = {number: (step, redo) for number, (_, step, redo) in enumerate(turns)}
    arm, _ = open_arm("enforcement", matches)
    committed: list[tuple[str, bool]] = []
    cancelled = False
    for number, (codes, _, _) in enumerate(turns):
        if number == revised_at:
            asyncio.run(arm.revise("drop the frames"))
            cancelled = True
        order = f"#W{number:04}"
        request, outgoing = ask(arm, number, order=order)
        redo = outgoing.directive.step if outgoing.directive and outgoing.directive.kind == "redo" else None
        for booking in arm.receive(request, "\n".join(f"ref {code}/{order}" for code in codes)).bookings:
            if booking.accepted:
                assert booking.step not in {step for step, _ in committed} or booking.step == redo
                assert not (cancelled and booking.step == "s3")
                committed.append((booking.step, booking.step == redo))
    firsts = [step for step, again in committed if not again]
    assert len(firsts) == len(set(firsts))


@settings(max_examples=200, deadline=None)
@given(st.permutations(list(CODES)), st.sets(st.sampled_from(list(CODES))))
def test_gate_and_correctness_rule_agree(order, executed_before):
    gate = Gate(GRAPH)
    for step in order:
        if step in executed_before and gate.check(step).allowed:
            gate.receipt(step, work_order="#W0001")
    for step in CODES:
        violations = judge_turn(gate.state, step, [step])
        assert gate.check(step).allowed == (not violations)
        assert (gate.directive(step) is DirectiveKind.ELIGIBLE) == (gate.state.status(step) is Status.TODO)


def test_corruption_at_rate_zero_changes_nothing_and_is_drawn_from_the_seed_alone():
    state = TaskState(GRAPH).execute("s1", "#W0001", 0)
    assert Corruption(0.0, 1).apply(state, 3) is state
    disturbed = [Corruption(0.5, seed).apply(state, turn) for seed, turn in itertools.product(range(5), range(5))]
    again = [Corruption(0.5, seed).apply(state, turn) for seed, turn in itertools.product(range(5), range(5))]
    assert disturbed == again
    assert any(d.done != state.done for d in disturbed)
    assert any(d.graph != state.graph for d in disturbed)


def test_with_one_draw_as_many_events_happen_as_the_rate_says_and_a_step_meets_one_at_a_time():
    rate, seeds, turns = 0.02, 300, 44
    state, events = TaskState(GRAPH), []
    for seed, turn in itertools.product(range(seeds), range(turns)):
        after = Corruption(rate, seed, "one").apply(state, turn)
        flips = {step.id for step in GRAPH.steps if (step.id in after.done) != (step.id in state.done)}
        drops = {step.id for step in GRAPH.steps if after.graph[step.id] != step}
        assert not flips & drops
        events.append((len(flips), len(drops)))
    flipped, dropped = map(sum, zip(*events, strict=True))
    trials = seeds * turns * len(GRAPH.steps)
    assert abs(flipped + dropped - rate * trials) < 4 * (rate * trials) ** 0.5
    of_those_with_prerequisites = rate * trials / 2  # two of the four steps
    assert abs(dropped - of_those_with_prerequisites / 2) < 4 * (of_those_with_prerequisites / 2) ** 0.5


def test_a_log_with_one_draw_is_replayed_from_its_options(tmp_path):
    plan = StudyPlan("t", "scripted:reader?directive=0.8", sizes=(5,), seeds=tuple(range(100, 106)),
                     arms=(parse_arm("enforcement:corruption=0.05,corruption_draws=one"),))
    run_study(plan, runs=tmp_path, durable=False)
    turns = [turn for log in iter_logs([tmp_path]) for turn in module_turns(log)]
    assert any(turn.spurious for turn in turns) and any(turn.dropped for turn in turns)
    assert all(turn.agrees for turn in turns)


def test_receipts_outlive_a_corrupted_state():
    gate = Gate(GRAPH)
    gate.receipt("s1", work_order="#W0001")
    for turn in range(20):
        gate.disturb(Corruption(0.9, 3), turn)
    assert [receipt.step for receipt in gate.receipts] == ["s1"]
