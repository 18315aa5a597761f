"""One conversation, from the brief to the last turn. Pure but for the model: no files, no configuration.

Invariant: infrastructure is not behaviour. A call that can't be answered ends the episode with a reason.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from artifact.arms import Arm, Opening, Outgoing, PromptSet, Request, StateSource
from artifact.arms.structured import usage_of
from artifact.log.records import Booking, Call, EndReason, EndRecord, Message, Record, TurnRecord
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout, Reply
from artifact.models.transcript import Transcript
from artifact.runner.budgets import Budgets
from artifact.runner.schedule import Schedule
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, ScriptedTurn, TaskState


class Complete(Protocol):
    """A model call with everything but messages and budget settled."""

    def __call__(self, messages: Sequence[Message], *, max_tokens: int) -> Awaitable[Reply]:
        """Answer a conversation."""
        ...


@dataclass(frozen=True)
class Conversation:
    """Everything that one conversation is made of.

    Parameters
    ----------
    episode : Episode
        The script.
    brief : str
        The system prompt.
    prompts : PromptSet
        Texts of checklist, directives and notices.
    arm : Arm
        The coupling.
    source : StateSource
        Where the arm's state comes from.
    agent : Complete
        The agent.
    budgets : Budgets
        Token budgets.
    thinking : bool
        Whether the agent thinks before it answers: an empty answer is then asked again with more room.
    recorded : dict of int to TurnRecord
        Turns that an earlier run has answered.
    write : callable
        Appends a record to the log.
    """

    episode: Episode
    brief: str
    prompts: PromptSet
    arm: Arm
    source: StateSource
    agent: Complete
    budgets: Budgets
    thinking: bool
    recorded: dict[int, TurnRecord]
    write: Callable[[Record], None]


async def hold(conversation: Conversation, on_turn: Callable[[int], Any] = lambda turn: None) -> EndRecord:
    """Hold a conversation to its end.

    Parameters
    ----------
    conversation : Conversation
        What to hold.
    on_turn : callable
        Called with the number of turns answered, for progress.

    Returns
    -------
    EndRecord
        Why it ended; not written yet, and without the time it took.
    """
    turns = 0
    try:
        async for turns in _turns(conversation):
            on_turn(turns)
    except ContextOverflow as error:
        return EndRecord(EndReason.CONTEXT_OVERFLOW, turns, str(error), faults=error.faults)
    except ModelTimeout as error:
        return EndRecord(EndReason.TIMEOUT, turns, str(error), faults=error.faults)
    except ModelError as error:
        return EndRecord(EndReason.MODEL_ERROR, turns, str(error), faults=error.faults)
    return EndRecord(EndReason.COMPLETED, turns)


async def _turns(c: Conversation) -> AsyncIterator[int]:
    await c.arm.open(Opening(c.prompts, c.source, c.episode.seed))
    transcript = Transcript([Message("system", c.brief)])
    realized = TaskState(c.episode.graph)
    schedule = Schedule(c.episode)
    number = 0
    while due := schedule.next(realized):
        scripted, turn = due
        request = Request(number, turn.text, turn.work_order, turn.kind not in NOT_A_REQUEST)
        if turn.kind is RequestKind.REVISION:
            await c.arm.revise(turn.text)
        outgoing = await c.arm.compose(request)
        fresh = [Message("user", outgoing.content)]
        transcript.extend(fresh)
        reply, earlier = await _answer(c, transcript, number)
        transcript.append(Message("assistant", reply.text))
        bookings = c.arm.receive(request, reply.text)
        c.write(_record(c, number, scripted, turn, outgoing, reply, earlier, bookings))
        executed = {step for b in bookings if b.accepted and (step := c.episode.graph.step_with_code(b.code))}
        schedule.note(turn, realized, executed)
        for step in sorted(executed):
            realized = realized.execute(step, turn.work_order or "", number)
        if turn.kind is RequestKind.REVISION:
            realized = realized.revise(c.episode.revision)
        number += 1
        yield number
        await asyncio.sleep(0)


async def _answer(c: Conversation, transcript: Transcript, number: int) -> tuple[Reply, tuple[Call, ...]]:
    """The agent's reply, recorded or asked for, with the budgets and fall-backs of Appendix B.4."""
    if number in c.recorded:
        turn = c.recorded[number]
        usage = turn.usage
        return Reply(turn.reply, turn.reasoning, turn.finish_reason, usage.prompt, usage.cached,  # type: ignore[arg-type]
                     usage.completion, usage.latency_s, usage.attempts, usage.faults), turn.superseded_replies
    budget = c.budgets.reply
    earlier: list[Call] = []
    while True:
        try:
            reply = await c.agent(transcript, max_tokens=budget)
        except ContextOverflow:
            if budget <= c.budgets.overflow_floor:
                raise
            budget = max(c.budgets.overflow_floor, budget // 2)
            continue
        if reply.text.strip() or not c.thinking or budget >= c.budgets.reply_ceiling:
            return reply, tuple(earlier)
        earlier.append(Call("reply", (), reply.text, reply.finish_reason, usage_of(reply), reply.reasoning))
        budget = min(2 * budget, c.budgets.reply_ceiling)


def _record(c: Conversation, number: int, scripted: int | None, turn: ScriptedTurn, outgoing: Outgoing, reply: Reply,
            earlier: tuple[Call, ...], bookings: tuple[Booking, ...]) -> TurnRecord:
    opening = (Message("system", c.brief),) if number == 0 else ()
    usage = c.recorded[number].usage if number in c.recorded else usage_of(reply)
    return TurnRecord(
        turn=number, scripted=scripted, kind=turn.kind, text=turn.text, step=turn.step, work_order=turn.work_order,
        sent=(*opening, Message("user", outgoing.content)), ephemeral=(), reply=reply.text,
        reasoning=reply.reasoning, finish_reason=reply.finish_reason, bookings=bookings,
        directive=outgoing.directive, notices=outgoing.notices, checklist=outgoing.checklist,
        usage=usage, superseded_replies=earlier)

