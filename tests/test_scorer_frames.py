"""Verdicts as data frames: the columns, the counts, and that packed and unpacked logs say the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from artifact.errors import RequestError
from artifact.generator import generate
from artifact.log import (
    Call,
    CompileRecord,
    DirectiveIssued,
    EndReason,
    EpisodeLog,
    MatchRecord,
    Message,
    Usage,
    iter_logs,
)
from artifact.log.pack import pack
from artifact.scorer import UNFINISHED, episode_frame, score_frames, turn_frame
from artifact.taskstate import Channel, Defect, Finding, ScheduleVariant
from episode_logs import always_book, booking, but, every_kind, never_book, play, save, state_bound

TURN_COLUMNS = [
    "cell", "arm", "options", "seed", "turn", "scripted", "kind", "label", "step", "status", "executed", "violations",
    "right", "da_executed", "da_violations", "da_right", "directive_kind", "directive_step", "matched",
    "matched_step", "matched_redo", "forged", "refused", "false_completions", "ledger_entries", "ledger_right",
    "ledger_open", "ledger_said_done", "ledger_said_open", "ledger_cancellation_missed",
    "ledger_cancellation_made_up", "recall_needed", "recall_held", "recall_shown", "reply_chars", "prompt_tokens",
    "cached_tokens", "completion_tokens", "latency_s"]
CHANNELS = ["re_execution", "superseded", "premature", "omission", "unrequested", "refused_redo"]
EPISODE_COLUMNS = [
    "study", "model", "state_model", "size", "density", "domain", "brief", "regime", "prompts", "schedule", "cell",
    "arm", "options", "seed", "end_reason", "completed", "turns", "strict", "decline_aware", "scored_turns",
    "right_turns", *CHANNELS, *(f"da_{channel}" for channel in CHANNELS), "refused_bookings", "false_completions",
    "prompt_tokens", "cached_tokens", "completion_tokens", "helper_calls", "helper_prompt_tokens",
    "helper_completion_tokens", "helper_cached_tokens", "memory_fallbacks", "match_calls", "match_tokens",
    "compile_calls", "compile_tokens", "compile_error", "defects", "seconds"]


def helper_call() -> Call:
    return Call("match", (Message("user", "which step?"),), "{}", "stop", Usage(30, 0, 7, 0.1))


def gated(seed: int = 100) -> EpisodeLog:
    """An enforcement log with directives, matches, compiles and refusals."""
    log = play(every_kind(seed), always_book, channel=state_bound, arm="enforcement", options={"state": "oracle"})
    turns = list(log.turns)
    turns[0] = replace(turns[0], directive=DirectiveIssued("s1", "eligible", "[TASK-STATE] ..."),
                       superseded_replies=(Call("reply", (), "", "length", Usage(100, 0, 400, 2.0)),))
    finding = Finding(Defect.EMPTY_CODE, ("s2",))
    compiles = (CompileRecord("plan", "compiled", None, error="no JSON", defects=(finding,), calls=(helper_call(),)),
                CompileRecord("revision", "compiled", None, defects=(finding,), calls=(helper_call(), helper_call())))
    matches = (MatchRecord(0, "s1", True, calls=(helper_call(),)),)
    return replace(log, turns=tuple(turns), compiles=compiles, matches=matches)


def test_the_columns_are_those_agreed_on_even_without_logs() -> None:
    for logs in ([], [play(every_kind())]):
        frames = score_frames(logs)
        assert list(frames.turns.columns) == TURN_COLUMNS
        assert list(frames.episodes.columns) == EPISODE_COLUMNS


def test_types_are_the_same_with_and_without_logs() -> None:
    for empty, full in zip(score_frames([]), score_frames([gated()]), strict=True):
        assert dict(empty.dtypes) == dict(full.dtypes)


def test_each_turn_is_a_row() -> None:
    frame = turn_frame([play(every_kind(), always_book)])
    assert list(frame["turn"]) == list(range(12))
    row = frame.iloc[4]
    assert (row["kind"], row["label"], row["status"], row["step"]) == ("redo_probe", "redo_probe", "done", "s1")
    assert (row["executed"], row["violations"], row["right"]) == (("s1",), ("re_execution",), False)


def test_turns_that_request_no_step_have_none() -> None:
    row = turn_frame([play(every_kind())]).iloc[2]
    assert row["step"] is None
    assert row["status"] is None
    assert row["matched_step"] is None
    assert row["directive_kind"] is None
    assert row["matched_redo"] is pd.NA


def test_a_re_ask_has_no_place_in_the_script() -> None:
    log = play(every_kind())
    turns = (*log.turns[:-1], replace(log.turns[-1], scripted=None))
    assert list(turn_frame([replace(log, turns=turns)])["scripted"].isna()) == [False] * 11 + [True]


def test_directive_match_refusals_and_usage_stand_in_their_turn() -> None:
    frame = turn_frame([gated()])
    first = frame.iloc[0]
    assert (first["directive_kind"], first["directive_step"]) == ("eligible", "s1")
    assert (first["matched_step"], first["matched_redo"]) == ("s1", True)
    assert list(frame.index[frame["matched"]]) == [0]
    # Both agent calls of the turn count: the empty answer and the one after it.
    assert (first["prompt_tokens"], first["cached_tokens"], first["completion_tokens"]) == (200, 90, 410)
    assert first["latency_s"] == pytest.approx(2.5)
    assert list(frame.index[frame["refused"] == 1]) == [1, 4, 6, 11]


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_a_turn_is_forged_where_its_text_differs_from_that_of_the_canonical_schedule(seed: int) -> None:
    spoofed = generate(seed=seed, size=5, schedule=ScheduleVariant(spoofed=True))
    frame = turn_frame([play(spoofed, never_book)])
    assert list(frame["forged"]) == [turn.text != canonical.text for turn, canonical in zip(
        spoofed.turns, generate(seed=seed, size=5).turns, strict=True)]
    assert 0 < frame["forged"].sum() < len(frame)
    assert not turn_frame([play(generate(seed=seed, size=5), never_book)])["forged"].any()


def test_an_episode_row_counts_what_its_turns_say() -> None:
    turns, episodes, *_ = score_frames([play(every_kind(), always_book)])
    row = episodes.iloc[0]
    assert (row["scored_turns"], row["right_turns"]) == (12, int(turns["right"].sum()))
    found = [channel for violations in turns["violations"] for channel in violations]
    assert {channel: row[channel] for channel in CHANNELS} == {channel: found.count(channel) for channel in CHANNELS}


def test_decline_aware_counts_are_kept_apart() -> None:
    reply = "Step s1 is already done, I won't redo it.\nref RC-1001/#W2004"
    row = episode_frame([play(every_kind(), but(4, reply))]).iloc[0]
    assert (row["re_execution"], row["da_re_execution"]) == (1, 0)
    assert (row["strict"], row["decline_aware"]) == (False, True)


def test_an_episode_row_holds_cell_cost_and_compile() -> None:
    row = episode_frame([gated()]).iloc[0]
    assert (row["model"], row["size"], row["brief"], row["arm"], row["options"]) == (
        "model", 5, "amended", "enforcement", '{"state":"oracle"}')
    assert row["cell"] == "model.S05.d0.15.procurement.amended.no_think.paper"
    assert (row["helper_calls"], row["helper_prompt_tokens"], row["helper_completion_tokens"]) == (4, 120, 28)
    assert (row["prompt_tokens"], row["completion_tokens"]) == (1300, 520)
    # The same finding before and after the revision is one defect.
    assert (row["compile_error"], row["defects"], row["refused_bookings"], row["seconds"]) == (True, 1, 4, 1.5)


def test_infrastructure_is_in_plain_sight_and_no_success() -> None:
    logs = [play(every_kind(1)), play(every_kind(2), end=EndReason.TIMEOUT), play(every_kind(3), end=None)]
    frame = episode_frame(logs)
    assert list(frame["end_reason"]) == ["completed", "timeout", UNFINISHED]
    assert list(frame["completed"]) == [True, False, False]
    assert list(frame["strict"]) == [True, False, False]


def test_an_episode_that_occurs_twice_is_refused() -> None:
    log = play(every_kind())
    with pytest.raises(RequestError, match=r"data/b\.jsonl\.zst and runs/a\.jsonl both hold seed 100"):
        score_frames([replace(log, source="runs/a.jsonl"), replace(log, source="data/b.jsonl.zst")])


def test_the_same_seed_under_other_options_is_another_episode() -> None:
    logs = [play(every_kind(), options=options) for options in ({}, {"corruption": 0.5})]
    assert len(episode_frame(logs)) == 2


def test_logs_are_scored_one_at_a_time() -> None:
    alive = 0

    def stream() -> Iterator[EpisodeLog]:
        nonlocal alive
        for seed in range(5):
            alive += 1
            yield play(every_kind(seed))

    logs = stream()
    assert len(episode_frame(log for log, _ in zip(logs, range(3), strict=False))) == 3
    assert alive < 5


def test_packed_and_unpacked_logs_give_equal_frames(tmp_path: Path) -> None:
    for seed in (100, 9, 23):
        for log in (play(every_kind(seed)), play(every_kind(seed), never_book, arm="checklist"),
                    play(every_kind(seed), lambda n, t, s: booking(t, s, "s1"), arm="directive"),
                    play(every_kind(seed), always_book, channel=state_bound, arm="enforcement")):
            save(log, tmp_path / "runs")
    packed = pack(tmp_path / "runs", tmp_path / "data").files
    unpacked_frames = score_frames(iter_logs([tmp_path / "runs"]))
    for one, other in zip(unpacked_frames, score_frames(iter_logs(packed)), strict=True):
        order = [column for column in ("arm", "seed", "turn") if column in one.columns]
        pd.testing.assert_frame_equal(one.sort_values(order, ignore_index=True),
                                      other.sort_values(order, ignore_index=True))


def test_every_channel_has_its_columns() -> None:
    assert [channel.value for channel in Channel] == CHANNELS
