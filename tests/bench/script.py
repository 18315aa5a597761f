"""What every peer says: the brief and the 44 user turns of one generated episode."""

from collections.abc import Iterator

from artifact.arms import load_prompts
from artifact.generator import generate
from artifact.taskstate import Brief

TURNS = 44
MAX_TOKENS = 400


class Script:
    """The texts of one conversation.

    Parameters
    ----------
    seed : int
        The episode that they are taken from.
    """

    def __init__(self, seed: int = 100) -> None:
        episode = generate(seed=seed)
        self.brief = load_prompts("paper").brief(episode.graph, Brief.AMENDED)
        self.requests = tuple(turn.text for turn in episode.turns)

    def opening(self) -> list[dict[str, str]]:
        """The messages before the first request, in the protocol's shape."""
        return [{"role": "system", "content": self.brief}]

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter([{"role": "user", "content": text} for text in self.requests])
