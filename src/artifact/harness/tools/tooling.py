"""An episode whose steps are tools: the tool takes the place of the completion code."""

import re
from dataclasses import replace

from artifact.taskstate import Episode

_ARTICLES = frozenset(("the", "a", "an"))


def tool_name(text: str) -> str:
    """The name of a step's tool: what the step does, in words that a function could be called by."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "_".join(word for word in words if word not in _ARTICLES)[:64]


def with_tools(episode: Episode) -> Episode:
    """The episode with the names of tools as its codes; everything else stays."""
    steps = tuple(replace(step, code=tool_name(step.text)) for step in episode.graph.steps)
    return replace(episode, graph=replace(episode.graph, steps=steps))
