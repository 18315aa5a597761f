"""Progress with time left: a bar on a terminal, a plain line per finished episode elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from tqdm import tqdm

from artifact.log.records import EndReason, EndRecord


class Progress:
    """Shows how far a run is.

    Parameters
    ----------
    line : callable or None
        Prints one line; None prints nothing.
    bar : bool
        Draw a bar and print no lines.
    """

    def __init__(self, line: Callable[[str], None] | None, bar: bool) -> None:
        self._line, self._bar_wanted = line, bar
        self._bar: tqdm | None = None
        self._total = self._done = self._fresh = 0
        self._started = 0.0

    @classmethod
    def silent(cls) -> "Progress":
        """Show nothing."""
        return cls(None, bar=False)

    @classmethod
    def shown(cls) -> "Progress":
        """A bar on a terminal, lines elsewhere."""
        return cls(lambda text: tqdm.write(text, file=sys.stderr), bar=sys.stderr.isatty())

    @contextlib.contextmanager
    def over(self, total: int) -> Iterator[None]:
        """Count `total` episodes from here on."""
        self._total, self._done, self._fresh, self._started = total, 0, 0, time.monotonic()
        if self._bar_wanted:
            self._bar = tqdm(total=total, unit="episode", dynamic_ncols=True)
        try:
            yield
        finally:
            if self._bar is not None:
                self._bar.close()

    def say(self, sentence: str) -> None:
        """Say something that a person has to know, beside the bar or among the lines."""
        if self._line is not None:
            self._line(sentence)

    def turn(self, name: str, turns: int) -> None:
        """One more turn of an episode is answered."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"{name.split('/', 1)[1]} turn {turns}", refresh=True)

    def finished(self, name: str, end: EndRecord, fresh: bool) -> None:
        """An episode has ended, now (`fresh`) or in an earlier run."""
        self._done += 1
        self._fresh += fresh
        if self._bar is not None:
            self._bar.update()
        elif self._line is not None and fresh:
            outcome = "" if end.reason is EndReason.COMPLETED else f", {end.reason}: {end.detail}"
            self._line(f"[{self._done}/{self._total}] {name}: {end.turns} turns in {end.seconds:.0f} s{outcome}"
                       f"{self._left()}")

    def _left(self) -> str:
        left = self._total - self._done
        if not left:
            return ""
        seconds = (time.monotonic() - self._started) / max(self._fresh, 1) * left
        return f"; about {seconds / 60:.0f} min left" if seconds >= 90 else f"; about {seconds:.0f} s left"
