"""Scripted agents: known behaviour that bounds the metric and drives the tests.

They act and match from the truth about the week; they compile by reading the texts, which they can where a week was
generated.
"""

import re
from collections.abc import Sequence
from typing import Any

import orjson

from artifact.harness.pmbench.environment import CLOCK, World
from artifact.harness.pmbench.week import CueKind, Week
from artifact.log.records import Message
from artifact.models.base import Reply

POLICIES = ("garbage", "lazy", "oracle", "select-all")

_TIME = r"(?P<time>\d\d:\d\d)"
_CUE = rf"(?:at {_TIME}|when (?P<cue>[^,]+))"
_LINE = re.compile(rf"- {_CUE}, (?P<action>.+)\.", re.IGNORECASE)
_NOTE = re.compile(rf"A note to yourself: {_CUE}, (?P<action>[^.]+)\.")
_LATER = re.compile(rf"A note for (?P<day>\w+): on \w+, {_CUE}, (?P<action>[^.]+)\.")
_RETIME = re.compile(rf'Change of plan: "(?P<action>[^"]+)" moves from \S+ to {_TIME}\.')
_RECUE = re.compile(r'Change of plan: "(?P<action>[^"]+)" no longer waits .+; do it when (?P<cue>.+) instead\.')
_CANCEL = re.compile(r'Change of plan: "(?P<action>[^"]+)" is cancelled')
_CHANNEL = re.compile(r"the (?P<channel>\w+) channel \w+ (?P<shows>.+)")
_LISTED = re.compile(r"^- (i\d+): (.+) \((?:when|at) ", re.MULTILINE)


class ScriptedMind:
    """A scripted agent in one run of a week.

    Parameters
    ----------
    policy : str
        ``oracle`` looks where something is due and selects exactly that; ``lazy`` never looks; ``select-all`` selects
        what fits into an answer; ``garbage`` never answers in JSON. All match without error and compile by reading.
    week : Week
        The week.
    world : World
        It as it goes by in this run.
    """

    def __init__(self, policy: str, week: Week, world: World) -> None:
        self._policy, self._world = policy, world
        self._triggers = {task.id: task.trigger for _, task in week.tasks()}
        for _, step in week.steps():
            self._triggers |= {update.task_id: update.trigger for update in step.updates if update.trigger is not None}
        self._conditions = _read_conditions(week)

    async def answer(self, purpose: str, messages: Sequence[Message], *, max_tokens: int,
                     schema: dict[str, Any] | None) -> Reply:
        """Answer by the policy."""
        if purpose == "act":
            text = self._act()
        elif purpose == "match":
            text = _json(self._match(messages[0].content, schema or {}))
        else:
            text = _json({"operations": read_operations(messages[0].content)})
        return Reply(text)

    def _due(self) -> tuple[str, ...]:
        return self._world.due(self._world.now)

    def _handles(self, tasks: Sequence[str]) -> list[str]:
        return [entry.handle for entry in self._world.moment(self._world.now).menu if entry.target in tasks]

    def _match(self, question: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The due tasks whose trigger was seen, in the shape that is asked for."""
        seen = [task for task in self._due() if self._is_seen(task)]
        if schema["title"] == "handles":
            return {"handles": self._handles(seen)}
        now = {[words for since, words in self._conditions[task] if since <= self._world.now][-1] for task in seen}
        return {"happens": any(question.rstrip().endswith(f"Trigger: {words}\nJSON:") for words in now)}

    def _is_seen(self, task: str) -> bool:
        return self._place(task) in ("", *self._world.read)

    def _place(self, task: str) -> str:
        """Where the trigger of a task can be seen: the clock, a channel, or, empty, the scene."""
        kind = self._world.intentions[task].at(self._world.now).kind
        if kind == CueKind.CHANNEL:
            return str(self._triggers[task].cue_channel)
        return CLOCK if kind == CueKind.TIME else ""

    def _act(self) -> str:
        if self._policy == "garbage":
            return "I shall do whatever is due."
        if self._policy == "select-all":
            menu = self._world.moment(self._world.now).menu
            return _json({"action": "choose", "choice": "A", "tasks": [entry.handle for entry in menu[:8]]})
        unseen = [place for task in self._due() if (place := self._place(task)) not in ("", *self._world.read)]
        if self._policy == "oracle" and unseen:
            return _json({"action": "check_time"} if unseen[0] == CLOCK else
                         {"action": "query_state", "channel": unseen[0]})
        chosen = self._handles([task for task in self._due() if self._is_seen(task)])
        return _json({"action": "choose", "choice": "A", "tasks": chosen})


def _read_conditions(week: Week) -> dict[str, list[tuple[int, str]]]:
    """How the texts put each task's trigger, and from which step on."""
    named = {task.words.lower(): task.id for _, task in week.tasks()}
    found: dict[str, list[tuple[int, str]]] = {task: [] for task in named.values()}
    mornings = {day.steps[0].id: day.start_instructions for day in week.days}
    for index, (_, step) in enumerate(week.steps()):
        text = f"Text: {mornings.get(step.id, '')}\n{step.text}"
        for operation in read_operations(text):
            task = named.get(operation.get("action", "").lower()) or next((one.task_id for one in step.updates), None)
            if task is not None and "trigger" in operation:
                found[task].append((index, operation["trigger"]))
    return found


def read_operations(prompt: str) -> list[dict[str, Any]]:
    """The operations that the text at the end of a compile prompt asks for, read from its wording."""
    record, _, text = prompt.rpartition("Text: ")
    ids = {action: name for name, action in _LISTED.findall(record)}  # the last mention stands: examples come first
    found: list[dict[str, Any]] = [_added(match) for form in (_LINE, _NOTE, _LATER) for match in form.finditer(text)]
    for form, op in ((_RETIME, "retime"), (_RECUE, "recue"), (_CANCEL, "cancel")):
        for match in form.finditer(text):
            named = match.groupdict()
            new = named.get("time") or named.get("cue")
            found.append({"op": op, "id": ids.get(named["action"])} | ({"trigger": new} if new else {}))
    return found


def _added(match: re.Match[str]) -> dict[str, Any]:
    named = match.groupdict()
    operation = {"op": "add", "action": named["action"]} | ({"day": named["day"]} if named.get("day") else {})
    if named["time"]:
        return operation | {"when": "time", "trigger": named["time"]}
    channel = _CHANNEL.fullmatch(named["cue"])
    if channel:
        return operation | {"when": "channel", "trigger": channel["shows"], "channel": channel["channel"]}
    return operation | {"when": "cue", "trigger": named["cue"]}


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
