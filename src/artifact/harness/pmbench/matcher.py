"""The matcher: which handles of the menu name an intention whose trigger a text shows (Appendix I)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from artifact.arms import load_prompts
from artifact.arms.structured import Answer, Ask, Unusable, ask_json
from artifact.harness.pmbench.compile import what_happens
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


Questions = Sequence[Callable[[Ask], Awaitable[Answer[Any]]]]
AskAll = Callable[[Questions], Awaitable[list[Answer[Any]]]]
"""Asks questions that don't depend on each other, at the same time where that helps."""


@dataclass(frozen=True)
class Matched:
    """The handles whose trigger is visible, and how many questions had no usable answer."""

    handles: tuple[str, ...]
    failures: int = 0


async def match(ask_all: AskAll, texts: Texts, record: Record, moment: Moment, evidence: Evidence) -> Matched:
    """Ask which handles are due now; nothing is asked when nothing could be.

    Parameters
    ----------
    ask_all : callable
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
    if texts.matches == "each":
        return await _each(ask_all, texts, waiting, evidence)
    return await _list(ask_all, texts, pending, moment, evidence) if pending and waiting else Matched(())


async def _list(ask_all: AskAll, texts: Texts, pending: list[Intended], moment: Moment, evidence: Evidence) -> Matched:
    """One question with all pending intentions and the whole menu."""
    known = [entry.handle for entry in moment.menu]

    def read(answer: dict[str, Any]) -> tuple[str, ...]:
        handles = answer.get("handles")
        if not isinstance(handles, list):
            raise Unusable('it has no list "handles"')
        return tuple(handle for handle in known if handle in handles)

    prompt = texts.render(
        "match", text=evidence.text, menu="\n".join(f"{entry.handle}: {entry.words}" for entry in moment.menu),
        pending="\n".join(f"- {one.action}, {one.condition}" for one in pending))
    handles = {"type": "array", "maxItems": MOST_HANDLES, "items": {"enum": known}}
    schema = {"title": "handles", "type": "object", "additionalProperties": False, "required": ["handles"],
              "properties": {"handles": handles}}
    (answer,) = await ask_all([lambda ask: ask_json(ask, load_prompts("paper"), prompt, purpose="match", schema=schema,
                                                    read=read)])
    return Matched(answer.value or (), int(answer.value is None))


async def _each(ask_all: AskAll, texts: Texts, waiting: dict[str, list[Intended]], evidence: Evidence) -> Matched:
    """A question for each trigger that this kind of text can show, the text before the trigger: it stays cached."""
    triggers = {handle: {one.trigger for one in ones if evidence.can_show(one)} for handle, ones in waiting.items()}
    schema = {"title": "happens", "type": "object", "additionalProperties": False, "required": ["happens"],
              "properties": {"happens": {"type": "boolean"}}}

    def read(answer: dict[str, Any]) -> bool:
        if not isinstance(answer.get("happens"), bool):
            raise Unusable('"happens" is neither true nor false')
        return bool(answer["happens"])

    text = what_happens(evidence.text) if evidence.kind is CueKind.EVENT else evidence.text

    def question(trigger: str) -> Callable[[Ask], Awaitable[Answer[bool]]]:
        prompt = texts.render("match", text=text, trigger=trigger)
        return lambda ask: ask_json(ask, load_prompts("paper"), prompt, purpose="match", schema=schema, read=read)

    wanted = sorted({trigger for ones in triggers.values() for trigger in ones})
    answers = await ask_all([question(trigger) for trigger in wanted])
    visible = {trigger for trigger, answer in zip(wanted, answers, strict=True) if answer.value}
    return Matched(tuple(handle for handle, ones in triggers.items() if ones & visible),
                   sum(answer.value is None for answer in answers))
