"""Flushing many logs to the disk at once, beside the loop that holds their conversations.

Invariant: whoever waited for a flush has everything on the disk that the file held when it was asked for.

A flush takes milliseconds, most of them for the file system's journal, which is written once for all that is flushed
together. So all that falls due in one tick of the loop, or while the disk is busy, goes together.
"""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType

_Due = list[tuple[int, asyncio.Future[None]]]

_AT_A_TIME = 8
# The size of a file counts as its data; only its times may be lost, where the system tells the difference.
_flush = getattr(os, "fdatasync", os.fsync)


class Flusher:
    """Flushes files in threads; a context manager, for the one loop in which it is entered."""

    def __init__(self) -> None:
        self._due: _Due = []
        self._batches: SimpleQueue[_Due | None] = SimpleQueue()
        self._is_busy = False
        self._thread = threading.Thread(target=self._work, name="flush", daemon=True)

    def __enter__(self) -> "Flusher":
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._batches.put(None)
        self._thread.join()

    def flush(self, descriptor: int) -> asyncio.Future[None]:
        """Have an open file flushed; who awaits what is returned has it on the disk, or the OSError of a refusal."""
        flushed: asyncio.Future[None] = self._loop.create_future()
        self._due.append((descriptor, flushed))
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._hand_over)  # with whatever else falls due in this tick
        return flushed

    def _hand_over(self) -> None:
        batch, self._due = self._due, []
        self._batches.put(batch)

    def _work(self) -> None:
        with ThreadPoolExecutor(_AT_A_TIME, "flush") as pool:
            while (batch := self._batches.get()) is not None:
                descriptors = [descriptor for descriptor, _ in batch]
                if len(descriptors) == 1:
                    outcomes = _flush_all(descriptors)
                else:
                    shares = [descriptors[start::_AT_A_TIME] for start in range(min(_AT_A_TIME, len(descriptors)))]
                    flushed = list(pool.map(_flush_all, shares))
                    outcomes = [flushed[n % _AT_A_TIME][n // _AT_A_TIME] for n in range(len(descriptors))]
                self._loop.call_soon_threadsafe(self._tell, batch, outcomes)

    def _tell(self, batch: _Due, outcomes: list[OSError | None]) -> None:
        for (_, flushed), error in zip(batch, outcomes, strict=True):
            if flushed.cancelled():  # its conversation was, and its file may be closed
                continue
            if error is None:
                flushed.set_result(None)
            else:
                flushed.set_exception(error)
        self._is_busy = bool(self._due)
        if self._is_busy:
            self._hand_over()


def _flush_all(descriptors: list[int]) -> list[OSError | None]:
    """Flush files; for each what kept it from being flushed, if anything did."""
    outcomes: list[OSError | None] = []
    for descriptor in descriptors:
        try:
            _flush(descriptor)
        except OSError as error:
            outcomes.append(error)
        else:
            outcomes.append(None)
    return outcomes
