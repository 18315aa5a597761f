"""How a scripted model serves a memory: importance, questions, insights and summaries, by rules as plain as can be."""

import re
from typing import Any

_ORDER = re.compile(r"#W\d{4}")
_NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
_KEPT_WORDS = 60  # of a summary


def importance(prompt: str) -> dict[str, Any]:
    """8 for what carries a work order, 2 for the rest."""
    return {"importance": 8 if _ORDER.search(prompt) else 2}


def questions(prompt: str) -> dict[str, Any]:
    """Always the same three."""
    return {"questions": ["What was done?", "What was cancelled?", "What is still open?"]}


def insights(prompt: str) -> dict[str, Any]:
    """One, from the first and the last statement."""
    numbers = [int(number) for number in _NUMBERED.findall(prompt)]
    return {"insights": [{"insight": f"{len(numbers)} messages bear on the question.",
                          "because": sorted({numbers[0], numbers[-1]})}]}


def summary(prompt: str) -> dict[str, Any]:
    """The first words of what is to be summarised."""
    return {"summary": " ".join(prompt[prompt.rindex("MESSAGES:\n") + len("MESSAGES:\n"):].split()[:_KEPT_WORDS])}


def facts(prompt: str) -> dict[str, Any]:
    """None: the rules here read no facts."""
    return {"memory": []}


ANSWERS = {"facts": facts, "importance": importance, "questions": questions, "insights": insights, "summary": summary}
