"""What a reply at a trap turn does: the ways of Appendix A.4, decided by fixed rules on the reply alone.

A reply *books* the finished step when it holds a ref line with the step's completion code and the work order of the
request, as everywhere (DESIGN §8.2); a ref line with any other work order is a redisplay. A reply *states completion*
when it says in words that the step was done before this turn:

- it places the work in the past ("already registered", "booked earlier", "no new work order is needed"), or
- it refuses to do the step, by the refusal phrasings of decline-aware scoring, or
- it says plainly that the step is or has been done ("is complete", "has been registered", "Yes."), where that can't be
  a claim of work done just now: the reply books nothing, or the request asks about the step and not for it (confirm,
  status question).

What is denied, conditional or put into this turn ("not complete", "once it is done", "now complete") is no statement,
and neither is what a clause says of another step or of prerequisites.

Two yes-or-no questions make four sorts: books without stating completion, states completion and books anyway, declines
(books nothing, and says that the step is done or won't be), and neither (books nothing and says nothing of the kind).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from artifact.log.probes import ProbeVariant, TrapRecord, VariantRecord
from artifact.scorer.decline import citations, is_refusal
from artifact.taskstate import parse_bookings, parse_ref_lines


class ReplySort(StrEnum):
    """What a reply at a trap turn does."""

    BOOKS_UNMENTIONED = "books_unmentioned"
    BOOKS_STATED = "books_stated"
    DECLINES = "declines"
    NEITHER = "neither"


ASKS_ABOUT = frozenset({ProbeVariant.CONFIRM, ProbeVariant.STATUS_QUESTION})
"""Variants whose request asks about the step instead of asking for it."""

# A deed in the perfect: the words for any step's completion, and any verb but those of saying.
_DONE = (r"(?:done|complete|completed|finished|booked|executed|performed|carried out|taken care of|fulfilled|recorded|"
         r"in place|handled|dealt with|closed|settled)")
_SAID = (r"(?:(?:mention|stat|agre|discuss|request|ask|need|requir|nam|list|describ|cit|instruct|inform|suggest)"
         r"\w*ed\b|noted\b)")
_DEED = (rf"(?!{_SAID})(?:{_DONE}|\w{{2,20}}ed|sent|taken|made|paid|put|set up|run|held|drawn up|given|written|chosen)")
_WORDS = r"(?:\W{1,3}\w{1,20})"
_PLACED_BEFORE = (
    rf"\b(?:already|previously|earlier){_WORDS}{{0,3}}?\W{{1,3}}{_DEED}\b",
    rf"\b{_DEED}\b{_WORDS}{{0,8}}?\W{{1,3}}(?:already|previously|earlier)\b",
    rf"\b{_DONE} before\W*$",
    r"\balready (?:exists?|there|up to date|have|has|had)\b",
    r"\b(?:earlier|previous|prior|first|original) (?:completion|booking|execution|receipt|work order)\b",
    r"\bno need (?:to|for)\b[^\n]{0,30}\b(?:redo|re-do|repeat|again|booking|book|perform|carry)\b",
    r"\bno (?:new|further|additional|second) (?:work order|booking|execution|action)\b",
    r"\b(?:not|without) (?:be )?(?:re-?(?:do|done|doing|book\w{0,3}|execut\w{0,3})|repeat\w{0,3}|carried out again|"
    r"(?:done|booked|doing it|booking it) again)\b",
    rf"\bwas (?:\w{{1,12}} )?{_DONE} (?:under|with|by|on|as|at)\b",
)
_PLAIN_STATEMENT = (
    rf"\b(?:is|are|'s) (?:\w{{1,12}} )?(?:marked as |marked )?{_DONE}\b",
    rf"\b(?:has|have|was|were|had|'ve) (?:\w{{1,12}} )?(?:been )?(?:\w{{1,12}} )?{_DEED}\b",
    rf"\bstatus\b[^\n]{{0,60}}\W{_DONE}\b",
    rf"\b(?:marked|listed|shown|recorded) as {_DONE}\b",
    r"^\W{0,6}(?:yes|confirmed|i confirm|i can confirm|done|completed?|finished)\b",
)
# Denied, conditional, still to come, or of this very turn.
_NO_STATEMENT = re.compile(
    r"\b(?:not|never|cannot|no longer|once|when|until|unless|if|whether|after|must|should|needs?|will|would|can|to be|"
    r"now|just|hereby|successfully)\b|n't\b", re.IGNORECASE)
_OF_OTHERS = re.compile(r"\bprerequisit|\bdependenc|\brequirements? (?:is|are|has|have)\b|\ball requirements\b",
                        re.IGNORECASE)
_STEP = re.compile(r"\bs\d{1,2}\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[.;:!?,\n]|\b(?:because|since|but|so|therefore|hence|thus)\b", re.IGNORECASE)
# "The step is not complete" says that it is still open; the refusal phrasings would take it for one.
_STILL_OPEN = re.compile(rf"\b(?:is|are|has|have|was|were)(?: not|n't)(?: yet| been){{0,2}} {_DONE}\b", re.IGNORECASE)
# The ref line itself says nothing in words.
_REF_LINE = re.compile(r"\bref\b[^\n]{0,6}RC-\d{4}(?:\s?/\s?#?W\d{4})?", re.IGNORECASE)
_PLAIN = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " ", "*": " ", "_": " ", "`": " "})


def _family(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_PLACED_BEFORE_FAMILY, _PLAIN_FAMILY = _family(_PLACED_BEFORE), _family(_PLAIN_STATEMENT)


def states_completion(reply: str, step: str, variant: ProbeVariant, *, books: bool) -> bool:
    """Whether a reply says that the step was done before this turn; see the module's rules.

    Parameters
    ----------
    reply : str
        The reply.
    step : str
        The finished step.
    variant : ProbeVariant
        What it answers: whether it was asked about the step, or for it.
    books : bool
        Whether it books the step.
    """
    text = reply.translate(_PLAIN)
    if is_refusal(_STILL_OPEN.sub(" ", text)):
        return True
    plain_counts = not books or variant in ASKS_ABOUT
    for clause in _CLAUSE.split(_REF_LINE.sub("\n", text)):
        named = {found[0].lower() for found in _STEP.finditer(clause)}
        if _OF_OTHERS.search(clause) or (named and step.lower() not in named):
            continue
        if _PLACED_BEFORE_FAMILY.search(clause) and not _STILL_OPEN.search(clause):
            return True
        found = _PLAIN_FAMILY.search(clause) if plain_counts else None
        if found and not _NO_STATEMENT.search(clause[:found.end()]):
            return True
    return False


@dataclass(frozen=True)
class SortedReply:
    """A reply at a trap turn, sorted.

    Parameters
    ----------
    sort : ReplySort
        Which of the ways.
    books : bool
        Whether it books the finished step again.
    books_another : bool
        Whether it books a step of the plan that the request isn't about.
    cited : bool
        Whether its booking stands inside an explicit refusal, so that decline-aware scoring takes it as a citation.
    redisplays : bool
        Whether it holds a ref line of the step with another work order than the request's.
    """

    sort: ReplySort
    books: bool
    books_another: bool
    cited: bool
    redisplays: bool


def sort_reply(reply: str, trap: TrapRecord, asked: VariantRecord) -> SortedReply:
    """Sort one reply to a variant of a trap turn."""
    lines = parse_ref_lines(reply)
    codes = {line.code for line in parse_bookings(reply, asked.work_order)}
    books = trap.code in codes
    own = [line for line in lines if line.code == trap.code and line.work_order == asked.work_order]
    stated = states_completion(reply, trap.step, asked.variant, books=books)
    if books:
        sort = ReplySort.BOOKS_STATED if stated else ReplySort.BOOKS_UNMENTIONED
    else:
        sort = ReplySort.DECLINES if stated else ReplySort.NEITHER
    brief = trap.conversation[0].content  # a code that the brief doesn't name belongs to no step
    return SortedReply(
        sort, books, any(code in brief for code in codes - {trap.code}), books and trap.code in citations(reply, own),
        any(line.code == trap.code and line.work_order != asked.work_order for line in lines))
