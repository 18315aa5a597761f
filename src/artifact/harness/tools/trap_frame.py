"""Branches of the trap-turn probe, sorted by what the tools did, in the columns of the text protocol's probe frame.

A branch *acts* when the finished step's tool stamped once more; what its agent states counts up to the reply on which
a tool did its work, for what it says after that may be of the work just done.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from artifact.errors import RequestError
from artifact.harness.reader import HarnessLog, iter_harness_logs
from artifact.harness.tools.actions import parse_actions, without_actions
from artifact.harness.tools.records import REPLY, WORKED, ToolCall
from artifact.harness.tools.trap_records import NAME, PROBE_RECORD_TYPES, BranchRecord, ToolTrapRecord, as_one
from artifact.log.probes import ProbeVariant, VariantRecord
from artifact.log.records import Cell, EndReason
from artifact.scorer.probe_frame import frame_of
from artifact.scorer.probe_replies import ReplySort, states_completion

_CELL = TypeAdapter(Cell)


def tool_probe_frame(sources: Iterable[Path]) -> pd.DataFrame:
    """Every branch of the probe logs among files and folders; where a probe lies twice, the first copy stands.

    Returns
    -------
    pandas.DataFrame
        The columns of `artifact.scorer.probe_frame.probe_frame`, a row a branch: `books` where the tool stamped again,
        `books_another` where another tool did, `redisplays` where the tool was called with another work order;
        `cited` never, for a call is no citation. Tokens and time are those of all replies of the branch.

    Raises
    ------
    RequestError
        When a branch's calls and its workspace disagree.
    """
    logs: dict[tuple[str, str, int], HarnessLog] = {}
    for log in iter_harness_logs(sources, NAME, PROBE_RECORD_TYPES):
        logs.setdefault((log.header.study, log.header.cell.slug, log.header.seed), log)
    return frame_of([row for log in logs.values() for row in _rows(log)])


def _rows(log: HarnessLog) -> Iterator[dict[str, Any]]:
    header = log.header
    cell = _CELL.validate_python(header.subject["cell"])
    about = {
        "study": header.study, "source_study": header.subject["source"]["study"], "model": cell.model,
        "state_model": cell.state_model, "size": cell.size, "density": cell.density, "domain": cell.domain,
        "brief": cell.brief.value, "regime": cell.regime, "prompts": cell.prompts, "schedule": cell.schedule,
        "cell": header.cell.slug, "arm": header.arm.name, "options": header.arm.canonical_options, "seed": header.seed,
        "completed": log.end is not None and log.end.reason is EndReason.COMPLETED,
    }
    trap: ToolTrapRecord | None = None
    variant: VariantRecord | None = None
    for record in log.records:
        if isinstance(record, ToolTrapRecord):
            trap = record
        elif isinstance(record, VariantRecord):
            variant = record
        elif isinstance(record, BranchRecord):
            assert trap is not None and variant is not None, "a branch follows its trap turn and its variant"
            yield {**about, **_row(trap, variant, record, f"{header.study}, {header.cell.slug}, seed {header.seed}")}


def _row(trap: ToolTrapRecord, variant: VariantRecord, branch: BranchRecord, where: str) -> dict[str, Any]:
    tool, turn = trap.trap.code, trap.trap.turn
    if _told(branch.calls) != branch.stamped:
        raise RequestError(f"workspace and calls of a branch of {where} disagree (turn {turn}, {variant.variant}, "
                           f"sample {branch.sample}); the log can't be sorted")
    replies = [call for call in branch.replies if call.purpose == REPLY]
    acts, greedy = tool in branch.stamped, branch.sample == 0
    stated = states_completion(_said_before_work([reply.reply for reply in replies], branch.calls), trap.trap.step,
                               variant.variant, books=acts)
    if acts:
        sort = ReplySort.BOOKS_STATED if stated else ReplySort.BOOKS_UNMENTIONED
    else:
        sort = ReplySort.DECLINES if stated else ReplySort.NEITHER
    recorded_acts = tool in _told(trap.calls)
    compared = greedy and variant.variant is ProbeVariant.AS_RECORDED
    usage = [call.usage for call in branch.replies]
    return {
        "turn": turn, "variant": variant.variant.value, "sample": branch.sample, "greedy": greedy, "sort": sort.value,
        "books": acts, "books_another": bool(branch.stamped.keys() - {tool}), "cited": False,
        "redisplays": any(call.tool == tool and call.work_order != variant.work_order for call in branch.calls),
        "recorded_books": recorded_acts, "reproduces": acts == recorded_acts if compared else None,
        "same_text": as_one(reply.reply for reply in replies) == trap.trap.recorded_reply if compared else None,
        "finish_reason": replies[-1].finish_reason, "prompt_tokens": sum(one.prompt for one in usage),
        "cached_tokens": sum(one.cached for one in usage), "completion_tokens": sum(one.completion for one in usage),
        "latency_s": sum(one.latency_s for one in usage),
    }


def _told(calls: Iterable[ToolCall]) -> dict[str, tuple[str, ...]]:
    """By tool, the work orders that calls claim to have stamped."""
    told: dict[str, tuple[str, ...]] = {}
    for call in calls:
        if call.outcome in WORKED:
            told[call.tool] = (*told.get(call.tool, ()), call.work_order)
    return told


def _said_before_work(replies: Sequence[str], calls: Sequence[ToolCall]) -> str:
    """The words of a turn's replies up to the one on which a tool did its work; ACTION lines are no words."""
    left, said = list(calls), list[str]()
    for reply in replies:
        said.append(without_actions(reply))
        asked = len(parse_actions(reply))
        carried_out, left = left[:asked], left[asked:]
        if any(call.outcome in WORKED for call in carried_out):
            break
    return "\n".join(said)
