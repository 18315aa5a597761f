"""Verdicts as data frames: the fate of each turn, and of each episode.

Invariant: the columns are the same for any logs, none at all included, and each episode occurs once.
"""

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import pandas as pd

from artifact.errors import RequestError
from artifact.log import Call, EpisodeLog, TurnRecord, Usage
from artifact.scorer.completion import false_completions
from artifact.scorer.findings import COMPILE_COLUMNS, CORRUPTION_COLUMNS, OMISSION_COLUMNS, findings_of
from artifact.scorer.ledger import LedgerTurn, ledger_turns
from artifact.scorer.recall import recall_turns
from artifact.scorer.verdicts import EpisodeVerdict, TurnVerdict, score_log
from artifact.taskstate import Channel, Violation
from artifact.taskstate.client_text import own_words

UNFINISHED = "unfinished"

# Columns that hold None or tuples are `object`, so that None stays None.
_TURN_COLUMNS = {
    "cell": "str", "arm": "str", "options": "str", "seed": "int64", "turn": "int64", "scripted": "Int64", "kind": "str",
    "label": "str", "step": "object", "status": "object", "executed": "object", "violations": "object", "right": "bool",
    "da_executed": "object", "da_violations": "object", "da_right": "bool", "directive_kind": "object",
    "directive_step": "object", "matched": "bool", "matched_step": "object", "matched_redo": "boolean",
    "forged": "bool", "refused": "int64", "false_completions": "int64",
    **{f"ledger_{field.name}": "int64" for field in fields(LedgerTurn)},
    "recall_needed": "int64", "recall_held": "int64", "recall_shown": "int64", "reply_chars": "int64",
    "prompt_tokens": "int64", "cached_tokens": "int64", "completion_tokens": "int64", "latency_s": "float64",
}
_EPISODE_COLUMNS = {
    "study": "str", "model": "str", "state_model": "str", "size": "int64", "density": "float64", "domain": "str",
    "brief": "str", "regime": "str", "prompts": "str", "schedule": "str", "cell": "str", "arm": "str", "options": "str",
    "seed": "int64", "end_reason": "str", "completed": "bool", "turns": "int64", "strict": "bool",
    "decline_aware": "bool", "scored_turns": "int64", "right_turns": "int64",
    **{channel.value: "int64" for channel in Channel},
    **{f"da_{channel.value}": "int64" for channel in Channel},
    "refused_bookings": "int64", "false_completions": "int64", "prompt_tokens": "int64", "cached_tokens": "int64",
    "completion_tokens": "int64", "helper_calls": "int64", "helper_prompt_tokens": "int64",
    "helper_completion_tokens": "int64", "helper_cached_tokens": "int64", "memory_fallbacks": "int64",
    "match_calls": "int64", "match_tokens": "int64", "compile_calls": "int64", "compile_tokens": "int64",
    "compile_error": "bool", "defects": "int64", "seconds": "float64",
}


class Frames(NamedTuple):
    """All frames of the same logs.

    Parameters
    ----------
    turns : pandas.DataFrame
        One row a turn, see `turn_frame`.
    episodes : pandas.DataFrame
        One row an episode, see `episode_frame`.
    compiles : pandas.DataFrame
        One row for each episode whose state a model compiled: what is right in it, see `CompileScore`.
    omissions : pandas.DataFrame
        One row an omission: what it is laid to, see `Omission`.
    corruptions : pandas.DataFrame
        One row for each episode whose state was corrupted on purpose, see `CorruptionTally`.
    """

    turns: pd.DataFrame
    episodes: pd.DataFrame
    compiles: pd.DataFrame
    omissions: pd.DataFrame
    corruptions: pd.DataFrame


def score_frames(logs: Iterable[EpisodeLog]) -> Frames:
    """Score logs in one pass, holding one of them at a time.

    Parameters
    ----------
    logs : iterable of EpisodeLog
        E.g. `artifact.log.iter_logs`.

    Returns
    -------
    Frames

    Raises
    ------
    RequestError
        When an episode occurs twice: it would count twice.
    """
    turns: list[dict[str, Any]] = []
    episodes: list[dict[str, Any]] = []
    compiles: list[dict[str, Any]] = []
    omissions: list[dict[str, Any]] = []
    corruptions: list[dict[str, Any]] = []
    sources: dict[tuple[str, str, str, str, int], str] = {}
    for log in logs:
        if log.key in sources:
            header = log.header
            raise RequestError(f"{log.source} and {sources[log.key]} both hold seed {header.seed} of {header.arm.slug} "
                               f"in {header.cell.slug}, study {header.study}; score one of them")
        sources[log.key] = log.source
        verdict = score_log(log)
        turns += _turn_rows(log, verdict)
        episodes.append(_episode_row(log, verdict))
        found = findings_of(log, verdict)
        compiles += found.compiles
        omissions += found.omissions
        corruptions += found.corruptions
    return Frames(_frame(turns, _TURN_COLUMNS), _frame(episodes, _EPISODE_COLUMNS), _frame(compiles, COMPILE_COLUMNS),
                  _frame(omissions, OMISSION_COLUMNS), _frame(corruptions, CORRUPTION_COLUMNS))


def turn_frame(logs: Iterable[EpisodeLog]) -> pd.DataFrame:
    """The fate of each turn.

    Parameters
    ----------
    logs : iterable of EpisodeLog
        Those of unfinished episodes and of episodes that infrastructure ended are in it as well; (cell, arm,
        options, seed) leads to their row in `episode_frame`.

    Returns
    -------
    pandas.DataFrame
        One row a turn. `label` and `status` are those of the realized state at the start of the turn;
        `executed` and `violations` are tuples of step ids and of channels; the columns with ``da_`` are those
        of decline-aware scoring; `matched` says whether a matcher ran at all, which it doesn't in an arm without
        one, on a turn that isn't its, nor after a compile that failed; `forged` whether the client's text holds
        lines that aren't the client's; the columns with ``ledger_`` are those of `LedgerTurn`; tokens
        and latency are those of all agent calls of the turn.
    """
    return score_frames(logs).turns


def episode_frame(logs: Iterable[EpisodeLog]) -> pd.DataFrame:
    """The fate of each episode.

    Parameters
    ----------
    logs : iterable of EpisodeLog
        Of any arms and cells.

    Returns
    -------
    pandas.DataFrame
        One row an episode. An episode with `completed` false is neither a success nor a failure of the agent:
        leave it out of proportions and count it apart; its `end_reason` is that of the log, or ``unfinished``.
        `defects` counts the distinct findings of the validator over plan and revision.
    """
    return score_frames(logs).episodes


def _frame(rows: list[dict[str, Any]], columns: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in columns.items()})


def _turn_rows(log: EpisodeLog, verdict: EpisodeVerdict) -> list[dict[str, Any]]:
    matches = {match.turn: match for match in log.matches}
    rows = []
    for record, turn, ledger, recall in zip(log.turns, verdict.turns, ledger_turns(log, verdict),
                                            recall_turns(log, verdict), strict=True):
        match = matches.get(turn.turn)
        rows.append({
            "cell": log.header.cell.slug,
            "arm": log.header.arm.name,
            "options": log.header.arm.canonical_options,
            "seed": log.header.seed,
            **_judged(turn),
            "directive_kind": record.directive.kind if record.directive else None,
            "directive_step": record.directive.step if record.directive else None,
            "matched": match is not None,
            "matched_step": match.step if match else None,
            "matched_redo": match.explicit_redo if match else None,
            "forged": own_words(record.text) != record.text,
            "false_completions": len(false_completions(record)),
            **{f"ledger_{name}": entries for name, entries in asdict(ledger).items()},
            "recall_needed": recall.needed,
            "recall_held": recall.held,
            "recall_shown": recall.shown,
            "reply_chars": len(record.reply),
            **_tokens(record),
            "latency_s": sum(usage.latency_s for usage in _usages(record)),
        })
    return rows


def _judged(turn: TurnVerdict) -> dict[str, Any]:
    return {
        "turn": turn.turn,
        "scripted": turn.scripted,
        "kind": turn.kind.value,
        "label": turn.label.value,
        "step": turn.step,
        "status": turn.status.value if turn.status else None,
        "executed": turn.executed,
        "violations": _channels(turn.violations),
        "right": turn.right,
        "da_executed": turn.da_executed,
        "da_violations": _channels(turn.da_violations),
        "da_right": turn.da_right,
        "refused": len(turn.refused),
    }


def _episode_row(log: EpisodeLog, verdict: EpisodeVerdict) -> dict[str, Any]:
    header, cell = log.header, log.header.cell
    compiling = [call for compiled in log.compiles for call in compiled.calls]
    matching = [call for match in log.matches for call in match.calls]
    helpers = [*compiling, *matching, *(call for memory in log.memories for call in memory.calls)]
    tokens = [_tokens(record) for record in log.turns]
    return {
        "study": header.study,
        "model": cell.model,
        "state_model": cell.state_model,
        "size": cell.size,
        "density": cell.density,
        "domain": cell.domain,
        "brief": cell.brief.value,
        "regime": cell.regime,
        "prompts": cell.prompts,
        "schedule": cell.schedule,
        "cell": cell.slug,
        "arm": header.arm.name,
        "options": header.arm.canonical_options,
        "seed": header.seed,
        "end_reason": verdict.end_reason.value if verdict.end_reason else UNFINISHED,
        "completed": verdict.completed,
        "turns": len(log.turns),
        "strict": verdict.strict,
        "decline_aware": verdict.decline_aware,
        "scored_turns": len(verdict.turns),
        "right_turns": sum(turn.right for turn in verdict.turns),
        **{channel.value: verdict.count(channel) for channel in Channel},
        **{f"da_{channel.value}": verdict.count(channel, decline_aware=True) for channel in Channel},
        "refused_bookings": sum(len(turn.refused) for turn in verdict.turns),
        "false_completions": sum(len(false_completions(record)) for record in log.turns),
        "prompt_tokens": sum(turn["prompt_tokens"] for turn in tokens),
        "cached_tokens": sum(turn["cached_tokens"] for turn in tokens),
        "completion_tokens": sum(turn["completion_tokens"] for turn in tokens),
        "helper_calls": len(helpers),
        "helper_prompt_tokens": sum(call.usage.prompt for call in helpers),
        "helper_completion_tokens": sum(call.usage.completion for call in helpers),
        "helper_cached_tokens": sum(call.usage.cached for call in helpers),
        "memory_fallbacks": sum(len(memory.fallbacks) for memory in log.memories),
        "match_calls": len(matching),
        "match_tokens": _total(matching),
        "compile_calls": len(compiling),
        "compile_tokens": _total(compiling),
        "compile_error": any(record.error is not None for record in log.compiles),
        "defects": len({finding for record in log.compiles for finding in record.defects}),
        "seconds": log.end.seconds if log.end else None,
    }


def _channels(violations: tuple[Violation, ...]) -> tuple[str, ...]:
    return tuple(violation.channel.value for violation in violations)


def _total(calls: Iterable[Call]) -> int:
    return sum(call.usage.prompt + call.usage.completion for call in calls)


def _usages(record: TurnRecord) -> list[Usage]:
    return [*(call.usage for call in record.superseded_replies), record.usage]


def _tokens(record: TurnRecord) -> dict[str, int]:
    usages = _usages(record)
    return {
        "prompt_tokens": sum(usage.prompt for usage in usages),
        "cached_tokens": sum(usage.cached for usage in usages),
        "completion_tokens": sum(usage.completion for usage in usages),
    }
