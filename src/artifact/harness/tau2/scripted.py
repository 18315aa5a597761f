"""Scripted agent and user, for the offline proof: known calls, a last word, and a user who agrees and leaves."""

from collections.abc import Callable, Sequence
from typing import Any

from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.records import CallMade, MessageRecord
from artifact.harness.tau2.texts import render

POLICIES = ("gold", "nothing")
_HELD_BACK = render("notice", reason="\0").split("\0")[0]


def script(policy: str, task: Any) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Calls and last words of a scripted policy on a task.

    Parameters
    ----------
    policy : str
        ``gold`` makes the calls that the task's authors expect and says what they want said; ``nothing`` declines.
    task : Task
        The task.
    """
    if policy == "nothing":
        return [], "I am not able to help with this."
    wanted = (task.evaluation_criteria.communicate_info if task.evaluation_criteria else None) or []
    return benchmark.gold_calls(task), " ".join(["That is all.", *wanted])


def scripted_agent(environment: Any, calls: Sequence[tuple[str, dict[str, Any]]], last_words: str,
                   write: Callable[[MessageRecord], None]) -> Any:
    """An agent that makes its calls one a message and repeats a call that was held back, once."""
    benchmark.load()
    from tau2.agent.base import LocalAgent
    from tau2.data_model.message import AssistantMessage, ToolCall

    class ScriptedAgent(LocalAgent[Any]):  # type: ignore[misc, unused-ignore]
        _made: tuple[str, dict[str, Any]]

        def get_init_state(self, message_history: Any = None) -> list[tuple[str, dict[str, Any]]]:
            return list(calls)

        def generate_next_message(self, message: Any, state: Any) -> Any:
            held_back = message.role == "tool" and str(message.content).startswith(_HELD_BACK)
            if held_back:
                state = [self._made, *state]
            if not state:
                write(MessageRecord("agent", last_words))
                return AssistantMessage(role="assistant", content=last_words, cost=0.0), state
            self._made, *state = state
            name, arguments = self._made
            write(MessageRecord("agent", None, (CallMade("scripted", name, arguments),)))
            call = ToolCall(id="scripted", name=name, arguments=dict(arguments), requestor="assistant")
            return AssistantMessage(role="assistant", tool_calls=[call], cost=0.0), state

        def set_seed(self, seed: int) -> None:
            """A script has none."""

    return ScriptedAgent(tools=environment.get_tools(), domain_policy=environment.get_policy())


def scripted_user(write: Callable[[MessageRecord], None]) -> Any:
    """A user who agrees to everything in advance and leaves after the agent's first words."""
    benchmark.load()
    from tau2.data_model.message import UserMessage
    from tau2.user.base import STOP, BaseUser

    class ScriptedUser(BaseUser):  # type: ignore[misc, unused-ignore]
        def get_init_state(self, message_history: Any = None) -> int:
            return 0

        def generate_next_message(self, message: Any, state: int) -> Any:
            words = STOP if state else "Yes, please do what I asked for."
            write(MessageRecord("user", words))
            return UserMessage(role="user", content=words, cost=0.0), state + 1

        @classmethod
        def is_stop(cls, message: Any) -> bool:
            return STOP in str(message.content)

        def set_seed(self, seed: int) -> None:
            """A script has none."""

    return ScriptedUser()
