"""What is to be run: a study's cells, arms and seeds, checked before anything starts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from artifact.arms import RUNGS, ArmSpec
from artifact.errors import RequestError
from artifact.generator.phrasings import settled
from artifact.log.records import Cell
from artifact.runner.budgets import BUDGETS, Regime
from artifact.taskstate import Brief, ScheduleVariant

PAPER_SEEDS = range(100, 228)  # Appendix B.4: the grid's 128 held-out seeds


@dataclass(frozen=True)
class EpisodePlan:
    """One episode of a study: which cell, which arm, which seed."""

    cell: Cell
    arm: ArmSpec
    seed: int

    @property
    def label(self) -> str:
        """How progress calls it."""
        return f"{self.cell.slug} {self.arm} seed {self.seed}"

    def log_path(self, folder: Path) -> Path:
        """Where its log lies in its study's folder."""
        return folder / self.cell.slug / self.arm.identity.slug / f"{self.seed}.jsonl"


@dataclass(frozen=True)
class StudyPlan:
    """A study: every arm on every cell, on the same seeds.

    Parameters
    ----------
    study : str
        Name of the study, and of its folder under ``runs/``.
    model : str
        The agent: a name of the model registry, ``scripted:POLICY``, or a server's URL.
    state_model : str or None
        Who compiles and matches; None for the agent's own model, as in the paper.
    sizes, densities : tuple
        The generator's S and ρ; a cell for each pair.
    domain, brief, regime, prompts
        As in `Cell`.
    schedule : ScheduleVariant
        How the episodes' schedule departs from the canonical one.
    own_phrasings : bool
        Allow held-out phrasings that a model under test wrote itself.
    arms : tuple of ArmSpec
        The couplings.
    seeds : tuple of int
        The episodes.
    """

    study: str
    model: str
    state_model: str | None = None
    sizes: tuple[int, ...] = (10,)
    densities: tuple[float, ...] = (0.15,)
    domain: str = "procurement"
    brief: Brief = Brief.AMENDED
    regime: Regime = "no_think"
    prompts: str = "paper"
    arms: tuple[ArmSpec, ...] = field(default_factory=lambda: tuple(ArmSpec(name) for name in RUNGS))
    seeds: tuple[int, ...] = tuple(PAPER_SEEDS)
    schedule: ScheduleVariant = field(default_factory=ScheduleVariant)
    own_phrasings: bool = False

    def __post_init__(self) -> None:
        check_study_name(self.study)
        if self.regime not in BUDGETS:
            raise RequestError(f"there is no regime {self.regime!r}; the regimes are {', '.join(BUDGETS)}")
        for what, values in (("sizes", self.sizes), ("densities", self.densities), ("arms", self.arms),
                             ("seeds", self.seeds)):
            if not values:
                raise RequestError(f"a study needs at least one of its {what}; name some")
            if len(set(map(repr, values))) != len(values):
                raise RequestError(f"the {what} of a study must differ from each other; one is named twice")

    def cells(self, model: str, state_model: str) -> tuple[Cell, ...]:
        """The cells, models named as they name themselves.

        Raises
        ------
        RequestError
            When there is no cache of held-out phrasings for these models.
        """
        schedule = str(settled(self.schedule, self.domain, () if self.own_phrasings else (model, state_model)))
        return tuple(Cell(model, size, density, self.domain, self.brief, self.regime, self.prompts, state_model,
                          schedule)
                     for size, density in product(self.sizes, self.densities))

    def episodes(self, model: str, state_model: str) -> Iterator[EpisodePlan]:
        """The episodes, cell by cell, the arms of a seed side by side."""
        for cell in self.cells(model, state_model):
            for seed, arm in product(self.seeds, self.arms):
                yield EpisodePlan(cell, arm, seed)


def check_study_name(study: str) -> None:
    """Raise `RequestError` unless a study's name can be a folder's."""
    if not study or not all(c.isalnum() or c in "-_" for c in study):
        raise RequestError(f"the study name {study!r} can't be a folder name; use letters, digits, - and _")


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from text: ``"100:228"`` (end excluded), ``"100"``, or several of both with commas.

    Raises
    ------
    RequestError
        When the text is no such list, or names no seed.
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            seeds += range(int(first), int(last)) if colon else [int(first)]
        except ValueError:
            raise RequestError(f"seeds {text!r} can't be read; write for instance 100:228 or 100,101,105") from None
    if not seeds or min(seeds) < 0:
        raise RequestError(f"seeds {text!r} name no seed from 0 on; write for instance 100:228")
    return tuple(seeds)
