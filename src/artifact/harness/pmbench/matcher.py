"""The matcher: which handles of the menu name an intention whose trigger a text shows (Appendix I)."""

from dataclasses import dataclass
from typing import Any

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
    if texts.matches == "visible":
        waiting = {handle: [one for one in ones if evidence.can_show(one)] for handle, ones in waiting.items()}
        waiting = {handle: ones for handle, ones in waiting.items() if ones}
    if not pending or not waiting:
        return Matched(())

    def read(answer: dict[str, Any]) -> tuple[str, ...]:
        handles = answer.get("handles")
        if not isinstance(handles, list):
            raise Unusable('it has no list "handles"')
        return tuple(dict.fromkeys(str(handle) for handle in handles if handle in waiting))

    prompt = texts.render(
        "match", text=evidence.text, menu="\n".join(f"{entry.handle}: {entry.words}" for entry in moment.menu),
        pending="\n".join(f"- {one.action}, {one.condition}" for one in pending),
        visible="\n".join(f"- {handle}: {' or '.join(one.trigger for one in ones)}"
                          for handle, ones in waiting.items()))
    schema = {"title": "handles", "type": "object", "additionalProperties": False, "required": ["handles"],
              "properties": {"handles": {"type": "array", "maxItems": MOST_HANDLES,
                                         "items": {"enum": sorted(waiting)}}}}
    answer = await ask_json(ask, load_prompts("paper"), prompt, purpose="match", schema=schema, read=read)
    return Matched(answer.value or (), answer.value is None)
