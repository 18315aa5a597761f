"""The named studies: what each runs, at the paper's size or at a smoke size (`studies.toml`)."""

import tomllib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as parsed

from artifact import paths
from artifact.arms import RUNGS, ArmOptions, ArmSpec, parse_arm
from artifact.errors import RequestError
from artifact.runner.budgets import Regime
from artifact.runner.plan import StudyPlan, parse_seeds
from artifact.taskstate import CANONICAL, Brief, ScheduleVariant

ALL = "all"
SMOKE_SUFFIX = "_smoke"
SPARSE = 0.15  # the main grid's density (§4.3)


@parsed(frozen=True)
class Part:
    """Cells of a study that share everything but size and density.

    Parameters
    ----------
    grid : tuple of (int, float)
        S and ρ of each cell.
    arms : tuple of str
        In text form, e.g. ``"checklist:mode=replace"``.
    domain, brief, schedule
        As in `Cell`.
    """

    grid: tuple[tuple[int, float], ...]
    arms: tuple[str, ...] = RUNGS
    domain: str = "procurement"
    brief: Brief = Brief.AMENDED
    schedule: str = CANONICAL


@parsed(frozen=True)
class Smoke:
    """The size that a scripted model finishes in seconds: grid and seeds in place of the study's own."""

    grid: tuple[tuple[int, float], ...]
    seeds: str


@parsed(frozen=True)
class NamedStudy:
    """One entry of `studies.toml`; see there for the fields."""

    title: str
    paper: str
    seeds: str
    smoke: Smoke
    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True)
class Overrides:
    """What a command says in place of a named study's own; None where it says nothing.

    Parameters
    ----------
    sizes, densities : tuple or None
        Replace the grid by their product. Sizes alone keep their densities in the study's grid, and are sparse where
        it doesn't have them; densities alone keep the sizes.
    seeds
        Replace the study's.
    arms, domain, brief, schedule
        Choose the parts that have them; where no part does, they replace those of every part.
    gates : ArmOptions
        What the gate arms start from.
    """

    sizes: tuple[int, ...] | None = None
    densities: tuple[float, ...] | None = None
    seeds: tuple[int, ...] | None = None
    arms: tuple[ArmSpec, ...] | None = None
    domain: str | None = None
    brief: Brief | None = None
    schedule: ScheduleVariant | None = None
    gates: ArmOptions = field(default_factory=ArmOptions)


@dataclass(frozen=True)
class Agents:
    """Who is under test, and how: the settings that every plan of a command shares."""

    model: str
    state_model: str | None = None
    regime: Regime = "no_think"
    prompts: str = "paper"
    own_phrasings: bool = False


@cache
def named_studies() -> dict[str, NamedStudy]:
    """The named studies in the order of the file."""
    fields = tomllib.loads(paths.STUDIES.read_text("utf-8"))
    return TypeAdapter(dict[str, NamedStudy]).validate_python(fields)


def plans_of(name: str, agents: Agents, *, overrides: Overrides | None = None, smoke: bool = False,
             ) -> tuple[StudyPlan, ...]:
    """The plans of a named study, one for cells that differ in size alone.

    Parameters
    ----------
    name : str
        A key of `named_studies`.
    agents : Agents
        Who is under test.
    overrides : Overrides or None
        What is asked for instead of the study's own.
    smoke : bool
        The smoke size, in a study of its own (``NAME_smoke``), so that it never mixes with what is measured.

    Raises
    ------
    RequestError
        For an unknown study, or overrides that don't fit together.
    """
    if name not in named_studies():
        raise RequestError(f"there is no named study {name!r}; `artifact studies` lists them")
    study, said = named_studies()[name], overrides or Overrides()
    seeds = said.seeds or parse_seeds(study.smoke.seeds if smoke else study.seeds)
    plans: dict[StudyPlan, None] = {}
    for part in _chosen(study.parts, said):
        by_density: dict[float, list[int]] = defaultdict(list)
        for size, density in _grid(study.smoke.grid if smoke else part.grid, said):
            by_density[density].append(size)
        for density, sizes in by_density.items():
            plans[StudyPlan(
                name + SMOKE_SUFFIX if smoke else name, agents.model, agents.state_model, tuple(sizes), (density,),
                said.domain or part.domain, said.brief or part.brief, agents.regime, agents.prompts,
                said.arms or tuple(parse_arm(arm, said.gates) for arm in part.arms), seeds,
                said.schedule or parse_schedule(part.schedule), agents.own_phrasings)] = None
    return tuple(plans)


def _chosen(parts: tuple[Part, ...], said: Overrides) -> tuple[Part, ...]:
    """The parts that have what is asked for, one thing after the other; all that are left where none has it."""
    asked: tuple[tuple[object, Callable[[Part], bool]], ...] = (
        (said.domain, lambda part: part.domain == said.domain),
        (said.brief, lambda part: part.brief == said.brief),
        (said.schedule, lambda part: parse_schedule(part.schedule) == said.schedule),
        (said.arms, lambda part: {parse_arm(arm, said.gates) for arm in part.arms}.issuperset(said.arms or ())),
    )
    for value, has in asked:
        if value is not None:
            parts = tuple(part for part in parts if has(part)) or parts
    return parts


def _grid(grid: tuple[tuple[int, float], ...], said: Overrides) -> tuple[tuple[int, float], ...]:
    sizes = said.sizes or tuple(dict.fromkeys(size for size, _ in grid))
    if said.sizes is None and said.densities is None:
        return grid
    if said.densities is None:
        own = {size: [density for other, density in grid if other == size] for size in sizes}
        return tuple((size, density) for size in sizes for density in own[size] or [SPARSE])
    return tuple((size, density) for size in sizes for density in said.densities)


def parse_schedule(text: str) -> ScheduleVariant:
    """The variant of a text, or `RequestError` with what can be written."""
    try:
        return ScheduleVariant.parse(text)
    except ValueError as error:
        raise RequestError(f"the schedule {text!r} can't be read ({error}); write canonical, or some of "
                           "rotated, held_out[=WRITER], ambiguous=RATE, spoofed, ordered_fillers with commas between"
                           ) from None
