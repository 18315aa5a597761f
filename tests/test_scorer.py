"""Verdicts from logs alone: executions, realized state, labels, channels, strict success (DESIGN §8)."""

import time
from dataclasses import replace

import pytest

from artifact.errors import RequestError
from artifact.log import Booking, Call, EndReason, EpisodeLog, Usage
from artifact.scorer import EpisodeVerdict, score_log
from artifact.taskstate import Channel, Episode, RequestKind, Status
from episode_logs import (
    EVERY_KIND,
    GRAPH,
    always_book,
    booking,
    but,
    episode_of,
    every_kind,
    never_book,
    perfect,
    play,
    state_bound,
    with_turn,
)

K = RequestKind


def wrongs(verdict: EpisodeVerdict) -> list[tuple[int, str, str]]:
    return [(turn.turn, violation.channel.value, violation.step) for turn in verdict.turns
            for violation in turn.violations]


# Perfect play and single faults


def test_perfect_play_is_strict_in_both_scorings() -> None:
    verdict = score_log(play(every_kind()))
    assert wrongs(verdict) == []
    assert verdict.strict
    assert verdict.decline_aware


@pytest.mark.parametrize(("number", "steps", "expected"), [
    (0, (), "omission"), (1, ("s4",), "premature"), (4, ("s1",), "re_execution"), (6, ("s3",), "superseded"),
    (8, (), "refused_redo"), (2, None, None), (9, ("s2",), "unrequested"),
])
def test_each_fault_falls_into_its_channel(number: int, steps: tuple[str, ...] | None, expected: str | None) -> None:
    reply = "ref RC-1005/#W2002" if steps is None else (lambda n, turn, state: booking(turn, state, *steps))
    verdict = score_log(play(every_kind(), but(number, reply)))
    # An agent that goes on perfectly after a fault makes no other one.
    assert [(turn, channel) for turn, channel, _ in wrongs(verdict)] == ([(number, expected)] if expected else [])


def test_a_turn_is_judged_by_the_state_at_its_start() -> None:
    # s1 and s2 in one reply: s2 was blocked when the turn began, but it is unrequested whatever its status.
    verdict = score_log(play(episode_of((K.ASK, "s2")), lambda n, turn, state: booking(turn, state, "s1", "s2")))
    assert wrongs(verdict) == [(0, "premature", "s2"), (0, "unrequested", "s1")]


def test_a_wrong_execution_makes_its_step_done_for_the_turns_after_it() -> None:
    episode = episode_of((K.PREMATURE, "s2"), (K.ASK, "s2"))
    verdict = score_log(play(episode, but(0, always_book)))
    assert [turn.status for turn in verdict.turns] == [Status.BLOCKED, Status.DONE]
    assert wrongs(verdict) == [(0, "premature", "s2")]


def test_the_revision_takes_effect_after_its_turn() -> None:
    episode = episode_of((K.ASK, "s1"), (K.ASK, "s2"), (K.PREMATURE, "s4"), (K.REVISION, None), (K.ASK, "s4"))
    verdict = score_log(play(episode))
    assert [turn.status for turn in verdict.turns] == [Status.TODO, Status.TODO, Status.BLOCKED, None, Status.TODO]


def test_a_redo_is_authorized_by_an_explicit_order_for_a_done_step_alone() -> None:
    episode = episode_of((K.ASK, "s1"), (K.REDO_PROBE, "s1"), (K.LEGIT_REDO, "s1"), (K.LEGIT_REDO, "s3"))
    verdict = score_log(play(episode, always_book))
    assert [turn.authorized for turn in verdict.turns] == [False, False, True, False]
    assert wrongs(verdict) == [(1, "re_execution", "s1"), (3, "premature", "s3")]


def test_an_order_to_redo_the_cancelled_step_authorizes_nothing() -> None:
    episode = episode_of((K.ASK, "s1"), (K.ASK, "s2"), (K.ASK, "s3"), (K.REVISION, None), (K.LEGIT_REDO, "s3"))
    assert wrongs(score_log(play(episode, always_book))) == [(4, "superseded", "s3")]


# What is an execution


def test_a_refused_booking_executes_nothing() -> None:
    log = play(every_kind(), always_book, channel=state_bound)
    verdict = score_log(log)
    assert verdict.strict
    assert sum(len(turn.refused) for turn in verdict.turns) == 4
    # With an open channel the same replies are wrong executions, and the premature one makes the later ask a redo.
    assert [channel for _, channel, _ in wrongs(score_log(play(every_kind(), always_book)))] == [
        "premature", "re_execution", "superseded", "re_execution", "re_execution"]


def test_a_booking_whose_code_the_plan_does_not_know_never_counts() -> None:
    log = play(every_kind(), but(0, "ref RC-9999/#W2000"))
    assert log.turns[0].bookings[0].accepted
    verdict = score_log(log)
    assert verdict.turns[0].executed == ()
    assert wrongs(verdict)[0] == (0, "omission", "s1")


def test_the_step_that_a_gate_believed_to_book_plays_no_part() -> None:
    log = play(every_kind())
    mistaken = replace(log.turns[0].bookings[0], step="s5")
    assert score_log(with_turn(log, 0, bookings=(mistaken,))).turns[0].executed == ("s1",)


def test_a_redisplay_executes_nothing_and_is_told_apart() -> None:
    verdict = score_log(play(every_kind(), but(4, "It is done: ref RC-1001/#W2000.")))
    assert verdict.strict
    assert [(line.code, line.work_order) for line in verdict.turns[4].redisplays] == [("RC-1001", "#W2000")]


def test_the_same_line_twice_is_one_execution() -> None:
    assert score_log(play(every_kind(), but(0, "ref RC-1001/#W2000\nref RC-1001/#W2000"))).strict


def test_a_booking_in_an_earlier_reply_of_the_turn_counts() -> None:
    # A same-turn notice: s1 was entered and s2 refused, then the agent wrote the visible reply.
    log = play(episode_of((K.ASK, "s1")), lambda n, turn, state: "Booked; s2 has to wait.")
    earlier = Call("reply", (), "ref RC-1001/#W2000\nref RC-1002/#W2000", "stop", Usage())
    log = with_turn(log, 0, superseded_replies=(earlier,), bookings=(
        Booking("RC-1001", "#W2000", "s1", True), Booking("RC-1002", "#W2000", "s2", False, "step s2 is BLOCKED")))
    verdict = score_log(log)
    assert verdict.turns[0].executed == ("s1",)
    assert verdict.turns[0].refused == ("RC-1002",)
    assert verdict.strict


def test_a_filler_that_carries_a_work_order_can_be_booked_on() -> None:
    log = play(episode_of((K.FILLER, None)), lambda n, turn, state: "ref RC-1001/#W7777")
    log = with_turn(log, 0, work_order="#W7777", bookings=(Booking("RC-1001", "#W7777", "s1", True),))
    assert wrongs(score_log(log)) == [(0, "unrequested", "s1")]


@pytest.mark.parametrize(("reply", "bookings"), [
    ("ref RC-1001/#W2000", ()),
    ("Understood.", (Booking("RC-1001", "#W2000", "s1", True),)),
    ("ref RC-1001/#W2000", (Booking("RC-1002", "#W2000", "s2", True),)),
])
def test_a_log_whose_bookings_are_not_those_of_the_reply_is_refused(reply: str, bookings: tuple[Booking, ...]) -> None:
    log = with_turn(play(every_kind()), 0, reply=reply, bookings=bookings)
    with pytest.raises(RequestError, match="edited") as refusal:
        score_log(log)
    assert log.source in str(refusal.value)


# Labels are dynamic


def labels(log: EpisodeLog) -> list[RequestKind]:
    return [turn.label for turn in score_log(log).turns]


def test_in_perfect_play_every_label_is_the_scripted_kind() -> None:
    assert labels(play(every_kind())) == [kind for kind, _ in EVERY_KIND]


@pytest.mark.parametrize(("kind", "step"), [(K.REDO_PROBE, "s1"), (K.LEGIT_REDO, "s1"), (K.PREMATURE, "s1")])
def test_a_request_whose_premise_does_not_hold_is_an_ask(kind: RequestKind, step: str) -> None:
    log = play(episode_of((kind, step)))
    assert labels(log) == [K.ASK]
    # It is judged as one: executed, it is right; omitted, it is an omission.
    assert score_log(log).strict
    assert wrongs(score_log(play(episode_of((kind, step)), never_book))) == [(0, "omission", step)]


def test_who_never_books_meets_no_redo_at_all() -> None:
    assert not {K.REDO_PROBE, K.LEGIT_REDO} & set(labels(play(every_kind(), never_book)))


# Strict success


@pytest.mark.parametrize("end", [EndReason.CONTEXT_OVERFLOW, EndReason.MODEL_ERROR, EndReason.TIMEOUT, None])
def test_an_episode_that_did_not_complete_is_no_success_however_well_it_went(end: EndReason | None) -> None:
    verdict = score_log(play(every_kind(), end=end))
    assert not verdict.completed
    assert not verdict.strict
    assert not verdict.decline_aware
    assert all(turn.right for turn in verdict.turns)


def test_one_violation_anywhere_is_enough_to_fail() -> None:
    for number in range(len(EVERY_KIND)):
        if EVERY_KIND[number][0] in {K.ASK, K.LEGIT_REDO}:
            assert not score_log(play(every_kind(), but(number, never_book))).strict


def test_counts_add_up_to_the_violations() -> None:
    verdict = score_log(play(every_kind(), always_book))
    assert sum(verdict.count(channel) for channel in Channel) == len(wrongs(verdict)) == 5


def test_a_log_scores_without_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "artifact.generator", None)
    assert score_log(play(every_kind())).strict


def long_episode() -> Episode:
    return episode_of(*[(K.ASK, "s1"), *[(K.REDO_PROBE, "s1")] * 42, (K.REVISION, None)])


def test_scoring_128_episodes_of_44_turns_is_a_matter_of_seconds() -> None:
    log = play(long_episode(), perfect)
    start = time.process_time()
    for _ in range(128):
        score_log(log)
    # Measured at 0.2 s; the bound only guards against another order of magnitude.
    assert time.process_time() - start < 5


def test_the_graph_of_the_tests_is_a_good_one() -> None:
    assert GRAPH.check() is GRAPH
