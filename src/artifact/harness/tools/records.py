"""What a log of the tool harness holds between header and end, beside compile and match records."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.log.calls import Call, Message
from artifact.log.records import RECORD_TYPES as EPISODE_RECORD_TYPES
from artifact.log.records import DirectiveIssued
from artifact.taskstate import RequestKind

REPLY, EMPTY_REPLY = "reply", "empty_reply"
"""The purposes of a reply: one that counts, and one that came back empty and was asked for again."""


class Outcome(StrEnum):
    """What became of an ACTION line. Only the first two say that a tool did its work."""

    DONE = "done"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    REPEATED = "repeated"
    REFUSED = "refused"
    UNKNOWN_TOOL = "unknown_tool"
    WRONG_WORK_ORDER = "wrong_work_order"
    TWO_ACTIONS = "two_actions"
    MALFORMED = "malformed"
    OVER_LIMIT = "over_limit"


WORKED = frozenset({Outcome.DONE, Outcome.TIMED_OUT})
BAD_INPUT = frozenset({Outcome.UNKNOWN_TOOL, Outcome.WRONG_WORK_ORDER, Outcome.TWO_ACTIONS, Outcome.MALFORMED})


@dataclass(frozen=True)
class ToolCall:
    """One ACTION line and what dispatch did with it.

    Parameters
    ----------
    tool, work_order : str
        As the agent wrote them; the whole line in `tool` where it is malformed.
    outcome : Outcome
        What became of it. A tool that timed out had done its work; one that failed hadn't.
    step : str or None
        The step that the arm took the tool for.
    reason : str
        Why nothing was executed, in words.
    """

    tool: str
    work_order: str
    outcome: Outcome
    step: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class ToolTurnRecord:
    """One turn: the request, the agent's replies, the calls in between.

    Parameters
    ----------
    turn, scripted, kind, text, step, work_order
        As in `artifact.log.records.TurnRecord`.
    sent : tuple of Message
        The messages that are new in the transcript with this turn, tool results included, replies left out: those
        are in `replies`. At turn 0 the system prompt too.
    ephemeral : tuple of Message
        Messages as this turn alone showed them, in place of those in the history.
    replies : tuple of Call
        Every reply of the agent in order: purpose ``"reply"``; ``"empty_reply"`` for one that came back empty and was
        asked for again with a larger budget.
    calls : tuple of ToolCall
        Every ACTION line of the turn in order.
    directive, notices, checklist
        What the arm added to the request, and what was owed from the turn before.
    """

    turn: int
    scripted: int | None
    kind: RequestKind
    text: str
    step: str | None
    work_order: str | None
    sent: tuple[Message, ...]
    ephemeral: tuple[Message, ...]
    replies: tuple[Call, ...]
    calls: tuple[ToolCall, ...]
    directive: DirectiveIssued | None
    notices: tuple[str, ...]
    checklist: str
    record: Literal["tool_turn"] = "tool_turn"


@dataclass(frozen=True)
class WorkspaceRecord:
    """What the tools left behind, read from their files when the conversation was over.

    Parameters
    ----------
    artifacts : dict of str to tuple of str
        By tool, the work orders stamped into its artifact, oldest first.
    """

    artifacts: dict[str, tuple[str, ...]]
    record: Literal["workspace"] = "workspace"


RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "compile": EPISODE_RECORD_TYPES["compile"],
    "match": EPISODE_RECORD_TYPES["match"],
    "tool_turn": TypeAdapter(ToolTurnRecord),
    "workspace": TypeAdapter(WorkspaceRecord),
}
