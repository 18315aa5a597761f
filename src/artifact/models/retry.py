"""The one retry policy: jittered exponential waits, bounded, for calls that may succeed on another try.

What can't succeed on a second try (context overflow, bad request, unknown model, bad key) is raised at once.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from artifact.log.faults import Fault
from artifact.models.base import ModelError, Reply

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a call is tried (Appendix B.4: six attempts).

    Parameters
    ----------
    attempts : int
        Tries in all.
    first_wait_s, longest_wait_s : float
        Bounds of the exponential wait between tries, in seconds, before jitter.
    longest_retry_after_s : float
        The longest ``Retry-After`` that is honoured in full, in seconds; a longer one is cut to this.
    """

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    longest_retry_after_s: float = 300.0

    async def run(self, attempt: Callable[[], Awaitable[Reply]]) -> Reply:
        """Call `attempt` until it answers, with the faults of earlier tries and the time of all in the reply."""
        started = time.perf_counter()
        reply, faults = await self.persist(attempt)
        return replace(reply, latency_s=time.perf_counter() - started, attempts=len(faults) + 1, faults=faults)

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> tuple[T, tuple[Fault, ...]]:
        """Call `attempt` until it brings something; gives that, and why each try before brought nothing."""
        # The first try is made by hand: tenacity takes as long as the rest of a call over HTTP.
        try:
            return await attempt(), ()
        except ModelError as error:
            failed: ModelError | None = error
        faults: list[Fault] = []

        async def again() -> T:
            nonlocal failed
            try:
                if failed is not None:
                    error, failed = failed, None
                    raise error
                return await attempt()
            except ModelError as error:
                if error.transient:
                    faults.append(error.fault)
                raise

        retrying = AsyncRetrying(stop=stop_after_attempt(self.attempts), wait=self._wait,
                                 retry=retry_if_exception(_is_transient), reraise=True)
        try:
            brought: T = await retrying(again)
        except ModelError as error:
            error.attempts = retrying.statistics.get("attempt_number", 1)
            error.faults = tuple(faults)
            raise
        return brought, tuple(faults)

    def _wait(self, state: RetryCallState) -> float:
        jittered = (wait_exponential(self.first_wait_s, self.longest_wait_s) + wait_random(0, self.first_wait_s))(state)
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, ModelError) and error.retry_after_s else 0.0
        return max(jittered, min(asked, self.longest_retry_after_s))


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.transient
