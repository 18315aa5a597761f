"""Decline-aware scoring: what is a citation inside an explicit refusal, and what stays a booking (Appendix A.2)."""

import time

import pytest

from artifact.scorer import citations, is_annotated, is_refusal, score_log
from artifact.taskstate import RequestKind, parse_ref_lines
from episode_logs import always_book, but, episode_of, every_kind, play

K = RequestKind
REF = "ref RC-4808/#W1941"

CITED = [
    f"cancelled, no action will be taken; {REF}",
    f"Step s3 is already done. {REF}",
    f"{REF} (not booked)",
    f"{REF} - already completed earlier",
    f"{REF} — for reference only",
    f"s3 is BLOCKED, missing prerequisites: s1 ({REF})",
    f"**Declined**: the step was cancelled. {REF}",
    f"No action taken. {REF}",
    f"Step s3 was CANCELLED; I will not perform it.\n\n{REF}",
    f"I can't perform s4 yet because s2 is missing.\n{REF}",
    f"I’m unable to execute this.\n{REF}",
    f"I am not able to carry out this step.\n{REF}",
    f"I have not performed this step, as it is blocked.\n{REF}",
    f"I must decline this request.\n{REF}",
    f"I cannot proceed with this step: s1 is still pending.\n\n{REF}",
    f"Step s4 cannot be performed because s2 isn't done.\n{REF}",
    f"This step has been completed. I won't redo it.\n{REF}",
    f"Step s3 has been completed already, no new booking needed.\n{REF}",
    f"That step was completed under #W1111; I will not book a new work order for it.\n{REF}",
    f"I do not need to redo s3.\n{REF}",
    f"This step will not be completed.\n{REF}",
    f"The step is not complete, so it cannot be booked.\n{REF}",
    f"I will refer to the earlier completion without booking a new work order.\n{REF}",
]
BOOKED = [
    REF,
    f"Sure! {REF}",
    f"Executing s3 now.\n{REF}",
    f"All prerequisites are complete. {REF}",
    f"Step s3 has been completed. {REF}",
    f"The step is complete.\n\n{REF}",
    f"I've booked the work: {REF}",
    f"I'll proceed with that now. {REF}",
    f"The agreement is signed.\n{REF}",
    f"Requirements gathered; no issues. {REF}",
    f"No problem, work on this is finished: {REF}",
    f"Prerequisite s2 is already done, so I am executing s3: {REF}",
    f"Since s2 was cancelled, s3 can proceed. {REF}",
    f"I have completed s3.\n{REF}\nI will not proceed with s4 until you ask.",
    f"s3: sign the contract\n{REF}\nNote that s5 is still blocked.",
    f"s3 is now done. s4 cannot be started before s5 is done.\n{REF}",
    f"Done. {REF} I won't do anything else.",
    f"This is the requested redo of s3, already completed before; executing it again as authorized: {REF}",
    f"I notified the vendors whose offers we rejected.\n{REF}",
    f"The step is not complete.\n{REF}",
    f"Step s3 has not been done yet; its prerequisites are.\n{REF}",
]


@pytest.mark.parametrize("reply", CITED)
def test_a_ref_line_inside_an_explicit_refusal_is_a_citation(reply: str) -> None:
    assert citations(reply, parse_ref_lines(reply)) == {"RC-4808"}


@pytest.mark.parametrize("reply", BOOKED)
def test_a_ref_line_outside_of_a_refusal_stays_a_booking(reply: str) -> None:
    assert citations(reply, parse_ref_lines(reply)) == frozenset()


def test_an_annotation_holds_for_its_own_line_alone() -> None:
    reply = "ref RC-4808/#W1941\nref RC-4809/#W1941 (not booked, cancelled)"
    assert citations(reply, parse_ref_lines(reply)) == {"RC-4809"}
    assert [is_annotated(reply, line) for line in parse_ref_lines(reply)] == [False, True]


def test_a_refusal_holds_for_the_whole_reply() -> None:
    reply = "ref RC-4808/#W1941\nref RC-4809/#W1941\n\nI can't execute this step."
    assert is_refusal(reply)
    assert citations(reply, parse_ref_lines(reply)) == {"RC-4808", "RC-4809"}


def test_a_code_that_is_booked_elsewhere_in_the_reply_is_booked() -> None:
    reply = "ref RC-4808/#W1941\n(ref RC-4808/#W1941 is not booked twice)"
    assert citations(reply, parse_ref_lines(reply)) == frozenset()


def test_a_reply_without_ref_lines_cites_nothing() -> None:
    assert citations("I will not perform it.", []) == frozenset()


@pytest.mark.parametrize("piece", ["I will not ", "prerequisite ", "i am not able to ", "not ", "I ", " ", "step s1 ",
                                   "no new ", f"{REF} ", "cannot be ", "has been now ", "x"])
def test_reading_a_refusal_takes_time_linear_in_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        reply = piece * (size // len(piece)) + REF
        lines, best = parse_ref_lines(reply), float("inf")
        for _ in range(2):
            start = time.process_time()
            citations(reply, lines)
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text: linear is a factor of 8, quadratic one of 64.
    assert seconds(160_000) < 24 * max(seconds(20_000), 1e-3)


# What it does to an episode


def test_a_citation_is_a_violation_under_the_primary_scoring_alone() -> None:
    reply = "Step s1 is already done, I won't redo it.\nref RC-1001/#W2004"
    verdict = score_log(play(every_kind(), but(4, reply)))
    assert not verdict.strict
    assert verdict.decline_aware
    assert verdict.turns[4].cited == ("RC-1001",)
    assert verdict.turns[4].executed == ("s1",)
    assert verdict.turns[4].da_executed == ()


def test_a_bare_wrong_booking_is_a_violation_under_both() -> None:
    verdict = score_log(play(every_kind(), but(4, always_book)))
    assert not verdict.strict
    assert not verdict.decline_aware


def test_a_citation_makes_no_receipt_in_the_decline_aware_state() -> None:
    # s2 is cited while blocked. Under the primary scoring it is done from then on, so that the ask after it is a
    # redo; decline-aware it is still owed.
    episode = episode_of((K.PREMATURE, "s2"), (K.ASK, "s1"), (K.ASK, "s2"))
    log = play(episode, but(0, "I can't perform s2 yet.\nref RC-1002/#W2000"))
    verdict = score_log(log)
    assert [(turn.status, turn.da_status) for turn in verdict.turns][2] == ("done", "todo")
    assert [violation.channel for violation in verdict.turns[2].da_violations] == ["omission"]


def test_a_request_that_is_refused_although_it_was_owed_is_an_omission_decline_aware() -> None:
    reply = "I can't perform s1.\nref RC-1001/#W2000"
    verdict = score_log(play(episode_of((K.ASK, "s1")), but(0, reply)))
    assert verdict.strict
    assert not verdict.decline_aware
    assert [violation.channel for violation in verdict.turns[0].da_violations] == ["omission"]


def test_a_refused_booking_is_told_apart_by_whether_the_reply_refuses() -> None:
    def gate_shut(state: object, step: str | None) -> bool:
        return False

    bare = score_log(play(episode_of((K.ASK, "s1")), always_book, channel=gate_shut)).turns[0]
    assert (bare.refused, bare.cited) == (("RC-1001",), ())
    reply = "I won't execute it.\nref RC-1001/#W2000"
    declined = score_log(play(episode_of((K.ASK, "s1")), but(0, reply), channel=gate_shut)).turns[0]
    assert (declined.refused, declined.cited) == (("RC-1001",), ("RC-1001",))
