"""The ledger lines that an agent writes about its own work (§3.3, self-ledger).

Invariant: a ledger line is a claim. It books nothing and makes no step done.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from artifact.taskstate.state import Status

# As in a ref line, spaces and markdown between the parts change nothing.
_GAP = r"[ \t\u00a0\u202f*_`~'\"“”‘’\[\](){}<>:=\\-]"
_HYPHEN = "[-\u2010\u2011\u2012\u2013]"
_LINE = re.compile(
    rf"(?<![A-Za-z0-9])LEDGER{_GAP}{{1,8}}(?P<code>RC{_HYPHEN}\d{{4}})(?!\d){_GAP}{{1,8}}"
    r"(?P<status>DONE|CANCELL?ED|TODO)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_STATUS = {"DONE": Status.DONE, "CANCELLED": Status.CANCELLED, "CANCELED": Status.CANCELLED, "TODO": Status.TODO}


@dataclass(frozen=True)
class LedgerLine:
    """One ``LEDGER <completion code> DONE|CANCELLED|TODO``; `status` is TODO for what is owed, blocked or not."""

    code: str
    status: Status


def parse_ledger_lines(reply: str) -> list[LedgerLine]:
    """All ledger lines in a reply, in order, tolerant of markdown and punctuation; linear in its length."""
    return [LedgerLine("RC-" + match["code"][-4:], _STATUS[match["status"].upper()])
            for match in _LINE.finditer(reply)]


def read_ledger(replies: Iterable[str]) -> dict[str, Status]:
    """The ledger that replies amount to: for each completion code the status that was written last.

    Codes stand in the order in which they were first written. They may be of no step: it is the agent's own record.
    """
    ledger: dict[str, Status] = {}
    for reply in replies:
        for line in parse_ledger_lines(reply):
            ledger[line.code] = line.status
    return ledger
