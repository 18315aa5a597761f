"""A server that is down: said once, waited for by all calls together, given up after a while.

Invariant: while a server is down one call asks after it, however many wait; when it is back all go on by themselves.
Past the limit everything that was answered is kept, and the study ends with what to do.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from artifact.errors import InfrastructureError

OUTAGE_LIMIT_S = 600.0
"""How long a server that is down is waited for, in seconds: time to restart it and load a large model."""

Say = Callable[[str], None]
"""Where a sentence for the person at the terminal goes."""


def say_nothing(sentence: str) -> None:
    """For those who have no terminal."""


class Outage:
    """Waits for one server, for all calls to it.

    Parameters
    ----------
    who : str
        The server, as sentences call it.
    is_back : callable
        Asks the server whether it is ready.
    limit_s : float
        How long it is waited for, in seconds.
    say : callable
        Told in a sentence when the server is found to be down, and when it is back.
    """

    def __init__(self, who: str, is_back: Callable[[], Awaitable[bool]], *, limit_s: float = OUTAGE_LIMIT_S,
                 say: Say = say_nothing) -> None:
        self._who = who
        self._is_back = is_back
        self._limit_s = limit_s
        self._say = say
        self._since: float | None = None
        self._times_back = 0
        self._asking = asyncio.Lock()

    @property
    def is_on(self) -> bool:
        """Whether the server is known to be down."""
        return self._since is not None

    async def wait_out(self, why: str) -> None:
        """Return once the server is ready, which it may be already.

        Parameters
        ----------
        why : str
            What made the caller think that it is down.

        Raises
        ------
        InfrastructureError
            It isn't back within the limit.
        """
        times_back = self._times_back
        async with self._asking:
            if self._times_back != times_back:  # another call saw it come back meanwhile
                return
            await self._ask_until_back(why)
            self._since = None
            self._times_back += 1

    async def _ask_until_back(self, why: str) -> None:
        pause = 0.1
        while not await self._is_back():
            now = time.monotonic()
            if self._since is None:
                self._since = now
                self._say(f"{self._who} is down ({why}); waiting up to {self._limit_s:g} s for it, start it again to "
                          "go on")
            if now - self._since + pause > self._limit_s:
                raise InfrastructureError(f"{self._who} has been down for {now - self._since:.0f} s; start it and give "
                                          "the same command again to go on, everything answered until now is kept")
            await asyncio.sleep(pause)
            pause = min(2 * pause, 5.0)
        if self._since is not None:
            self._say(f"{self._who} is back after {time.monotonic() - self._since:.0f} s; going on")
