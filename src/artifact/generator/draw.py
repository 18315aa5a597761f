"""Random draws that are the same on every platform and Python version.

Only `random.Random.random()` seeded with a string is used: it is the one stream whose values Python promises
to keep. Everything else (shuffles, samples, choices) is built on it here.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """One named stream of draws.

    Streams of different names are independent, so that, e.g., another wording leaves the graph as it was.

    Parameters
    ----------
    *key : object
        What the stream is for, e.g. the seed, the size, and its name; their `str` makes the seed.
    """

    def __init__(self, *key: object) -> None:
        self._random = random.Random("/".join(map(str, key))).random

    def unit(self) -> float:
        """A number in [0, 1)."""
        return self._random()

    def flip(self, probability: float) -> bool:
        """True with the given probability; never at 0, always at 1."""
        return self._random() < probability

    def below(self, n: int) -> int:
        """A whole number in 0 … n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number in low … high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        """`n` different items in random order."""
        rest = list(items)
        for place in range(n):
            other = place + self.below(len(rest) - place)
            rest[place], rest[other] = rest[other], rest[place]
        return rest[:n]
