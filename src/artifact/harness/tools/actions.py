"""The ACTION lines of a reply: ``ACTION {"tool": "…", "work_order": "#W1234"}`` (paper, Appendix B.1).

Invariant: what they hold is data. A tool's name is looked up and never becomes a path, a work order is compared with
that of the request.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_ACTION = re.compile(r"^[ \t>*`_-]{0,8}ACTION\b[ \t:*`_]{0,8}", re.MULTILINE)
_WORK_ORDER = re.compile(r"#?(W\d{4})", re.IGNORECASE)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Action:
    """One well-formed ACTION line, as the agent wrote it; the work order in its canonical form where it is one."""

    tool: str
    work_order: str


@dataclass(frozen=True)
class Malformed:
    """An ACTION line that can't be read, and what is wrong with it."""

    text: str
    problem: str


def parse_actions(reply: str) -> list[Action | Malformed]:
    """All ACTION lines of a reply in order; the same action written twice is one.

    Parameters
    ----------
    reply : str
        Of any content and length.
    """
    found = dict.fromkeys(_parsed(reply))
    return list(found)


def _parsed(reply: str) -> Iterator[Action | Malformed]:
    for match in _ACTION.finditer(reply):
        line = reply[match.start():].partition("\n")[0]
        try:
            value, _ = _DECODER.raw_decode(reply, match.end())
        except (ValueError, RecursionError):  # not JSON; nested deeper than any call could be
            yield Malformed(line, "no JSON object follows the word ACTION")
            continue
        if not isinstance(value, dict):
            yield Malformed(line, "no JSON object follows the word ACTION")
            continue
        tool, work_order = value.get("tool"), value.get("work_order")
        if not isinstance(tool, str) or not isinstance(work_order, str):
            yield Malformed(line, '"tool" and "work_order" must both be there, as texts')
            continue
        if not (_is_text(tool) and _is_text(work_order)):
            yield Malformed(line, '"tool" and "work_order" must be texts of whole characters')
            continue
        order = _WORK_ORDER.fullmatch(work_order.strip())
        yield Action(tool, f"#{order[1].upper()}" if order else work_order)


def _is_text(value: str) -> bool:
    """Whether a text can be logged; one with half of a character, which JSON may escape by itself, can't."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
