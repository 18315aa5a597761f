"""Scripted agents of the tool harness: they bound the metric and drive the tests (Appendix A.1)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from artifact.errors import RequestError
from artifact.log.records import Message
from artifact.models.base import FinishReason, Reply
from artifact.models.scripted.clerk import answer_helper_call
from artifact.models.scripted.policies import Policy
from artifact.models.scripted.reading import read_plan, read_work_order, resolve
from artifact.taskstate import Episode, RequestKind, TaskState

_RESULT = re.compile(r"^\[TOOL RESULT\] (?P<tool>[a-z0-9_]+) for (?P<work_order>#W\d{4}): "
                     r"(?P<fate>done|no answer|it failed|nothing to do)", re.MULTILINE)
_REFUSED = re.compile(r"^\[ACTION REJECTED\] ", re.MULTILINE)


def action(tool: str, work_order: str) -> str:
    """The line that asks for a tool."""
    return f'ACTION {{"tool": "{tool}", "work_order": "{work_order}"}}'


def _is_result(message: Message) -> bool:
    """Whether a message is the system's answer to an action, and not a request with such an answer before it."""
    return message.content.startswith(("[TOOL RESULT]", "[ACTION REJECTED]")) and "\n\n" not in message.content


class _Perfect:
    """Replays ground truth, and tries a tool anew that failed before its work."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._by_work_order = {turn.work_order: turn for turn in (*episode.turns, *episode.reasks) if turn.work_order}
        self._revision_texts = [turn.text for turn in episode.turns if turn.kind is RequestKind.REVISION]

    def reply(self, messages: Sequence[Message]) -> str:
        state, order, refused = TaskState(self._episode.graph), None, False
        for message in messages[1:]:
            if message.role != "user":
                continue
            if not _is_result(message):
                order, refused = read_work_order(message.content), False
                if any(text in message.content for text in self._revision_texts):
                    state = state.revise(self._episode.revision)
            refused = refused or _REFUSED.search(message.content) is not None
            for found in _RESULT.finditer(message.content):
                step = state.graph.step_with_code(found["tool"])
                if step is not None and found["fate"] in ("done", "no answer"):
                    state = state.execute(step, found["work_order"], 0)
        turn = self._by_work_order.get(order or "")
        if turn is None or turn.step is None or order is None or refused:
            return "Noted."
        if any(receipt.work_order == order for receipt in state.receipts):
            return "Done."
        if turn.kind is RequestKind.LEGIT_REDO:
            state = state.authorize([turn.step])
        decision = state.decide(turn.step)
        return action(state.graph[turn.step].code, order) if decision.allowed else f"Not now: {decision.status}."


class _AlwaysAct:
    """Memoryless: calls the tool of every request once, and leaves it at what comes back."""

    def __init__(self, episode: Episode) -> None:
        pass

    def reply(self, messages: Sequence[Message]) -> str:
        if _is_result(messages[-1]):
            return "Done."
        plan, text = read_plan(messages[0].content), messages[-1].content
        order, step = read_work_order(text), resolve(text, plan.steps)
        return action(plan[step].code, order) if order is not None and step is not None else "Noted."


class _Eager(_AlwaysAct):
    """Asked for a step, carries out first what it requires and isn't done, then the step: each call by itself right."""

    def reply(self, messages: Sequence[Message]) -> str:
        plan = read_plan(messages[0].content)
        request = [message for message in messages if message.role == "user" and not _is_result(message)][-1].content
        order, step = read_work_order(request), resolve(request, plan.steps)
        if order is None or step is None or "[ACTION REJECTED]" in messages[-1].content:
            return "Noted."
        done = {found["tool"] for message in messages for found in _RESULT.finditer(message.content)
                if found["fate"] in ("done", "nothing to do")}
        if _is_result(messages[-1]) and plan[step].code in {
                found["tool"] for found in _RESULT.finditer(messages[-1].content)}:
            return "Done."
        missing = [plan[needed].code for needed in plan[step].prerequisites if plan[needed].code not in done]
        return action((missing or [plan[step].code])[0], order)


class _Stubborn(_AlwaysAct):
    """Never takes an answer for final: calls the request's tool again after everything but a refusal."""

    def reply(self, messages: Sequence[Message]) -> str:
        if _REFUSED.search(messages[-1].content):
            return "Done."
        request = [message for message in messages if message.role == "user" and not _is_result(message)][-1]
        return super().reply([messages[0], request])


class _Retrying(_AlwaysAct):
    """Calls the request's tool again for as long as the answer leaves open whether its work was done."""

    def reply(self, messages: Sequence[Message]) -> str:
        fates = [found["fate"] for found in _RESULT.finditer(messages[-1].content)]
        if fates and fates[-1] in ("it failed", "no answer") and _is_result(messages[-1]):
            request = [message for message in messages if message.role == "user" and not _is_result(message)][-1]
            return super().reply([messages[0], request])
        return super().reply(messages)


class _NeverAct:
    """Calls nothing."""

    def __init__(self, episode: Episode) -> None:
        pass

    def reply(self, messages: Sequence[Message]) -> str:
        return "Noted."


POLICIES: dict[str, Callable[[Episode], Policy]] = {
    "perfect": _Perfect, "always-act": _AlwaysAct, "eager": _Eager, "stubborn": _Stubborn, "retrying": _Retrying,
    "never-act": _NeverAct,
}


class ScriptedAgent:
    """A chat model that follows a policy; it compiles and matches by reading, without error.

    Parameters
    ----------
    policy : str
        One of `POLICIES`.

    Raises
    ------
    RequestError
        When there is no such policy.
    """

    def __init__(self, policy: str, bound: Policy | None = None) -> None:
        if policy not in POLICIES:
            raise RequestError(f"the harness tools has no scripted agent {policy!r}; it has "
                               f"{', '.join(f'scripted:{name}' for name in POLICIES)}")
        self.name = f"scripted-{policy}"
        self._policy, self._bound = policy, bound

    def identity(self) -> dict[str, Any]:
        """Engine and name."""
        return {"engine": "scripted", "name": self.name}

    def bind(self, episode: Episode) -> "ScriptedAgent":
        """This agent for one episode; only the perfect one makes use of it."""
        return ScriptedAgent(self._policy, POLICIES[self._policy](episode))

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0,
                       seed: int | None = None, session: str | None = None,
                       schema: dict[str, Any] | None = None) -> Reply:
        """Answer by the policy; tokens are counted as words."""
        assert self._bound is not None or schema is not None, "an agent is bound to its episode before it replies"
        text = answer_helper_call(messages, schema) if schema is not None else self._bound.reply(messages)  # type: ignore[union-attr]
        return Reply(text, "", FinishReason.STOP, sum(len(message.content.split()) for message in messages), 0,
                     len(text.split()))

    async def close(self) -> None:
        """Nothing to release."""
