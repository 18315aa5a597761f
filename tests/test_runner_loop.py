"""Work side by side: each item once, in order, so many at a time; a failure stops the others."""

import asyncio

import pytest

from artifact.runner.loop import run_to_end, side_by_side


def test_each_item_is_worked_on_once_and_no_more_at_a_time_than_asked_for() -> None:
    begun: list[int] = []
    busy: set[int] = set()
    most = 0

    async def work(item: int, worker: int) -> None:
        nonlocal most
        assert worker not in busy
        busy.add(worker)
        most = max(most, len(busy))
        begun.append(item)
        await asyncio.sleep(0)
        busy.discard(worker)

    run_to_end(lambda: side_by_side(range(7), work, at_a_time=3))
    assert begun == list(range(7))
    assert most == 3


def test_where_one_fails_the_others_are_cancelled() -> None:
    cancelled: list[int] = []

    async def work(item: int, worker: int) -> None:
        try:
            await asyncio.sleep(0 if item == 1 else 60)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise
        raise RuntimeError("item 1")

    with pytest.raises(RuntimeError, match="item 1"):
        run_to_end(lambda: side_by_side(range(5), work, at_a_time=3))
    assert sorted(cancelled) == [0, 2]


def test_nothing_to_do_is_done_at_once() -> None:
    async def work(item: int, worker: int) -> None:
        raise AssertionError(item)

    run_to_end(lambda: side_by_side([], work, at_a_time=3))
