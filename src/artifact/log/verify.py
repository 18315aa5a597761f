"""Whether logs are as they were written: every line against its checksum, every log against its own episode."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import RequestError
from artifact.log.assembly import EpisodeLog
from artifact.log.lines import PACKED, NotBegun
from artifact.log.probe_reader import is_probe_log, probe_files, read_packed_probes, read_probe
from artifact.log.probes import ProbeLog
from artifact.log.reader import holds_episode_logs, log_files, read_episode, read_packed


@dataclass(frozen=True)
class Verification:
    """What a check of logs found.

    Parameters
    ----------
    findings : tuple of str
        One sentence for each damaged file.
    sealed : int
        Episodes, and probes of episodes, that are as they were written.
    unsealed : int
        Episodes that don't contradict themselves, but have no checksums: an earlier version wrote them.
    """

    findings: tuple[str, ...]
    sealed: int
    unsealed: int


def verify_logs(paths: Iterable[Path]) -> Verification:
    """Check logs, packed or not.

    Parameters
    ----------
    paths : iterable of Path
        Log files and folders of them.

    Raises
    ------
    RequestError
        When a path names no log.
    """
    findings, sealed, unsealed = [], 0, 0
    named = list(map(Path, paths))
    probes = probe_files(named)
    others = [path for path in named
              if not is_probe_log(path) and (not probes or not path.is_dir() or holds_episode_logs(path))]
    for path in (*log_files(others), *probes):
        try:
            for log in _logs(path):
                sealed += log.is_sealed
                unsealed += not log.is_sealed
        except NotBegun:
            continue
        except RequestError as error:
            findings.append(str(error))
    return Verification(tuple(findings), sealed, unsealed)


def _logs(path: Path) -> Iterable[EpisodeLog | ProbeLog]:
    if path.name.endswith(PACKED):
        return read_packed_probes(path) if is_probe_log(path) else read_packed(path)
    return [read_probe(path) if is_probe_log(path) else read_episode(path)]
