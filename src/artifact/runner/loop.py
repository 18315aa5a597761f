"""Asynchronous work from code that is not asynchronous, in a notebook too, where a loop is already running."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, where a loop is running already in a thread of its own."""
    def run() -> T:
        return asyncio.run(start())

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()
