"""What a scripted policy can read off the messages that a model sees: the plan, requests, bookings, the revision.

Nothing here knows the generator's graph: it is the brief's own lines and the client's own words.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from artifact.log.records import Message
from artifact.taskstate import Revision, Step, TaskGraph, TaskState, parse_ref_lines

_PLAN_LINE = re.compile(
    r"^- (?P<id>s\d+): (?P<text>.+?)(?: \(requires: (?P<requires>[^()]*)\))?"
    r"(?: \[(?:completion code (?P<code>RC-\d{4})|tool (?P<tool>[a-z0-9_]+))\])?$", re.MULTILINE)
_WORK_ORDER = re.compile(r"\((#W\d{4})\)")
_UNRESOLVED = re.compile(r"^\[TASK-STATE\] this request is UNRESOLVED ", re.MULTILINE)
_LEDGER_LINE = re.compile(r"^- (?P<code>RC-\d{4}): (?P<status>DONE|CANCELLED|TODO)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\[TASK-STATE\] step (?P<step>s\d+) .*$", re.MULTILINE)
_CHECKLIST_LINE = re.compile(
    r"^- (?P<step>s\d+): (?P<status>TODO \(ready\)|TODO \(waiting on: [^)]*\)|DONE|CANCELLED)$", re.MULTILINE)
_REJECTED = re.compile(r"\[BOOKING REJECTED\] Your line 'ref (?P<code>RC-\d{4})/(?P<work_order>#W\d{4})'")
_WORD = re.compile(r"[a-z]{3,}")
_COMMON = frozenset((
    "the", "and", "for", "with", "that", "this", "from", "have", "has", "was", "were", "are", "you", "your", "please",
    "can", "could", "would", "will", "now", "all", "about", "into", "out", "our", "let", "get", "any", "not", "but",
    "its", "one", "been", "step", "project",
))
_EITHER = re.compile(r"\beither\b(?P<one>.*)\bor\b(?P<other>.*)", re.IGNORECASE)
_REDO = re.compile(r"\b(?:again|once more|redo|repeat|a second time)\b", re.IGNORECASE)


def read_plan(text: str) -> TaskGraph:
    """The plan from its lines in a brief, or from a plain list of steps; a checklist behind it is no part of it."""
    return TaskGraph(tuple(
        Step(m["id"], m["text"], m["code"] or m["tool"] or "",
             tuple(m["requires"].split(", ")) if m["requires"] else ())
        for m in _PLAN_LINE.finditer(text.partition("[PROJECT CHECKLIST")[0])))


def own_words(message: str) -> str:
    """A user message without what an arm added: notices, directives, checklists."""
    return "\n\n".join(part for part in message.split("\n\n") if not part.startswith("["))


def read_work_order(message: str) -> str | None:
    """The work order of a request; None for a message that is none."""
    found = _WORK_ORDER.findall(own_words(message))
    return found[-1] if found else None


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in _WORD.findall(text.lower())} - _COMMON


def resolve(message: str, steps: Iterable[Step]) -> str | None:
    """The step whose text shares the most telling words with a message; None when none or several do."""
    listed = list(steps)
    vocabularies = {step.id: _words(step.text) for step in listed}
    said = _words(own_words(message))
    scores = {}
    for step, vocabulary in vocabularies.items():
        shared = vocabulary & said
        scores[step] = sum(1 / sum(word in other for other in vocabularies.values()) for word in sorted(shared))
    best = max(scores.values(), default=0.0)
    winners = [step for step, score in scores.items() if score == best]
    return winners[0] if best > 0 and len(winners) == 1 else None


def offers_choice(message: str) -> bool:
    """Whether a message leaves open which of two steps it is about."""
    return _EITHER.search(own_words(message)) is not None


def resolve_all(message: str, steps: Iterable[Step]) -> list[str]:
    """The steps that a message may be about: two where it offers a choice, at most one otherwise."""
    listed = list(steps)
    choice = _EITHER.search(own_words(message))
    parts = [choice["one"], choice["other"]] if choice else [message]
    return [step for part in parts if (step := resolve(part, listed)) is not None]


def orders_redo(message: str) -> bool:
    """Whether a message explicitly orders that finished work be done again."""
    return _REDO.search(own_words(message)) is not None


def read_revision(message: str, steps: Iterable[Step]) -> Revision | None:
    """The change of plan that a message orders, by the steps that it quotes; None when it orders none."""
    texts = {step.text: step.id for step in steps}
    cancel: str | None = None
    rewires: dict[str, tuple[str, ...]] = {}
    for sentence in re.split(r"(?<=[.!?])\s+", message):
        named = [texts[text] for _, text in sorted((sentence.find(text), text) for text in texts if text in sentence)]
        if not named:
            continue
        if cancel is None and re.search(r"cancel|drop", sentence, re.IGNORECASE):
            cancel = named[0]
        elif cancel is not None and named[0] != cancel:
            dropped = {texts.get(text) for text in re.findall(r'no longer requires "([^"]+)"', sentence)}
            rewires[named[0]] = tuple(step for step in named[1:] if step not in dropped)
    return Revision(cancel, tuple(rewires.items())) if cancel is not None else None


def read_directive(message: str) -> tuple[str, bool] | None:
    """The directive of a message: its step, and whether it orders an execution; no step for one to ask back."""
    found = _DIRECTIVE.search(message)
    if found is None:
        return ("", False) if _UNRESOLVED.search(message) else None
    return found["step"], " ELIGIBLE" in found[0] or "NEW work order" in found[0]


def read_checklist(message: str) -> dict[str, str]:
    """The status words of a message's checklist by step; empty when it carries none."""
    if "[PROJECT CHECKLIST" not in message:
        return {}
    return {m["step"]: m["status"] for m in _CHECKLIST_LINE.finditer(message[message.index("[PROJECT CHECKLIST"):])}


def read_shown_ledger(message: str) -> dict[str, str]:
    """The status words of a message's ledger by completion code; empty when it carries none."""
    _, shown, ledger = message.partition("[PROJECT LEDGER")
    return {m["code"]: m["status"] for m in _LEDGER_LINE.finditer(ledger)} if shown else {}


def read_rejections(messages: Sequence[Message]) -> set[tuple[str, str]]:
    """The payloads (code, work order) of the bookings that notices have called rejected."""
    return {(m["code"], m["work_order"]) for message in messages if message.role == "user"
            for m in _REJECTED.finditer(message.content)}


@dataclass(frozen=True)
class Reading:
    """What a careful reader of a transcript knows at its last message.

    Parameters
    ----------
    state : TaskState
        Plan, change of plan and bookings so far, rejected ones left out.
    step : str or None
        The step that the last message is about.
    redo : bool
        Whether it explicitly orders a redo.
    work_order : str or None
        Its work order.
    message : str
        The last message in full.
    """

    state: TaskState
    step: str | None
    redo: bool
    work_order: str | None
    message: str


def read_transcript(messages: Sequence[Message]) -> Reading:
    """Read a whole conversation, last message included."""
    state = TaskState(read_plan(messages[0].content))
    rejected = read_rejections(messages)
    order: str | None = None
    for number, message in enumerate(messages[1:], start=1):
        if message.role == "user":
            order = read_work_order(message.content)
            if order is None:
                revision = read_revision(own_words(message.content), state.graph.steps)
                state = state.revise(revision) if revision is not None else state
            continue
        for line in parse_ref_lines(message.content):
            step = state.graph.step_with_code(line.code)
            if step is not None and line.work_order == order and (line.code, order) not in rejected:
                state = state.execute(step, line.work_order, number)
    last = messages[-1].content
    return Reading(state, resolve(last, state.graph.steps), orders_redo(last), read_work_order(last), last)
