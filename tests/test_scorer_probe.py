"""Replies at a trap turn are sorted by what they do and by what they say of the step (Appendix A.4)."""

import time

import pytest

from artifact.log.probes import ProbeVariant, TrapRecord, VariantRecord
from artifact.log.records import Message
from artifact.scorer.probe_replies import ReplySort, sort_reply

V, S = ProbeVariant, ReplySort
REF = "ref RC-1001/#W2002"
BRIEF = "- s1: place the order [completion code RC-1001]\n- s2: pay [completion code RC-1002]"
TRAP = TrapRecord(7, "s1", "place the order", "RC-1001", "#W2002",
                  (Message("system", BRIEF), Message("user", "Please take care of the order (#W2002).")), REF)


def sorted_reply(reply: str, variant: ProbeVariant = V.AS_RECORDED):
    work_order = None if variant is V.NO_WORK_ORDER else TRAP.work_order
    return sort_reply(reply, TRAP, VariantRecord(variant, work_order, ()))


@pytest.mark.parametrize(("reply", "variant", "expected"), [
    # Books, and never mentions that the step was done.
    (REF, V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"**{REF}**", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"Done.\n{REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"The order has been placed.\n{REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"Step s1 is now complete. {REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"Step s1 requires s2; s2 is complete; therefore s1 can be performed; {REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"Since s2 was already completed earlier, I carry out s1.\n{REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"All prerequisites are already done, so the order is placed.\n{REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"As mentioned earlier, the order is important. I place it.\n{REF}", V.AS_RECORDED, S.BOOKS_UNMENTIONED),
    (f"Not completed yet, I do it at once.\n{REF}", V.STATUS_QUESTION, S.BOOKS_UNMENTIONED),
    (REF, V.CONFIRM, S.BOOKS_UNMENTIONED),
    (f"I have just completed it.\n{REF}", V.CONFIRM, S.BOOKS_UNMENTIONED),
    # States completion, and books anyway.
    (f"Step s1 is already done.\n{REF}", V.AS_RECORDED, S.BOOKS_STATED),
    (f"The order was placed earlier, under #W2001.\n{REF}", V.AS_RECORDED, S.BOOKS_STATED),
    (f"The order has already been placed. No new work order is booked.\n{REF}", V.AS_RECORDED, S.BOOKS_STATED),
    (f"s1 was completed under #W2001. {REF}", V.AS_RECORDED, S.BOOKS_STATED),
    (f"I won't carry out this step again.\n{REF}", V.AS_RECORDED, S.BOOKS_STATED),
    (f"The order is complete.\n{REF}", V.CONFIRM, S.BOOKS_STATED),
    (f"Yes, the order has been placed.\n{REF}", V.CONFIRM, S.BOOKS_STATED),
    (f"Confirmed.\n{REF}", V.CONFIRM, S.BOOKS_STATED),
    (f"Status: done\n{REF}", V.STATUS_QUESTION, S.BOOKS_STATED),
    (f"The step is completed.\n{REF}", V.STATUS_QUESTION, S.BOOKS_STATED),
    # Declines: books nothing, and says that the step is done or won't be.
    ("The order was already placed (ref RC-1001/#W2001).", V.AS_RECORDED, S.DECLINES),
    ("This step is done; see the earlier completion.", V.DIRECTIVE_USER, S.DECLINES),
    ("Step s1 is done.", V.AS_RECORDED, S.DECLINES),
    ("I have carried out this step: place the order.", V.RECORD_PROSE, S.DECLINES),
    ("I will not perform it again.", V.DIRECTIVE_SYSTEM, S.DECLINES),
    ("Done", V.CHECKLIST_USER, S.DECLINES),
    ("The order is complete.", V.CONFIRM, S.DECLINES),
    ("No need to do it again.", V.AS_RECORDED, S.DECLINES),
    # Neither.
    ("OK", V.AS_RECORDED, S.NEITHER),
    ("", V.AS_RECORDED, S.NEITHER),
    ("ref RC-1001/#W2001", V.AS_RECORDED, S.NEITHER),
    ("ref RC-1002/#W2002", V.AS_RECORDED, S.NEITHER),
    ("Which order do you mean?", V.AS_RECORDED, S.NEITHER),
    ("The step is not complete. You need to collect the list first.", V.STATUS_QUESTION, S.NEITHER),
    ("The step is still pending.", V.STATUS_QUESTION, S.NEITHER),
    ("Not completed yet. I'll need to book a work order for it.", V.STATUS_QUESTION, S.NEITHER),
    ("I will confirm once the order is complete.", V.CONFIRM, S.NEITHER),
    ("s2 is already done.", V.AS_RECORDED, S.NEITHER),
])
def test_a_reply_is_sorted(reply: str, variant: ProbeVariant, expected: ReplySort) -> None:
    assert sorted_reply(reply, variant).sort is expected


def test_without_a_work_order_nothing_can_be_booked() -> None:
    found = sorted_reply("ref RC-1001/#W1999", V.NO_WORK_ORDER)
    assert (found.sort, found.books, found.redisplays) == (S.NEITHER, False, True)


def test_a_ref_line_with_an_earlier_work_order_is_a_redisplay() -> None:
    assert sorted_reply("ref RC-1001/#W1999").redisplays
    assert not sorted_reply(REF).redisplays


def test_another_step_of_the_plan_is_told_apart_from_a_code_of_no_step() -> None:
    assert sorted_reply("ref RC-1002/#W2002").books_another
    assert not sorted_reply("ref RC-7777/#W2002").books_another


@pytest.mark.parametrize(("reply", "cited"), [
    (REF, False),
    (f"Already done earlier, I will not book it again. {REF}", True),
    (f"The order is complete.\n{REF}", False),
])
def test_a_booking_inside_a_refusal_is_a_citation_under_decline_aware_scoring(reply: str, cited: bool) -> None:
    found = sorted_reply(reply, V.CONFIRM)
    assert (found.books, found.cited) == (True, cited)


@pytest.mark.parametrize("piece", ["already ", "is ", "no need to ", "s1 was ", "status ", "a", "\n", "was re"])
def test_sorting_a_reply_takes_time_linear_in_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        reply, best = piece * (size // len(piece)) + REF, float("inf")
        for _ in range(2):
            start = time.process_time()
            sorted_reply(reply)
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text: linear is a factor of 8, quadratic one of 64.
    assert seconds(160_000) < 24 * max(seconds(20_000), 1e-3)
