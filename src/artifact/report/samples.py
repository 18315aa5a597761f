"""The completed episodes of one arm with its options on one configuration, with their turns and findings."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from artifact.report.ladder import MAIN_OPTIONS, Configuration, configuration_of, order
from artifact.report.scored import ScoredLogs


@dataclass(frozen=True)
class Sample:
    """One arm on one configuration.

    Parameters
    ----------
    configuration : Configuration
        What it ran on.
    arm, options : str
        The arm and its options, as in the frames.
    episodes, turns, compiles, omissions, corruptions : DataFrame
        Of its completed episodes.
    """

    configuration: Configuration
    arm: str
    options: str
    episodes: pd.DataFrame
    turns: pd.DataFrame
    compiles: pd.DataFrame
    omissions: pd.DataFrame
    corruptions: pd.DataFrame

    @property
    def n(self) -> int:
        """Completed episodes."""
        return len(self.episodes)

    @property
    def strict_by_seed(self) -> dict[int, bool | None]:
        """Seed -> strict success."""
        return {int(seed): bool(strict) for seed, strict in zip(self.episodes["seed"], self.episodes["strict"],
                                                                strict=True)}

    def on(self, seeds: Collection[int]) -> "Sample":
        """The part of it that ran on some seeds."""
        def mine(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[frame["seed"].isin(seeds)]
        return replace(self, episodes=mine(self.episodes), turns=mine(self.turns), compiles=mine(self.compiles),
                       omissions=mine(self.omissions), corruptions=mine(self.corruptions))


def samples(scored: ScoredLogs, *, arms: tuple[str, ...] = (), options: str | None = MAIN_OPTIONS) -> Iterator[Sample]:
    """The samples of some arms, configuration by configuration, arms in the order given.

    Parameters
    ----------
    scored : ScoredLogs
        Scored logs.
    arms : tuple of str
        The arms; every arm when empty.
    options : str or None
        Their options; None for any.
    """
    episodes = scored.episodes
    chosen = episodes[episodes["completed"].astype(bool)]
    if options is not None:
        chosen = chosen[chosen["options"] == options]
    if arms:
        chosen = chosen[chosen["arm"].isin(arms)]
    groups = {}
    for (study, cell, arm, given), group in chosen.groupby(["study", "cell", "arm", "options"], sort=True):
        groups[configuration_of(group.iloc[0]), str(arm), str(given)] = (group, (study, cell, arm, given))
    rank = {arm: index for index, arm in enumerate(arms)}
    for key in sorted(groups, key=lambda key: (order(key[0]), rank.get(key[1], len(rank)), key[1], key[2])):
        group, names = groups[key]
        seeds = set(group["seed"])
        yield Sample(*key, group, *(_of(frame, names, seeds) for frame in _findings(scored)))


def sample(scored: ScoredLogs, configuration: Configuration, arm: str, options: str = MAIN_OPTIONS) -> Sample:
    """The sample of one arm on one configuration; empty when it was not run."""
    names = (configuration.study, configuration.cell, arm, options)
    completed = scored.episodes[scored.episodes["completed"].astype(bool)]
    episodes = _of(completed, names, set(completed["seed"]))
    found = [_of(frame, names, set(episodes["seed"])) for frame in _findings(scored)]
    return Sample(configuration, arm, options, episodes, *found)


def _findings(scored: ScoredLogs) -> tuple[pd.DataFrame, ...]:
    return scored.turns, scored.compiles, scored.omissions, scored.corruptions


def _of(frame: pd.DataFrame, names: tuple[object, ...], seeds: set[int]) -> pd.DataFrame:
    mine = frame["seed"].isin(seeds)
    for column, name in zip(("study", "cell", "arm", "options"), names, strict=True):
        mine &= frame[column] == name
    return frame[mine]
