"""Which logged episode is drawn as the example: a rule, so that no one picks a pretty one."""

from collections.abc import Iterable
from pathlib import Path

from artifact.errors import RequestError
from artifact.log import EpisodeLog
from artifact.report.ladder import BRIEFS, RUNGS, Configuration, Ladder, capability, ladders
from artifact.report.scored import ScoredLogs, find_logs

ANY_SEED = 0


def example_logs(sources: Iterable[Path], scored: ScoredLogs, seed: int = ANY_SEED) -> tuple[EpisodeLog, ...]:
    """The logs of the example: one episode, weakest rung first.

    The ladder with the most rungs on a shared seed; among equals the amended brief, the most capable agent and
    the smallest graph; of it the lowest seed that all these rungs completed.

    Parameters
    ----------
    sources : iterable of Path
        Where the logs lie.
    scored : ScoredLogs
        The same logs, scored.
    seed : int
        This seed instead of the lowest; 0 for the rule.

    Returns
    -------
    tuple of EpisodeLog
        Empty when there is no completed episode.

    Raises
    ------
    RequestError
        When no ladder has completed this seed.
    """
    candidates = [(ladder, arms, chosen) for ladder in ladders(scored.episodes)
                  for arms, chosen in [_shared(ladder, seed)] if arms]
    if not candidates:
        if seed != ANY_SEED:
            raise RequestError(f"no completed episode has seed {seed}; give another example seed, or {ANY_SEED} for "
                               "the lowest one that all rungs completed")
        return ()
    ladder, arms, chosen = max(candidates, key=lambda candidate: _rank(candidate[0].configuration, len(candidate[1])))
    configuration = ladder.configuration
    return find_logs(sources, study=configuration.study, cell=configuration.cell, seed=chosen, arms=arms)


def _shared(ladder: Ladder, seed: int) -> tuple[tuple[str, ...], int]:
    """The largest set of rungs that completed one seed, and the lowest such seed."""
    completed = {arm: {s for s, success in ladder.by_seed(arm).items() if success is not None} for arm in RUNGS}
    best: tuple[tuple[str, ...], int] = (), seed
    for candidate in sorted(set().union(*completed.values())):
        arms = tuple(arm for arm in RUNGS if candidate in completed[arm])
        if seed in (ANY_SEED, candidate) and len(arms) > len(best[0]):
            best = arms, candidate
    return best


def _rank(configuration: Configuration, arms: int) -> tuple[object, ...]:
    billions, name = capability(configuration.model)
    return arms, configuration.brief == BRIEFS[0], billions, -configuration.size, name, configuration.study
