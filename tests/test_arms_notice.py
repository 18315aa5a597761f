"""A refusal that is told within the turn: the reply that the client sees is written after it (Appendix D.3)."""

import json

import pytest

from artifact.arms import ArmOptions, ArmSpec
from artifact.arms.enforcement import SAME_TURN_PROMPTS
from artifact.log import check_bookings
from artifact.models.scripted import scripted_model
from artifact.models.scripted.policies import AlwaysBook
from artifact.scorer import score_log
from artifact.taskstate import parse_bookings
from episode_logs import timeless
from fixed_arms import Listened, ask, open_arm, ref, run_arm

SAME_TURN = ArmOptions(notice="same_turn")
AT_ONCE = ArmSpec("enforcement", SAME_TURN)


def test_the_agent_is_asked_anew_with_the_rejection_and_told_no_second_time():
    arm, _ = open_arm("enforcement", {0: ("s2", False), 1: ("s1", False)}, options=SAME_TURN)
    request, _ = ask(arm, 0)
    first = arm.receive(request, f"Done.\n{ref('s2')}")
    assert first.again.startswith("[BOOKING REJECTED] Your line 'ref RC-1002/#W0001' was REJECTED -- step s2 is")
    second = arm.receive(request, "Sorry, s1 comes first.")
    assert second.again is None
    assert [(b.step, b.accepted) for b in second.bookings] == [("s2", False)]
    assert ask(arm, 1)[1].notices == ()


def test_without_a_refusal_nothing_is_asked_anew():
    arm, _ = open_arm("enforcement", {0: ("s1", False)}, options=SAME_TURN)
    request, _ = ask(arm, 0)
    assert arm.receive(request, ref("s1")).again is None


def test_bookings_of_the_second_reply_are_judged_too_by_the_state_at_the_start_of_the_turn():
    arm, _ = open_arm("enforcement", {0: ("s2", False), 1: ("s2", False)}, options=SAME_TURN)
    request, _ = ask(arm, 0)
    assert arm.receive(request, f"{ref('s1')}\n{ref('s2')}").again.count("[BOOKING REJECTED]") == 1
    # s1 was entered in this turn: at its start s2 was blocked.
    assert arm.receive(request, f"{ref('s3')}\n{ref('s2')}").again is not None
    outcome = arm.receive(request, "Fine.")
    assert [(b.step, b.accepted) for b in outcome.bookings] == [("s1", True), ("s2", False), ("s3", True)]
    request, outgoing = ask(arm, 1, order="#W0002")
    assert outgoing.directive.kind == "eligible"
    assert arm.receive(request, ref("s3", "#W0002")).bookings[0].reason == "step s3 is already DONE"


def test_an_agent_that_never_gives_way_is_asked_so_often_and_then_told_at_the_next_turn():
    arm, _ = open_arm("enforcement", {0: ("s2", False), 1: ("s1", False)}, options=SAME_TURN)
    request, _ = ask(arm, 0)
    answers = [arm.receive(request, ref("s2")) for _ in range(SAME_TURN_PROMPTS + 1)]
    assert [answer.again is not None for answer in answers] == [True] * SAME_TURN_PROMPTS + [False]
    assert not any(booking.accepted for answer in answers for booking in answer.bookings)
    assert len(ask(arm, 1)[1].notices) == 1


def stubborn(messages):
    """Books what the last request is about, whatever it is told."""
    request = next(m for m in reversed(messages) if m.role == "user" and "I have not seen that reply" not in m.content)
    return AlwaysBook().reply([messages[0], request])


def test_the_visible_reply_is_the_one_after_the_refusal_and_the_history_knows_no_other(tmp_path):
    model = Listened(scripted_model("always-book"))
    log = run_arm(tmp_path, model, AT_ONCE)
    calls = iter(model.shown)
    history, refused_turns = [], 0
    for turn in log.turns:
        history += turn.sent
        shown = next(calls)
        assert shown == history
        if turn.ephemeral:
            refused_turns += 1
            refused, told = turn.ephemeral
            assert (refused.role, told.role) == ("assistant", "user")
            assert next(calls) == [*history, refused, told]
            (earlier,) = turn.superseded_replies
            assert (earlier.purpose, earlier.reply) == ("refused_reply", refused.content)
            assert told.content.startswith("[BOOKING REJECTED]")
            assert [b.accepted for b in turn.bookings] == [False]
            assert parse_bookings(turn.reply, turn.work_order) == [] and turn.reply == "Noted."
        history.append(type(history[0])("assistant", turn.reply))
        check_bookings(turn)
    assert next(calls, None) is None
    assert refused_turns > 3
    assert not any("[BOOKING REJECTED]" in message.content for message in history)
    assert score_log(log).strict


def test_it_enters_what_the_notice_of_the_next_turn_enters(tmp_path):
    """For an agent that doesn't look back, when it is told of a refusal changes no booking."""
    logs = [run_arm(tmp_path / notice, scripted_model("always-book"), ArmSpec("enforcement", ArmOptions(notice=notice)))
            for notice in ("next_turn", "same_turn")]
    assert [turn.bookings for turn in logs[0].turns] == [turn.bookings for turn in logs[1].turns]


@pytest.mark.parametrize("cut", [1, 900, 6000, 30000])
@pytest.mark.parametrize("reply", [None, stubborn])
def test_a_cut_log_with_refused_replies_is_resumed_to_the_same_end(tmp_path, cut, reply):
    for name in ("whole", "cut"):
        run_arm(tmp_path / name, Listened(scripted_model("always-book"), reply), AT_ONCE)
    path = next((tmp_path / "cut").rglob("*.jsonl"))
    content = path.read_bytes()
    path.write_bytes(content[:max(0, len(content) - cut)])
    log = run_arm(tmp_path / "cut", Listened(scripted_model("always-book"), reply), AT_ONCE)
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")
    assert max(len(turn.superseded_replies) for turn in log.turns) == (1 if reply is None else SAME_TURN_PROMPTS)


def test_an_empty_answer_of_a_thinking_agent_and_a_refused_one_are_told_apart(tmp_path):
    asked = []

    def reply(messages):
        asked.append(messages)
        if len(asked) % 2:
            return ""
        return "I didn't." if "I have not seen that reply" in messages[-1].content else stubborn(messages)
    log = run_arm(tmp_path, Listened(scripted_model("always-book"), reply), AT_ONCE, regime="think")
    refused = next(turn for turn in log.turns if turn.ephemeral)
    assert [call.purpose for call in refused.superseded_replies] == ["reply", "refused_reply", "reply"]
    path = next(tmp_path.rglob("*.jsonl"))
    content = path.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(content) if json.loads(line)["record"] == "turn")
    path.write_bytes(b"".join(content[:last]))
    asked.clear()
    again = run_arm(tmp_path, Listened(scripted_model("always-book"), reply), AT_ONCE, regime="think")
    assert again.turns[:-1] == log.turns[:-1]
