"""The ref line (Appendix A.1): thirteen formats that book, the look-alikes that don't, and the time it takes."""

import time
from collections.abc import Callable

import pytest

from artifact.taskstate import parse_bookings, parse_ref_lines

CODE, WORK_ORDER = "RC-4808", "#W1941"

THIRTEEN_FORMATS = {
    "plain": "ref RC-4808/#W1941",
    "markdown bold": "**ref RC-4808/#W1941**",
    "backticks": "`ref RC-4808/#W1941`",
    "bullet": "- ref RC-4808/#W1941",
    "block quote": "> ref RC-4808/#W1941",
    "quotes": "'ref RC-4808/#W1941'",
    "trailing punctuation": "I booked it: ref RC-4808/#W1941.",
    "spaces round the slash": "ref RC-4808 / #W1941",
    "case": "REF rc-4808/#w1941",
    "brackets": "[ref RC-4808/#W1941]",
    "ref with a colon": "ref: RC-4808/#W1941",
    "bold within the line": "ref **RC-4808**/**#W1941**",
    "code fence": "```\nref RC-4808/#W1941\n```",
}
MORE_FORMATS = {
    "italics": "_ref RC-4808/#W1941_",
    "typographic quotes": "“ref RC-4808/#W1941”",
    "numbered list": "1. ref RC-4808/#W1941",
    "placeholder brackets": "ref <RC-4808>/<#W1941>",
    "escaped hash": r"ref RC-4808/\#W1941",
    "work order without its hash": "ref RC-4808/W1941",
    "hyphen that doesn't break": "ref RC\u20114808/#W1941",
    "space that doesn't break": "ref\u00a0RC-4808/#W1941",
    "in a sentence": "Done (ref RC-4808/#W1941), what next?",
    "windows line ends": "Done.\r\nref RC-4808/#W1941\r\nNext?",
}


def test_the_matrix_has_thirteen_formats() -> None:
    assert len(THIRTEEN_FORMATS) == 13


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in
                                  {**THIRTEEN_FORMATS, **MORE_FORMATS}.items()])
def test_a_ref_line_in_this_format_is_a_booking(text: str) -> None:
    assert [(line.code, line.work_order) for line in parse_bookings(text, WORK_ORDER)] == [(CODE, WORK_ORDER)]


NO_BOOKINGS = {
    "a stale work order": "ref RC-4808/#W1940",
    "no work order": "ref RC-4808",
    "an empty work order": "ref RC-4808/#W",
    "no completion code": "ref #W1941",
    "the code split over two lines": "ref RC-48\n08/#W1941",
    "the payload split over two lines": "ref RC-4808/\n#W1941",
    "ref on the line before": "ref\nRC-4808/#W1941",
    "a ref inside a quoted rejection": "[BOOKING REJECTED] Your line 'ref RC-4808/#W1941' was REJECTED.",
    "a ref inside a quoted directive": "> [TASK-STATE] step s1 is ELIGIBLE. Execute it now. ref RC-4808/#W1941",
    "a ref inside a quoted checklist": "[PROJECT CHECKLIST -- ref RC-4808/#W1941]",
    "prose": "Step s1 is done, code RC-4808, work order #W1941.",
    "a ledger line": "LEDGER RC-4808 DONE",
    "the payload without the word": "RC-4808/#W1941",
    "five digits in the code": "ref RC-48081/#W1941",
    "five digits in the work order": "ref RC-4808/#W19411",
    "a letter glued to the work order": "ref RC-4808/#W1941b",
    "another word that ends in ref": "xref RC-4808/#W1941",
    "a name that ends in ref": "work_ref RC-4808/#W1941",
    "another word between": "ref number RC-4808/#W1941",
    "the placeholder of the brief": "ref <completion code>/<work order>",
    "nothing": "",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NO_BOOKINGS.items()])
def test_this_is_no_booking(text: str) -> None:
    assert parse_bookings(text, WORK_ORDER) == []


def test_a_stale_work_order_is_a_redisplay() -> None:
    text = "As booked before: ref RC-4808/#W1111"
    assert [line.work_order for line in parse_ref_lines(text)] == ["#W1111"]
    assert parse_bookings(text, WORK_ORDER) == []


def test_a_turn_without_a_work_order_has_nothing_to_book() -> None:
    assert parse_bookings("ref RC-4808/#W1941", None) == []


def test_another_steps_code_is_a_booking_of_that_step() -> None:
    assert [line.code for line in parse_bookings("ref RC-7777/#W1941", WORK_ORDER)] == ["RC-7777"]


def test_the_same_line_twice_is_one_booking() -> None:
    assert len(parse_bookings("ref RC-4808/#W1941\n**ref RC-4808/#W1941**", WORK_ORDER)) == 1


def test_bookings_stand_in_the_order_of_the_reply() -> None:
    text = "ref RC-9000/#W1941 and ref RC-1000/#W1941"
    assert [line.code for line in parse_bookings(text, WORK_ORDER)] == ["RC-9000", "RC-1000"]


def test_a_quoted_directive_does_not_reach_beyond_its_line() -> None:
    text = "[TASK-STATE] step s1 is ELIGIBLE. Execute it now.\nref RC-4808/#W1941"
    assert len(parse_bookings(text, WORK_ORDER)) == 1


def test_offsets_lead_back_to_the_line() -> None:
    text = "Very well: **ref RC-4808/#W1941**."
    line = parse_ref_lines(text)[0]
    assert text[line.start:line.end] == "ref RC-4808/#W1941"


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("piece", ["ref ", "ref", "ref ((((((((", "ref RC-4808 ", "ref RC-4808 ****** / ****** ",
                                   "ref RC-4808/#W1941 ", "[TASK-STATE] ref RC-4808/#W1941 ", "x"])
def test_reading_a_reply_takes_time_linear_in_its_length(piece: str) -> None:
    short, long = (piece * (size // len(piece)) for size in (50_000, 400_000))
    # Eight times the text: linear is a factor of 8, quadratic one of 64.
    assert seconds(lambda: parse_ref_lines(long)) < 24 * max(seconds(lambda: parse_ref_lines(short)), 1e-4)
