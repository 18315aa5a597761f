"""The variants of a trap turn with tools: those of the text protocol, but for the agent's own record (Appendix A.4).

The paper says that the prose rewrite drops the tool result too. What it leaves open, and is decided here: the agent's
own record is every earlier ACTION line that names the finished step's tool, with what the system told of it and what
the agent answered to that. The line gives way to a sentence or to nothing; the line of the result goes; where nothing
is left of a result, its message goes and the reply to it too. Of such a reply, what asks for another tool stays, joined
to the reply before, so that the roles go on alternating.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from artifact.arms import PromptSet
from artifact.harness.tools.actions import parse_actions, without_actions
from artifact.harness.tools.records import ToolCall
from artifact.harness.tools.trap_replay import LiveTrap
from artifact.log.calls import Message
from artifact.log.probes import Change, VariantRecord
from artifact.runner.probe_variants import variants_of
from artifact.runner.trap_turns import Trap
from artifact.scorer.probe_replies import ASKS_ABOUT


def tool_variants(live: LiveTrap, prompts: PromptSet,
                  tell: Callable[[Sequence[ToolCall]], str]) -> Iterator[VariantRecord]:
    """Every variant of a trap turn, in the order in which they are asked.

    Parameters
    ----------
    live : LiveTrap
        The trap turn.
    prompts : PromptSet
        Where checklist and directive come from.
    tell : callable
        The text of the results of calls.
    """
    def remembered(trap: Trap, sentence: str) -> tuple[Change, ...]:
        return _remembered(live, sentence, tell)

    for variant in variants_of(live.trap, prompts, remembered):
        if variant.variant in ASKS_ABOUT and live.notices:  # another request, but the same notice before it
            (change,) = variant.changes
            assert change.message is not None
            told = "\n\n".join((*live.notices, change.message.content))
            variant = replace(variant, changes=(Change(change.at, Message("user", told)),))
        yield variant


def _remembered(live: LiveTrap, sentence: str, tell: Callable[[Sequence[ToolCall]], str]) -> tuple[Change, ...]:
    trap = live.trap.record
    texts: dict[int, str | None] = {}
    head: int | None = None  # the reply that the next one is joined to, for the result between them is gone
    for at, message in enumerate(trap.conversation):
        if message.role != "assistant":
            continue
        text = without_actions(message.content, tool=trap.code, instead=sentence)
        if head is not None:
            texts[at] = None
            texts[head] = "\n".join(filter(None, (texts[head], text if parse_actions(text) else "")))
        elif text != message.content:
            texts[at] = text
        calls = live.calls.get(at, ())
        others = [call for call in calls if call.tool != trap.code]
        if len(others) == len(calls):
            head = None
        elif others:
            texts[at + 1], head = tell(others), None
        else:
            texts[at + 1], head = None, at if head is None else head
    return tuple(Change(at, None if text is None else Message(trap.conversation[at].role, text))
                 for at, text in sorted(texts.items()))
