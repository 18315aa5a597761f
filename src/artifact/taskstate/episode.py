"""An episode as data: brief, graph, schedule. Made by the generator, kept whole in every log.

It lives here, and not in the generator, because a log must score without the generator (DESIGN: scoring
is an offline pass over self-contained logs).
"""

from dataclasses import dataclass
from enum import StrEnum

from artifact.taskstate.graph import Revision, TaskGraph


class RequestKind(StrEnum):
    """What a scripted turn asks for."""

    ASK = "ask"
    PREMATURE = "premature"
    REDO_PROBE = "redo_probe"
    SUPERSEDED_CUE = "superseded_cue"
    LEGIT_REDO = "legit_redo"
    AMBIGUOUS = "ambiguous"
    FILLER = "filler"
    REVISION = "revision"


NOT_A_REQUEST = frozenset({RequestKind.FILLER, RequestKind.REVISION})


class Brief(StrEnum):
    """The two wordings of the brief (§4.3): `amended` states that a step is performed once."""

    AMENDED = "amended"
    ORIGINAL = "original"


@dataclass(frozen=True)
class ScriptedTurn:
    """One user turn of the schedule.

    Parameters
    ----------
    kind : RequestKind
        What it asks for, as scripted; how it is judged depends on the realized state.
    text : str
        What the user writes, work order included.
    step : str or None
        The step that it requests; None for fillers, the revision and ambiguous probes.
    work_order : str or None
        The fresh nonce of the request; None for turns that are not requests.
    """

    kind: RequestKind
    text: str
    step: str | None = None
    work_order: str | None = None


@dataclass(frozen=True)
class Episode:
    """One assigned project, wholly determined by its seed and configuration (§4.1).

    Parameters
    ----------
    seed, size, density, domain : int, int, float, str
        What it was generated from: S steps at extra-edge density ρ.
    graph : TaskGraph
        The plan before the revision, steps in the order of the brief.
    revision : Revision
        The mid-episode change; empty where S is too small for one.
    turns : tuple of ScriptedTurn
        The scripted turns in order.
    reasks : tuple of ScriptedTurn
        One spare ask for each step that is owed in the end, with a work order of its own: used when
        a request was correctly deferred and has become eligible.
    """

    seed: int
    size: int
    density: float
    domain: str
    graph: TaskGraph
    revision: Revision
    turns: tuple[ScriptedTurn, ...]
    reasks: tuple[ScriptedTurn, ...]
