"""The shape of an episode's plan: which templates, who requires whom, what the revision changes. No words.

Invariant: the shape depends on seed, size and density alone, so that the same seed gives isomorphic episodes
in every domain; and step ids are a random permutation, so that they tell nothing about phase or order.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from artifact.generator.draw import Draw

PHASES = 6
TEMPLATES_PER_PHASE = 3
TEMPLATES = PHASES * TEMPLATES_PER_PHASE
SMALLEST_REVISED = 5

# The cancelled step keeps everything behind it waiting until the revision, so it may stand before few steps:
# otherwise there would be too little to ask for in the first half, and position would tell the kind.
_FREE_SHARE = 0.6
# The same with the relaxed step and the prerequisite that it drops, if both are to wait for the revision.
_OPEN_SHARE = 0.45


@dataclass(frozen=True)
class Shape:
    """A plan without words. Steps are indices 0 … S - 1 in the order of the brief.

    Parameters
    ----------
    templates : tuple of int
        For each step the index of its template in the domain.
    requires : tuple of tuple of int
        For each step its prerequisites, ascending.
    cancelled : int or None
        The step that the revision cancels.
    relaxed : (int, int) or None
        The step that the revision relaxes, and the prerequisite that it drops.
    """

    templates: tuple[int, ...]
    requires: tuple[tuple[int, ...], ...]
    cancelled: int | None = None
    relaxed: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """S."""
        return len(self.templates)

    @cached_property
    def live(self) -> tuple[int, ...]:
        """Steps that are owed in the end."""
        return tuple(step for step in range(self.size) if step != self.cancelled)

    @property
    def rewired(self) -> tuple[int, ...]:
        """Steps whose prerequisites change because of the cancellation."""
        return tuple(step for step in range(self.size) if self.cancelled in self.requires[step])

    @cached_property
    def revised(self) -> tuple[tuple[int, ...], ...]:
        """`requires` after the revision: nobody requires the cancelled step, whose own ones aren't inherited."""
        return tuple(
            tuple(p for p in needed if p != self.cancelled and (step, p) != self.relaxed)
            for step, needed in enumerate(self.requires)
        )


def draw_shape(draw: Draw, size: int, density: float) -> Shape:
    """Draw a plan of `size` steps.

    Parameters
    ----------
    draw : Draw
        The stream.
    size : int
        S, 1 to 18.
    density : float
        ρ: the probability of each possible edge beyond the base structure. Possible are the pairs of a step
        of an earlier and a step of a later phase.

    Returns
    -------
    Shape
        With a revision from S = 5 on.

    Notes
    -----
    Base structure: each step outside the first phase that occurs has one prerequisite; and a step that the
    cancellation rewires keeps one. Plans that offer no suitable revision, or no edge at all, are drawn anew.
    """
    while True:
        templates = tuple(draw.sample(range(TEMPLATES), size))
        phase = [template // TEMPLATES_PER_PHASE for template in templates]
        edges = _draw_edges(draw, phase, density)
        if size < SMALLEST_REVISED:
            if size > 1 and not any(edges):
                continue
            return Shape(templates, _as_tuples(edges))
        cancellable = [step for step in range(size) if _can_be_cancelled(edges, step)]
        if not cancellable:
            continue
        cancelled = draw.choice(cancellable)
        if not _keep_one(draw, phase, edges, cancelled):
            continue
        relaxable = [(step, p) for step in range(size) for p in sorted(edges[step])
                     if _can_be_relaxed(edges, cancelled, step, p)]
        if relaxable:
            return Shape(templates, _as_tuples(edges), cancelled, draw.choice(relaxable))


def _draw_edges(draw: Draw, phase: list[int], density: float) -> list[set[int]]:
    edges: list[set[int]] = []
    for own in phase:
        earlier = [other for other, theirs in enumerate(phase) if theirs < own]
        chosen = {draw.choice(earlier)} if earlier else set()
        chosen |= {other for other in earlier if draw.flip(density)}
        edges.append(chosen)
    return edges


def _as_tuples(edges: list[set[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(needed)) for needed in edges)


def _ancestors(edges: list[set[int]], step: int) -> set[int]:
    found: set[int] = set()
    open_ = [step]
    while open_:
        new = edges[open_.pop()] - found
        found |= new
        open_ += sorted(new)
    return found


def _can_be_cancelled(edges: list[set[int]], step: int) -> bool:
    if not any(step in needed for needed in edges):
        return False
    free = sum(step not in _ancestors(edges, other) for other in range(len(edges)) if other != step)
    return free >= ceil(_FREE_SHARE * (len(edges) - 1))


def _keep_one(draw: Draw, phase: list[int], edges: list[set[int]], cancelled: int) -> bool:
    """See to it that one rewired step keeps a prerequisite; False where none can be found for it."""
    rewired = [step for step, needed in enumerate(edges) if cancelled in needed]
    if any(len(edges[step]) > 1 for step in rewired):
        return True
    step = draw.choice(rewired)
    others = [other for other in range(len(edges)) if phase[other] < phase[step] and other != cancelled]
    if not others:
        return False
    edges[step].add(draw.choice(others))
    return True


def _can_be_relaxed(edges: list[set[int]], cancelled: int, step: int, prerequisite: int) -> bool:
    """Whether dropping the edge makes a difference, and touches no step that the cancellation touches."""
    if cancelled in (step, prerequisite) or cancelled in edges[step]:
        return False
    trial = [needed - {cancelled} for needed in edges]
    trial[step] = trial[step] - {prerequisite}
    if prerequisite in _ancestors(trial, step):
        return False
    waiting = {cancelled, step, prerequisite}
    open_ = sum(other not in waiting and not waiting & _ancestors(edges, other) for other in range(len(edges)))
    return open_ >= max(1, int(_OPEN_SHARE * (len(edges) - 1)))
