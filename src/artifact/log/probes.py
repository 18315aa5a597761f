"""The records of a log of the trap-turn probe, one JSON object a line (Appendix A.4, Table 3).

One log holds the probes of one source episode. It is self-contained: each trap turn stands in it with the whole
recorded conversation before it, each variant with what it changes in that conversation, so that a log is sorted
and counted without the episode log that it was made from.

Order: the `probe` record; then for each trap turn a `trap` record and for each variant a `variant` record with its
`answer` records, the greedy one first; last the `end` record.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from pydantic import TypeAdapter

from artifact.log.records import ArmIdentity, Cell, EndReason, EndRecord, Message, Usage

PROBE_SCHEMA = 1
"""Version of this format; a change that can move a published number bumps it."""


class ProbeVariant(StrEnum):
    """What is changed at a trap turn, one thing at a time."""

    AS_RECORDED = "as_recorded"
    CONFIRM = "confirm"
    NO_WORK_ORDER = "no_work_order"
    STATUS_QUESTION = "status_question"
    CHECKLIST_USER = "checklist_user"
    DIRECTIVE_USER = "directive_user"
    RECORD_PROSE = "record_prose"
    RECORD_ERASED = "record_erased"
    CHECKLIST_SYSTEM = "checklist_system"
    DIRECTIVE_SYSTEM = "directive_system"


@dataclass(frozen=True)
class ProbeSource:
    """The episode log that is asked again.

    Parameters
    ----------
    file : str
        Name of the file that it was read from, without folders.
    sha256 : str
        Hash of the source episode's records, one a line without their checksums: the same whether it was packed.
    study : str
        The study that it belongs to.
    prompts_sha256, package, model, sampling
        As in its own header.
    """

    file: str
    sha256: str
    study: str
    prompts_sha256: str
    package: dict[str, Any]
    model: dict[str, Any]
    sampling: dict[str, Any]


@dataclass(frozen=True)
class ProbeRecord:
    """First line: what is asked again, of whom, how.

    Parameters
    ----------
    schema : int
        Version of the format.
    study : str
        The study that the log belongs to.
    cell, arm, seed
        Which episode, as in its own log; the cell's model is the one that is asked.
    source : ProbeSource
        The log that it comes from.
    variants : tuple of ProbeVariant
        What is changed, in the order in which it is asked.
    samples : int
        Sampled replies a variant; a greedy one comes on top.
    sampling : dict
        Temperature and what is sent beside it, where they come from, the seed that all seeds are drawn from, and the
        reply budget.
    wordings : dict of str to str
        The texts of the probe's own requests and rewritings.
    prompts_sha256 : str
        Hash of the prompt set that checklist and directive come from.
    package, model, started
        As in an episode record.
    """

    schema: int
    study: str
    cell: Cell
    arm: ArmIdentity
    seed: int
    source: ProbeSource
    variants: tuple[ProbeVariant, ...]
    samples: int
    sampling: dict[str, Any]
    wordings: dict[str, str]
    prompts_sha256: str
    package: dict[str, Any]
    model: dict[str, Any]
    started: str
    record: Literal["probe"] = "probe"


@dataclass(frozen=True)
class TrapRecord:
    """A trap turn: a redo probe of a step that is done.

    Parameters
    ----------
    turn : int
        Index of the turn in the source episode.
    step, step_text, code : str
        The finished step, its words in the plan, its completion code.
    work_order : str
        The fresh work order of the request.
    conversation : tuple of Message
        Everything that the agent saw, the recorded request last.
    recorded_reply : str
        What it answered then.
    """

    turn: int
    step: str
    step_text: str
    code: str
    work_order: str
    conversation: tuple[Message, ...]
    recorded_reply: str
    record: Literal["trap"] = "trap"


@dataclass(frozen=True)
class Change:
    """A message of the recorded conversation, by its index, and what stands in its place; None where nothing does."""

    at: int
    message: Message | None


@dataclass(frozen=True)
class VariantRecord:
    """A variant of a trap turn.

    Parameters
    ----------
    variant : ProbeVariant
        Which one.
    work_order : str or None
        The work order that the request carries; None where it carries none.
    changes : tuple of Change
        What differs from the recorded conversation: nothing for `as_recorded`.
    """

    variant: ProbeVariant
    work_order: str | None
    changes: tuple[Change, ...]
    record: Literal["variant"] = "variant"

    def applied_to(self, conversation: tuple[Message, ...]) -> tuple[Message, ...]:
        """The conversation as it is asked."""
        replaced = {change.at: change.message for change in self.changes}
        asked = (replaced.get(index, message) for index, message in enumerate(conversation))
        return tuple(message for message in asked if message is not None)


@dataclass(frozen=True)
class AnswerRecord:
    """One reply to one variant.

    Parameters
    ----------
    sample : int
        0 for the greedy reply, from 1 on for the sampled ones.
    temperature : float
        0 for the greedy reply.
    seed : int or None
        Sampling seed; None for the greedy reply.
    max_tokens : int
        Budget of the reply.
    reply, reasoning, finish_reason : str
        The model's answer.
    usage : Usage
        Tokens and time of the call.
    """

    sample: int
    temperature: float
    seed: int | None
    max_tokens: int
    reply: str
    reasoning: str
    finish_reason: str
    usage: Usage
    record: Literal["answer"] = "answer"


ProbeLine = ProbeRecord | TrapRecord | VariantRecord | AnswerRecord | EndRecord
"""A record of a probe log; the `turns` of its `end` record are trap turns."""

PROBE_TYPES: dict[str, TypeAdapter[Any]] = {
    "probe": TypeAdapter(ProbeRecord),
    "trap": TypeAdapter(TrapRecord),
    "variant": TypeAdapter(VariantRecord),
    "answer": TypeAdapter(AnswerRecord),
    "end": TypeAdapter(EndRecord),
}


@dataclass(frozen=True)
class AskedVariant:
    """A variant of a trap turn with its answers so far."""

    asked: VariantRecord
    answers: tuple[AnswerRecord, ...]


@dataclass(frozen=True)
class ProbedTrap:
    """A trap turn with its variants so far."""

    trap: TrapRecord
    variants: tuple[AskedVariant, ...]


@dataclass(frozen=True)
class ProbeLog:
    """All that one probe log says.

    Parameters
    ----------
    header : ProbeRecord
        What was asked again.
    traps : tuple of ProbedTrap
        The trap turns, in order.
    end : EndRecord or None
        Why the log ends; None while it isn't finished.
    source : str
        The file that it was read from.
    is_sealed : bool
        Whether its lines had checksums, which then agreed.
    """

    header: ProbeRecord
    traps: tuple[ProbedTrap, ...]
    end: EndRecord | None
    source: str
    is_sealed: bool = field(default=False, compare=False)

    @property
    def completed(self) -> bool:
        """Whether every trap turn was asked in full."""
        return self.end is not None and self.end.reason is EndReason.COMPLETED

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the log among all others: study, cell, arm, its options, seed."""
        header = self.header
        return header.study, header.cell.slug, header.arm.name, header.arm.canonical_options, header.seed
