"""The record of one turn: what was sent, what came back, what the execution channel did with it (DESIGN §5.3)."""

from dataclasses import dataclass
from typing import Literal

from artifact.log.calls import Call, Message, Usage
from artifact.taskstate import RequestKind


@dataclass(frozen=True)
class Booking:
    """One execution attempt and what the execution channel did with it.

    Parameters
    ----------
    code, work_order : str
        The ref line's payload.
    step : str or None
        The step that the channel resolved the code to: by the plan, or for a gate by its own state.
    accepted : bool
        Whether the booking was entered.
    reason : str
        For a refused booking, the reason in the words of the rejection notice.
    """

    code: str
    work_order: str
    step: str | None
    accepted: bool
    reason: str = ""


@dataclass(frozen=True)
class DirectiveIssued:
    """The directive of a turn: its step, its kind, its text.

    `kind` is one of ``eligible``, ``blocked``, ``done``, ``redo``, ``cancelled``, and ``unresolved`` for a directive to
    ask back, whose `step` is empty.
    """

    step: str
    kind: str
    text: str


@dataclass(frozen=True)
class TurnRecord:
    """One turn of the conversation.

    Parameters
    ----------
    turn : int
        Index in the conversation, from 0; re-asks included.
    scripted : int or None
        Index in the schedule; None for a re-ask.
    kind, step, work_order
        As in `ScriptedTurn`.
    text : str
        What the user asked, before the arm added anything.
    sent : tuple of Message
        The messages that are new in the transcript with this turn (at turn 0 the system prompt too).
    ephemeral : tuple of Message
        Messages shown in this turn only, never part of the history: the system prompt with a system-role
        directive, the user message with a replaced checklist, each as it was shown in place of the one in the
        history; then, for same-turn notices and function calls, each earlier reply of the turn and what the agent
        was told about it. The history that a memory arm showed stands in its `memory` record.
    reply, reasoning, finish_reason : str
        The model's answer, its reasoning where it has one, and why it stopped.
    bookings : tuple of Booking
        Every distinct ref line with the turn's work order.
    directive : DirectiveIssued or None
        The directive that the turn carried.
    notices : tuple of str
        Rejection notices that this turn's message carried (about the turn before).
    checklist : str
        The checklist, or ledger, that the turn carried; empty when none.
    usage : Usage
        Tokens and time of the agent call.
    superseded_replies : tuple of Call
        Earlier replies of the same turn: purpose ``"reply"`` for one that came back empty and was asked for again
        with a doubled budget, ``"refused_reply"`` for one that a same-turn notice had written anew,
        ``"function_call"`` for one that called functions of a memory, whose results were given back.
    """

    turn: int
    scripted: int | None
    kind: RequestKind
    text: str
    step: str | None
    work_order: str | None
    sent: tuple[Message, ...]
    ephemeral: tuple[Message, ...]
    reply: str
    reasoning: str
    finish_reason: str
    bookings: tuple[Booking, ...]
    directive: DirectiveIssued | None
    notices: tuple[str, ...]
    checklist: str
    usage: Usage
    superseded_replies: tuple[Call, ...] = ()
    record: Literal["turn"] = "turn"
