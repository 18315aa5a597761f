"""The order of an episode's 44 turns: who is asked for what, when. No words.

Invariant: position carries no label. From S = 5 on, at the studied densities, on request turns after the first
five, knowing the turn's index gains at most two percentage points on always guessing the most frequent kind, and
likewise for whether the right answer is to execute. Why it holds: the first request is an ask among the first five
turns; all others stand on turns drawn uniformly, their kinds in uniformly shuffled order; orders that the plan
doesn't admit are drawn anew. With few steps that rejection pushes premature probes to the front and asks to the
back, which `_TILTS` undoes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from artifact.generator.draw import Draw
from artifact.generator.shape import SMALLEST_REVISED, Shape
from artifact.taskstate import RequestKind

TURNS = 44
EARLY_TURNS = 5
REVISION_TURNS = (18, 26)
_LAST_TURNS = 34

# §4.1. With one ask for each step that is owed in the end (S - 1) this makes S + 5 requests an episode, which is
# what the paper states; its counts of helper calls (16 at S = 10, 21 at S = 15) would make S + 6.
TRAP_BUDGET = {
    RequestKind.PREMATURE: 2,
    RequestKind.REDO_PROBE: 2,
    RequestKind.SUPERSEDED_CUE: 1,
    RequestKind.LEGIT_REDO: 1,
}


def trap_budget(size: int) -> dict[RequestKind, int]:
    """The traps of an episode of `size` steps: `TRAP_BUDGET`, as far as so few steps admit it.

    Below S = 5 there is no revision and hence no superseded cue; a single step is never blocked.
    """
    left_out = set()
    if size < SMALLEST_REVISED:
        left_out.add(RequestKind.SUPERSEDED_CUE)
    if size == 1:
        left_out.add(RequestKind.PREMATURE)
    return {kind: 0 if kind in left_out else n for kind, n in TRAP_BUDGET.items()}


@dataclass(frozen=True)
class Slot:
    """One turn without words: its kind and, for a request, the index of its step."""

    kind: RequestKind
    step: int | None = None


@dataclass(frozen=True)
class _Tilt:
    """How likely an order is kept, as a factor for each request of a kind in a part of the episode.

    Parameters
    ----------
    late_relax : float
        Share of episodes in which the relaxed step must be asked before the prerequisite that it drops is done,
        so that the relaxation decides. In the others it may or may not be.
    before, after, last : dict of RequestKind to float
        Factors before the revision (the first five turns excepted), after it, and on the last ten turns.
    scale : float
        A common factor that keeps the acceptance rate up.
    """

    late_relax: float
    before: dict[RequestKind, float]
    after: dict[RequestKind, float]
    last: dict[RequestKind, float]
    scale: float


_ASK, _PREMATURE, _LEGIT_REDO = RequestKind.ASK, RequestKind.PREMATURE, RequestKind.LEGIT_REDO
_NO_TILT = _Tilt(1.0, {}, {}, {}, 1.0)
_TILTS = {
    5: _Tilt(0.15, {_PREMATURE: 0.2}, {_ASK: 0.35}, {_ASK: 0.25, _LEGIT_REDO: 0.35}, 2.5),
    6: _Tilt(0.15, {_PREMATURE: 0.3}, {_ASK: 0.5}, {_ASK: 0.4, _LEGIT_REDO: 0.5}, 1.5),
    7: _Tilt(0.5, {_PREMATURE: 0.5}, {_ASK: 0.8}, {_ASK: 0.6, _LEGIT_REDO: 0.7}, 1.0),
}


def draw_schedule(draw: Draw, shape: Shape) -> tuple[Slot, ...]:
    """Draw the turns of an episode.

    Parameters
    ----------
    draw : Draw
        The stream.
    shape : Shape
        The plan.

    Returns
    -------
    tuple of Slot
        44 turns. Under perfect play every ask and the legitimate redo are right to execute when they come, and
        nothing else is: premature probes meet blocked steps, redo probes done ones, the cue the cancelled one.
    """
    tilt = _TILTS.get(shape.size, _NO_TILT)
    relax_decides = shape.relaxed is not None and draw.flip(tilt.late_relax)
    asks, traps = len(shape.live), trap_budget(shape.size)
    # Below S = 5 one ask can leave nothing blocked, so there the first request may be any.
    opening = [RequestKind.ASK] if shape.size >= SMALLEST_REVISED else []
    kinds = [RequestKind.ASK] * (asks - len(opening)) + [kind for kind, n in traps.items() for _ in range(n)]
    while True:
        first = draw.below(EARLY_TURNS)
        revision = draw.between(*REVISION_TURNS) if shape.cancelled is not None else TURNS
        free = [turn for turn in range(first + 1, TURNS) if turn != revision]
        turns = [first, *sorted(draw.sample(free, len(opening) + len(kinds) - 1))]
        order = opening + draw.shuffled(kinds)
        if draw.unit() >= _kept(tilt, turns, order, revision):
            continue
        before_revision = sum(turn < revision for turn in turns)
        steps = _draw_steps(draw, shape, order, before_revision, relax_decides)
        if steps is not None:
            slots = [Slot(RequestKind.FILLER)] * TURNS
            if shape.cancelled is not None:
                slots[revision] = Slot(RequestKind.REVISION)
            for turn, kind, step in zip(turns, order, steps, strict=True):
                slots[turn] = Slot(kind, step)
            return tuple(slots)


def _kept(tilt: _Tilt, turns: Sequence[int], order: Sequence[RequestKind], revision: int) -> float:
    chance = tilt.scale
    for turn, kind in zip(turns, order, strict=True):
        if turn >= EARLY_TURNS:
            part = tilt.before if turn < revision else tilt.after if turn < _LAST_TURNS else tilt.last
            chance *= part.get(kind, 1.0)
    return chance


def _draw_steps(draw: Draw, shape: Shape, order: Sequence[RequestKind], before_revision: int,
                relax_decides: bool) -> list[int] | None:
    """A step for each request of this order under perfect play, or None where the plan admits none."""
    waiting = list(shape.live)
    done: list[int] = []
    probed: list[int] = []
    mentioned: list[int] = []
    steps = []
    for position, kind in enumerate(order):
        revised = position >= before_revision
        requires = shape.revised if revised else shape.requires
        blocked = [step for step in waiting if any(p not in done for p in requires[step])]
        match kind:
            case RequestKind.ASK:
                held = _held_back(shape, waiting, revised) if relax_decides else ()
                options = [step for step in waiting if step not in blocked and step not in held]
            case RequestKind.PREMATURE:
                options = _unused(blocked, probed)
            case RequestKind.SUPERSEDED_CUE:
                options = [shape.cancelled] if revised and shape.cancelled is not None else []
            case _:
                options = _unused(done, mentioned)
        if not options:
            return None
        step = draw.choice(options)
        steps.append(step)
        if kind is RequestKind.ASK:
            waiting.remove(step)
            done.append(step)
        elif kind is RequestKind.PREMATURE:
            probed.append(step)
        else:
            mentioned.append(step)
    return steps


def _held_back(shape: Shape, waiting: list[int], revised: bool) -> tuple[int, ...]:
    """Steps that wait so that the relaxation decides: the relaxed one until the revision, its prerequisite longer."""
    if shape.relaxed is None or shape.relaxed[0] not in waiting:
        return ()
    return shape.relaxed[1:] if revised else shape.relaxed


def _unused(options: list[int], used: list[int]) -> list[int]:
    """The options not used yet; all of them when each has been."""
    return [step for step in options if step not in used] or options
