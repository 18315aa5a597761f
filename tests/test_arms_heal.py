"""A gate that heals: a flagged state is compiled once more with its defects named, then nothing is refused; and done
bits are rebuilt from the receipts."""

import asyncio
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.arms import ArmOptions, ArmSpec, load_prompts
from artifact.arms.compiler import compile_plan, compile_revision
from artifact.arms.healing import Earlier
from artifact.cli.render import log_text
from artifact.gate import Gate
from artifact.log import iter_logs
from artifact.models.base import FinishReason, Reply
from artifact.models.scripted import scripted_model
from artifact.models.scripted.clerk import answer_helper_call
from artifact.runner import StudyPlan, run_study
from artifact.scorer import score_log
from artifact.scorer.module_state import module_turns
from artifact.taskstate import Brief, Corruption, Defect, Finding, Revision, Step, TaskGraph
from fixed_arms import GRAPH, REVISION, FixedSource, ask, open_arm, ref, run_arm

HEAL = ArmOptions(heal=True)
NO_CODE = TaskGraph((GRAPH["s1"], replace(GRAPH["s2"], code=""), GRAPH["s3"], GRAPH["s4"]))
CIRCLE = TaskGraph((replace(GRAPH["s1"], prerequisites=("s2",)), *GRAPH.steps[1:]))
BAD_REVISION = Revision("s3", (), None)  # s4 still requires what is cancelled


@pytest.mark.parametrize("flagged", [NO_CODE, CIRCLE, None])
def test_a_flagged_plan_is_compiled_once_more_and_the_healed_one_is_owned(flagged):
    source = FixedSource({0: ("s1", False)}, (flagged, GRAPH))
    arm, _ = open_arm("enforcement", options=HEAL, source=source)
    assert len(source.earlier) == 1 and not source.graphs
    request, outgoing = ask(arm, 0)
    assert outgoing.directive.kind == "eligible"
    assert [b.accepted for b in arm.receive(request, f"{ref('s1')} {ref('s4')}").bookings] == [True, False]


def test_a_plan_without_defects_is_not_compiled_again():
    source = FixedSource({}, (GRAPH,))
    open_arm("enforcement", options=HEAL, source=source)
    assert source.earlier == []


def test_what_is_flagged_still_refuses_nothing_and_goes_on_directing():
    source = FixedSource({0: ("s1", False), 1: ("s4", False)}, (CIRCLE, CIRCLE))
    arm, _ = open_arm("enforcement", options=HEAL, source=source)
    request, outgoing = ask(arm, 0)
    assert outgoing.directive.kind == "blocked"  # the circle's doing: no longer a refusal
    assert arm.receive(request, f"{ref('s1')} ref RC-9999/#W0001").again is None
    request, outgoing = ask(arm, 1)
    assert outgoing.notices == ()
    assert arm.receive(request, ref("s1")).bookings[0].accepted


def test_a_plan_that_never_compiles_refuses_nothing_and_directs_nothing():
    arm, _ = open_arm("enforcement", options=HEAL, source=FixedSource({0: ("s1", False)}, (None, None)))
    request, outgoing = ask(arm, 0)
    assert outgoing.directive is None
    assert arm.receive(request, ref("s1")).bookings[0].accepted


def test_of_an_unusable_second_plan_the_flagged_first_one_is_kept_for_directives():
    arm, _ = open_arm("enforcement", options=HEAL, source=FixedSource({0: ("s3", False)}, (NO_CODE, None)))
    request, outgoing = ask(arm, 0)
    assert outgoing.directive.kind == "eligible"
    assert arm.receive(request, ref("s4")).bookings[0].accepted


@pytest.mark.parametrize(("revisions", "refuses"), [
    ((BAD_REVISION, REVISION), True), ((None, REVISION), True), ((BAD_REVISION, BAD_REVISION), False),
    ((None, None), False), ((BAD_REVISION, None), False),
])
def test_a_flagged_revision_is_compiled_once_more_too(revisions, refuses):
    source = FixedSource({0: ("s4", False)}, revisions=revisions)
    arm, _ = open_arm("enforcement", options=HEAL, source=source)
    asyncio.run(arm.revise("drop the frames"))
    assert source.revisions == []
    request, _ = ask(arm, 0)
    assert arm.receive(request, ref("s3")).bookings[0].accepted is not refuses


def test_a_defect_of_the_plan_is_not_held_against_the_revision():
    source = FixedSource({}, (NO_CODE, NO_CODE), (REVISION,))
    arm, _ = open_arm("enforcement", options=HEAL, source=source)
    asyncio.run(arm.revise("drop the frames"))
    assert len(source.earlier) == 1


class Compiler:
    """Compiles like the scripted clerk, but for the first answers to a prompt that holds a given text.

    Parameters
    ----------
    spoil : dict of str to str
        Wrong answer by text.
    times : int
        How often it is given.
    """

    def __init__(self, spoil: dict[str, str], times: int = 1) -> None:
        self.spoil, self.left, self.asked = dict(spoil), dict.fromkeys(spoil, times), []

    async def __call__(self, messages, *, purpose, schema) -> Reply:
        self.asked.append(messages)
        text = answer_helper_call(messages, schema)
        for mark, wrong in self.spoil.items():
            if mark in messages[0].content and self.left[mark]:
                self.left[mark] -= 1
                text = wrong
        return Reply(text, "", FinishReason.STOP, 1, 0, 1)


PLAN = json.dumps({"steps": {step.id: {"deps": list(step.prerequisites), "code": "" if step.id == "s2" else step.code}
                             for step in GRAPH.steps}})


@pytest.mark.parametrize(("prompts", "spoil", "asked_again"), [
    ("paper", {"Turn the project plan above": PLAN}, 1),
    ("fewshot", {"Line: - s2: print the map": '{"deps": ["s1"], "code": ""}'}, 1),
])
def test_a_plan_is_compiled_again_with_the_defect_named_where_it_lies(prompts, spoil, asked_again):
    texts, compiler = load_prompts(prompts), Compiler(spoil)
    brief = texts.brief(GRAPH, Brief.AMENDED)
    first = asyncio.run(compile_plan(compiler, texts, brief))
    assert (first.stage, first.is_flagged, [f.defect for f in first.defects]) == ("plan", True, [Defect.EMPTY_CODE])
    compiler.asked.clear()
    again = asyncio.run(compile_plan(compiler, texts, brief, Earlier(first, first.defects)))
    assert (again.stage, again.is_flagged, again.graph) == ("plan_again", False, GRAPH)
    assert len(compiler.asked) == asked_again
    question, answer, told = compiler.asked[0]
    assert (answer.role, answer.content) == ("assistant", next(iter(spoil.values())))
    assert told.content.startswith("That answer could not be used: s2 has no completion code of the form RC-1234.")
    assert question.content in {call.messages[0].content for call in first.calls}


def test_a_compile_that_failed_is_asked_again_with_the_failure_named():
    texts = load_prompts("fewshot")
    compiler = Compiler({"Line: - s2: print the map": "I can't."}, times=2)
    first = asyncio.run(compile_plan(compiler, texts, texts.brief(GRAPH, Brief.AMENDED)))
    assert (first.graph, first.error) == (None, "the line of s2: it holds no JSON object")
    compiler.asked.clear()
    again = asyncio.run(compile_plan(compiler, texts, texts.brief(GRAPH, Brief.AMENDED), Earlier(first, ())))
    assert (again.graph, again.stage) == (GRAPH, "plan_again")
    (continued,) = [messages for messages in compiler.asked if len(messages) > 1]
    assert [message.content for message in continued[1::2]] == ["I can't.", "I can't."]
    assert "the line of s2: it holds no JSON object" in continued[-1].content


MESSAGE = ('There is a change. The step "order the frames" is cancelled. Because of that, the full list of remaining '
           'prerequisites of "hang the map" is now: "print the map".')


def test_a_wrong_cancellation_is_asked_about_again_in_words():
    texts = load_prompts("fewshot")
    graph = TaskGraph((*GRAPH.steps, Step("s5", "sell the map", "RC-1005", ("s2",))))
    compiler = Compiler({"Which one step does the message cancel": '{"cancel": "s2"}'})
    first = asyncio.run(compile_revision(compiler, texts, graph, MESSAGE))
    assert first.defects == (Finding(Defect.CANCELLED_PREREQUISITE, ("s5", "s2")),)  # and the message leaves s5 alone
    compiler.asked.clear()
    again = asyncio.run(compile_revision(compiler, texts, graph, MESSAGE, Earlier(first, first.defects)))
    assert (again.stage, again.defects) == ("revision_again", ())
    assert again.revision == REVISION
    told = [messages[-1].content for messages in compiler.asked if len(messages) > 1]
    assert len(told) == 1 and "s5 requires s2, which is cancelled" in told[0]


def test_a_revision_asked_for_whole_is_told_its_defects():
    texts = load_prompts("paper")
    compiler = Compiler({"MESSAGE WITH A CHANGE OF PLAN": '{"cancel": "s3", "rewires": {}, "relax": null}'})
    first = asyncio.run(compile_revision(compiler, texts, GRAPH, MESSAGE))
    again = asyncio.run(compile_revision(compiler, texts, GRAPH, MESSAGE, Earlier(first, first.defects)))
    assert "s4 requires s3, which is cancelled" in compiler.asked[-1][-1].content
    assert again.graph == GRAPH.revise(REVISION)


def test_a_circle_is_named_in_the_steps_own_words():
    texts = load_prompts("fewshot")
    graph = TaskGraph((Step("s1", "draw the map", "RC-1001"), Step("s2", "print the map", "RC-1002", ("s1",)),
                       Step("s3", "order the frames", "RC-1003")))
    message = ('The step "order the frames" is cancelled. Because of that, the full list of remaining prerequisites of '
               '"draw the map" is now: "print the map".')
    compiler = Compiler({})
    first = asyncio.run(compile_revision(compiler, texts, graph, message))
    assert [f.defect for f in first.defects] == [Defect.CYCLE]
    compiler.asked.clear()
    asyncio.run(compile_revision(compiler, texts, graph, message, Earlier(first, first.defects)))
    (told,) = [messages[-1].content for messages in compiler.asked if len(messages) > 1]
    assert re.search(r'run in a circle \("(draw|print) the map" -> "', told)


class Forgetful:
    """A scripted model whose compiler leaves a code out until it is told so (`heals`), or for ever.

    Told so, it may also give up (`gives_up`) and answer with no plan at all.
    """

    def __init__(self, policy: str, heals: bool, gives_up: bool = False) -> None:
        self.inner, self.heals, self.gives_up = scripted_model(policy), heals, gives_up
        self.name = self.inner.name

    def identity(self):
        return self.inner.identity()

    async def complete(self, messages, *, schema=None, **options) -> Reply:
        reply = await self.inner.complete(messages, schema=schema, **options)
        if schema is None or schema["title"] != "compiled_plan" or (self.heals and len(messages) > 1):
            return reply
        if self.gives_up and len(messages) > 1:
            return replace(reply, text="I can't.")
        found = json.loads(reply.text)
        found["steps"]["s2"]["code"] = ""
        return replace(reply, text=json.dumps(found))

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("heals", [True, False])
def test_the_log_says_what_was_flagged_recompiled_and_fell_back(tmp_path, heals):
    log = run_arm(tmp_path, Forgetful("always-book", heals), ArmSpec("enforcement", HEAL))
    assert [record.stage for record in log.compiles] == ["plan", "plan_again", "revision"]
    assert [record.is_flagged for record in log.compiles] == [True, not heals, not heals]
    assert [record.falls_back for record in log.compiles] == [False, not heals, False]
    assert log.owned("plan") == log.compiles[1]
    assert all(turn.agrees for turn in module_turns(log))
    refused = [b for turn in log.turns for b in turn.bookings if not b.accepted]
    assert bool(refused) is heals
    assert score_log(log).strict is heals
    shown = "\n".join(log_text(log, None))
    assert "plan compiled once more of the state (compiled)" in shown
    assert ("nothing is refused from here on" in shown) is not heals


def test_a_compiler_that_gives_up_leaves_a_directed_episode(tmp_path):
    log = run_arm(tmp_path, Forgetful("always-book", heals=False, gives_up=True), ArmSpec("enforcement", HEAL))
    assert [record.graph is None for record in log.compiles] == [False, True, False]
    assert [record.falls_back for record in log.compiles] == [False, True, False]
    assert log.owned("plan") == log.compiles[0]
    assert all(turn.agrees for turn in module_turns(log))
    assert all(booking.accepted for turn in log.turns for booking in turn.bookings)
    assert len(log.matches) > 8 and any(turn.directive for turn in log.turns)


def test_without_the_option_the_same_compile_over_blocks(tmp_path):
    log = run_arm(tmp_path, Forgetful("always-book", heals=True), ArmSpec("enforcement"))
    assert [record.stage for record in log.compiles] == ["plan", "revision"]
    assert not score_log(log).strict


def test_both_gates_share_the_second_compile(tmp_path):
    for name in ("directive", "enforcement"):
        run_arm(tmp_path, Forgetful("always-book", heals=True), ArmSpec(name, HEAL))
    assert len(list((tmp_path / "t" / "compiled").iterdir())) == 3


@given(st.lists(st.sampled_from(["s1", "s2", "s3", "s4"]), max_size=4, unique=True), st.integers(0, 50))
def test_rebuilt_done_bits_are_those_of_the_receipts(executed, seed):
    gate = Gate(GRAPH)
    for turn, step in enumerate(executed):
        gate.disturb(Corruption(0.5, seed), turn)
        gate.rebuild()
        gate.receipt(step, work_order="#W0001", turn=turn)
    gate.disturb(Corruption(0.9, seed), 99)
    gate.rebuild()
    assert gate.state.done == set(executed)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.floats(0.05, 1))
def test_flipped_bits_never_last_under_healing(seed, rate):
    arm, _ = open_arm("enforcement", dict.fromkeys(range(6), ("s3", False)),
                      options=ArmOptions(corruption=rate, heal=True))
    request, outgoing = ask(arm, 0)
    assert outgoing.directive.kind == "eligible"  # no step that was never booked is done
    arm.receive(request, ref("s3"))
    for turn in range(1, 6):
        request, outgoing = ask(arm, turn, order="#W0002")
        assert outgoing.directive.kind == "done"
        assert not arm.receive(request, ref("s3", "#W0002")).bookings[0].accepted


def test_healing_restores_what_flipped_bits_take(tmp_path):
    """Edges that drop stay dropped: receipts can't rebuild them (Appendix D.4), so some violations remain."""
    strict = {}
    for heal in (False, True):
        options = ArmOptions(state="oracle", matcher="oracle", corruption=0.01, heal=heal)
        plan = StudyPlan(f"heal-{heal}".lower(), "scripted:reader?directive=1", sizes=(10,), seeds=tuple(range(12)),
                         arms=(ArmSpec("enforcement", options),))
        run_study(plan, runs=tmp_path, durable=False)
        logs = list(iter_logs([tmp_path / plan.study]))
        assert all(turn.agrees for log in logs for turn in module_turns(log))
        strict[heal] = sum(score_log(log).strict for log in logs)
    assert strict[True] > strict[False]
