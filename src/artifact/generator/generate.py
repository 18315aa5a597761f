"""Seed to episode (§4.1): plan, codes, schedule and words put together.

Invariant: the same seed, size, density and domain give the same bytes on every platform and Python version; and
but for the words, the domain makes no difference.

Fillers and the revision are not requests. They carry no work order, so that there is nothing to book on them (a
variant of the schedule gives fillers one, as a stress).
"""

from collections.abc import Iterator

from artifact.errors import RequestError
from artifact.generator.domain import load_domain
from artifact.generator.draw import Draw
from artifact.generator.phrasings import load_phrasings, rephrased
from artifact.generator.schedule import TURNS, Slot, draw_schedule
from artifact.generator.shape import TEMPLATES, Shape, draw_shape
from artifact.generator.variants import place_ambiguous, vary
from artifact.generator.wording import Wording
from artifact.taskstate import (
    NOT_A_REQUEST,
    Episode,
    Phrasing,
    RequestKind,
    Revision,
    ScheduleVariant,
    ScriptedTurn,
    Step,
    TaskGraph,
)

SEEDS = 2**31
# Numbers that briefs and prompts use in their examples; no episode shall own one.
_EXAMPLES = frozenset({1234, 2048, 4242, 5678})
_NUMBERS = [number for number in range(1000, 10000) if number not in _EXAMPLES]
_CANONICAL = ScheduleVariant()


def generate(*, seed: int, size: int = 10, density: float = 0.15, domain: str = "procurement",
             schedule: ScheduleVariant = _CANONICAL) -> Episode:
    """Generate one episode.

    Parameters
    ----------
    seed : int
        0 to 2**31 - 1.
    size : int
        S, the number of steps, 1 to 18.
    density : float
        ρ, the probability of each possible dependency beyond the base structure, 0 to 1.
    domain : str
        One of `domain_names()`.
    schedule : ScheduleVariant
        How the schedule departs from the canonical one. Plan, codes, and turns and work orders of the canonical
        requests are the same in every variant.

    Returns
    -------
    Episode
        With a schedule of 44 turns whatever S is.

    Raises
    ------
    RequestError
        When an argument is out of its range, the domain is unknown, or a cache of held-out phrasings can't be used.
    """
    _check(seed, size, density)
    words = load_domain(domain)
    if schedule.phrasing is Phrasing.HELD_OUT:
        words = rephrased(words, load_phrasings(words, domain, schedule.phrasings)[0].rewrites)
    # Each part has a stream of its own, so that, e.g., another wording leaves the graph as it was.
    key = (seed, size, float(density))
    shape = draw_shape(Draw(*key, "graph"), size, density)
    slots = draw_schedule(Draw(*key, "schedule"), shape)
    wording = Wording(words, shape, Draw(*key, "wording"), Draw(*key, "fillers"),
                      rotation=int(schedule.phrasing is Phrasing.ROTATED))
    requests = sum(slot.kind not in NOT_A_REQUEST for slot in slots)
    regular = size + requests + len(shape.live)
    numbers = Draw(*key, "numbers").sample(_NUMBERS, regular + TURNS)  # the first ones don't depend on how many follow
    codes = tuple(f"RC-{number}" for number in numbers[:size])
    work_orders = iter([f"#W{number}" for number in numbers[size:regular]])
    turns = tuple(_turn(slot, wording, work_orders) for slot in slots)
    reasks = tuple(_turn(Slot(RequestKind.ASK, step), wording, work_orders) for step in shape.live)
    graph = TaskGraph(tuple(
        Step(_id(step), words.steps[template].text, codes[step], _ids(shape.requires[step]))
        for step, template in enumerate(shape.templates)
    ))
    probes = place_ambiguous(Draw(*key, "ambiguous"), shape, slots, schedule.ambiguous)
    frames = Draw(*key, "ambiguous wording")
    turns = vary(turns, schedule, graph, {turn: wording.ambiguous(frames, *pair) for turn, pair in probes.items()},
                 [f"#W{number}" for number in numbers[regular:]], Draw(*key, "forgery"))
    return Episode(seed, size, float(density), domain, graph, _revision(shape), turns, reasks)


def _check(seed: int, size: int, density: float) -> None:
    if not (_is_whole(seed) and 0 <= seed < SEEDS):
        raise RequestError(f"the seed {seed!r} is out of range; give a whole number from 0 to {SEEDS - 1}")
    if not (_is_whole(size) and 1 <= size <= TEMPLATES):
        raise RequestError(f"the size {size!r} is out of range; give a whole number of steps from 1 to {TEMPLATES}")
    if isinstance(density, bool) or not (isinstance(density, int | float) and 0 <= density <= 1):
        raise RequestError(f"the density {density!r} is out of range; give a number from 0 to 1")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _turn(slot: Slot, wording: Wording, work_orders: Iterator[str]) -> ScriptedTurn:
    if slot.kind is RequestKind.FILLER:
        return ScriptedTurn(slot.kind, wording.filler())
    if slot.step is None:
        return ScriptedTurn(slot.kind, wording.revision())
    work_order = next(work_orders)
    return ScriptedTurn(slot.kind, wording.request(slot.kind, slot.step, work_order), _id(slot.step), work_order)


def _revision(shape: Shape) -> Revision:
    if shape.cancelled is None or shape.relaxed is None:
        return Revision()
    return Revision(
        cancel=_id(shape.cancelled),
        rewires=tuple((_id(step), _ids(shape.revised[step])) for step in shape.rewired),
        relax=(_id(shape.relaxed[0]), _id(shape.relaxed[1])),
    )


def _id(step: int) -> str:
    return f"s{step + 1}"


def _ids(steps: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(_id(step) for step in steps)
