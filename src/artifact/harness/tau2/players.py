"""Agent and user of a live run: the benchmark's own, with a log of what they answered.

An answer that the log holds from an earlier run is given again without asking a model, so that a killed episode goes
on where it stopped. An answer of the agent that can't be used is logged as its failure; one of the user ends the
episode like a server's, and the next run asks again.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from artifact.errors import InfrastructureError
from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.records import CallMade, MessageRecord
from artifact.log.records import Usage

CALLER_OPENS = "Hello. I call for a customer and read out the note that I was given."
CALLER_AGREES = "Yes, please go ahead."
CALLER_LISTENS = 4
"""Messages of words that the scripted caller takes before it leaves."""


class AgentFailure(Exception):
    """The agent answered something that is neither words nor a call: its episode has failed."""


class UserFailure(InfrastructureError):
    """The simulated user answered nothing that can be used: the agent is not to blame."""


@dataclass
class Memory:
    """The answers of an earlier run, to be given again in order, and where new ones are written.

    Parameters
    ----------
    recorded : list of MessageRecord
        Not yet given again.
    write : callable
        Takes each answer, given again or new.
    """

    recorded: list[MessageRecord]
    write: Callable[[MessageRecord], None]
    seconds: float = 0.0

    def answer(self, speaker: str, ask: Callable[[], Any]) -> MessageRecord:
        """The next answer of a speaker, recorded or asked for.

        Raises
        ------
        AgentFailure, UserFailure
            When it can't be used.
        """
        while self.recorded and self.recorded[0].speaker == "user" and self.recorded[0].failure:
            self.write(self.recorded.pop(0))  # an older log holds the user's failure; the user is asked anew
        if self.recorded:
            record = self.recorded.pop(0)
            assert record.speaker == speaker, "the recorded conversation took another course"
            self.seconds += record.usage.latency_s
        else:
            record = _asked(speaker, ask)
        if record.failure and speaker == "user":  # not written: the same command asks again
            raise UserFailure(record.failure)
        self.write(record)
        if record.failure:
            raise AgentFailure(record.failure)
        return record


def _asked(speaker: Any, ask: Callable[[], Any]) -> MessageRecord:
    started = time.monotonic()
    try:
        message = ask()
    except json.JSONDecodeError as error:
        return MessageRecord(speaker, None, failure=f"the arguments of its call are no JSON ({error.msg})")
    except ValidationError as error:
        return MessageRecord(speaker, None, failure=f"its call has no object as arguments ({error.error_count()} "
                                                    "problems)")
    usage = message.usage or {}
    calls = tuple(CallMade(call.id, call.name, call.arguments) for call in message.tool_calls or ())
    failure = "" if calls or (message.content or "").strip() else "it answered neither words nor a call"
    return MessageRecord(speaker, message.content, calls, failure,
                         Usage(usage.get("prompt_tokens", 0), 0, usage.get("completion_tokens", 0),
                               round(time.monotonic() - started, 3)))


def live_agent(environment: Any, endpoint: tuple[str, dict[str, Any]], memory: Memory,
               shown: Callable[[], str]) -> Any:
    """The benchmark's agent, journaled.

    Parameters
    ----------
    environment : Environment
        Its tools and policy.
    endpoint : (str, dict)
        Model and arguments for the benchmark's model library.
    memory : Memory
        Answers recorded and new.
    shown : callable
        The state block to append to what the agent receives; empty text for none.
    """
    benchmark.load()
    from tau2.agent.llm_agent import LLMAgent
    from tau2.data_model.message import AssistantMessage, MultiToolMessage

    class JournaledAgent(LLMAgent):  # type: ignore[misc, unused-ignore]
        def generate_next_message(self, message: Any, state: Any) -> Any:
            block = shown()
            if block:  # on a copy: what was received must stay as it is, the evaluator replays it
                if isinstance(message, MultiToolMessage):
                    *others, last = message.tool_messages
                    message = message.model_copy(update={"tool_messages": [*others, _with(last, block)]})
                else:
                    message = _with(message, block)
            received = message.tool_messages if isinstance(message, MultiToolMessage) else [message]
            before = list(state.messages)
            answer = memory.answer("agent", lambda: super(JournaledAgent, self).generate_next_message(
                message, state)[0])
            reply = AssistantMessage(role="assistant", content=answer.text, tool_calls=_calls(answer, "assistant"),
                                     cost=0.0)
            state.messages = [*before, *received, reply]
            return reply, state

    model, arguments = endpoint
    return JournaledAgent(tools=environment.get_tools(), domain_policy=environment.get_policy(), llm=model,
                          llm_args=arguments)


def live_user(task: Any, endpoint: tuple[str, dict[str, Any]], memory: Memory) -> Any:
    """The benchmark's user simulator, journaled; see `live_agent`."""
    benchmark.load()
    from tau2.data_model.message import UserMessage
    from tau2.user.user_simulator import UserSimulator

    class JournaledUser(UserSimulator):  # type: ignore[misc, unused-ignore]
        def generate_next_message(self, message: Any, state: Any) -> Any:
            before = list(state.messages)
            answer = memory.answer("user", lambda: super(JournaledUser, self).generate_next_message(
                message, state)[0])
            reply = UserMessage(role="user", content=answer.text, tool_calls=_calls(answer, "user"), cost=0.0)
            state.messages = [*before, message, reply]
            return reply, state

    model, arguments = endpoint
    return JournaledUser(instructions=str(task.user_scenario), llm=model, llm_args=arguments)


def calling_user(task: Any, memory: Memory) -> Any:
    """A scripted user for a live agent: reads out why it calls and what it knows, agrees to everything, and leaves.

    It isn't the benchmark's simulator, and a task that needs an answer of its own can't be finished with it; it lets a
    small agent be seen at work where a small simulated user forgets which side it is on.
    """
    benchmark.load()
    from tau2.data_model.message import UserMessage
    from tau2.user.base import STOP, BaseUser

    told = task.user_scenario.instructions
    opening = " ".join(f"{CALLER_OPENS} {told.reason_for_call} {told.known_info or ''}".split())
    says = (opening, *(CALLER_AGREES,) * (CALLER_LISTENS - 1), STOP)

    class CallingUser(BaseUser):  # type: ignore[misc, unused-ignore]
        def get_init_state(self, message_history: Any = None) -> int:
            return 0

        def generate_next_message(self, message: Any, state: int) -> Any:
            answer = memory.answer("user", lambda: UserMessage(role="user", content=says[state], cost=0.0))
            return UserMessage(role="user", content=answer.text, cost=0.0), state + 1

        @classmethod
        def is_stop(cls, message: Any) -> bool:
            return STOP in str(message.content)

        def set_seed(self, seed: int) -> None:
            """A script has none."""

    return CallingUser()


def _calls(answer: MessageRecord, requestor: str) -> list[Any] | None:
    from tau2.data_model.message import ToolCall
    made = [ToolCall(id=call.id, name=call.tool, arguments=dict(call.arguments), requestor=requestor)
            for call in answer.calls]
    return made or None


def _with(message: Any, block: str) -> Any:
    return message.model_copy(update={"content": f"{message.content or ''}\n\n{block}"})
