"""What an arm is: how task state reaches the agent, and nothing else about a conversation (DESIGN §5.2)."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from artifact.arms.prompts import PromptSet
from artifact.log.records import ArmIdentity, Booking, CompileRecord, DirectiveIssued, MatchRecord


@dataclass(frozen=True)
class ArmOptions:
    """Options of an arm: frozen, and part of the cell's identity.

    Parameters
    ----------
    state : str
        ``"compiled"`` by a model, or ``"oracle"``: the generator's own graph and revision.
    matcher : str
        ``"model"``, or ``"oracle"``: the scripted step and redo flag.
    match_every_turn : bool
        Run the matcher on filler and revision turns too, instead of passing them by.
    corruption : float
        Rate per step and turn at which done bits flip and prerequisites drop in the module's state.
    """

    state: Literal["compiled", "oracle"] = "compiled"
    matcher: Literal["model", "oracle"] = "model"
    match_every_turn: bool = False
    corruption: float = 0.0


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
    directive, notices, checklist
        What the message carries beyond the request, for the log.
    """

    content: str
    directive: DirectiveIssued | None = None
    notices: tuple[str, ...] = ()
    checklist: str = ""


class StateSource(Protocol):
    """Where an arm's state comes from: the compiler and matcher, or the generator for an oracle.

    The runner supplies it, journals what it does and replays it on resume; an arm only asks.
    """

    async def plan(self) -> CompileRecord:
        """The graph of the brief."""
        ...

    async def revision(self, message: str) -> CompileRecord:
        """The revision that the message orders."""
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
    """

    prompts: PromptSet
    source: StateSource
    seed: int


class Arm(Protocol):
    """A coupling: four moments of a conversation."""

    name: str

    async def open(self, opening: Opening) -> None:
        """Before the first turn: compile, if the arm owns state."""
        ...

    async def compose(self, request: Request) -> Outgoing:
        """What is sent for a request."""
        ...

    def receive(self, request: Request, reply: str) -> tuple[Booking, ...]:
        """What the execution channel does with the reply's bookings."""
        ...

    async def revise(self, message: str) -> None:
        """A change of plan, as the agent sees it, before that turn is composed."""
        ...


@dataclass(frozen=True)
class ArmSpec:
    """An arm by name with its options: what a command line or a notebook asks for."""

    name: str
    options: ArmOptions = field(default_factory=ArmOptions)

    @property
    def identity(self) -> ArmIdentity:
        """Name and the options that differ from the defaults, as they stand in logs."""
        default = asdict(ArmOptions())
        chosen: dict[str, Any] = {key: value for key, value in asdict(self.options).items() if value != default[key]}
        return ArmIdentity(self.name, chosen)
