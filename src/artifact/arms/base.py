"""What an arm is: how task state reaches the agent, and nothing else about a conversation (DESIGN §5.2)."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from artifact.arms.healing import Earlier
from artifact.arms.memory.kit import MemoryKit
from artifact.arms.prompts import PromptSet
from artifact.log.options import ArmOptions
from artifact.log.records import Booking, CompileRecord, DirectiveIssued, MatchRecord, Message

REFUSED_REPLY = "refused_reply"  # purpose, in the log, of a reply that a same-turn notice had written anew


@dataclass(frozen=True)
class Request:
    """A turn as an arm sees it.

    Parameters
    ----------
    turn : int
        Index of the turn in the conversation.
    text : str
        What the user asks.
    work_order : str or None
        The request's work order.
    is_request : bool
        False for filler and revision turns, by schedule metadata (Appendix B.2).
    """

    turn: int
    text: str
    work_order: str | None
    is_request: bool


@dataclass(frozen=True)
class Outgoing:
    """What is sent.

    Parameters
    ----------
    content : str
        The user message that enters the transcript.
    shown : str or None
        The user message as this call alone shows it; None where that is `content`.
    system : str
        What ends the system prompt in this call alone; empty for nothing.
    history : tuple of Message or None
        The messages between system prompt and request as this call alone shows them; None for the transcript's own.
    directive, notices, checklist
        What is carried beyond the request, for the log.
    """

    content: str
    shown: str | None = None
    system: str = ""
    history: tuple[Message, ...] | None = None
    directive: DirectiveIssued | None = None
    notices: tuple[str, ...] = ()
    checklist: str = ""


@dataclass(frozen=True)
class Outcome:
    """What the execution channel does with a reply.

    Parameters
    ----------
    bookings : tuple of Booking
        Every booking of the turn so far, those of earlier replies to the same request included.
    again : str or None
        What the agent is told within the turn, to reply anew; None where the reply stands.
    purpose : str
        What the log calls a reply that is followed by another of the same turn.
    """

    bookings: tuple[Booking, ...]
    again: str | None = None
    purpose: str = REFUSED_REPLY


class StateSource(Protocol):
    """Where an arm's state comes from: the compiler and matcher, or the generator for an oracle.

    The runner supplies it, journals what it does and replays it on resume; an arm only asks.
    """

    async def plan(self, earlier: Earlier | None = None) -> CompileRecord:
        """The graph of the brief; after a flagged compile, compiled once more."""
        ...

    async def revision(self, message: str, earlier: Earlier | None = None) -> CompileRecord:
        """The revision that the message orders; after a flagged compile, compiled once more."""
        ...

    async def match(self, request: Request) -> MatchRecord:
        """The step that a request is about."""
        ...


@dataclass
class Opening:
    """What an arm is given at the start of an episode.

    Parameters
    ----------
    prompts : PromptSet
        The texts of checklist, directives and notices.
    source : StateSource
        Where its state comes from.
    seed : int
        The episode's seed: for corruption alone.
    memory : MemoryKit or None
        What a memory arm works with; None for the others.
    """

    prompts: PromptSet
    source: StateSource
    seed: int
    memory: MemoryKit | None = None


class Arm(Protocol):
    """A coupling: four moments of a conversation.

    Parameters
    ----------
    options : ArmOptions
        Those that the arm `takes`; the others are at their defaults.
    """

    name: ClassVar[str]
    takes: ClassVar[tuple[str, ...]]
    # Texts of the prompt set that the brief ends with for this arm.
    brief_ends_with: ClassVar[tuple[str, ...]]

    def __init__(self, options: ArmOptions) -> None: ...

    async def open(self, opening: Opening) -> None:
        """Before the first turn: compile, if the arm owns state."""
        ...

    async def compose(self, request: Request) -> Outgoing:
        """What is sent for a request."""
        ...

    def receive(self, request: Request, reply: str) -> Outcome:
        """What the execution channel does with the reply's bookings; called for each reply to a request."""
        ...

    async def revise(self, message: str) -> None:
        """A change of plan, as the agent sees it, before that turn is composed."""
        ...


class DispatchArm(Arm, Protocol):
    """An arm that can also stand where work is dispatched call by call, instead of reading whole replies."""

    def judge(self, code: str, work_order: str) -> Booking:
        """Ask before the work of a code is done for a work order: accepted, or the reason why not."""
        ...

    def enter(self, booking: Booking, request: Request) -> None:
        """Tell the evidence: the work of this booking was done."""
        ...
