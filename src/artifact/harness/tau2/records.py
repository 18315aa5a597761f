"""What a log of the τ²-bench harness holds between header and end."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.log.records import Usage


@dataclass(frozen=True)
class CallMade:
    """A tool call in a message, as the model wrote it."""

    id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class MessageRecord:
    """What agent or user answered.

    Parameters
    ----------
    speaker : str
        ``"agent"`` or ``"user"``.
    text : str or None
        Its words.
    calls : tuple of CallMade
        Its tool calls; none and no words when the answer couldn't be used.
    failure : str
        Why the answer couldn't be used; empty otherwise.
    usage : Usage
        Tokens and time.
    """

    speaker: Literal["agent", "user"]
    text: str | None
    calls: tuple[CallMade, ...] = ()
    failure: str = ""
    usage: Usage = field(default_factory=Usage)
    record: Literal["message"] = "message"


@dataclass(frozen=True)
class DispatchRecord:
    """What became of one tool call.

    Parameters
    ----------
    ordinal : int
        Its number in the episode, from 0.
    tool, arguments
        The call.
    is_write : bool
        Whether the tool changes the database.
    admitted : bool
        Whether the gate let it run.
    rules : tuple of str
        Rules in force that are against it.
    reference : tuple of str
        Reference rules that are against it, on the state just before.
    repeated : bool
        Whether it ran on the notice rung after a bounce.
    error : bool
        Whether the tool itself failed; a call that failed counts as not executed.
    changed : bool
        Whether the database differs after it, as it may after a tool that failed half way.
    content : str
        What the agent was told.
    """

    ordinal: int
    tool: str
    arguments: dict[str, Any]
    is_write: bool
    admitted: bool
    rules: tuple[str, ...]
    reference: tuple[str, ...]
    repeated: bool
    error: bool
    changed: bool
    content: str
    record: Literal["dispatch"] = "dispatch"

    @property
    def executed(self) -> bool:
        """Whether it did its work."""
        return self.admitted and not self.error


@dataclass(frozen=True)
class ResultRecord:
    """What the benchmark's evaluator says.

    Parameters
    ----------
    termination : str
        The benchmark's reason of termination.
    reward : float
        Its reward.
    breakdown : dict of str to float
        The reward's factors.
    matches_gold : bool
        Whether the final database is the one that the gold actions leave.
    database_sha256 : str
        Hash of the final database.
    detail : str
        What the agent did wrong, where that ended the episode.
    """

    termination: str
    reward: float
    breakdown: dict[str, float]
    matches_gold: bool
    database_sha256: str
    detail: str = ""
    record: Literal["result"] = "result"


RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "message": TypeAdapter(MessageRecord),
    "dispatch": TypeAdapter(DispatchRecord),
    "result": TypeAdapter(ResultRecord),
}
