"""A gate whose plan a model compiles from a text, as it compiles the brief for the arms that own state (§3.2).

It stands among the arms, not in the gate's own room: compiling takes a model and prompts, and the gate knows neither.
"""

import re
from pathlib import Path
from typing import Any

from artifact.arms.compiler import compile_plan, plan_lines
from artifact.arms.prompts import load_prompts
from artifact.errors import RequestError
from artifact.gate import Gate
from artifact.log.records import Message
from artifact.models.base import ChatModel, Reply
from artifact.taskstate import BadGraph

_LISTED = re.compile(r"^\s*[-*] (s\d+)\b\W", re.MULTILINE)


async def gate_from_text(text: str, model: ChatModel, *, prompts: str | Path = "fewshot",
                         max_tokens: int = 3_000) -> Gate:
    """Build a gate from a text that names the steps.

    Parameters
    ----------
    text : str
        What the agent is told, with a line for each step: ``- s2: pay the bill (requires: s1) [tool pay]``, or with
        ``[completion code RC-1234]`` in the tool's place. The rest is free.
    model : ChatModel
        Reads each step's prerequisites and code from it. Opened and closed by the caller.
    prompts : str or Path
        The prompt set that it is asked with: one of the package by name, or a folder.
    max_tokens : int
        Budget of each of its answers.

    Returns
    -------
    Gate
        Of the compiled plan, which is its ``state.graph``. For a gate that outlives its process keep that graph, and
        give it to `KeptGate`: compiled anew, it may be another plan.

    Raises
    ------
    RequestError
        When the text has no such lines, or the model compiled none that a gate can own.
    InfrastructureError
        When the model didn't answer.
    """
    async def ask(messages: list[Message], *, purpose: str, schema: dict[str, Any]) -> Reply:
        return await model.complete(messages, max_tokens=max_tokens, schema=schema)

    read = [line["id"] for line in plan_lines(text)]
    unread = [step for step in _LISTED.findall(text) if read.count(step) != 1]
    if unread or not read:
        raise RequestError(f"the text has no line of its own for {unread[0] if unread else 'any step'}; write each "
                           "step once, as in: - s2: pay the bill (requires: s1) [tool pay]")
    record = await compile_plan(ask, load_prompts(prompts), text)
    try:
        if record.graph is None:
            raise BadGraph(record.error)
        return Gate(record.graph.check())
    except BadGraph as error:
        raise RequestError(f"the plan that {model.name} compiled can't be used ({error}); write the text more plainly, "
                           "or name another model") from None
