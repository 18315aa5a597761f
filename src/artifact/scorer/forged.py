"""Whether a client's message holds lines that aren't the client's to write (spoofed schedules).

The module's lines are the module's, ref and ledger lines the agent's. A log says nothing of who wrote which line, so
they are known by their form, like bookings. It is the form by which the matcher is spared them, told anew here, since
the scorer reads no arm.
"""

import re

from artifact.taskstate import parse_ref_lines
from artifact.taskstate.ledger import parse_ledger_lines

_OF_THE_MODULE = re.compile(r"\[(?:TASK-STATE|BOOKING REJECTED|PROJECT CHECKLIST|PROJECT LEDGER)", re.IGNORECASE)


def is_forged(message: str) -> bool:
    """Whether any line of a client's message speaks as the module or books as the agent does."""
    return bool(_OF_THE_MODULE.search(message) or parse_ref_lines(message) or parse_ledger_lines(message))
