"""Flushing: who waits has it on the disk, what falls due together goes together, and a disk that refuses says so."""

import asyncio
import errno
import os
import threading
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

TOGETHER = 8
PATIENCE_S = 60


class Disk:
    """Stands between the flusher and the real disk: notes what each file held when it was flushed, and may refuse."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.refuses = False
        self.gate: threading.Barrier | None = None
        self._flush = flush._flush
        monkeypatch.setattr(flush, "_flush", self)

    def __call__(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if self.gate is not None:
            self.gate.wait(PATIENCE_S)
        if self.refuses:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._flush(descriptor)
        self.sizes.append(size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def writers(folder: Path, flusher: Flusher, number: int) -> list[EpisodeWriter]:
    return [EpisodeWriter(folder / f"{n}.jsonl", flusher=flusher) for n in range(number)]


def record(turns: int = 0) -> EndRecord:
    return EndRecord(EndReason.COMPLETED, turns)


def test_whoever_waited_for_a_flush_had_it(tmp_path: Path, disk: Disk) -> None:
    async def talk(writer: EpisodeWriter, digits: int) -> None:
        for turn in range(5):
            writer.write(record(10 ** digits + turn))  # sizes that no other log has
            await writer.flushed()
            assert writer.path.stat().st_size in disk.sizes

    async def run() -> None:
        with Flusher() as flusher:
            await asyncio.gather(*map(talk, writers(tmp_path, flusher, 8), range(8)))
    asyncio.run(run())
    assert [path.read_bytes().count(b"\n") for path in sorted(tmp_path.iterdir())] == [5] * 8


def test_what_falls_due_in_one_tick_is_flushed_at_the_same_time(tmp_path: Path, disk: Disk) -> None:
    disk.gate = threading.Barrier(TOGETHER)  # nobody gets through before so many are there

    async def run() -> None:
        with Flusher() as flusher:
            due = writers(tmp_path, flusher, 4 * TOGETHER)
            for writer in due:
                writer.write(record())
            await asyncio.gather(*(writer.flushed() for writer in due))
    asyncio.run(run())
    assert len(disk.sizes) == 4 * TOGETHER


def test_two_records_of_one_log_take_one_flush_and_none_takes_none(tmp_path: Path, disk: Disk) -> None:
    async def run() -> None:
        with Flusher() as flusher:
            (writer,) = writers(tmp_path, flusher, 1)
            writer.write(record(1))
            writer.write(record(2))
            await writer.flushed()
            await writer.flushed()
    asyncio.run(run())
    assert disk.sizes == [(tmp_path / "0.jsonl").stat().st_size]


@pytest.mark.parametrize("number", [1, 3])
def test_a_disk_that_refuses_says_so_and_leaves_what_was_acknowledged(tmp_path: Path, disk: Disk, number: int) -> None:
    async def run() -> None:
        with Flusher() as flusher:
            due = writers(tmp_path, flusher, number)
            for writer in due:
                writer.write(record(1))
            await asyncio.gather(*(writer.flushed() for writer in due))
            disk.refuses = True
            for writer in due:
                writer.write(record(2))
                writer.write(record(3))
            refusals = await asyncio.gather(*(writer.flushed() for writer in due), return_exceptions=True)
            assert [type(refusal) for refusal in refusals] == [InfrastructureError] * number
            assert all("make room" in str(refusal) for refusal in refusals)
            disk.refuses = False
            for writer in due:
                writer.write(record(4))
                await writer.flushed()
    asyncio.run(run())
    for path in tmp_path.iterdir():
        assert [end.turns for end in EpisodeWriter(path).recorded if isinstance(end, EndRecord)] == [1, 4]


def test_a_conversation_that_is_cancelled_leaves_the_others_their_flush(tmp_path: Path, disk: Disk) -> None:
    async def wait(writer: EpisodeWriter) -> None:
        writer.write(record())
        try:
            await writer.flushed()
        finally:
            writer.close()

    async def run() -> None:
        with Flusher() as flusher:
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
        self.seen.append(len(self.disk.sizes))
        if len(self.seen) > 1 and self.disk.gate is not None:  # the disk waits for this call, so it can't wait for it
            await asyncio.to_thread(self.disk.gate.wait, PATIENCE_S)
        return await self.inner.complete(messages, **options)

    async def close(self) -> None:
        pass


def run_raw(model: Watching, folder: Path) -> None:
    plan = StudyPlan("t", model.name, sizes=(5,), seeds=(100,), arms=(ArmSpec("raw"),))
    asyncio.run(run_study_async(plan, runs=folder, model=model))


def test_no_call_is_sent_before_all_turns_but_the_last_are_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    model = Watching(disk)
    run_raw(model, tmp_path)
    assert len(model.seen) == 44
    assert all(flushed >= call - 1 for call, flushed in enumerate(model.seen))
    (log,) = tmp_path.glob("t/**/100.jsonl")
    assert disk.sizes[-1] == log.stat().st_size, "the end is flushed as well"


def test_a_call_does_not_wait_for_the_turn_before_it_to_be_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    model = Watching(disk)
    disk.gate = threading.Barrier(2, action=lambda: setattr(disk, "gate", None))
    run_raw(model, tmp_path)
    assert model.seen[:2] == [0, 0]
