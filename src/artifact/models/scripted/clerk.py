"""How a scripted model compiles and matches: by reading the same prompts that a model gets.

It is told apart what is asked by the title of the JSON schema, which is part of the protocol.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.scripted import remembering
from artifact.models.scripted.reading import (
    offers_choice,
    orders_redo,
    read_plan,
    read_revision,
    resolve,
    resolve_all,
)
from artifact.taskstate import Step

_MESSAGE = re.compile(r"^MESSAGE[^\n:]*:\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"([^"]+)"')


def answer_helper_call(messages: Sequence[Message], schema: dict[str, Any]) -> str:
    """The JSON answer to a compile or match call.

    Raises
    ------
    RequestError
        When the schema is none that this program asks with.
    """
    title = schema.get("title", "")
    if title not in _ANSWERS:
        raise RequestError(f"a scripted model can't answer a call with the schema {title!r}; use a real model")
    return orjson.dumps(_ANSWERS[title](messages[0].content)).decode()


def _compiled_plan(prompt: str) -> dict[str, Any]:
    plan = read_plan(prompt)
    return {"steps": {step.id: {"deps": list(step.prerequisites), "code": step.code} for step in plan.steps}}


def _compiled_step(prompt: str) -> dict[str, Any]:
    line = prompt[prompt.rindex("Line: ") + len("Line: "):].split("\n")[0]
    step = read_plan(line).steps[0]
    return {"deps": list(step.prerequisites), "code": step.code}


def _message(prompt: str) -> str:
    """The message that a prompt quotes under ``MESSAGE …:``."""
    found = _MESSAGE.search(prompt)
    return found[1] if found else ""


def _compiled_revision(prompt: str) -> dict[str, Any]:
    steps = read_plan(prompt).steps
    revision = read_revision(_message(prompt), steps)
    if revision is None:
        return {"cancel": None, "rewires": {}, "relax": None}
    return {"cancel": revision.cancel, "rewires": {step: list(deps) for step, deps in revision.rewires}, "relax": None}


def _revision_cancel(prompt: str) -> dict[str, Any]:
    steps = read_plan(prompt).steps
    revision = read_revision(prompt[prompt.index("changes the plan:"):], steps)
    return {"cancel": revision.cancel if revision is not None else None}


def _revision_step(prompt: str) -> dict[str, Any]:
    sentence, _, asked = prompt[prompt.rindex("Sentence: ") :].partition('\nStep: "')
    step = asked.split('"')[0]
    quoted = dict.fromkeys(_QUOTED.findall(sentence))
    dropped = re.findall(r'no longer requires "([^"]+)"', sentence)
    return {"requires": [text for text in quoted if text != step and text not in dropped]}


def _match_step(prompt: str) -> dict[str, Any]:
    steps = read_plan(prompt[prompt.rindex("Steps:\n"):]).steps
    return {"step": _the_step(prompt[prompt.rindex("Message: ") + len("Message: "):].split("\nJSON")[0], steps)}


def _match_redo(prompt: str) -> dict[str, Any]:
    return {"explicit_redo": orders_redo(prompt[prompt.rindex("Message: "):])}


def _match(prompt: str) -> dict[str, Any]:
    message = _message(prompt)
    return {"step": _the_step(message, read_plan(prompt).steps), "explicit_redo": orders_redo(message)}


def _the_step(message: str, steps: Iterable[Step]) -> str | None:
    """The one step that a message is about; None when it leaves open which of two."""
    return None if offers_choice(message) else resolve(message, steps)


def _paraphrase(prompt: str) -> dict[str, Any]:
    return {"rewrite": f"Hello, {prompt[prompt.rindex('Message: ') + len('Message: '):].splitlines()[0]}"}


def _match_several(prompt: str) -> dict[str, Any]:
    message = _message(prompt)
    return {"steps": resolve_all(message, read_plan(prompt).steps), "explicit_redo": orders_redo(message)}


def _match_step_several(prompt: str) -> dict[str, Any]:
    steps = read_plan(prompt[prompt.rindex("Steps:\n"):]).steps
    return {"steps": resolve_all(prompt[prompt.rindex("Message: ") + len("Message: "):].split("\nJSON")[0], steps)}


_ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "compiled_plan": _compiled_plan,
    "compiled_step": _compiled_step,
    "compiled_revision": _compiled_revision,
    "revision_cancel": _revision_cancel,
    "revision_step": _revision_step,
    "match": _match,
    "match_step": _match_step,
    "match_redo": _match_redo,
    "paraphrase": _paraphrase,
    "match_several": _match_several,
    "match_step_several": _match_step_several,
    **remembering.ANSWERS,
}
