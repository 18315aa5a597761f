"""Many items of a harness: concurrency, resume, progress, one log an item.

Invariant: after kill -9 at any instant the same command goes on, and the finished log says what an uninterrupted
run would have said.
"""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from artifact import paths
from artifact.harness.protocol import Harness, Item, Journal
from artifact.harness.reader import record_types
from artifact.harness.records import SUFFIX
from artifact.log.faults import Fault
from artifact.log.records import EndRecord
from artifact.log.writer import LogWriter
from artifact.runner.batch import RunSummary
from artifact.runner.lock import study_lock
from artifact.runner.loop import run_to_end, side_by_side
from artifact.runner.progress import Progress

# A server may have been started anew on another port; what it serves is compared.
_CIRCUMSTANCES = ("started", "package", *(f"models.{role}.endpoint" for role in ("agent", "state", "user")))


async def run_harness(harness: Harness, study: str, *, runs: Path = paths.RUNS, concurrency: int = 1,
                      durable: bool = True, progress: Progress | None = None) -> RunSummary:
    """Run what is missing of a study in a harness, and close the harness.

    Parameters
    ----------
    harness : Harness
        The world and its items.
    study : str
        Name of the study; logs go to ``runs/<study>/<cell>/<arm>/<item>.<seed>.harness.jsonl``.
    runs : Path
        Folder of the runs.
    concurrency : int
        Items at a time.
    durable : bool
        Flush each record to the disk before going on.
    progress : Progress or None
        Where progress is shown; None shows none.

    Raises
    ------
    RequestError, InfrastructureError
        What keeps the study from going on; everything until then is kept.
    """
    shown = progress or Progress.silent()
    folder = runs / study
    ended: Counter[str] = Counter()
    faults: Counter[Fault] = Counter()
    run_now = 0
    try:
        with study_lock(folder):
            await harness.open(folder)
            items = harness.items()

            async def one(item: Item, _: int) -> None:
                nonlocal run_now
                end, fresh = await _run_one(harness, item, folder, durable)
                ended[end.reason] += 1
                faults.update(end.faults)
                run_now += fresh
                shown.finished(item.label, end, fresh)

            with shown.over(len(items)):
                await side_by_side(items, one, at_a_time=concurrency)
    finally:
        await harness.close()
    return RunSummary(study, folder, dict(sorted(ended.items())), run_now, dict(sorted(faults.items())))


def run_study_in(harness: Harness, study: str, *, runs: Path = paths.RUNS, concurrency: int = 1,
                 durable: bool = True) -> RunSummary:
    """Run what is missing of a study in a harness, with progress, from code that is not asynchronous."""
    return run_to_end(lambda: run_harness(harness, study, runs=runs, concurrency=concurrency, durable=durable,
                                          progress=Progress.shown()))


async def _run_one(harness: Harness, item: Item, folder: Path, durable: bool) -> tuple[EndRecord, bool]:
    path = folder / item.cell.slug / item.arm.slug / f"{item.name}.{item.seed}{SUFFIX}"
    writer: LogWriter[Any] = LogWriter(path, record_types(harness.record_types), durable=durable,
                                       circumstances=_CIRCUMSTANCES)
    try:
        writer.write(harness.header(item))
        given_up = writer.take_up()
        recorded = writer.recorded
        if recorded and isinstance(recorded[-1], EndRecord):
            return recorded[-1], False
        started = time.monotonic()
        end = await harness.run_one(item, Journal(tuple(recorded[1:]), writer.write))
        seconds = end.seconds + time.monotonic() - started
        end = replace(end, seconds=round(seconds, 3), faults=(*given_up, *end.faults))
        writer.write(end)
        return end, True
    finally:
        writer.close()
