"""The record's operations, compiled by a model from the texts that the agent sees (Appendix I).

Morning plans are compiled, and the scenes whose wording can change the record. An operation that can't be used, or that
says what its text doesn't, is named to the model once; what is then still unusable is left out and counted.
"""

import copy
import re
from collections.abc import Iterable
from typing import Any, Literal

from artifact.arms import load_prompts
from artifact.arms.structured import Answer, Ask, Unusable, ask_json
from artifact.harness.pmbench.record import Record, says_most_of, shared_words
from artifact.harness.pmbench.records import CompileRecord
from artifact.harness.pmbench.texts import Texts
from artifact.harness.pmbench.week import DAY_NAMES, minutes
from artifact.log.records import Call
from artifact.runner.loop import together

_MOST = 24
_FIELDS = ("op", "id", "action", "when", "trigger", "channel", "day")
# A scene is compiled when one of these words says that it may be a note, a change or a cancellation.
_TELLING = re.compile(
    r"\b(?:notes?|remember|remind\w*|don't forget|instead|cancel\w*|call(?:ed|s)? off|no longer|no need|reschedul\w*|"
    r"postpon\w*|put off|mov(?:e|es|ed) (?:from|to)|brought forward|chang(?:e|es|ed)|updat(?:e|es|ed)|correction|"
    r"from now on|later this week|tomorrow|" + "|".join(f"on {day}" for day in DAY_NAMES) + r")\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{1,2})[:.](\d\d)(?:\s*([ap])\.?m)?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")


def can_change_the_record(text: str) -> bool:
    """Whether the wording of a scene says that it may add or change an intention."""
    return _TELLING.search(text) is not None


def what_happens(text: str) -> str:
    """A scene without the sentences that only plan or change something."""
    return " ".join(sentence for sentence in _SENTENCE.split(text) if not can_change_the_record(sentence))


def _pieces(texts: Texts, source: str, text: str) -> list[str]:
    if texts.compiles == "whole":
        return [text]
    if source == "note":
        return [sentence for sentence in _SENTENCE.split(text) if can_change_the_record(sentence)]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [line for line in lines if line.startswith(("-", "*", "•"))] or lines


async def compile_text(ask: Ask, texts: Texts, record: Record, *, step: str, source: Literal["plan", "note"],
                       text: str, day: int, days: list[str],
                       channels: list[str]) -> tuple[CompileRecord, tuple[Call, ...]]:
    """Compile one text and carry out its operations on `record`.

    Parameters
    ----------
    ask : Ask
        The model, budget and sampling settled.
    texts : Texts
        How it is asked.
    record : Record
        The record so far, without receipts; it is changed.
    step, source, text, day : str, str, str, int
        Which text, of which day.
    days, channels : list of str
        The names that an operation may use.
    """
    operations: list[dict[str, Any]] = []
    rejected: list[str] = []
    calls: list[Call] = []

    async def compiled(piece: str) -> tuple[_Reader, Answer[list[dict[str, Any]]]]:
        listed = record.open_from(day)
        prompt = texts.render(f"compile_{source}", day=days[day], channels=", ".join(channels), text=piece, record=(
            "\n".join(f"- {one.id}: {one.action} ({one.condition})" for one in listed) or "- nothing yet"))
        reader = _Reader(record, day, piece)
        return reader, await ask_json(ask, load_prompts("paper"), prompt, purpose=f"compile_{source}",
                                      read=reader.read,
                                      schema=_schema(days[day:], channels, [one.id for one in listed], source))

    def carry_out(reader: _Reader, answer: Answer[list[dict[str, Any]]]) -> None:
        calls.extend(answer.calls)
        rejected.extend([] if answer.value is not None else reader.problems or [f"the answer {answer.error}"])
        for operation in reader.usable:
            record.apply(operation, day)
        operations.extend(reader.usable)

    pieces = _pieces(texts, source, text)
    if source == "plan":  # whose lines only add: none depends on another
        for made in await together(map(compiled, pieces)):
            carry_out(*made)
    else:
        for piece in pieces:
            carry_out(*await compiled(piece))
    return CompileRecord(step, source, operations, tuple(rejected)), tuple(calls)


class _Reader:
    """Reads answers to one question and remembers what of the last one was usable."""

    def __init__(self, record: Record, day: int, text: str) -> None:
        self._record, self._day, self._text = record, day, text
        self.usable: list[dict[str, Any]] = []
        self.problems: list[str] = []

    def read(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        listed = answer.get("operations")
        self.usable, self.problems = [], []
        if not isinstance(listed, list):
            raise Unusable('it has no list "operations"')
        trial = copy.deepcopy(self._record)
        for number, one in enumerate(listed[:_MOST], start=1):
            try:
                if not isinstance(one, dict):
                    raise Unusable("it is no JSON object")
                named = {name: one[name] for name in _FIELDS if name in one}
                trial.apply(named, self._day)
                self._agrees_with_the_text(named)
                self.usable.append(named)
            except Unusable as problem:
                self.problems.append(f"operation {number} can't be used: {problem}")
        if self.problems:
            raise Unusable("; ".join(self.problems))
        return self.usable

    def _agrees_with_the_text(self, operation: dict[str, Any]) -> None:
        op, trigger = operation["op"], str(operation.get("trigger", ""))
        known = self._record.get(str(operation.get("id")))
        if op == "add" and not says_most_of(self._text, operation["action"]):
            raise Unusable("the text doesn't speak of its action")
        if known is not None and shared_words(known.action, self._text) == 0:
            raise Unusable(f"the text doesn't speak of {known.id}, {known.action}")
        if op == "recue" and _CLOCK.fullmatch(trigger.strip()):
            raise Unusable("recue has a time as its trigger, which is a retime")
        if op == "retime" or operation.get("when") == "time":
            said = _times(self._text)
            if said and minutes(trigger) not in said:
                raise Unusable(f"the text doesn't speak of {trigger}")
        elif op != "cancel" and not says_most_of(self._text, trigger):
            raise Unusable("the text doesn't speak of its trigger")


def _times(text: str) -> set[int]:
    """Minutes since midnight of every clock time in a text; of one without am or pm, both."""
    found = set()
    for hour, minute, half in _CLOCK.findall(text):
        time = int(hour) * 60 + int(minute)
        found |= {time % 720 + 720 * (half.lower() == "p")} if half else {time, time + 720 * (int(hour) < 12)}
    return found


def _schema(days: list[str], channels: list[str], ids: list[str], source: str) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    clock = {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
    day = {"day": {"enum": days}} if source == "note" else {}

    def shape(op: str, properties: dict[str, Any], optional: Iterable[str] = ()) -> dict[str, Any]:
        named = {"op": {"const": op}, **properties}
        return {"type": "object", "additionalProperties": False, "properties": named,
                "required": [name for name in named if name not in optional]}

    shapes = [shape("add", {"action": text, "when": {"const": "cue"}, "trigger": text, **day}),
              shape("add", {"action": text, "when": {"const": "time"}, "trigger": clock, **day}),
              shape("add", {"action": text, "when": {"const": "channel"}, "trigger": text,
                            "channel": {"enum": channels}, **day})]
    if ids and source == "note":
        named = {"id": {"enum": ids}}
        shapes += [shape("cancel", named), shape("retime", {**named, "trigger": clock}),
                   shape("recue", {**named, "trigger": text}),
                   shape("recue", {**named, "trigger": text, "channel": {"enum": channels}})]
    return {"title": "operations", "type": "object", "additionalProperties": False, "required": ["operations"],
            "properties": {"operations": {"type": "array", "maxItems": _MOST, "items": {"anyOf": shapes}}}}
