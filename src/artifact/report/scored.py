"""Logs to verdicts: the two data frames that everything in the report is computed from.

Invariant: an episode is counted once. Where a run lies both among the released logs and under ``runs/``, the
copy that is read first stands; released logs come first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from artifact import paths
from artifact.errors import RequestError
from artifact.log import EpisodeLog, iter_logs
from artifact.log.reader import holds_episode_logs
from artifact.report.ladder import Configuration
from artifact.scorer import score_frames

_NO_LOGS = score_frames([])


@dataclass(frozen=True)
class Header:
    """What one episode was measured on, from the first record of its log.

    Parameters
    ----------
    study, cell, arm, seed
        Which episode.
    configuration : Configuration
        The cell, as in the tables.
    model, state_model : dict
        What the backends said of themselves.
    prompts_sha256 : str
        Hash of the prompt set.
    package, sampling : dict
        Version and commit of the package; temperature and budgets.
    """

    study: str
    cell: str
    arm: str
    seed: int
    configuration: Configuration
    model: dict[str, Any]
    state_model: dict[str, Any]
    prompts_sha256: str
    package: dict[str, Any]
    sampling: dict[str, Any]


@dataclass(frozen=True)
class ScoredLogs:
    """Scored logs.

    Parameters
    ----------
    episodes, turns : DataFrame
        One row an episode and one row a turn, as the scorer gives them; `turns` has the column ``study`` too.
    headers : tuple of Header
        What each episode was measured on, in the order in which the logs were read.
    duplicates : int
        Episodes that were read a second time and left out.
    compiles, omissions, corruptions : DataFrame
        What the offline analyses find: one row a compiled state, an omission, a corrupted episode.
    """

    episodes: pd.DataFrame
    turns: pd.DataFrame
    headers: tuple[Header, ...] = ()
    duplicates: int = 0
    compiles: pd.DataFrame = field(default_factory=lambda: _NO_LOGS.compiles)
    omissions: pd.DataFrame = field(default_factory=lambda: _NO_LOGS.omissions)
    corruptions: pd.DataFrame = field(default_factory=lambda: _NO_LOGS.corruptions)

    def of_study(self, study: str | None) -> "ScoredLogs":
        """The part that belongs to one study; everything for None.

        Raises
        ------
        RequestError
            When there is no such study among the logs.
        """
        if study is None:
            return self
        known = sorted(set(self.episodes["study"]))
        if study not in known:
            raise RequestError(f"there are no logs of study {study!r}; the studies at hand are "
                               f"{', '.join(known) or 'none'}")
        def mine(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[frame["study"] == study].reset_index(drop=True)
        return ScoredLogs(mine(self.episodes), mine(self.turns),
                          tuple(header for header in self.headers if header.study == study), self.duplicates,
                          mine(self.compiles), mine(self.omissions), mine(self.corruptions))


def log_sources(names: Sequence[str] = ()) -> tuple[Path, ...]:
    """Folders and files of logs by name.

    Parameters
    ----------
    names : sequence of str
        Paths, relative to the root of the checkout. None means the released logs and the runs of this machine.

    Returns
    -------
    tuple of Path
        In the order given. The two default folders are left out where they hold no logs, since a fresh checkout
        has no runs; anything else must exist, see `artifact.log.log_files`.
    """
    chosen = [paths.ROOT / name for name in names] if names else [paths.RELEASED_LOGS, paths.RUNS]
    return tuple(path for path in chosen if path not in (paths.RELEASED_LOGS, paths.RUNS) or holds_episode_logs(path))


def load_scored(sources: Iterable[Path] | None = None) -> ScoredLogs:
    """Score all logs of some files and folders.

    Parameters
    ----------
    sources : iterable of Path, optional
        Where the logs lie, the ones that win first; `log_sources()` when not given.
    """
    chosen = log_sources() if sources is None else tuple(sources)
    seen: set[tuple[str, str, str, str, int]] = set()
    headers: list[Header] = []
    duplicates = 0

    def once(logs: Iterable[EpisodeLog]) -> Iterator[EpisodeLog]:
        nonlocal duplicates
        for log in logs:
            if log.key in seen:
                duplicates += 1
                continue
            seen.add(log.key)
            headers.append(_header(log))
            yield log

    scored = [_NO_LOGS._replace(turns=_NO_LOGS.turns.assign(study=pd.Series(dtype="str")))]
    for study, logs in groupby(once(iter_logs(chosen)), key=lambda log: log.header.study):
        frames = score_frames(logs)
        scored.append(frames._replace(turns=frames.turns.assign(study=study)))
    episode = ["study", "cell", "arm", "options", "seed"]
    return ScoredLogs(
        _joined([frames.episodes for frames in scored], episode),
        _joined([frames.turns for frames in scored], [*episode, "turn"]), tuple(headers), duplicates,
        _joined([frames.compiles for frames in scored], episode),
        _joined([frames.omissions for frames in scored], [*episode, "turn"]),
        _joined([frames.corruptions for frames in scored], episode))


def find_logs(
    sources: Iterable[Path], *, study: str, cell: str, seed: int, arms: tuple[str, ...],
) -> tuple[EpisodeLog, ...]:
    """The completed logs of one seed of one ladder, in the order of `arms`, main options only."""
    found: dict[str, EpisodeLog] = {}
    for log in iter_logs(sources):
        header = log.header
        if (header.study, header.cell.slug, header.seed) == (study, cell, seed) and not header.arm.options:
            found.setdefault(header.arm.name, log)
    return tuple(found[arm] for arm in arms if arm in found)


def _header(log: EpisodeLog) -> Header:
    header, cell = log.header, log.header.cell
    configuration = Configuration(header.study, cell.model, cell.state_model, cell.size, cell.density, cell.domain,
                                  cell.brief.value, cell.regime, cell.prompts, cell.schedule, cell.slug)
    return Header(header.study, cell.slug, header.arm.text, header.seed, configuration, header.model,
                  header.state_model, header.prompts_sha256, header.package, header.sampling)


def _joined(frames: list[pd.DataFrame], order: list[str]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(filled, ignore_index=True).sort_values(order, kind="stable").reset_index(drop=True)
