"""The logged raw-arm episodes of the tool harness that the trap-turn probe replays."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from artifact.errors import RequestError
from artifact.harness.reader import HarnessLog, iter_harness_logs, record_types
from artifact.harness.tools.records import RECORD_TYPES, WORKED, ToolTurnRecord
from artifact.log.records import EndReason
from artifact.runner.trap_turns import RAW
from artifact.taskstate import RequestKind


def tool_episodes(sources: Iterable[Path], *, model: str, regime: str,
                  seeds: Sequence[int] | None) -> list[HarnessLog]:
    """The completed raw-arm episodes of one model in which a finished step is asked for again, by cell and seed.

    Parameters
    ----------
    sources, model, regime, seeds
        As in `artifact.runner.trap_turns.trap_episodes`. Episodes whose tools failed are passed over: there a call
        that leaves no stamp doesn't tell what the agent meant to do.

    Raises
    ------
    RequestError
        When no such episode is there, or one is there twice from different runs.
    """
    raw = [log for log in iter_harness_logs(sources, "tools", RECORD_TYPES)
           if log.header.arm.name == RAW and log.end is not None and log.end.reason is EndReason.COMPLETED
           and not log.header.subject["failure_rate"]]
    if not raw:
        raise RequestError("the trap-turn probe replays raw-arm episodes of the harness tools whose tools always work, "
                           "and there is no completed one among the logs of --from; name others")
    of_model = [log for log in raw if (log.header.cell.model, log.header.subject["cell"]["regime"]) == (model, regime)]
    if not of_model:
        others = ", ".join(sorted({f"{log.header.cell.model} ({log.header.subject['cell']['regime']})" for log in raw}))
        raise RequestError(f"the raw-arm logs of --from are those of {others}, and none is of {model} ({regime}); the "
                           "probe asks the model that held the conversation")
    chosen = [log for log in of_model if seeds is None or log.header.seed in seeds]
    if not chosen:
        raise RequestError("none of the raw-arm episodes of --from has one of these seeds; name others with --seeds")
    found: dict[tuple[str, int], HarnessLog] = {}
    for log in filter(_asks_again, chosen):
        header = log.header
        earlier = found.setdefault((header.cell.slug, header.seed), log)
        if source_sha256(earlier) != source_sha256(log):
            raise RequestError(f"the studies {earlier.header.study} and {header.study} hold different episodes of "
                               f"{header.cell.slug}, raw arm, seed {header.seed}; name the logs of one study with "
                               "--from")
    if not found:
        raise RequestError(f"there is nothing to probe: none of the {len(chosen)} raw-arm episodes of --from has a "
                           "redo turn whose step is done; name logs of an agent that acts")
    return [found[key] for key in sorted(found)]


def source_sha256(log: HarnessLog) -> str:
    """Hash of a log's records, one a line without their checksums: the same whether it was packed."""
    types = record_types(RECORD_TYPES)
    digest = hashlib.sha256()
    for record in (log.header, *log.records, *([log.end] if log.end else [])):
        digest.update(types[record.record].dump_json(record) + b"\n")
    return digest.hexdigest()


def _asks_again(log: HarnessLog) -> bool:
    """Whether a step is probed whose tool did its work before."""
    tools = {step["id"]: step["code"] for step in log.header.subject["episode"]["graph"]["steps"]}
    worked: set[str] = set()
    for turn in log.records:
        if isinstance(turn, ToolTurnRecord):
            if turn.kind is RequestKind.REDO_PROBE and tools.get(turn.step or "") in worked:
                return True
            worked |= {call.tool for call in turn.calls if call.outcome in WORKED}
    return False
