"""The matcher: which step a request is about, and whether it explicitly orders a redo (§3.2).

It reads the client's own words alone: see `client_text`.
"""

from typing import Any

from artifact.arms.prompts import PromptSet, numbered_steps
from artifact.arms.structured import Answer, Ask, Unusable, ask_json
from artifact.log.records import MatchRecord
from artifact.taskstate import TaskGraph
from artifact.taskstate.client_text import own_words


async def match(ask: Ask, prompts: PromptSet, graph: TaskGraph, turn: int, message: str, *,
                several: bool = False) -> MatchRecord:
    """Resolve one request to a step of the compiled graph.

    Parameters
    ----------
    ask : Ask
        The state model.
    prompts : PromptSet
        Decides whether step and redo flag are one question or two.
    graph : TaskGraph
        The module's graph: names the steps.
    turn : int
        Index of the turn.
    message : str
        The client's message.
    several : bool
        Whether the model may answer that two steps can be meant (option ``unresolved=ask``); it is then asked with
        another text.

    Returns
    -------
    MatchRecord
        `step` None when the message names no step or may mean two, or when no usable answer came (then `error` says
        why).
    """
    message = own_words(message)
    steps = {step.id: step.text for step in graph.steps}
    listing = numbered_steps(steps.items())
    if several:
        return await _match_several(ask, prompts, steps, listing, turn, message)
    if prompts.asking.match == "joint":
        answer = await ask_json(ask, prompts, prompts.render("match", steps=listing, message=message), purpose="match",
                                schema=_schema("match", _step_property(list(steps)) | _REDO),
                                read=lambda found: (_read_step(found, steps), _read_redo(found)))
        step, redo = answer.value if answer.value is not None else (None, False)
        return MatchRecord(turn, step, redo, answer.error, answer.calls)
    which = await ask_json(ask, prompts, prompts.render("match_step", steps=listing, message=message), purpose="match",
                           schema=_schema("match_step", _step_property(list(steps))),
                           read=lambda found: _Step(_read_step(found, steps)))
    resolved = which.value.id if which.value is not None else None
    if resolved is None:
        return MatchRecord(turn, None, False, which.error, which.calls)
    flag = await _ask_redo(ask, prompts, message)
    return MatchRecord(turn, resolved, bool(flag.value), flag.error, which.calls + flag.calls)


async def _match_several(ask: Ask, prompts: PromptSet, steps: dict[str, str], listing: str, turn: int,
                         message: str) -> MatchRecord:
    is_joint = prompts.asking.match == "joint"
    question = prompts.match_several
    answer = await ask_json(ask, prompts, prompts.render(question, steps=listing, message=message), purpose="match",
                            schema=_schema(question, _steps_property(list(steps)) | (_REDO if is_joint else {})),
                            read=lambda found: (_read_steps(found, steps), is_joint and _read_redo(found)))
    meant, redo = answer.value if answer.value is not None else ((), False)
    if len(meant) != 1:
        return MatchRecord(turn, None, False, answer.error, answer.calls, meant)
    if is_joint:
        return MatchRecord(turn, meant[0], redo, answer.error, answer.calls)
    flag = await _ask_redo(ask, prompts, message)
    return MatchRecord(turn, meant[0], bool(flag.value), flag.error, answer.calls + flag.calls)


async def _ask_redo(ask: Ask, prompts: PromptSet, message: str) -> Answer[bool]:
    return await ask_json(ask, prompts, prompts.render("match_redo", message=message), purpose="match",
                          schema=_schema("match_redo", _REDO), read=_read_redo)


class _Step:
    """A resolved step, which may be none: tells "no step" from "no answer"."""

    def __init__(self, step: str | None) -> None:
        self.id = step


_REDO: dict[str, Any] = {"explicit_redo": {"type": "boolean"}}


def _step_property(ids: list[str]) -> dict[str, Any]:
    return {"step": {"anyOf": [{"type": "string", "enum": ids}, {"type": "null"}]}}


def _steps_property(ids: list[str]) -> dict[str, Any]:
    return {"steps": {"type": "array", "items": {"type": "string", "enum": ids}, "maxItems": 2}}


def _schema(title: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}


def _read_step(found: dict[str, Any], steps: dict[str, str]) -> str | None:
    step = found.get("step")
    if step is not None and step not in steps:
        raise Unusable(f"{step!r} is not a step of the plan")
    return step


def _read_steps(found: dict[str, Any], steps: dict[str, str]) -> tuple[str, ...]:
    meant = found.get("steps")
    if not isinstance(meant, list):
        raise Unusable('"steps" must be a list of step ids')
    for step in meant:
        if step not in steps:
            raise Unusable(f"{step!r} is not a step of the plan")
    return tuple(dict.fromkeys(meant))


def _read_redo(found: dict[str, Any]) -> bool:
    flag = found.get("explicit_redo")
    if not isinstance(flag, bool):
        raise Unusable('"explicit_redo" must be true or false')
    return flag
