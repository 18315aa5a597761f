"""Decline-aware scoring: when a ref line is a citation inside an explicit refusal (§4.2, Appendix A.2).

Two fixed families of patterns decide. *Annotations* look at the line of text that the ref line stands in:
words that take the booking back, or that give the step's status as the reason why nothing is done.
*Refusals* look at the whole reply: the agent says that it does not do what was asked.

A reply may well book one step and speak of others that it won't do, so words about a status, and refusals
that don't speak of a second execution, count only where nothing claims that work was done just now. The
scoring thus errs on the side of the primary one: what isn't clearly a refusal stays a booking.

Invariant: the time taken is linear in the length of the reply. Every repetition in a pattern is bounded.
"""

import re
from collections.abc import Iterable

from artifact.taskstate import RefLine

# How much of a line, on either side, belongs to a ref line. A reply without line breaks is not one remark.
_REACH = 240

# The parts that refusals are made of: who or what, the denial, what may stand between, the deed.
_AGENT = r"\b(?:i|we)(?:\s|(?='))(?:\w{1,12}\s)?"
_THING = r"\b(?:it|this|that|(?:this|that|the) (?:step|request|task|work|action)|step \w{1,4})\s"
_NOT = (
    r"(?:cannot|can\s?not|can't|could not|couldn't|will not|won't|shall not|must not|mustn't|should not|shouldn't|"
    r"may not|am not|'m not|are not|aren't|is not|isn't|did not|didn't|do not|don't|have not|haven't|has not|hasn't|"
    r"(?:am|are|'m|'re)\s(?:unable|not able|not allowed|not permitted|not going))"
)
_BETWEEN = r"(?:\s(?:be|been|now|yet|currently|therefore|again|also|simply|just|need|have|to|able)){0,3}\s"
_ACT = (
    r"(?:do\b|done\b|doing\b|(?:re-?)?(?:perform|execut|book|issu|run\b)|redo|re-do|repeat|carr(?:y|ied|ying)\b|complet|"
    r"proceed|start|begin|process|fulfil|go ahead|move forward|act on|take (?:any )?action|send|place|sign\b|submit|"
    r"schedul|mark|handle)"
)
# That a step is open isn't a word about what the agent does: "the step is not complete" goes with a booking of it too.
_OPEN = r"(?:is|are|was|were|has|have)(?: not|n't)(?:\s(?:been|yet|now|currently)){0,2}\s(?:complete|completed|done)\b"
_REDO = r"(?:redo|re-do|repeat|re-?(?:execut|perform|book|run))"

_TAKEN_BACK = (
    r"(?:\bnot|\bnever|n't)(?: been| be| being)?(?: yet)? (?:re-?)?"
    r"(?:booked|booking|executed|executing|performed|performing|carried out|entered|processed)\b",
    r"\bno (?:new |further |additional |such )?(?:action|booking|execution|work|work order) "
    r"(?:is|was|will|has|can|needed|required|taken|performed|booked|made)\b",
    r"\bwithout (?:re-?)?(?:booking|executing|performing)\b",
    r"\b(?:for reference|as a reference|reference only|not a booking|not an execution)\b",
    r"(?:\b(?:i|we|is|was|been|be|must|booking|request)\s|^\W{0,6}|[;:(—–-]\s?)"
    r"(?:declin(?:e|ed|ing)|refus(?:e|ed|ing)|reject(?:ed|ing)|void(?:ed)?|withheld|skipped)\b",
    r"\bnot applicable\b|\bn/a\b",
)
_STATUS = (
    r"\bcancell?ed\b",
    r"\b(?:already|previously|earlier) (?:been )?(?:done|completed?|booked|executed|performed|finished|recorded)\b",
    r"\b(?:done|completed|booked|executed|performed|finished|recorded) (?:already|previously|earlier|before)\b",
    r"\bblocked\b",
    r"\b(?:missing|unmet|incomplete|pending|outstanding) prerequisites?\b",
    r"\bprerequisites? [^.;\n]{0,60}\b(?:not|missing|incomplete|unmet|pending)\b",
)
_REFUSED = (
    rf"(?:{_AGENT}|{_THING}(?!{_OPEN})){_NOT}{_BETWEEN}{_ACT}",
    rf"\bunable to{_BETWEEN}{_ACT}",
    r"\b(?:i|we)\s(?:must |have to |need to |will )?(?:declin|refus)(?:e|ed|ing)\b",
    r"\b(?:request|step|task|work order|booking) (?:is |was |has been |must be )?(?:declined|refused|rejected)\b",
    r"^\W{0,6}declin(?:ed|ing)\b",
    r"\bno (?:new |further |additional )?(?:action|work|booking|execution) "
    r"(?:is|was|will|has|can|needed|required|taken|performed|booked|made)\b",
)
_REFUSED_AGAIN = (
    rf"{_AGENT}{_NOT}{_BETWEEN}{_REDO}",
    rf"(?:{_AGENT}|{_THING}){_NOT}{_BETWEEN}{_ACT}[^.;\n]{{0,40}}\b(?:again|a second time|once more|twice|anew)\b",
    rf"{_AGENT}{_NOT}{_BETWEEN}book[^.;\n]{{0,20}}\bnew work order\b",
    r"\bwithout booking (?:a|any) new\b|\bnot (?:perform|execut|book|do)ing (?:it |this )?again\b",
    r"\b(?:without|no) (?:need to )?(?:re-?(?:booking|executing|execution|performing|doing|do)|redo(?:ing)?|a redo)\b",
    r"\bno new (?:work order|booking|execution)\b",
    rf"(?:{_THING}){_NOT}{_BETWEEN}{_REDO}",
)
# Work that is claimed to have been done just now.
_CLAIMED = (
    r"\b(?:i|we)(?:'ve|\shave)?(?: now| just| successfully){0,2} "
    r"(?:executed|completed|performed|booked|carried out|finished)\b",
    r"\b(?:has|have)(?: now| just| successfully| also){0,2} been(?: now| successfully)? "
    r"(?:executed|completed|performed|booked|carried out|done|finished)\b",
    r"\b(?:is|are) now (?:done|complete|completed|booked|finished)\b",
    r"\b(?:executing|performing|carrying out|completing|proceeding|booking)\b",
    r"\b(?:i|we)(?:'ll|\swill|\scan|\sam going to|'m going to)(?: now)? "
    r"(?:execute|perform|proceed|carry|complete|book|do)\b",
    r"\b(?:can|may) (?:now )?(?:proceed|be (?:performed|executed|completed|started))\b",
    r"^\W{0,6}(?:done|executed|completed|performed|booked)\b",
)
# A claim that is denied is none: "without booking", "not performing".
_DENIED_CLAIM = re.compile(r"\b(?:not|without|never|instead of|avoid|n't|no need for|from)(?: \w{1,12})? ?$")


def _family(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.MULTILINE)


_TAKEN_BACK_FAMILY, _STATUS_FAMILY = _family(_TAKEN_BACK), _family(_STATUS)
_REFUSED_FAMILY, _REFUSED_AGAIN_FAMILY = _family(_REFUSED), _family(_REFUSED_AGAIN)
_CLAIMED_FAMILY = _family(_CLAIMED)
_PLAIN = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " ", "*": " ", "_": " ", "`": " "})


def is_refusal(reply: str) -> bool:
    """Whether a reply as a whole refuses what was asked, by the fixed family of refusal phrasings."""
    text = reply.translate(_PLAIN)
    if _REFUSED_AGAIN_FAMILY.search(text):
        return True
    return _REFUSED_FAMILY.search(text) is not None and not _claims_work(text)


def has_refusal_language(reply: str) -> bool:
    """Whether a reply says anywhere that something isn't done, by any of the fixed families."""
    if is_refusal(reply):
        return True
    text = reply.translate(_PLAIN)
    if _TAKEN_BACK_FAMILY.search(text):
        return True
    return _STATUS_FAMILY.search(text) is not None and not _claims_work(text)


def is_annotated(reply: str, line: RefLine) -> bool:
    """Whether the text around a ref line, on its own line, declines it.

    Parameters
    ----------
    reply : str
        The reply.
    line : RefLine
        A ref line of that reply.
    """
    start = max(reply.rfind("\n", max(0, line.start - _REACH), line.start) + 1, line.start - _REACH, 0)
    end = reply.find("\n", line.end, line.end + _REACH)
    if end < 0:
        end = line.end + _REACH
    # The ref line itself goes, so that its own words are no annotation.
    around = f"{reply[start:line.start]} ; {reply[line.end:end]}".translate(_PLAIN)
    if _TAKEN_BACK_FAMILY.search(around):
        return True
    return _STATUS_FAMILY.search(around) is not None and not _claims_work(around)


def citations(reply: str, lines: Iterable[RefLine]) -> frozenset[str]:
    """Completion codes among the ref lines of a reply that are cited inside an explicit refusal.

    A code that also stands in a ref line outside of any refusal is booked all the same.

    Parameters
    ----------
    reply : str
        The reply.
    lines : iterable of RefLine
        Its ref lines with the current work order.

    Returns
    -------
    frozenset of str
    """
    lines = list(lines)
    if not lines:
        return frozenset()
    codes = {line.code for line in lines}
    if is_refusal(reply):
        return frozenset(codes)
    booked: set[str] = set()
    for line in lines:
        # One line outside of any refusal settles it: a reply that repeats a ref line thousands of times is as cheap.
        if line.code not in booked and not is_annotated(reply, line):
            booked.add(line.code)
    return frozenset(codes - booked)


def _claims_work(text: str) -> bool:
    return any(not _DENIED_CLAIM.search(text[max(0, claim.start() - 24):claim.start()])
               for claim in _CLAIMED_FAMILY.finditer(text))
