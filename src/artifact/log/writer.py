"""Writing a log so that nothing is lost (DESIGN §5.3).

Invariant: after kill -9 at any instant the file holds every record that was acknowledged, and at most one torn
line after them, which the next opening cuts off. After a power failure it holds every record that the disk had when
`flushed` came back, or `write` where there is no flusher.
"""

import asyncio
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter

from artifact.errors import InfrastructureError, RequestError
from artifact.log.faults import Fault
from artifact.log.flush import Flusher
from artifact.log.records import RECORD_TYPES, EndReason, EndRecord, Record
from artifact.log.seal import Seal

# What may differ between two runs of the same episode without making it another one.
# A server may have been started anew on another port; what it serves is compared. A source may have been packed since.
_CIRCUMSTANCES = ("started", "package", "model.endpoint", "state_model.endpoint", "source.file")


# Ends that another try may overcome: the model gave no answer. A context that is too small stays so.
TRANSIENT_ENDS = frozenset({EndReason.MODEL_ERROR, EndReason.TIMEOUT})


class Line(Protocol):
    """Anything that is one line of a log: it says which record it is."""

    @property
    def record(self) -> str:
        """The record type, by which a reader knows it."""
        ...


R = TypeVar("R", bound=Line)


@dataclass(frozen=True)
class _State:
    """How far a log has come: its size in bytes, and the checksum over them, which nobody takes further."""

    size: int
    seal: Seal


class LogWriter(Generic[R]):
    """Append-only writer of one log, whose first record is its identity.

    Records that are already in the file are kept: `recorded` gives them back, and writing them again is a
    comparison, not an append. So a resumed run replays what is there and goes on where it stopped.

    Parameters
    ----------
    path : Path
        The log; its folder is made when missing.
    types : mapping of str to TypeAdapter
        The record types that this kind of log has, by name.
    durable : bool
        Flush every record to the disk (fsync) before it counts as written.
    circumstances : tuple of str
        What of the first record may differ between two runs of the same episode.
    flusher : Flusher or None
        Who flushes beside the loop: `write` then returns at once, and the disk has a record when `flushed` says so.

    Raises
    ------
    InfrastructureError
        When the folder can't be written, or the disk is full.
    RequestError
        When the file holds something that is not such a log.
    """

    def __init__(self, path: Path, types: Mapping[str, TypeAdapter[Any]], *, durable: bool = True,
                 circumstances: tuple[str, ...] = _CIRCUMSTANCES, flusher: Flusher | None = None) -> None:
        self.path = path
        self._types, self._durable, self._circumstances = types, durable, circumstances
        self._flusher = flusher if durable else None
        self._flushing: tuple[asyncio.Future[None], _State] | None = None
        self._cursor = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab+", buffering=0)
        except OSError as error:
            raise InfrastructureError(f"{path.parent} can't be written ({error.strerror}); choose another folder "
                                      "with --runs or make this one writable") from None
        self.recorded: tuple[R, ...] = tuple(self._recover())
        self._on_disk = self._state

    def _recover(self) -> list[R]:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):  # a torn last line: what was being written when the run was killed
            self._file.truncate(whole)
        seal = seal_before_last = Seal()
        records = []
        for number, line in enumerate(content[:whole].split(b"\n")[:-1], start=1):
            seal_before_last = seal.copy()
            try:
                seal.take(line)
                kind = orjson.loads(line)["record"]
                records.append(self._types[kind].validate_json(line))
            except (ValueError, KeyError, TypeError):
                raise RequestError(f"line {number} of {self.path} is damaged; move the file away to run this episode "
                                   "anew") from None
        self._state = _State(whole, seal)
        self._before_last = _State(content.rfind(b"\n", 0, max(0, whole - 1)) + 1, seal_before_last)
        return records

    def take_up(self) -> tuple[Fault, ...]:
        """Cut off a last record that ended the episode for want of an answer, so that it can go on.

        To be called when the first record is written: a log of another run is refused before anything is cut off it.
        Gives back the faults that the end told of: they belong into the record that ends the episode for good.
        """
        end = self.recorded[-1] if self.recorded else None
        if not (isinstance(end, EndRecord) and end.reason in TRANSIENT_ENDS):
            return ()
        self._cut(self._before_last)
        self._on_disk = self._before_last
        self.recorded = self.recorded[:-1]
        return end.faults

    def write(self, record: R) -> None:
        """Append one record, or check it against the one that is recorded in its place.

        Raises
        ------
        RequestError
            When the recorded one says something else: another cell, another program.
        InfrastructureError
            When the disk refuses.
        """
        if self._cursor < len(self.recorded):
            self._compare(self.recorded[self._cursor], record)
            self._cursor += 1
            return
        seal = self._state.seal.copy()
        line = seal.close(self._types[record.record].dump_json(record))
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._durable and self._flusher is None:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._cut(self._state)
            raise self._refusal(error) from None
        self._state = _State(self._state.size + len(line), seal)

    async def flush_behind(self) -> None:
        """Begin to flush what was written since the last time, and wait for what was flushed last time.

        So the disk is at most one step behind, and whoever writes needn't wait for it.

        Raises
        ------
        InfrastructureError
            When the disk refuses.
        """
        await self._settle()
        if self._flusher is not None and self._state is not self._on_disk:
            self._flushing = self._flusher.flush(self._file.fileno()), self._state

    async def flushed(self) -> None:
        """Wait until the disk holds everything that was written.

        Raises
        ------
        InfrastructureError
            When the disk refuses.
        """
        await self.flush_behind()
        await self._settle()

    async def _settle(self) -> None:
        if self._flushing is None:
            return
        (flushed, reached), self._flushing = self._flushing, None
        try:
            await flushed
        except OSError as error:  # what was written since isn't on the disk either
            self._cut(self._on_disk)
            raise self._refusal(error) from None
        self._on_disk = reached

    def _cut(self, state: _State) -> None:
        self._file.truncate(state.size)
        self._state = state

    def _refusal(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(f"{self.path} can't be written ({error.strerror}); nothing before is lost: make "
                                   "room and give the same command again")

    def _compare(self, recorded: R, record: R) -> None:
        if recorded == record:
            return
        old, new = (self._types[r.record].dump_python(r, mode="json") for r in (recorded, record))
        ignored = self._circumstances if self._cursor == 0 else ()
        differences = [difference for where, difference in _differences(old, new)
                       if not any(where == name or where.startswith(f"{name}.") for name in ignored)]
        if differences:
            found = "; ".join(differences[:3])
            raise RequestError(f"{self.path} was made by another run than the one asked for ({found}); "
                               "give the study another name with --study, or move the log away")

    def close(self) -> None:
        """Close the file."""
        if self._flushing is not None:
            self._flushing[0].cancel()  # nobody waits for it any more
        self._file.close()


class EpisodeWriter(LogWriter[Record]):
    """Writer of one episode log; see `LogWriter`."""

    def __init__(self, path: Path, *, durable: bool = True, flusher: Flusher | None = None) -> None:
        super().__init__(path, RECORD_TYPES, durable=durable, flusher=flusher)


def _differences(old: Any, new: Any, where: str = "") -> list[tuple[str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted(old.keys() | new.keys()):
            found += _differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
        return found
    return [] if old == new else [(where, f"{where}: {_short(old)} in the log, {_short(new)} now")]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= 40 else text[:37] + "..."

