"""Flushing: who waits has it on the disk, all that falls due together goes together, and a disk that refuses says so."""

import asyncio
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from artifact.arms import ArmSpec
from artifact.errors import InfrastructureError
from artifact.log import flush
from artifact.log.flush import Flusher
from artifact.log.records import EndReason, EndRecord, Message
from artifact.log.writer import EpisodeWriter
from artifact.models.base import Reply
from artifact.models.scripted import scripted_model
from artifact.runner import StudyPlan, run_study_async

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Stands between the flusher and the real disk: notes each flush, and refuses when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, whole: bool) -> None:
        self.flushed: list[int] = []
        self.synced = 0
        self.refuses = False
        self._fsync, self._sync = os.fsync, flush._sync_file_system
        monkeypatch.setattr(os, "fsync", self._one)
        monkeypatch.setattr(flush, "_sync_file_system", self._all if whole else None)

    def _one(self, descriptor: int) -> None:
        self.flushed.append(descriptor)
        if self.refuses:
            raise FULL
        self._fsync(descriptor)

    def _all(self, descriptor: int) -> None:
        self.synced += 1
        if self.refuses:
            raise FULL
        if self._sync is not None:
            self._sync(descriptor)


def writers(folder: Path, flusher: Flusher, number: int) -> list[EpisodeWriter]:
    return [EpisodeWriter(folder / f"{n}.jsonl", flusher=flusher) for n in range(number)]


def record(turns: int = 0) -> EndRecord:
    return EndRecord(EndReason.COMPLETED, turns)


@pytest.mark.parametrize("whole", [True, False])
def test_whoever_waited_for_a_flush_had_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    disk = Disk(monkeypatch, whole=whole)

    async def talk(writer: EpisodeWriter) -> None:
        for turn in range(5):
            writer.write(record(turn))
            before = disk.synced + len(disk.flushed)
            await writer.flushed()
            assert disk.synced + len(disk.flushed) > before

    async def run() -> None:
        with Flusher(tmp_path) as flusher:
            await asyncio.gather(*map(talk, writers(tmp_path, flusher, 8)))
    asyncio.run(run())
    assert [path.read_bytes().count(b"\n") for path in sorted(tmp_path.iterdir())] == [5] * 8


def test_what_falls_due_in_one_tick_is_flushed_by_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, whole=True)

    async def run() -> None:
        with Flusher(tmp_path) as flusher:
            due = writers(tmp_path, flusher, 32)
            for writer in due:
                writer.write(record())
            await asyncio.gather(*(writer.flushed() for writer in due))
    asyncio.run(run())
    assert (disk.synced, disk.flushed) == (1, [])


def test_a_single_log_is_flushed_by_itself_and_only_when_there_is_something_to_flush(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, whole=True)

    async def run() -> None:
        with Flusher(tmp_path) as flusher:
            (writer,) = writers(tmp_path, flusher, 1)
            writer.write(record(1))
            writer.write(record(2))
            await writer.flushed()
            await writer.flushed()
    asyncio.run(run())
    assert (disk.synced, len(disk.flushed)) == (0, 1)


@pytest.mark.parametrize("whole", [True, False])
def test_a_disk_that_refuses_says_so_and_leaves_what_was_acknowledged(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    disk = Disk(monkeypatch, whole=whole)

    async def run() -> None:
        with Flusher(tmp_path) as flusher:
            due = writers(tmp_path, flusher, 2)
            for writer in due:
                writer.write(record(1))
            await asyncio.gather(*(writer.flushed() for writer in due))
            disk.refuses = True
            for writer in due:
                writer.write(record(2))
                writer.write(record(3))
            refusals = await asyncio.gather(*(writer.flushed() for writer in due), return_exceptions=True)
            assert all(isinstance(refusal, InfrastructureError) for refusal in refusals)
            assert all("make room" in str(refusal) for refusal in refusals)
    asyncio.run(run())
    for path in tmp_path.iterdir():
        (line,) = path.read_bytes().splitlines()
        assert b'"turns":1' in line


def test_a_conversation_that_is_cancelled_leaves_the_others_their_flush(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, whole=True)

    async def wait(writer: EpisodeWriter) -> None:
        writer.write(record())
        try:
            await writer.flushed()
        finally:
            writer.close()

    async def run() -> None:
        with Flusher(tmp_path) as flusher:
            gone, *others = [asyncio.create_task(wait(writer)) for writer in writers(tmp_path, flusher, 4)]
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(*others)
            assert gone.cancelled()
    asyncio.run(run())


class Watching:
    """A scripted model that notes, at each call, how often the disk had been flushed by then."""

    def __init__(self, disk: Disk) -> None:
        self.inner, self.disk, self.seen = scripted_model("always-book"), disk, list[int]()
        self.name = self.inner.name

    def identity(self) -> dict[str, Any]:
        return self.inner.identity()

    async def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        self.seen.append(len(self.disk.flushed))
        return await self.inner.complete(messages, **options)

    async def close(self) -> None:
        pass


def test_no_call_is_sent_before_the_turn_before_it_is_on_the_disk(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, whole=True)
    model = Watching(disk)
    plan = StudyPlan("t", model.name, sizes=(5,), seeds=(100,), arms=(ArmSpec("raw"),))
    asyncio.run(run_study_async(plan, runs=tmp_path, model=model))
    assert model.seen == list(range(44))
    assert len(disk.flushed) == 45, "the end is flushed as well"
