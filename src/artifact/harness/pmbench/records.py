"""What a log of this harness holds between header and end."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.log.records import Usage


@dataclass(frozen=True)
class AnswerRecord:
    """One answer of the model in this run.

    Parameters
    ----------
    purpose : str
        ``"act"`` for the agent, ``"match"`` for the matcher.
    sent : str
        The last message: what is new to the agent, or the matcher's whole question.
    reply, finish_reason, reasoning : str
        What came.
    usage : Usage
        Tokens and time.
    """

    purpose: Literal["act", "match"]
    sent: str
    reply: str
    finish_reason: str
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    record: Literal["answer"] = "answer"


@dataclass(frozen=True)
class CompileRecord:
    """What a text did to the intention record.

    Parameters
    ----------
    step : str
        Id of the step with whose text it came.
    source : str
        ``"plan"`` for a morning plan, ``"note"`` for a scene.
    operations : list of dict
        The usable operations, in order.
    rejected : tuple of str
        What of the answers couldn't be used, a sentence each.
    """

    step: str
    source: Literal["plan", "note"]
    operations: list[dict[str, Any]]
    rejected: tuple[str, ...] = ()
    record: Literal["compile"] = "compile"


@dataclass(frozen=True)
class StepRecord:
    """What became of one step; tasks and lures by their ids.

    Parameters
    ----------
    step : str
        The step's id.
    choice : str or None
        The everyday option; None when no usable choice came.
    selected : tuple of str
        What of the menu was selected.
    refused : tuple of str
        What of that a gate refused.
    unlisted : int
        Handles that the menu didn't list; they select nothing.
    queries : tuple of str
        What was read, in order: a channel, or ``clock``.
    announced : tuple of str
        What the matcher named as due.
    carried : tuple of str
        What was said to be still due.
    invalid : int
        Replies that couldn't be read.
    is_capped : bool
        Whether the limit of queries was reached.
    matcher_failures : int
        Questions to the matcher without a usable answer.
    wrote_ledger : bool
        Whether the choice held a ledger.
    """

    step: str
    choice: str | None
    selected: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unlisted: int = 0
    queries: tuple[str, ...] = ()
    announced: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    invalid: int = 0
    is_capped: bool = False
    matcher_failures: int = 0
    wrote_ledger: bool = False
    record: Literal["step"] = "step"


RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "answer": TypeAdapter(AnswerRecord),
    "compile": TypeAdapter(CompileRecord),
    "step": TypeAdapter(StepRecord),
}
