"""What the stream asks of the model: how important a memory is, and what follows from many of them.

Source: Park et al. (2023), Section 4.1 (importance, 1 to 10) and 4.2 (reflection: the three most salient questions
over the last 100 memories, then insights that cite what they rest on).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artifact.arms.prompts import PromptSet
from artifact.arms.structured import Ask, Unusable, ask_json
from artifact.log.memories import Fallback
from artifact.log.records import Call

QUESTIONS = 3
INSIGHTS = 2  # of one question
LOOKED_AT = 100
LEAST, MIDDLE, MOST = 1, 5, 10

_IMPORTANCE = {"title": "importance", "type": "object", "additionalProperties": False, "required": ["importance"],
               "properties": {"importance": {"type": "integer", "minimum": LEAST, "maximum": MOST}}}
_QUESTIONS = {"title": "questions", "type": "object", "additionalProperties": False, "required": ["questions"],
              "properties": {"questions": {"type": "array", "items": {"type": "string"}, "minItems": QUESTIONS,
                                           "maxItems": QUESTIONS}}}
_INSIGHTS = {"title": "insights", "type": "object", "additionalProperties": False, "required": ["insights"],
             "properties": {"insights": {"type": "array", "minItems": 1, "maxItems": INSIGHTS, "items": {
                 "type": "object", "additionalProperties": False, "required": ["insight", "because"], "properties": {
                     "insight": {"type": "string"},
                     "because": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "integer"}}}}}}}


@dataclass(frozen=True)
class Insight:
    """A conclusion, and the positions, from 0, of the statements that it cites."""

    text: str
    because: tuple[int, ...]


class Reflecting:
    """Asks, and keeps the calls and what was done for want of an answer until they are logged.

    Parameters
    ----------
    ask : Ask
        The model.
    prompts : PromptSet
        How it is asked.
    """

    def __init__(self, ask: Ask, prompts: PromptSet) -> None:
        self._ask, self._prompts = ask, prompts
        self.calls: list[Call] = []
        self.fallbacks: list[Fallback] = []

    async def importance(self, memory: str) -> int:
        """How important a memory is; the middle of the scale where the model doesn't say."""
        prompt = self._prompts.render("importance", memory=memory)
        answer = await ask_json(self._ask, self._prompts, prompt, purpose="memory", schema=_IMPORTANCE,
                                read=_read_importance)
        self.calls += answer.calls
        if answer.value is None:
            self.fallbacks.append(Fallback.UNRATED)
            return MIDDLE
        return answer.value

    async def questions(self, memories: Sequence[str]) -> tuple[str, ...]:
        """What the last memories are about; none where the model doesn't say."""
        prompt = self._prompts.render("reflect_questions", memories=_numbered(memories[-LOOKED_AT:]))
        answer = await ask_json(self._ask, self._prompts, prompt, purpose="memory", schema=_QUESTIONS,
                                read=_read_questions)
        self.calls += answer.calls
        if answer.value is None:
            self.fallbacks.append(Fallback.NO_REFLECTION)
        return answer.value or ()

    async def insights(self, question: str, memories: Sequence[str]) -> tuple[Insight, ...]:
        """What follows from memories for a question; none where the model doesn't say, or cites what isn't there."""
        prompt = self._prompts.render("reflect_insights", question=question, memories=_numbered(memories))
        answer = await ask_json(self._ask, self._prompts, prompt, purpose="memory", schema=_INSIGHTS,
                                read=lambda found: _read_insights(found, len(memories)))
        self.calls += answer.calls
        if answer.value is None:
            self.fallbacks.append(Fallback.NO_REFLECTION)
        return answer.value or ()


def _numbered(memories: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(memories, start=1))


def _read_importance(found: dict[str, Any]) -> int:
    value = found.get("importance")
    if not isinstance(value, int) or isinstance(value, bool) or not LEAST <= value <= MOST:
        raise Unusable(f"\"importance\" must be a whole number from {LEAST} to {MOST}")
    return value


def _read_questions(found: dict[str, Any]) -> tuple[str, ...]:
    value = found.get("questions")
    asked = [q.strip() for q in value if isinstance(q, str) and q.strip()] if isinstance(value, list) else []
    if len(asked) != QUESTIONS:
        raise Unusable(f"\"questions\" must be a list of {QUESTIONS} questions")
    return tuple(asked)


def _read_insights(found: dict[str, Any], count: int) -> tuple[Insight, ...]:
    value = found.get("insights")
    if not isinstance(value, list) or not value:
        raise Unusable("\"insights\" must be a list")
    return tuple(_read_insight(item, count) for item in value[:INSIGHTS])


def _read_insight(item: Any, count: int) -> Insight:
    text, because = (item.get("insight"), item.get("because")) if isinstance(item, dict) else (None, None)
    if not isinstance(text, str) or not text.strip():
        raise Unusable("each insight must have its text in \"insight\"")
    numbers = because if isinstance(because, list) else []
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= count for n in numbers):
        raise Unusable(f"\"because\" must list the numbers, from 1 to {count}, of the statements that an insight rests "
                       "on")
    return Insight(text.strip(), tuple(sorted({number - 1 for number in numbers})))
