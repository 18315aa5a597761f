"""Whether logs are as they were written: every line against its checksum, every log against its own episode."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from artifact.errors import RequestError
from artifact.log.reader import PACKED, NotBegun, log_files, read_episode, read_packed


@dataclass(frozen=True)
class Verification:
    """What a check of logs found.

    Parameters
    ----------
    findings : tuple of str
        One sentence for each damaged file.
    sealed : int
        Episodes that are as they were written.
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
    for path in log_files(paths):
        try:
            for log in read_packed(path) if path.name.endswith(PACKED) else [read_episode(path)]:
                sealed += log.is_sealed
                unsealed += not log.is_sealed
        except NotBegun:
            continue
        except RequestError as error:
            findings.append(str(error))
    return Verification(tuple(findings), sealed, unsealed)
