"""One conversation of the tool harness, from the brief to the last turn; of files it knows the workspace alone.

Invariant: infrastructure is not behaviour. A call that can't be answered ends the conversation with a reason.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from artifact.arms import Opening, Outgoing, PromptSet, Request, StateSource
from artifact.arms.base import DispatchArm
from artifact.arms.structured import usage_of
from artifact.harness.tools.actions import parse_actions
from artifact.harness.tools.dispatch import Dispatch
from artifact.harness.tools.failures import Failures
from artifact.harness.tools.graph import TurnContext, take_turn
from artifact.harness.tools.records import EMPTY_REPLY, REPLY, WORKED, ToolCall, ToolTurnRecord, WorkspaceRecord
from artifact.harness.tools.workspace import Workspace
from artifact.log.records import Call, EndReason, EndRecord, Message
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout, Reply
from artifact.runner.answering import Complete, answer, replied
from artifact.runner.budgets import Budgets
from artifact.runner.schedule import Schedule
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, TaskState


@dataclass(frozen=True)
class ToolConversation:
    """Everything that one conversation is made of.

    Parameters
    ----------
    episode : Episode
        The script, with tools for codes.
    brief : str
        The system prompt.
    prompts : PromptSet
        Texts of checklist, directives and results.
    arm : DispatchArm
        The coupling.
    source : StateSource
        Where the arm's state comes from.
    agent : Complete
        The agent.
    budgets : Budgets
        Token budgets.
    thinking : bool
        Whether the agent thinks before it answers.
    rounds : int
        Rounds of actions that a turn may have.
    failures : Failures
        Which calls of tools fail.
    idempotent : bool
        Whether a tool knows a work order again.
    recorded : dict of int to ToolTurnRecord
        Turns that an earlier run has answered.
    write : callable
        Appends a record to the log.
    """

    episode: Episode
    brief: str
    prompts: PromptSet
    arm: DispatchArm
    source: StateSource
    agent: Complete
    budgets: Budgets
    thinking: bool
    rounds: int
    failures: Failures
    idempotent: bool
    recorded: dict[int, ToolTurnRecord]
    write: Callable[[Any], None]


async def converse(c: ToolConversation) -> EndRecord:
    """Hold a conversation to its end; why it ended, without the time it took."""
    turns = 0
    tools = [step.code for step in c.episode.graph.steps]
    with Workspace(tools) as workspace:
        try:
            async for answered in _turns(c, workspace):
                turns = answered
        except ContextOverflow as error:
            return EndRecord(EndReason.CONTEXT_OVERFLOW, turns, str(error), faults=error.faults)
        except ModelTimeout as error:
            return EndRecord(EndReason.TIMEOUT, turns, str(error), faults=error.faults)
        except ModelError as error:
            return EndRecord(EndReason.MODEL_ERROR, turns, str(error), faults=error.faults)
        c.write(WorkspaceRecord(workspace.artifacts()))
    return EndRecord(EndReason.COMPLETED, turns)


async def _turns(c: ToolConversation, workspace: Workspace) -> AsyncIterator[int]:
    await c.arm.open(Opening(c.prompts, c.source, c.episode.seed))
    dispatch = Dispatch(workspace, c.failures, c.arm, c.prompts, idempotent=c.idempotent)
    transcript = [Message("system", c.brief)]
    realized = TaskState(c.episode.graph)
    schedule = Schedule(c.episode)
    number, owed = 0, ""
    while due := schedule.next(realized):
        scripted, turn = due
        request = Request(number, turn.text, turn.work_order, turn.kind not in NOT_A_REQUEST)
        if turn.kind is RequestKind.REVISION:
            await c.arm.revise(turn.text)
        outgoing = await c.arm.compose(request)
        notices = (owed,) if owed else ()
        if owed:
            shown = outgoing.shown and f"{owed}\n\n{outgoing.shown}"
            outgoing = replace(outgoing, content=f"{owed}\n\n{outgoing.content}", shown=shown)
        exchange = _Exchange(c, dispatch, request, transcript, outgoing)
        said = [Message(*one) for one in await take_turn(exchange.context)]
        owed = exchange.put_off(said[-1].content)
        new = [Message("user", outgoing.content), *(message for message in said if message.role == "user")]
        c.write(ToolTurnRecord(
            number, scripted, turn.kind, turn.text, turn.step, turn.work_order,
            ((transcript[0],) if number == 0 else ()) + tuple(new), exchange.ephemeral, tuple(exchange.replies),
            tuple(exchange.calls), outgoing.directive, notices, outgoing.checklist))
        transcript += [Message("user", outgoing.content), *said]
        executed = _executed(c.episode, exchange.calls)
        schedule.note(turn, realized, executed)
        for step in sorted(executed):
            realized = realized.execute(step, turn.work_order or "", number)
        if turn.kind is RequestKind.REVISION:
            realized = realized.revise(c.episode.revision)
        number += 1
        yield number
        await asyncio.sleep(0)


def _executed(episode: Episode, calls: Sequence[ToolCall]) -> set[str]:
    return {step for call in calls if call.outcome in WORKED and (step := episode.graph.step_with_code(call.tool))}


class _Exchange:
    """One turn under way: what the agent is shown, and what came of it."""

    def __init__(self, c: ToolConversation, dispatch: Dispatch, request: Request, transcript: Sequence[Message],
                 outgoing: Outgoing) -> None:
        self._c, self._dispatch, self._request = c, dispatch, request
        self.replies: list[Call] = []
        self.calls: list[ToolCall] = []
        self._recorded = _recorded(c.recorded[request.turn]) if request.turn in c.recorded else None
        system, asked = transcript[0], Message("user", outgoing.content)
        in_place: list[Message] = []
        if outgoing.system:
            system = Message("system", f"{system.content}\n\n{outgoing.system}")
            in_place.append(system)
        if outgoing.shown is not None:
            asked = Message("user", outgoing.shown)
            in_place.append(asked)
        self.ephemeral = tuple(in_place)
        self._shown = [system, *transcript[1:], asked]
        self.context = TurnContext(self._answer, lambda reply: bool(parse_actions(reply)), self._carry_out, c.rounds)

    async def _answer(self, said: list[tuple[str, str]]) -> str:
        if self._recorded is not None:
            earlier, reply = next(self._recorded)
        else:
            messages = [*self._shown, *(Message(*one) for one in said)]
            reply, emptied = await answer(self._c.agent, messages, self._c.budgets, thinking=self._c.thinking)
            earlier = [replace(call, purpose=EMPTY_REPLY) for call in emptied]
        self.replies += [*earlier, Call(REPLY, (), reply.text, str(reply.finish_reason), usage_of(reply),
                                        reply.reasoning)]
        return reply.text

    def _carry_out(self, reply: str) -> str:
        calls = self._dispatch.run(self._request, reply)
        self.calls += calls
        return self._dispatch.result(calls)

    def put_off(self, last_reply: str) -> str:
        """Note what the last reply asks for beyond the turn's share; what the agent is to be told of it."""
        calls = self._dispatch.put_off(last_reply)
        self.calls += calls
        return self._dispatch.result(calls)


def _recorded(turn: ToolTurnRecord) -> Iterator[tuple[list[Call], Reply]]:
    """The replies of a turn that an earlier run has answered, each with the empty ones before it."""
    earlier: list[Call] = []
    for call in turn.replies:
        if call.purpose == EMPTY_REPLY:
            earlier.append(call)
        else:
            yield earlier, replied(call)
            earlier = []
