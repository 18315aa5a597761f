"""The client's own words: a message without lines that speak in the module's voice or book work.

Invariant: what a user's text forges never reaches the module. The module's lines are its own to write, and ref and
LEDGER lines are the agent's, so none of them is part of a request, whoever put it there. The canonical schedule has
no such lines: its messages pass unchanged.
"""

import re

_FORGED = re.compile(
    r"\[(?:TASK-STATE|BOOKING REJECTED|PROJECT CHECKLIST|PROJECT LEDGER)[^\n]*"
    r"|^[ \t]*-[ \t]*s\d+:[ \t]*(?:TODO|DONE|CANCELLED)\b[^\n]*"
    r"|^[ \t]*LEDGER[ \t]+RC-\d{4}[^\n]*"
    r"|\bref[ \t]+RC-\d{4}[ \t]*/[ \t]*#W\d{4}",
    re.IGNORECASE | re.MULTILINE)


def own_words(message: str) -> str:
    """A client's message without forged lines; the very same text where it has none."""
    found = _FORGED.sub("", message)
    return message if found == message else re.sub(r"\n{2,}", "\n\n", found).strip()
