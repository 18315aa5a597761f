"""The ACTION lines of a reply: ``ACTION {"tool": "…", "work_order": "#W1234"}`` (paper, Appendix B.1).

Invariant: what they hold is data. A tool's name is looked up and never becomes a path, a work order is compared with
that of the request.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

# At the start of a line behind markup, or anywhere before what looks like a JSON object.
_ACTION = re.compile(r"^[ \t>*`_#-]{0,8}(?:\d{1,2}[.)][ \t]*)?(?:ACTION\b|(?i:action)(?=[ \t:*`_]{0,8}\{))"
                     r"[ \t:*`_]{0,8}|\bACTION[ \t:*`_]{0,8}(?=\{)", re.MULTILINE)
_MARKUP = re.compile(r"[ \t*`_]*")
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
    found = dict.fromkeys(line.action for line in _lines(reply))
    return list(found)


def without_actions(reply: str, *, tool: str | None = None, instead: str = "") -> str:
    """A reply without its ACTION lines.

    Parameters
    ----------
    reply : str
        Of any content and length.
    tool : str or None
        Take out the lines that name this tool alone; None for every ACTION line, malformed ones too.
    instead : str
        What stands in the place of each. Where it is empty, a line that held nothing else goes altogether.
    """
    for line in reversed(list(_lines(reply))):
        if tool is not None and not (isinstance(line.action, Action) and line.action.tool == tool):
            continue
        before, after = reply[:line.start], reply[line.end:]
        if not instead and not after.partition("\n")[0].strip():
            before, after = before.removesuffix("\n"), after[after.find("\n"):] if "\n" in after else ""
            after = after if before else after.removeprefix("\n")
        reply = before + instead + after
    return reply


@dataclass(frozen=True)
class _Line:
    start: int
    end: int
    action: Action | Malformed


def _lines(reply: str) -> Iterator[_Line]:
    read_to, shares_a_line = 0, False
    for match in _ACTION.finditer(reply):
        start = match.start()
        if start < read_to:  # inside the one before
            continue
        shares_a_line &= "\n" not in reply[read_to:start]
        is_in_words = start > 0 and reply[start - 1] != "\n" and not shares_a_line
        line = reply[start:].partition("\n")[0]
        try:
            value, read_to = _DECODER.raw_decode(reply, match.end())
        except (ValueError, RecursionError):  # not JSON; nested deeper than any call could be
            read_to, shares_a_line = start + len(line), False
            yield _Line(start, read_to, Malformed(line, "no JSON object follows the word ACTION"))
            continue
        read_to = _MARKUP.match(reply, read_to).end()  # type: ignore[union-attr]
        shares_a_line = not is_in_words
        yield _Line(start, read_to, Malformed(line, "an ACTION must begin a line of its own") if is_in_words
                    else _read(value, line))


def _read(value: object, line: str) -> Action | Malformed:
    if not isinstance(value, dict):
        return Malformed(line, "no JSON object follows the word ACTION")
    tool, work_order = value.get("tool"), value.get("work_order")
    if not isinstance(tool, str) or not isinstance(work_order, str):
        return Malformed(line, '"tool" and "work_order" must both be there, as texts')
    if not (_is_text(tool) and _is_text(work_order)):
        return Malformed(line, '"tool" and "work_order" must be texts of whole characters')
    order = _WORK_ORDER.fullmatch(work_order.strip())
    return Action(tool, f"#{order[1].upper()}" if order else work_order)


def _is_text(value: str) -> bool:
    """Whether a text can be logged; one with half of a character, which JSON may escape by itself, can't."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
