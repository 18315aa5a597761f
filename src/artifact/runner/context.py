"""Whether a model's context can hold a study's conversations, asked before anything is spent on them.

A conversation that outgrows its context ends with that reason, which is counted in plain sight. One that no agent
could bring to its end, however terse, is no measurement: the study is refused.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from artifact.arms import PromptSet, load_prompts
from artifact.errors import RequestError
from artifact.generator import TURNS, generate
from artifact.log.records import Cell
from artifact.taskstate import Brief

_CHARACTERS_A_TOKEN = 4
"""More than tokenizers get out of briefs and requests (about three), so that the need is a floor."""

_TERSE_REPLY = 8
"""Tokens; a booking alone takes more."""

_LARGEST = 18


def least_context(size: int = _LARGEST, density: float = 0.15, domain: str = "procurement",
                  brief: Brief = Brief.AMENDED, prompts: PromptSet | None = None) -> int:
    """Tokens that a conversation takes at least: brief, requests and terse replies, no state and no reasoning.

    Parameters
    ----------
    size, density, domain, brief
        As in `Cell`.
    prompts : PromptSet or None
        Whose brief it is; None takes the set ``paper``.
    """
    episode = generate(seed=0, size=size, density=density, domain=domain)
    characters = len((prompts or load_prompts("paper")).brief(episode.graph, brief))
    characters += sum(len(turn.text) for turn in episode.turns)
    return characters // _CHARACTERS_A_TOKEN + TURNS * _TERSE_REPLY


def check_context(identity: Mapping[str, Any], cells: Iterable[Cell], prompts: PromptSet) -> None:
    """Refuse a study whose conversations can't fit.

    Parameters
    ----------
    identity : mapping
        The agent's `ChatModel.identity`; nothing is checked where it tells no context.
    cells : iterable of Cell
        The study's.
    prompts : PromptSet
        The study's.

    Raises
    ------
    RequestError
        When the context is too short for the largest cell.
    """
    context = identity.get("context")
    if context is None:
        return
    need, cell = max(((least_context(cell.size, cell.density, cell.domain, cell.brief, prompts), cell)
                      for cell in cells), key=lambda pair: pair[0])
    if context < need:
        raise RequestError(f"{identity.get('name', 'the model')} has a context of {context} tokens, and a conversation "
                           f"of {TURNS} turns with {cell.size} steps takes at least {need}; serve it with a longer "
                           "one, or run smaller sizes")
