"""How long turns took: from the first and the last line of each episode log, without reading what lies between."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from artifact.log.lines import log_lines
from artifact.log.reader import is_episode_log
from artifact.log.records import EndReason
from artifact.log.writer import TRANSIENT_ENDS

# A line may end with a checksum of what is before it.
_HEADER = re.compile(rb'"record":"episode"(,"sum":"[0-9a-f]{16}")?}$')
_END = re.compile(rb'"record":"end"(,"sum":"[0-9a-f]{16}")?}$')
_TAIL = 4096


@dataclass(frozen=True)
class Pace:
    """What one completed episode took.

    Parameters
    ----------
    model, state_model, arm : str
        Who answered, and in which arm.
    size : int
        S.
    turns : int
        Turns answered.
    seconds : float
        Wall time.
    """

    model: str
    state_model: str
    arm: str
    size: int
    turns: int
    seconds: float


def paces(folder: Path) -> Iterator[Pace]:
    """The pace of every completed episode in a folder of runs or of released logs; none where there is no folder."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if is_episode_log(path):
            yield from _paces(log_lines(path))


def _paces(lines: Iterable[bytes]) -> Iterator[Pace]:
    cell: dict[str, Any] = {}
    arm = ""
    for line in lines:
        if _HEADER.search(line[-_TAIL:]):
            header = orjson.loads(line)
            cell, arm = header["cell"], header["arm"]["name"]
        elif cell and _END.search(line[-_TAIL:]):
            end = orjson.loads(line)
            if end["reason"] == EndReason.COMPLETED and end["turns"]:
                yield Pace(cell["model"], cell["state_model"], arm, cell["size"], end["turns"], end["seconds"])


def has_ended(path: Path) -> bool:
    """Whether an unpacked log is finished for good: it ended, and not for want of an answer."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    except FileNotFoundError:
        return False
    if not _END.search(last):
        return False
    return orjson.loads(last)["reason"] not in TRANSIENT_ENDS
