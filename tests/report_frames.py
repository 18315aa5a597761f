"""Scored logs made by hand: frames with exactly the scorer's columns, filled by what a test cares about."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from artifact.report import ScoredLogs
from artifact.scorer import score_frames
from artifact.taskstate import Channel

SMALL, LARGE = "coder-0.5b", "coder-1.5b"
RUNGS = ("raw", "checklist", "directive", "enforcement")

_NO_LOGS = score_frames([])


def cell(model: str, state_model: str, size: int, brief: str, regime: str = "no_think") -> str:
    """A folder name, different for different configurations."""
    return f"{model}+{state_model}.S{size:02d}.{brief}.{regime}"


def episodes(
    arm: str, outcomes: Iterable[bool | None], *, study: str = "s", model: str = LARGE, state_model: str | None = None,
    size: int = 5, brief: str = "amended", regime: str = "no_think", domain: str = "procurement", first_seed: int = 100,
    options: str = "{}", channels: Mapping[Channel, int] | None = None, **columns: Any,
) -> list[dict[str, Any]]:
    """One row an outcome; None is an episode that infrastructure ended. Failures get one omission unless told."""
    rows = []
    for number, outcome in enumerate(outcomes):
        violations = dict.fromkeys(Channel, 0)
        if outcome is False:
            violations |= {Channel.OMISSION: 1} if channels is None else channels
        counts = {channel.value: count for channel, count in violations.items()}
        rows.append({
            "study": study, "model": model, "state_model": state_model or model, "size": size, "density": 0.15,
            "domain": domain, "brief": brief, "regime": regime, "prompts": "fewshot", "schedule": "canonical",
            "cell": cell(model, state_model or model, size, brief, regime), "arm": arm, "options": options,
            "seed": first_seed + number, "end_reason": "timeout" if outcome is None else "completed",
            "completed": outcome is not None, "turns": 44, "strict": bool(outcome), "decline_aware": bool(outcome),
            "scored_turns": 44, "right_turns": 44 - sum(violations.values()), **counts,
            **{f"da_{name}": count for name, count in counts.items()},
            "refused_bookings": 0, "false_completions": 0, "prompt_tokens": 1000, "cached_tokens": 900,
            "completion_tokens": 100, "helper_calls": 0, "helper_prompt_tokens": 0, "helper_completion_tokens": 0,
            "helper_cached_tokens": 0, "memory_fallbacks": 0, "match_calls": 0, "match_tokens": 0,
            "compile_calls": 0, "compile_tokens": 0,
            "compile_error": False, "defects": 0, "seconds": 10.0, **columns})
    return rows


def turn(arm: str, seed: int, number: int, *, model: str = LARGE, state_model: str | None = None, size: int = 5,
         brief: str = "amended", study: str = "s", **columns: Any) -> dict[str, Any]:
    """One row of the turn frame: an ask for s1 that was served right, unless told otherwise."""
    return {
        "study": study, "cell": cell(model, state_model or model, size, brief), "arm": arm, "options": "{}",
        "seed": seed, "turn": number, "scripted": number, "kind": "ask", "label": "ask", "step": "s1", "status": "todo",
        "executed": ("s1",), "violations": (), "right": True, "da_executed": ("s1",), "da_violations": (),
        "da_right": True, "directive_kind": None, "directive_step": None, "matched": False, "matched_step": None,
        "matched_redo": None,
        "forged": False, "refused": 0, "false_completions": 0,
        **{name: 0 for name in _NO_LOGS.turns.columns if name.startswith("ledger_")}, "recall_needed": 0,
        "recall_held": 0, "recall_shown": 0,
        "reply_chars": 10, "prompt_tokens": 10, "cached_tokens": 0, "completion_tokens": 5,
        "latency_s": 0.1, **columns}


def scored(*groups: list[dict[str, Any]], turns: Iterable[dict[str, Any]] = ()) -> ScoredLogs:
    """Frames of the given rows."""
    return ScoredLogs(_like(_NO_LOGS.episodes, [row for group in groups for row in group]),
                      _like(_NO_LOGS.turns.assign(study=pd.Series(dtype="str")), list(turns)))


def climb(rates: Mapping[str, int], n: int, **columns: Any) -> list[dict[str, Any]]:
    """A ladder with the given numbers of successes out of n, the lowest seeds first."""
    return [row for arm, k in rates.items() for row in episodes(arm, [seed < k for seed in range(n)], **columns)]


def _like(frame: pd.DataFrame, rows: list[dict[str, Any]]) -> pd.DataFrame:
    assert all(set(row) == set(frame.columns) for row in rows)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=frame[name].dtype) for name in frame})
