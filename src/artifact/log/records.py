"""The records of an episode log, one JSON object a line (DESIGN §5.3).

A log is self-contained: the first record holds the whole generated episode and everything the result was
measured on, so that it scores the same on any machine, years later, without the generator or a model.

A change that can move a published number bumps `SCHEMA`.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.taskstate import Brief, Episode, Finding, RequestKind, Revision, TaskGraph

SCHEMA = 1


class EndReason(StrEnum):
    """Why a log ends. Only `completed` says something about the agent."""

    COMPLETED = "completed"
    CONTEXT_OVERFLOW = "context_overflow"
    MODEL_ERROR = "model_error"
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class Cell:
    """A configuration: what the four rungs of one ladder share.

    Parameters
    ----------
    model : str
        The agent, by its name in the model registry (or as served).
    size, density, domain, brief : int, float, str, Brief
        The generator's S, ρ and domain, and the wording of the brief.
    regime : str
        ``"no_think"`` or ``"think"``.
    prompts : str
        Name of the prompt set.
    state_model : str
        The model that compiles and matches; the agent's own unless another was asked for.
    """

    model: str
    size: int
    density: float
    domain: str
    brief: Brief
    regime: str
    prompts: str
    state_model: str

    @property
    def slug(self) -> str:
        """The cell's folder name."""
        state = "" if self.state_model == self.model else f"+{self.state_model}"
        name = (f"{self.model}{state}.S{self.size:02d}.d{self.density:g}.{self.domain}.{self.brief}"
                f".{self.regime}.{self.prompts}")
        return re.sub(r"[^A-Za-z0-9._+-]", "_", name)  # names may come from a server: data, never a path


@dataclass(frozen=True)
class ArmIdentity:
    """An arm and its options, as in the cell's identity."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def canonical_options(self) -> str:
        """The options as JSON with sorted keys and no spaces: equal options, equal text."""
        return json.dumps(self.options, sort_keys=True, separators=(",", ":"))

    @property
    def slug(self) -> str:
        """The arm's folder name: its name, and a short hash of its options where it has any."""
        if not self.options:
            return self.name
        return f"{self.name}.{hashlib.sha256(self.canonical_options.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Message:
    """One chat message: role ``system``, ``user`` or ``assistant``, and its text."""

    role: str
    content: str


@dataclass(frozen=True)
class Usage:
    """Tokens and time of one model call.

    Parameters
    ----------
    prompt, cached, completion : int
        Prompt tokens, how many of them came from the prefix cache, and completion tokens.
    latency_s : float
        Wall time of the call in seconds, retries included.
    attempts : int
        Tries that the call took.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    latency_s: float = 0.0
    attempts: int = 1


@dataclass(frozen=True)
class Call:
    """One helper call (compile or match) as it was made: the prompt in full, the reply and its usage."""

    purpose: str
    messages: tuple[Message, ...]
    reply: str
    finish_reason: str
    usage: Usage
    reasoning: str = ""


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
    record: Literal["episode"] = "episode"


@dataclass(frozen=True)
class CompileRecord:
    """The module's state as compiled from the brief (`stage` plan) or revised from the message (revision).

    Parameters
    ----------
    stage : str
        ``"plan"`` or ``"revision"``.
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
    """

    turn: int
    step: str | None
    explicit_redo: bool
    error: str | None = None
    calls: tuple[Call, ...] = ()
    record: Literal["match"] = "match"


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

    `kind` is one of ``eligible``, ``blocked``, ``done``, ``redo``, ``cancelled``.
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
        Messages shown in this call only, never part of the history: for a system-role directive or a
        replaced checklist the message as it was shown.
    reply, reasoning, finish_reason : str
        The model's answer, its reasoning where it has one, and why it stopped.
    bookings : tuple of Booking
        Every distinct ref line with the turn's work order.
    directive : DirectiveIssued or None
        The directive that the turn carried.
    notices : tuple of str
        Rejection notices that this turn's message carried (about the turn before).
    checklist : str
        The checklist that the turn carried, empty when none.
    usage : Usage
        Tokens and time of the agent call.
    superseded_replies : tuple of Call
        Earlier replies of the same turn (a doubled budget after an empty answer, a same-turn notice).
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
    """

    reason: EndReason
    turns: int
    detail: str = ""
    seconds: float = 0.0
    record: Literal["end"] = "end"


Record = EpisodeRecord | CompileRecord | MatchRecord | TurnRecord | EndRecord

EPISODE = TypeAdapter(Episode)

RECORD_TYPES: dict[str, TypeAdapter[Any]] = {
    "episode": TypeAdapter(EpisodeRecord),
    "compile": TypeAdapter(CompileRecord),
    "match": TypeAdapter(MatchRecord),
    "turn": TypeAdapter(TurnRecord),
    "end": TypeAdapter(EndRecord),
}
