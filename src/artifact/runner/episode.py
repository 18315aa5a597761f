"""One conversation, from the brief to the last turn. Pure but for the model: no files, no configuration.

Invariant: infrastructure is not behaviour. A call that can't be answered ends the episode with a reason.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from artifact.arms import Arm, Opening, Outgoing, PromptSet, Request, StateSource
from artifact.arms.memory.kit import MemoryKit
from artifact.arms.structured import usage_of
from artifact.log.records import Booking, Call, EndReason, EndRecord, Message, Record, TurnRecord
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout, Reply
from artifact.models.transcript import Transcript
from artifact.runner.answering import EMPTY_REPLY, Complete, answer, replied
from artifact.runner.budgets import Budgets
from artifact.runner.schedule import Schedule
from artifact.taskstate import NOT_A_REQUEST, Episode, RequestKind, ScriptedTurn, TaskState


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
    flush_behind : callable
        Sees to it that the disk has all of the log but its last turn.
    memory : MemoryKit or None
        What a memory arm works with; None for the others.
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
    flush_behind: Callable[[], Awaitable[None]]
    memory: MemoryKit | None = None


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
    await c.arm.open(Opening(c.prompts, c.source, c.episode.seed, c.memory))
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
        transcript.append(Message("user", outgoing.content))
        exchange = await _exchange(c, transcript, request, outgoing)
        transcript.append(Message("assistant", exchange.reply.text))
        c.write(_record(c, number, scripted, turn, outgoing, exchange))
        await c.flush_behind()
        executed = {step for booking in exchange.bookings
                    if booking.accepted and (step := c.episode.graph.step_with_code(booking.code))}
        schedule.note(turn, realized, executed)
        for step in sorted(executed):
            realized = realized.execute(step, turn.work_order or "", number)
        if turn.kind is RequestKind.REVISION:
            realized = realized.revise(c.episode.revision)
        number += 1
        yield number
        await asyncio.sleep(0)


@dataclass(frozen=True)
class _Exchange:
    """What passed in one turn: the reply that stands, those before it, and what was shown in this turn only."""

    reply: Reply
    earlier: tuple[Call, ...]
    ephemeral: tuple[Message, ...]
    bookings: tuple[Booking, ...]


async def _exchange(c: Conversation, transcript: Transcript, request: Request, outgoing: Outgoing) -> _Exchange:
    """Get the agent's reply, anew for as long as the arm wants one written after a refusal."""
    in_place, messages = _as_shown(transcript, outgoing)
    aside: list[Message] = []
    earlier: list[Call] = []
    replies = _recorded_replies(c.recorded[request.turn]) if request.turn in c.recorded else None
    while True:
        if replies is not None:
            reply = next(replies)
        else:
            reply, emptied = await answer(c.agent, [*messages, *aside] if aside else messages, c.budgets,
                                          thinking=c.thinking)
            earlier += emptied
        outcome = c.arm.receive(request, reply.text)
        if outcome.again is None:
            before = c.recorded[request.turn].superseded_replies if replies is not None else tuple(earlier)
            return _Exchange(reply, before, (*in_place, *aside), outcome.bookings)
        earlier.append(Call(outcome.purpose, (), reply.text, reply.finish_reason, usage_of(reply), reply.reasoning))
        aside += [Message("assistant", reply.text), Message("user", outcome.again)]


def _as_shown(transcript: Transcript, outgoing: Outgoing) -> tuple[tuple[Message, ...], Sequence[Message]]:
    """The messages that this turn shows in place of those in the history, and the conversation with them."""
    if outgoing.shown is None and not outgoing.system and outgoing.history is None:
        return (), transcript
    messages = list(transcript)
    if outgoing.history is not None:
        messages[1:-1] = outgoing.history
    in_place: list[Message] = []
    if outgoing.system:
        messages[0] = Message("system", f"{messages[0].content}\n\n{outgoing.system}")
        in_place.append(messages[0])
    if outgoing.shown is not None:
        messages[-1] = Message("user", outgoing.shown)
        in_place.append(messages[-1])
    return tuple(in_place), messages


def _recorded_replies(turn: TurnRecord) -> Iterator[Reply]:
    """The replies of a turn that an earlier run has answered: those that the arm had followed up, and the last."""
    for call in turn.superseded_replies:
        if call.purpose != EMPTY_REPLY:
            yield replied(call)
    yield replied(Call("reply", (), turn.reply, turn.finish_reason, turn.usage, turn.reasoning))


def _record(c: Conversation, number: int, scripted: int | None, turn: ScriptedTurn, outgoing: Outgoing,
            exchange: _Exchange) -> TurnRecord:
    opening = (Message("system", c.brief),) if number == 0 else ()
    reply = exchange.reply
    return TurnRecord(
        turn=number, scripted=scripted, kind=turn.kind, text=turn.text, step=turn.step, work_order=turn.work_order,
        sent=(*opening, Message("user", outgoing.content)), ephemeral=exchange.ephemeral, reply=reply.text,
        reasoning=reply.reasoning, finish_reason=reply.finish_reason, bookings=exchange.bookings,
        directive=outgoing.directive, notices=outgoing.notices, checklist=outgoing.checklist,
        usage=usage_of(reply), superseded_replies=exchange.earlier)
