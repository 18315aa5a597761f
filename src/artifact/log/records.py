"""The records of an episode log, one JSON object a line (DESIGN §5.3).

A log is self-contained: the first record holds the whole generated episode and everything the result was
measured on, so that it scores the same on any machine, years later, without the generator or a model.

A change that can move a published number bumps `SCHEMA`.
"""

import operator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from artifact.log.calls import Call, Faults, Message, Usage
from artifact.log.identity import ArmIdentity, Cell
from artifact.log.memories import MemoryRecord
from artifact.log.turns import Booking, DirectiveIssued, TurnRecord
from artifact.taskstate import Episode, Finding, Revision, TaskGraph

SCHEMA = 1


class EndReason(StrEnum):
    """Why a log ends. Only `completed` says something about the agent."""

    COMPLETED = "completed"
    CONTEXT_OVERFLOW = "context_overflow"
    MODEL_ERROR = "model_error"
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class EpisodeRecord:
    """First line: what is run, on what, with what.

    Parameters
    ----------
    schema : int
        Version of the log format.
    study : str
        The study that the log belongs to.
    cell, arm, seed
        Which cell, arm and seed.
    episode : Episode
        The whole generated episode.
    prompts_sha256 : str
        Hash of the prompt set's files.
    package : dict
        Version and commit of this package.
    model, state_model : dict
        What the backends say of themselves: weights hash, engine, version, slots, settings.
    sampling : dict
        Temperature, seed and token budgets.
    started : str
        Start time, ISO 8601 UTC.
    memory : dict
        What a memory arm recalls with: encoder and library; not written for other arms.
    """

    schema: int
    study: str
    cell: Cell
    arm: ArmIdentity
    seed: int
    episode: Episode
    prompts_sha256: str
    package: dict[str, Any]
    model: dict[str, Any]
    state_model: dict[str, Any]
    sampling: dict[str, Any]
    started: str
    memory: Annotated[dict[str, Any], Field(exclude_if=operator.not_)] = field(default_factory=dict)
    record: Literal["episode"] = "episode"


@dataclass(frozen=True)
class CompileRecord:
    """The module's state as compiled from the brief (`stage` plan) or revised from the message (revision).

    Parameters
    ----------
    stage : str
        ``"plan"`` or ``"revision"``; ``"plan_again"`` or ``"revision_again"`` where the one before was flagged and
        compiled once more with its defects named.
    source : str
        ``"compiled"`` by a model, or ``"oracle"``: the generator's own.
    graph : TaskGraph or None
        The state's graph afterwards; None when the compile failed.
    revision : Revision or None
        The compiled revision, at stage revision.
    error : str or None
        Why the compile failed, in a sentence.
    defects : tuple of Finding
        What the ground-truth-free validator says of the graph.
    calls : tuple of Call
        The helper calls made, corrections included; shared by the gate arms of a cell.
    """

    stage: str
    source: str
    graph: TaskGraph | None
    revision: Revision | None = None
    error: str | None = None
    defects: tuple[Finding, ...] = ()
    calls: tuple[Call, ...] = ()
    record: Literal["compile"] = "compile"

    @property
    def is_flagged(self) -> bool:
        """Whether the compile failed or the validator finds a defect."""
        return self.graph is None or bool(self.defects)

    @property
    def falls_back(self) -> bool:
        """Whether the episode refuses nothing from here on: flagged, compiled once more, and flagged still."""
        return self.stage.endswith("_again") and self.is_flagged


@dataclass(frozen=True)
class MatchRecord:
    """What the matcher made of one request.

    Parameters
    ----------
    turn : int
        Index of the turn that it was asked for.
    step : str or None
        The step that it resolved the request to.
    explicit_redo : bool
        Whether it read an explicit order to redo.
    error : str or None
        Why no usable answer came, in a sentence.
    calls : tuple of Call
        The helper calls made, corrections included.
    candidates : tuple of str
        With ``unresolved=ask``, the steps that may be meant where there is more than one; not written when empty.
    """

    turn: int
    step: str | None
    explicit_redo: bool
    error: str | None = None
    calls: tuple[Call, ...] = ()
    candidates: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    record: Literal["match"] = "match"


@dataclass(frozen=True)
class EndRecord:
    """Last line: why the log ends.

    Parameters
    ----------
    reason : EndReason
        Only `completed` says something about the agent.
    turns : int
        Turns answered.
    detail : str
        What happened, in a sentence, when not completed.
    seconds : float
        Wall time of the whole episode, resumes included.
    faults : tuple of Fault
        Why the tries of the calls that were given up brought no answer, those of earlier runs included.
    """

    reason: EndReason
    turns: int
    detail: str = ""
    seconds: float = 0.0
    faults: Faults = ()
    record: Literal["end"] = "end"


Record = EpisodeRecord | CompileRecord | MatchRecord | MemoryRecord | TurnRecord | EndRecord

EPISODE = TypeAdapter(Episode)

RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "episode": TypeAdapter(EpisodeRecord),
    "compile": TypeAdapter(CompileRecord),
    "match": TypeAdapter(MatchRecord),
    "memory": TypeAdapter(MemoryRecord),
    "turn": TypeAdapter(TurnRecord),
    "end": TypeAdapter(EndRecord),
}

__all__ = [
    "EPISODE", "RECORD_TYPES", "SCHEMA", "ArmIdentity", "Booking", "Call", "Cell", "CompileRecord", "DirectiveIssued",
    "EndReason", "EndRecord", "EpisodeRecord", "MatchRecord", "MemoryRecord", "Message", "Record", "TurnRecord",
    "Usage",
]
