"""ACTION lines and dispatch: what a model writes is data, and nothing is executed that isn't asked for rightly."""

import json
import tempfile

import pytest

from artifact.arms import ArmOptions, Request
from artifact.arms.raw import Raw
from artifact.harness.tools.actions import Action, Malformed, parse_actions
from artifact.harness.tools.dispatch import Dispatch
from artifact.harness.tools.failures import Failing, Failures
from artifact.harness.tools.records import Outcome
from artifact.harness.tools.texts import tool_prompts
from artifact.harness.tools.tooling import tool_name
from artifact.harness.tools.workspace import Workspace

REQUEST = Request(0, "please (#W1234)", "#W1234", True)
NOBODYS = ["../order", "/etc/passwd", "or\0der", "x" * 10_000, "", "ORDER", "order.stamps", "01.stamps",
           "{0.__class__}", "%s", "order\nACTION"]


@pytest.fixture
def space(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Workspace(["order", "pay"]) as workspace:
        assert workspace.root.is_relative_to(tmp_path)
        yield workspace


def dispatch(space, *, failures=None, idempotent=True):
    return Dispatch(space, failures or Failures(0.0, tuple(Failing), 0), Raw(ArmOptions()), tool_prompts("paper"),
                    idempotent=idempotent)


def line(tool, work_order="#W1234"):
    return f"ACTION {json.dumps({'tool': tool, 'work_order': work_order})}"


def files(space):
    """Every file in the temporary folder, inside the workspace or beside it."""
    return sorted(path.relative_to(space.root.parent).as_posix() for path in space.root.parent.rglob("*")
                  if path.is_file())


@pytest.mark.parametrize("reply", [
    line("order"), f"Sure.\n{line('order')}\nThat is it.", f"- **{line('order')}", f"`{line('order')}`",
    line("order", "w1234"), line("order").replace("ACTION", "ACTION:"), f"{line('order')}\n{line('order')}",
    f"1. {line('order')}", f"### {line('order')}", line("order").replace("ACTION", "Action"),
    'ACTION {"tool": "order",\n "work_order": "#W1234", "why": "asked"}'])
def test_an_action_is_read_whatever_stands_around_it(reply):
    assert parse_actions(reply) == [Action("order", "#W1234")]


@pytest.mark.parametrize("reply", [
    "", "I take action now.", "Actions follow.", "The ACTION follows.", "REACTION {}", "Action: I will see to it."])
def test_prose_asks_for_nothing(reply):
    assert parse_actions(reply) == []


@pytest.mark.parametrize("reply", [
    "ACTION", "ACTION order #W1234", "ACTION {", 'ACTION {"tool": "order"}',
    'ACTION {"tool": 1, "work_order": "#W1234"}',
    r'ACTION {"tool": "\ud800", "work_order": "#W1234"}', r'ACTION {"tool": "order", "work_order": "\udc00"}',
    'ACTION ["order", "#W1234"]', "ACTION " + "[" * 100_000, "ACTION " + '{"tool":' * 50_000])
def test_what_cannot_be_read_is_malformed_and_runs_nothing(space, reply):
    assert all(isinstance(one, Malformed) for one in parse_actions(reply))
    calls = dispatch(space).run(REQUEST, reply)
    assert [call.outcome for call in calls] == [Outcome.MALFORMED] and space.artifacts() == {}


@pytest.mark.parametrize("reply", [f"You: {line('order')}", f"Client: go on\nYou: {line('order')}\nfine",
                                   f"I would write {line('order')} now."])
def test_an_action_in_the_midst_of_words_runs_nothing_and_the_agent_is_told(space, reply):
    channel = dispatch(space)
    (call,) = channel.run(REQUEST, reply)
    assert call.outcome is Outcome.MALFORMED and space.artifacts() == {}
    assert "must begin a line of its own" in channel.result([call])


def test_two_actions_on_one_line_are_two(space):
    reply = f"{line('order')} {line('pay')}"
    assert parse_actions(reply) == [Action("order", "#W1234"), Action("pay", "#W1234")]
    assert {call.outcome for call in dispatch(space).run(REQUEST, reply)} == {Outcome.TWO_ACTIONS}
    assert space.artifacts() == {}


def test_an_action_inside_the_json_of_another_is_none():
    reply = 'ACTION {"tool": "order", "work_order": "#W1234", "why": "ACTION {x"}'
    assert parse_actions(reply) == [Action("order", "#W1234")]


@pytest.mark.parametrize("tool", NOBODYS)
def test_a_tool_that_is_not_one_is_a_sentence_and_never_a_path(space, tool):
    channel = dispatch(space)
    calls = channel.run(REQUEST, line(tool))
    assert [call.outcome for call in calls] == [Outcome.UNKNOWN_TOOL] and files(space) == []
    told = channel.result(calls)
    assert "was not run: there is no such tool." in told and len(told) < 200 and told.isprintable()


@pytest.mark.parametrize("work_order", ["#W9999", "../../x", "/etc/x", "#W1234\0", "#" * 10_000, "", "#W1234/../x"])
def test_a_work_order_of_no_request_stamps_nothing(space, work_order):
    calls = dispatch(space).run(REQUEST, line("order", work_order))
    assert [call.outcome for call in calls] == [Outcome.WRONG_WORK_ORDER] and files(space) == []


def test_a_message_without_a_work_order_has_nothing_to_run(space):
    calls = dispatch(space).run(Request(0, "Hello.", None, False), line("order", ""))
    assert [call.outcome for call in calls] == [Outcome.WRONG_WORK_ORDER] and space.artifacts() == {}


def test_two_actions_for_one_work_order_execute_neither_and_are_told_once(space):
    channel = dispatch(space)
    calls = channel.run(REQUEST, f"{line('order')}\n{line('pay')}")
    assert [call.outcome for call in calls] == [Outcome.TWO_ACTIONS] * 2 and space.artifacts() == {}
    assert channel.result(calls).count("\n") == 0


def test_an_action_of_an_earlier_work_order_does_not_hold_up_the_current_one(space):
    calls = dispatch(space).run(REQUEST, f"{line('order', '#W0001')}\n{line('pay')}")
    assert [call.outcome for call in calls] == [Outcome.WRONG_WORK_ORDER, Outcome.DONE]
    assert space.artifacts() == {"pay": ("#W1234",)}


@pytest.mark.parametrize(("idempotent", "stamps"), [(True, 1), (False, 2)])
def test_an_idempotent_tool_knows_its_work_order_again(space, idempotent, stamps):
    channel = dispatch(space, idempotent=idempotent)
    outcomes = [channel.run(REQUEST, line("order"))[0].outcome for _ in range(2)]
    assert outcomes == [Outcome.DONE, Outcome.REPEATED if idempotent else Outcome.DONE]
    assert len(space.stamps("order")) == stamps


@pytest.mark.parametrize(("kind", "outcome", "stamps"), [
    (Failing.BEFORE, Outcome.FAILED, 0), (Failing.AFTER, Outcome.TIMED_OUT, 1)])
def test_a_failing_tool_has_done_its_work_or_not_and_its_answer_tells_only_the_second(space, kind, outcome, stamps):
    channel = dispatch(space, failures=Failures(1.0, (kind,), 0))
    calls = channel.run(REQUEST, line("order"))
    assert [call.outcome for call in calls] == [outcome] and len(space.stamps("order")) == stamps
    assert ("not known" in channel.result(calls)) == (kind is Failing.AFTER)


def test_failures_are_drawn_from_the_call_alone_and_another_attempt_may_work():
    failures = Failures(0.5, tuple(Failing), 7)
    drawn = [failures.of_call("order", "#W1234", attempt) for attempt in range(200)]
    assert drawn == [Failures(0.5, tuple(Failing), 7).of_call("order", "#W1234", attempt) for attempt in range(200)]
    assert {*drawn} == {None, *Failing} and 60 < drawn.count(None) < 140


def test_the_workspace_is_gone_when_the_conversation_is():
    with Workspace(["order"]) as space:
        space.stamp("order", "#W1234")
        root = space.root
        assert root.is_dir()
    assert not root.exists()


def test_tools_are_named_by_what_their_step_does():
    assert tool_name("sign the master service agreement (final)") == "sign_master_service_agreement_final"
