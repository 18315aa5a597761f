"""What a trap-turn probe is to ask again, checked before anything starts; and the seed of each sample (Table 3)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import RequestError
from artifact.log.probes import ProbeVariant
from artifact.runner.budgets import Regime
from artifact.runner.plan import check_study_name
from artifact.runner.trap_turns import TrapEpisode, trap_episodes

TRAP_PROBE = "trap_probe"
SAMPLES = 8  # Table 3
SMOKE_SAMPLES = 2


@dataclass(frozen=True)
class ProbePlan:
    """What is asked again.

    Parameters
    ----------
    model : str
        The agent, as in `StudyPlan`; logs of others are passed over.
    sources : tuple of Path
        Episode logs and folders of them.
    study : str
        Name of the study, and of its folder under ``runs/``.
    seeds : tuple of int or None
        These episodes only; None for all.
    regime : str
        The agent's regime; logs of another are passed over.
    samples : int
        Sampled replies a variant.
    sampling_seed : int
        Every sample's own seed is drawn from it.
    """

    model: str
    sources: tuple[Path, ...]
    study: str = TRAP_PROBE
    seeds: tuple[int, ...] | None = None
    regime: Regime = "no_think"
    samples: int = SAMPLES
    sampling_seed: int = 0

    def __post_init__(self) -> None:
        check_study_name(self.study)
        if not self.sources:
            raise RequestError("the trap-turn probe asks logged conversations again; name raw-arm logs with --from, "
                               "for instance data/logs/ladder")
        if self.samples < 1:
            raise RequestError(f"{self.samples} samples a variant show nothing; use 1 or more")

    def episodes(self, model: str) -> list[TrapEpisode]:
        """The episodes with trap turns, the model named as it names itself."""
        return trap_episodes(self.sources, model=model, regime=self.regime, seeds=self.seeds)

    def calls(self, episodes: Sequence[TrapEpisode]) -> int:
        """Model calls that the probe of these episodes takes."""
        return sum(len(episode.traps) for episode in episodes) * len(ProbeVariant) * (self.samples + 1)


def sample_seed(sampling_seed: int, episode_seed: int, turn: int, variant: ProbeVariant, sample: int) -> int:
    """The seed of one sample: its own for every reply, the same on every machine."""
    text = f"{sampling_seed}:{episode_seed}:{turn}:{variant}:{sample}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
