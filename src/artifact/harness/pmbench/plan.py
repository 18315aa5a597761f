"""What is to be run of PM-Bench, checked before anything starts."""

from dataclasses import dataclass
from pathlib import Path

from artifact.errors import RequestError
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.scripted import POLICIES
from artifact.harness.pmbench.simulate import MOST_QUERIES
from artifact.harness.pmbench.texts import load_texts


@dataclass(frozen=True)
class WeekPlan:
    """A study: every rung on every week, with every seed.

    Parameters
    ----------
    study : str
        Name of the study, and of its folder.
    model : str
        The agent: a model by name or URL, or ``scripted:POLICY``.
    rungs : tuple of Rung
        The couplings.
    weeks : tuple of int
        Seeds of generated weeks.
    week_file : Path or None
        A week file, run instead of generated weeks.
    seeds : tuple of int
        Runs of each week.
    temperature : float
        Of the agent.
    prompts : str
        The prompt set.
    history_is_daily : bool
        Whether each morning begins a new conversation.
    most_queries : int
        Queries that are answered in a step.
    """

    study: str
    model: str
    rungs: tuple[Rung, ...] = tuple(Rung)
    weeks: tuple[int, ...] = (0,)
    week_file: Path | None = None
    seeds: tuple[int, ...] = (0,)
    temperature: float = 0.0
    prompts: str = "paper"
    history_is_daily: bool = False
    most_queries: int = MOST_QUERIES

    def __post_init__(self) -> None:
        if not self.study or not all(c.isalnum() or c in "-_" for c in self.study):
            raise RequestError(f"the study name {self.study!r} can't be a folder name; use letters, digits, - and _")
        if self.policy is not None and self.policy not in POLICIES:
            raise RequestError(f"the harness pmbench has no scripted agent {self.policy!r}; it has "
                               f"{', '.join(f'scripted:{name}' for name in POLICIES)}")
        if not 0 <= self.temperature <= 2:
            raise RequestError(f"--temperature {self.temperature:g} is out of range; use 0 to 2")
        if self.most_queries < 1:
            raise RequestError("--max-queries must be at least 1")
        for what, values in (("arms", self.rungs), ("seeds", self.seeds), ("weeks", self.weeks)):
            if len(set(values)) != len(values):
                raise RequestError(f"the {what} of a study must differ from each other; one is named twice")
        if self.temperature == 0 and len(self.seeds) > 1:
            raise RequestError("runs at temperature 0 are all the same; give one seed, or --temperature 0.7")
        load_texts(self.prompts)

    @property
    def policy(self) -> str | None:
        """The scripted agent's policy, None for a model."""
        scheme, colon, rest = self.model.partition(":")
        return rest if colon and scheme == "scripted" else None
