"""What a study comes to before it starts: cells, episodes, calls, hours; and what of it is done."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from artifact.arms import ARMS, MEMORY_ARMS, ArmSpec, load_prompts
from artifact.arms.memory.library import memory_identity
from artifact.generator import TURNS, trap_budget
from artifact.generator.shape import SMALLEST_REVISED
from artifact.log.pace import Pace, has_ended
from artifact.log.reader import PROBE_UNPACKED
from artifact.models.embedder import open_embedder
from artifact.runner.plan import EpisodePlan, StudyPlan
from artifact.runner.probe_plan import ProbePlan
from artifact.runner.trap_turns import RAW
from artifact.taskstate import ScheduleVariant

# A revision asked for in parts: which step is cancelled, and for one or two steps what they require still.
_REVISION_PARTS = 3
# Calls of a memory for each turn, about: a reading or a rating of each exchange, and what reflections take on top.
_MEMORY_CALLS = {"mem0": 1.0, "stream": 1.3}


@dataclass(frozen=True)
class Outlook:
    """A study's size and how far it is.

    Parameters
    ----------
    study : str
        Its name.
    cells, episodes, done : int
        A cell is one arm on one configuration; episodes in all, and those that need nothing more.
    calls : int
        Model calls that are left, about: compiles that arms share are counted for each, re-asks aren't.
    seconds : float or None
        Wall time that is left, one conversation at a time; None where no log at hand tells the pace.
    """

    study: str
    cells: int
    episodes: int
    done: int
    calls: int
    seconds: float | None


class PaceBook:
    """Seconds per turn, by what is most like an episode: same arm and size, same arm, same models.

    Parameters
    ----------
    paces : iterable of Pace
        What earlier episodes took.
    """

    def __init__(self, paces: Iterable[Pace]) -> None:
        self._sums: defaultdict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for pace in paces:
            for key in _keys(pace.model, pace.state_model, pace.arm, pace.size):
                self._sums[key][0] += pace.seconds
                self._sums[key][1] += pace.turns

    def seconds_per_turn(self, plan: EpisodePlan) -> float | None:
        """The pace to expect; None when nothing like it was measured."""
        cell = plan.cell
        for key in _keys(cell.model, cell.state_model, plan.arm.name, cell.size):
            if key in self._sums:
                seconds, turns = self._sums[key]
                return seconds / turns
        return None


def _keys(model: str, state_model: str, arm: str, size: int) -> tuple[tuple[object, ...], ...]:
    return (model, state_model, arm, size), (model, state_model, arm), (model, state_model)


def outlook(plans: Iterable[StudyPlan], model: str, state_model: str, *, runs: Path, book: PaceBook) -> Outlook:
    """Size and state of a study's plans.

    Parameters
    ----------
    plans : iterable of StudyPlan
        Of one study.
    model, state_model : str
        The models as they name themselves.
    runs : Path
        Folder of the runs.
    book : PaceBook
        Paces at hand.

    Raises
    ------
    RequestError, InfrastructureError
        When it can't be run here: an option or an extra is missing.
    """
    episodes = [episode for plan in plans for episode in plan.episodes(model, state_model)]
    if remembering := sorted({episode.arm.name for episode in episodes} & set(MEMORY_ARMS)):
        embedder = open_embedder()
        for name in remembering:
            memory_identity(name, embedder)
    (study,) = {plan.study for plan in plans}
    left = [episode for episode in episodes if not has_ended(episode.log_path(runs / study))]
    seconds = [book.seconds_per_turn(episode) for episode in left]
    known = [pace * TURNS for pace in seconds if pace is not None]
    cells = {(episode.cell.slug, episode.arm.identity.slug) for episode in episodes}
    return Outlook(study, len(cells), len(episodes), len(episodes) - len(left), sum(map(_calls, left)),
                   sum(known) if len(known) == len(seconds) else None)


def probe_outlook(plan: ProbePlan, model: str, *, runs: Path, book: PaceBook) -> Outlook:
    """Size and state of a trap-turn probe; an episode is one that is asked again, and a call takes a raw turn's time.

    Parameters
    ----------
    plan, model, runs, book
        As for `outlook`.

    Raises
    ------
    RequestError
        When there is nothing to ask again.
    """
    episodes = plan.episodes(model)
    left = [episode for episode in episodes if not has_ended(runs / plan.study / f"{episode.name}{PROBE_UNPACKED}")]
    cells = {episode.log.header.cell.slug for episode in episodes}
    paces = [book.seconds_per_turn(EpisodePlan(episode.log.header.cell, ArmSpec(RAW), episode.log.header.seed))
             for episode in left]
    known = [pace * plan.calls([episode]) for pace, episode in zip(paces, left, strict=True) if pace is not None]
    return Outlook(plan.study, len(cells), len(episodes), len(episodes) - len(left), plan.calls(left),
                   sum(known) if len(known) == len(left) else None)


def _calls(episode: EpisodePlan) -> int:
    cell, options = episode.cell, episode.arm.options
    compiles = matches = 0
    asking = load_prompts(cell.prompts).asking
    is_gate = "state" in ARMS[episode.arm.name].takes
    if is_gate and options.state == "compiled":
        compiles = (1 if asking.compile == "plan" else cell.size) + (1 if asking.revise == "whole" else _REVISION_PARTS)
    asks = cell.size - (cell.size >= SMALLEST_REVISED)
    if (is_gate or options.matched_line) and options.matcher == "model":
        probes = ScheduleVariant.parse(cell.schedule).ambiguous * asks
        turns = TURNS if options.match_every_turn else asks + sum(trap_budget(cell.size).values()) + probes
        matches = round(turns * (1 if asking.match == "joint" else 2))
    return TURNS + compiles + matches + round(_MEMORY_CALLS.get(episode.arm.name, 0) * TURNS)
