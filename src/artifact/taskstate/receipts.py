"""Receipts and the ref line that earns one (§4.2, Appendix A.1).

Invariant: done means a receipt. Prose, redisplays, directives and forged status lines book nothing.
"""

import re
from dataclasses import dataclass

# What may stand between the parts of a ref line without changing what it says: spaces and markdown.
# Never a line break, and never more than a few characters, so that matching stays linear.
_GAP = r"[ \t\u00a0\u202f*_`~'\"“”‘’\[\](){}<>:=\\-]"
_HYPHEN = "[-\u2010\u2011\u2012\u2013]"
_REF = re.compile(
    rf"(?<![A-Za-z0-9])(?<![A-Za-z0-9]_)ref(?:erence)?{_GAP}{{1,8}}(?P<code>RC{_HYPHEN}\d{{4}})(?!\d)"
    rf"{_GAP}{{0,6}}/{_GAP}{{0,6}}#?(?P<work_order>W\d{{4}})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
# A ref line quoted from one of the module's own messages is talk about a booking, not a booking.
_QUOTED = re.compile(r"\[(?:BOOKING REJECTED|TASK-STATE|PROJECT CHECKLIST)", re.IGNORECASE)


@dataclass(frozen=True)
class RefLine:
    """One ``ref <completion code>/<work order>`` found in a text.

    Parameters
    ----------
    code : str
        Completion code, e.g. ``"RC-4808"``.
    work_order : str
        Work order, e.g. ``"#W1941"``.
    start, end : int
        Where it stands in the text, as character offsets.
    """

    code: str
    work_order: str
    start: int
    end: int


@dataclass(frozen=True)
class Receipt:
    """An accepted booking: the only thing that makes a step done.

    Parameters
    ----------
    step : str
        The step that was executed.
    work_order : str
        The request that it was executed for.
    turn : int
        Index of the turn, from 0.
    """

    step: str
    work_order: str
    turn: int


def parse_ref_lines(text: str) -> list[RefLine]:
    """All ref lines in a reply, in order, tolerant of markdown and punctuation.

    Parameters
    ----------
    text : str
        A reply, of any content and length.

    Returns
    -------
    list of RefLine
        With codes and work orders in their canonical form. Lines that quote one of the module's
        messages are left out.

    Notes
    -----
    Linear in the length of the text. Bold, backticks, bullets, quotes, brackets, case, spaces round
    the slash, ``ref:``, a missing ``#`` and typographic hyphens are tolerated; a line break inside the
    payload isn't.
    """
    found = []
    for match in _REF.finditer(text):
        line_start = text.rfind("\n", max(0, match.start() - 400), match.start()) + 1 or max(0, match.start() - 400)
        if _QUOTED.search(text, line_start, match.start()):
            continue
        found.append(RefLine(
            code="RC-" + match["code"][-4:],
            work_order="#" + match["work_order"].upper(),
            start=match.start(),
            end=match.end(),
        ))
    return found


def parse_bookings(text: str, work_order: str | None) -> list[RefLine]:
    """The distinct ref lines that carry the current work order: execution attempts.

    A ref line with another work order is a redisplay and is never an execution; the same line twice is
    one booking. A turn without a work order has nothing to book.
    """
    seen: dict[str, RefLine] = {}
    if work_order is not None:
        for line in parse_ref_lines(text):
            if line.work_order == work_order:
                seen.setdefault(line.code, line)
    return list(seen.values())
