"""What a log of the trap-turn probe with tools holds between header and end (Appendix A.4).

Order: for each trap turn a `tool_trap` record, and for each variant a `variant` record with its `branch` records, the
greedy one first. A log is self-contained: it is sorted and counted without the log that was replayed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.harness.tools.records import ToolCall
from artifact.log.calls import Call
from artifact.log.probes import TrapRecord, VariantRecord

NAME = "tools_trap_probe"


@dataclass(frozen=True)
class ToolTrapRecord:
    """A trap turn as the live replay came to it.

    Parameters
    ----------
    trap : TrapRecord
        The finished step with its tool for a code, and all that was said before. Its recorded reply holds every reply
        of the turn, see `as_one`.
    calls : tuple of ToolCall
        What became of the recorded replies' ACTION lines.
    stamps : tuple of str
        The work orders in the tool's artifact when the turn began.
    """

    trap: TrapRecord
    calls: tuple[ToolCall, ...]
    stamps: tuple[str, ...]
    record: Literal["tool_trap"] = "tool_trap"


@dataclass(frozen=True)
class BranchRecord:
    """The turn taken once more, in a workspace of its own.

    Parameters
    ----------
    sample, temperature, seed
        As in `artifact.log.probes.AnswerRecord`; every reply of the branch has the same.
    replies : tuple of Call
        As in `ToolTurnRecord`.
    calls : tuple of ToolCall
        Every ACTION line of the replies in order.
    stamped : dict of str to tuple of str
        By tool, the work orders that this branch added to its artifact, read from the files.
    """

    sample: int
    temperature: float
    seed: int | None
    replies: tuple[Call, ...]
    calls: tuple[ToolCall, ...]
    stamped: dict[str, tuple[str, ...]]
    record: Literal["branch"] = "branch"


def as_one(replies: Iterable[str]) -> str:
    """The replies of a turn as one text."""
    return "\n\n".join(replies)


PROBE_RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "tool_trap": TypeAdapter(ToolTrapRecord),
    "variant": TypeAdapter(VariantRecord),
    "branch": TypeAdapter(BranchRecord),
}
