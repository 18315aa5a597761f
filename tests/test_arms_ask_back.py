"""Gates that ask back, name the step in words, and admit only what was requested."""

import asyncio
import json
from dataclasses import replace

import pytest

from artifact.arms import ArmOptions, ArmSpec, load_prompts, parse_arm
from artifact.arms.matcher import match
from artifact.log.records import RECORD_TYPES, Message
from artifact.models.base import FinishReason, Reply
from artifact.models.scripted import scripted_model
from artifact.models.scripted.clerk import answer_helper_call
from artifact.models.scripted.reading import read_directive, read_plan, read_work_order
from artifact.scorer import score_log
from artifact.scorer.attribution import Cause, attribute_omissions
from fixed_arms import GRAPH, Listened, ask, open_arm, ref, run_arm

ASK = ArmOptions(unresolved="ask")
SPLIT, JOINT = "fewshot", "paper"


@pytest.mark.parametrize(("found", "words"), [
    (None, "no step of the plan was recognised in it."),
    (("s1", "s3"), "it may mean any one of these steps: s1, s3."),
])
@pytest.mark.parametrize("name", ["directive", "enforcement"])
def test_an_unresolved_request_is_asked_back_about(name, found, words):
    arm, _ = open_arm(name, {0: (found, False)}, options=ASK)
    _, outgoing = ask(arm, 0)
    assert (outgoing.directive.kind, outgoing.directive.step) == ("unresolved", "")
    assert words in outgoing.directive.text and "ask which step is meant" in outgoing.directive.text
    assert outgoing.content == f"please (#W0001)\n\n{outgoing.directive.text}"
    assert read_directive(outgoing.content) == ("", False)


def test_the_steps_that_may_be_meant_are_named_in_words_where_directives_are():
    arm, _ = open_arm("directive", {0: (("s1", "s3"), False)}, options=ArmOptions(unresolved="ask", named=True))
    assert 'these steps: s1 ("draw the map"), s3 ("order the frames").' in ask(arm, 0)[1].content


def test_enforcement_admits_nothing_of_an_unresolved_request_and_what_it_did_of_a_resolved_one():
    arm, _ = open_arm("enforcement", {0: (("s1", "s3"), False), 1: (None, False), 2: ("s1", False)}, options=ASK)
    for turn in range(2):
        request, _ = ask(arm, turn)
        booking, = arm.receive(request, ref("s3")).bookings
        assert (booking.accepted, booking.reason) == (False, "the request was not resolved to one step")
    request, _ = ask(arm, 2)
    assert [b.accepted for b in arm.receive(request, f"{ref('s3')} {ref('s1')}").bookings] == [True, True]


def test_by_default_an_unresolved_request_passes_as_in_the_paper():
    arm, _ = open_arm("enforcement", {0: (None, False)})
    request, outgoing = ask(arm, 0)
    assert (outgoing.directive, outgoing.content) == (None, "please (#W0001)")
    assert arm.receive(request, ref("s3")).bookings[0].accepted


def test_small_talk_is_not_asked_back_about():
    arm, _ = open_arm("directive", options=ArmOptions(unresolved="ask", match_every_turn=True))
    assert ask(arm, 0, "nice weather", None, is_request=False)[1].directive is None


@pytest.mark.parametrize(("found", "kind"), [("s1", "eligible"), ("s2", "blocked")])
def test_a_named_directive_says_the_step_in_words_and_is_read_as_before(found, kind):
    texts = {}
    for named in (False, True):
        arm, _ = open_arm("directive", {0: (found, False)}, options=ArmOptions(named=named))
        directive = ask(arm, 0)[1].directive
        assert (directive.step, directive.kind) == (found, kind)
        texts[named] = directive.text
    assert texts[True] == texts[False].replace(f"step {found} ", f'step {found} ("{GRAPH[found].text}") ')
    assert read_directive(texts[True]) == read_directive(texts[False]) == (found, kind == "eligible")


def test_request_bound_enforcement_admits_the_resolved_step_alone():
    arm, _ = open_arm("enforcement", {0: ("s1", False), 1: (None, False), 2: ("s2", False)},
                      options=ArmOptions(policy="request"))
    outcomes = []
    for turn in range(3):
        request, _ = ask(arm, turn)
        outcomes.append([(b.step, b.accepted, b.reason)
                         for b in arm.receive(request, f"{ref('s3')} {ref('s1')}").bookings])
    not_asked = "step s3 is not the step that was requested"
    assert outcomes == [[("s3", False, not_asked), ("s1", True, "")],
                        [("s3", False, not_asked), ("s1", False, "step s1 is already DONE")],
                        [("s3", False, not_asked), ("s1", False, "step s1 is already DONE")]]


def book_everything(messages):
    """Writes a ref line for every step of the plan."""
    order = read_work_order(messages[-1].content)
    return "\n".join(f"ref {step.code}/{order}" for step in read_plan(messages[0].content).steps)


def test_unrequested_bookings_pass_the_state_bound_gate_and_not_the_request_bound_one(tmp_path):
    entered = {}
    for policy in ("state", "request"):
        model = Listened(scripted_model("always-book"), book_everything)
        log = run_arm(tmp_path / policy, model, ArmSpec("enforcement", ArmOptions(policy=policy)))
        entered[policy] = [(turn.step, b.step) for turn in log.turns for b in turn.bookings if b.accepted]
    assert any(asked != booked for asked, booked in entered["state"])
    assert all(asked == booked for asked, booked in entered["request"]) and len(entered["request"]) > 4


class Answering:
    """A state model that gives prepared answers and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), []

    async def __call__(self, messages, *, purpose, schema) -> Reply:
        self.asked.append((messages, schema))
        return Reply(self.answers.pop(0), "", FinishReason.STOP, 1, 0, 1)


def matched(prompts: str, *answers: str):
    model = Answering(*answers)
    texts = load_prompts(prompts).adding(["unresolved"])
    return asyncio.run(match(model, texts, GRAPH, 0, "please (#W0001)", several=True)), model


@pytest.mark.parametrize(("prompts", "answers", "step", "redo", "candidates"), [
    (JOINT, ['{"steps": ["s1"], "explicit_redo": true}'], "s1", True, ()),
    (JOINT, ['{"steps": ["s1", "s3"], "explicit_redo": false}'], None, False, ("s1", "s3")),
    (JOINT, ['{"steps": ["s1", "s1"], "explicit_redo": false}'], "s1", False, ()),
    (JOINT, ['{"steps": [], "explicit_redo": true}'], None, False, ()),
    (SPLIT, ['{"steps": ["s3"]}', '{"explicit_redo": true}'], "s3", True, ()),
    (SPLIT, ['{"steps": ["s3", "s1"]}'], None, False, ("s3", "s1")),
    (SPLIT, ['{"steps": []}'], None, False, ()),
])
def test_a_matcher_that_may_say_two_does(prompts, answers, step, redo, candidates):
    record, model = matched(prompts, *answers)
    assert (record.step, record.explicit_redo, record.candidates, record.error) == (step, redo, candidates, None)
    assert len(record.calls) == len(answers)
    assert model.asked[0][1]["properties"]["steps"]["maxItems"] == 2


def test_an_unusable_answer_is_corrected_once_and_then_asked_back_about():
    record, model = matched(JOINT, '{"steps": ["s9"], "explicit_redo": false}', '{"steps": "s1"}')
    assert "'s9' is not a step of the plan" in model.asked[1][0][-1].content
    assert (record.step, record.candidates) == (None, ())
    assert record.error == '"steps" must be a list of step ids'


def test_candidates_are_written_only_where_there_are_any():
    record, _ = matched(SPLIT, '{"steps": ["s3", "s1"]}')
    dumped = RECORD_TYPES["match"].dump_json(record)
    assert b'"candidates":["s3","s1"]' in dumped
    assert RECORD_TYPES["match"].validate_json(dumped) == record
    record, _ = matched(SPLIT, '{"steps": []}')
    assert b"candidates" not in RECORD_TYPES["match"].dump_json(record)


@pytest.mark.parametrize("prompts", [JOINT, SPLIT])
def test_the_question_that_allows_two_is_asked_with_this_option_alone(tmp_path, prompts):
    for unresolved in ("pass", "ask"):
        log = run_arm(tmp_path / unresolved, scripted_model("reader?directive=1"),
                      ArmSpec("directive", ArmOptions(unresolved=unresolved)), prompts=prompts)
        questions = [match.calls[0].messages[0].content for match in log.matches]
        assert {'"steps"' in question for question in questions} == {unresolved == "ask"}
        assert all(record.step == turn.step for record in log.matches for turn in log.turns if turn.turn == record.turn)


@pytest.mark.parametrize("prompts", [JOINT, SPLIT])
def test_the_clerk_names_both_steps_of_a_choice(prompts):
    texts = load_prompts(prompts).adding(["unresolved"])

    async def clerk(messages, *, purpose, schema):
        return Reply(answer_helper_call(messages, schema), "", FinishReason.STOP, 1, 0, 1)
    record = asyncio.run(match(clerk, texts, GRAPH, 0, "Either draw something or get the frames. (#W0001)",
                               several=True))
    assert (record.step, record.candidates) == (None, ("s1", "s3"))


def test_an_agent_that_heeds_directives_asks_back_and_books_nothing():
    agent = scripted_model("reader?directive=1")
    arm, _ = open_arm("directive", {0: (("s1", "s3"), False)}, options=ASK)
    _, outgoing = ask(arm, 0, "Either draw the map or order the frames (#W0001)")
    brief = load_prompts("paper").brief(GRAPH, "amended")
    reply = asyncio.run(agent.complete([Message("system", brief), Message("user", outgoing.content)], max_tokens=1))
    assert reply.text == "Which step do you mean?"


class Misreading:
    """A scripted model whose matcher gives the same answer to every request."""

    def __init__(self, policy: str, steps: list[str]) -> None:
        self.inner, self.steps = scripted_model(policy), steps
        self.name = self.inner.name

    def identity(self):
        return self.inner.identity()

    async def complete(self, messages, *, schema=None, **options) -> Reply:
        reply = await self.inner.complete(messages, schema=schema, **options)
        if schema is None or not schema["title"].startswith("match"):
            return reply
        found = {"steps": self.steps} if "several" in schema["title"] else {"step": next(iter(self.steps), None)}
        return replace(reply, text=json.dumps(found | {"explicit_redo": False}))

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(("options", "steps", "cause"), [
    ("unresolved=ask", [], Cause.UNRESOLVED), ("unresolved=ask", ["s1", "s2"], Cause.UNRESOLVED),
    ("policy=request", [], Cause.UNRESOLVED), ("policy=request", ["s1"], Cause.MISROUTED),
])
def test_what_is_refused_for_want_of_its_step_is_laid_to_the_matcher_and_not_to_the_state(
        tmp_path, options, steps, cause):
    log = run_arm(tmp_path, Misreading("always-book", steps), parse_arm(f"enforcement:{options}"))
    found = attribute_omissions(log, score_log(log))
    wrong = [omission for omission in found if omission.step != next(iter(steps), None)]
    assert {omission.cause for omission in wrong} == {cause} and len(wrong) > 3
    assert all(omission.correct_ref_refused and omission.root is None for omission in wrong)
