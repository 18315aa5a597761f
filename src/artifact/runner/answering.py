"""One reply of the agent, with the budgets and fall-backs of Appendix B.4."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from artifact.arms.structured import usage_of
from artifact.log.records import Call, Message
from artifact.models.base import ContextOverflow, Reply
from artifact.runner.budgets import Budgets

EMPTY_REPLY = "reply"  # purpose, in the log, of a reply that came back empty and was asked for again


class Complete(Protocol):
    """A model call with everything but messages and budget settled."""

    def __call__(self, messages: Sequence[Message], *, max_tokens: int) -> Awaitable[Reply]:
        """Answer a conversation."""
        ...


async def answer(agent: Complete, messages: Sequence[Message], budgets: Budgets, *, thinking: bool,
                 ) -> tuple[Reply, list[Call]]:
    """The agent's reply, and the empty ones before it.

    A budget that overflows the context is halved; a thinking model whose answer comes back empty is asked again with
    more room.
    """
    budget = budgets.reply
    earlier: list[Call] = []
    while True:
        try:
            reply = await agent(messages, max_tokens=budget)
        except ContextOverflow:
            if budget <= budgets.overflow_floor:
                raise
            budget = max(budgets.overflow_floor, budget // 2)
            continue
        if reply.text.strip() or not thinking or budget >= budgets.reply_ceiling:
            return reply, earlier
        earlier.append(Call(EMPTY_REPLY, (), reply.text, reply.finish_reason, usage_of(reply), reply.reasoning))
        budget = min(2 * budget, budgets.reply_ceiling)


def replied(call: Call) -> Reply:
    """A reply as a log keeps it, given again."""
    usage = call.usage
    return Reply(call.reply, call.reasoning, call.finish_reason, usage.prompt, usage.cached,  # type: ignore[arg-type]
                 usage.completion, usage.latency_s, usage.attempts, usage.faults)
