"""The variants of a trap turn: one thing changed, everything else byte for byte as it was recorded (Appendix A.4).

What the paper leaves open, and is decided here:

- *Checklist and directive* show the realized state at the turn, the generator's own, so that what is shown is right;
  they use the strings of the checklist and directive arms. In the user turn they follow the request as in those arms;
  in the system prompt they follow the brief.
- *Confirm and status question* keep the recorded work order; *no work order* is the recorded request without it.
- *The agent's own record* is every ref line with the step's completion code in its earlier replies, redisplays
  included: a copy left standing would still be a record. Rewritten as prose, the ref line gives way to a sentence;
  erased, to nothing. The rest of such a reply stays.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache

from artifact import paths
from artifact.arms import PromptSet
from artifact.log.probes import Change, ProbeVariant, VariantRecord
from artifact.log.records import Message
from artifact.runner.trap_turns import Trap
from artifact.taskstate import parse_ref_lines

# The ones that share the recorded history come first, so that a prefix cache holds it through all their samples; two
# neighbours part at the beginning of the last message or well before its end, never within its last tokens.
ORDER = tuple(ProbeVariant)


@cache
def wordings() -> dict[str, str]:
    """The probe's own texts by name."""
    return tomllib.loads((paths.PROMPTS / "trap_probe.toml").read_text("utf-8"))


def remembered_in_ref_lines(trap: Trap, sentence: str) -> tuple[Change, ...]:
    """The agent's own record in the text protocol with this sentence in its place."""
    changes = []
    for at, message in enumerate(trap.record.conversation):
        if message.role == "assistant":
            rewritten = _without_ref_lines(message.content, trap.record.code, sentence)
            if rewritten != message.content:
                changes.append(Change(at, Message(message.role, rewritten)))
    return tuple(changes)


def variants_of(trap: Trap, prompts: PromptSet,
                remembered: Callable[[Trap, str], tuple[Change, ...]] = remembered_in_ref_lines,
                ) -> Iterator[VariantRecord]:
    """Every variant of a trap turn, in the order in which they are asked.

    Parameters
    ----------
    trap : Trap
        The trap turn and the state at its start.
    prompts : PromptSet
        Where checklist and directive come from.
    remembered : callable
        What puts a sentence, or nothing, in the place of the agent's own record.
    """
    for variant in ORDER:
        changes = _changes(trap, variant, prompts, remembered)
        work_order = None if variant is ProbeVariant.NO_WORK_ORDER else trap.record.work_order
        yield VariantRecord(variant, work_order, changes)


def _changes(trap: Trap, variant: ProbeVariant, prompts: PromptSet,
             remembered: Callable[[Trap, str], tuple[Change, ...]]) -> tuple[Change, ...]:
    record = trap.record
    request = record.conversation[-1].content
    match variant:
        case ProbeVariant.AS_RECORDED:
            return ()
        case ProbeVariant.CONFIRM | ProbeVariant.STATUS_QUESTION:
            return _asked(trap, wordings()[variant].format(text=record.step_text, work_order=record.work_order))
        case ProbeVariant.NO_WORK_ORDER:
            return _asked(trap, re.sub(rf"\s*\(?{re.escape(record.work_order)}\)?", "", request))
        case ProbeVariant.CHECKLIST_USER:
            return _asked(trap, f"{request}\n\n{prompts.checklist(trap.state)}")
        case ProbeVariant.DIRECTIVE_USER:
            return _asked(trap, f"{request}\n\n{prompts.render('directive_done', step=record.step)}")
        case ProbeVariant.CHECKLIST_SYSTEM:
            return _briefed(trap, prompts.checklist(trap.state))
        case ProbeVariant.DIRECTIVE_SYSTEM:
            return _briefed(trap, prompts.render("directive_done", step=record.step))
        case ProbeVariant.RECORD_PROSE:
            return remembered(trap, wordings()["prose"].format(text=record.step_text))
        case ProbeVariant.RECORD_ERASED:
            return remembered(trap, "")


def _asked(trap: Trap, request: str) -> tuple[Change, ...]:
    return (Change(len(trap.record.conversation) - 1, Message("user", request)),)


def _briefed(trap: Trap, addition: str) -> tuple[Change, ...]:
    brief = trap.record.conversation[0]
    return (Change(0, Message(brief.role, f"{brief.content}\n\n{addition}")),)


def _without_ref_lines(reply: str, code: str, sentence: str) -> str:
    for line in reversed([line for line in parse_ref_lines(reply) if line.code == code]):
        before, after = reply[:line.start], reply[line.end:]
        if not sentence and not before.rpartition("\n")[2].strip() and not after.partition("\n")[0].strip():
            before, after = before.rpartition("\n")[0], after[after.find("\n"):] if "\n" in after else ""
        reply = before + sentence + after
    return reply
