"""The matcher: which handles of the menu name an intention whose trigger a text shows (Appendix I)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from artifact.arms import load_prompts
from artifact.arms.structured import Ask, Unusable, ask_json
from artifact.harness.pmbench.environment import Moment
from artifact.harness.pmbench.record import Intended, Record
from artifact.harness.pmbench.replies import MOST_HANDLES
from artifact.harness.pmbench.texts import Texts
from artifact.harness.pmbench.week import CueKind


@dataclass(frozen=True)
class Evidence:
    """A text, and what it is: a scene, a clock reading, or the answer of a channel."""

    text: str
    kind: CueKind
    channel: str = ""

    def can_show(self, one: Intended) -> bool:
        """Whether the trigger of an intention could stand in it."""
        return one.kind is self.kind and one.channel == self.channel


@dataclass(frozen=True)
class Matched:
    """The handles whose trigger is visible, and whether no usable answer came."""

    handles: tuple[str, ...]
    failed: bool = False


async def match(ask: Ask, texts: Texts, record: Record, moment: Moment, evidence: Evidence) -> Matched:
    """Ask which handles are due now; nothing is asked when nothing could be.

    Parameters
    ----------
    ask : Ask
        The model, budget and sampling settled.
    texts : Texts
        How it is asked.
    record : Record
        The pending intentions.
    moment : Moment
        The menu.
    evidence : Evidence
        What is visible.
    """
    pending = record.pending(moment.day)
    waiting = {entry.handle: [one for one in record.resolve(entry, moment.day) if one in pending]
               for entry in moment.menu}
    question = _each(texts, waiting, evidence) if texts.matches == "each" else _list(texts, waiting, pending, moment,
                                                                                     evidence)
    if question is None:
        return Matched(())
    answer = await ask_json(ask, load_prompts("paper"), question.prompt, purpose="match", schema=question.schema,
                            read=question.read)
    return Matched(answer.value or (), answer.value is None)


@dataclass(frozen=True)
class _Question:
    """What is asked, the shape of its answer, and how the answer is read as handles."""

    prompt: str
    schema: dict[str, Any]
    read: Callable[[dict[str, Any]], tuple[str, ...]]


def _list(texts: Texts, waiting: dict[str, list[Intended]], pending: list[Intended], moment: Moment,
          evidence: Evidence) -> _Question | None:
    """All pending intentions and the whole menu; a list of handles."""
    if not pending or not waiting:
        return None

    def read(answer: dict[str, Any]) -> tuple[str, ...]:
        handles = answer.get("handles")
        if not isinstance(handles, list):
            raise Unusable('it has no list "handles"')
        return tuple(handle for handle in waiting if handle in handles)

    prompt = texts.render(
        "match", text=evidence.text, menu="\n".join(f"{entry.handle}: {entry.words}" for entry in moment.menu),
        pending="\n".join(f"- {one.action}, {one.condition}" for one in pending))
    handles = {"type": "array", "maxItems": MOST_HANDLES, "items": {"enum": sorted(waiting)}}
    return _Question(prompt, {"title": "handles", "type": "object", "additionalProperties": False,
                              "required": ["handles"], "properties": {"handles": handles}}, read)


def _each(texts: Texts, waiting: dict[str, list[Intended]], evidence: Evidence) -> _Question | None:
    """The triggers that this kind of text can show; yes or no to each."""
    triggers = {handle: {one.trigger for one in ones if evidence.can_show(one)} for handle, ones in waiting.items()}
    named = sorted({trigger for ones in triggers.values() for trigger in ones})
    if not named:
        return None

    def read(answer: dict[str, Any]) -> tuple[str, ...]:
        if not any(isinstance(answer.get(trigger), bool) for trigger in named):
            raise Unusable("it says neither true nor false of any trigger")
        return tuple(handle for handle, ones in triggers.items() if any(answer.get(one) is True for one in ones))

    prompt = texts.render("match", text=evidence.text, triggers=orjson.dumps(named).decode())
    return _Question(prompt, {"title": "happens", "type": "object", "additionalProperties": False, "required": named,
                              "properties": {trigger: {"type": "boolean"} for trigger in named}}, read)
