"""What a memory recalled against what the right answer needs (Appendix F)."""

from dataclasses import replace

import pytest

from artifact.arms import ArmOptions, ArmSpec
from artifact.log.memories import MemoryRecord, Recalled
from artifact.models.scripted import scripted_model
from artifact.report.samples import samples
from artifact.report.scored import load_scored
from artifact.report.variant_measures import helper_calls, recalled_evidence
from artifact.report.variant_studies import MEMORY, MEMORY_LOWER
from artifact.scorer import score_log, turn_frame
from artifact.scorer.recall import RecallTurn, recall_turns
from artifact.taskstate import RequestKind, Status
from memory_kit import remember, words

__all__ = ["words"]


@pytest.fixture
def log(tmp_path, words):
    found, = remember(tmp_path, scripted_model("perfect"), ArmSpec("topk"))
    assert score_log(found).strict
    return found


def recalling(log, block="", turns=()):
    """The log as if every turn had recalled this."""
    found = tuple(Recalled(f"e{turn}", 1.0, (turn,)) for turn in turns)
    records = tuple(MemoryRecord(turn.turn, block, found if turn.turn > max(turns, default=0) else ())
                    for turn in log.turns)
    bare = tuple(replace(turn, ephemeral=()) for turn in log.turns)
    return replace(log, turns=bare, memories=records)


def judged(log):
    verdict = score_log(log)
    return list(zip(verdict.turns, recall_turns(log, verdict), strict=True))


def test_what_is_needed_follows_from_the_realized_state(log):
    graph, revision = log.header.episode.graph, log.header.episode.revision
    for turn, recall in judged(log):
        if turn.step is None or turn.authorized:
            assert recall.needed == 0
        elif turn.status is Status.DONE or turn.status is Status.CANCELLED:
            assert recall.needed == 1
        elif turn.step not in dict(revision.rewires) and turn.step not in (revision.relax or ()):
            assert recall.needed == (len(graph[turn.step].prerequisites) if turn.status is Status.TODO else 0)
    assert {turn.status for turn, recall in judged(log) if recall.needed} >= {Status.DONE, Status.CANCELLED}


def test_an_empty_block_holds_nothing_and_everything_said_holds_all(log):
    assert not any(recall.held for _, recall in judged(recalling(log)))
    everything = "\n".join(f"{turn.text}\n{turn.reply}" for turn in log.turns)
    for turn, recall in judged(recalling(log, everything)):
        assert recall == RecallTurn(recall.needed, recall.needed), turn


def test_a_memory_that_rests_on_the_revision_holds_it_in_whatever_words(log):
    at = next(turn.turn for turn in log.turns if turn.kind is RequestKind.REVISION)
    for turn, recall in judged(recalling(log, "something changed", (at,))):
        assert (recall.held > 0) is (turn.turn > at and turn.status is Status.CANCELLED and recall.needed == 1
                                     ) or recall.held <= recall.needed
    cancelled = [recall for turn, recall in judged(recalling(log, "something changed", (at,)))
                 if turn.status is Status.CANCELLED]
    assert cancelled and all(recall == RecallTurn(1, 1) for recall in cancelled)


def test_a_stale_receipt_is_not_the_one_that_is_needed(log):
    receipts = {}
    for turn in log.turns:
        for booking in turn.bookings:
            receipts.setdefault(booking.code, []).append(f"{booking.code}/{booking.work_order}")
    redone = next(lines for lines in receipts.values() if len(lines) > 1)
    graph = log.header.episode.graph
    step = graph.step_with_code(redone[0].partition("/")[0])
    after = [(turn, recall) for turn, recall in judged(recalling(log, redone[0]))
             if turn.step == step and turn.status is Status.DONE and not turn.authorized]
    later = [recall for turn, recall in after if turn.turn > max(
        t.turn for t in log.turns if any(f"{b.code}/{b.work_order}" == redone[-1] for b in t.bookings))]
    assert all(recall == RecallTurn(1, 0) for recall in later)


def test_an_arm_without_memory_needs_nothing(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("raw"))
    assert turn_frame([log])[["recall_needed", "recall_held"]].sum().sum() == 0


def test_the_tables_of_memory_show_every_arm_and_mode(tmp_path, words):
    arms = [ArmSpec("raw"), ArmSpec("checklist"), ArmSpec("topk"), ArmSpec("stream", ArmOptions(mode="replace"))]
    remember(tmp_path, scripted_model("reader?transcript=0.5"), *arms, seeds=(100, 101))
    scored = load_scored([tmp_path])
    table = MEMORY.build(scored, ())
    rows = table.frame().set_index("row")
    assert rows.loc["top-k, augment", "strict_n"] == 2
    assert "top-k, replace & \\textit{not run}" in table.tex or "not run" in table.tex
    assert set(rows.index) >= {"Mem0, replace", "paged context, augment", "directive"}
    assert "memory stream, replace, raw" in set(MEMORY_LOWER.build(scored, ()).frame()["row"])
    for found in samples(scored, options=None):
        assert helper_calls(found).records["helper_calls"] == (43 if found.arm == "stream" else 0)
        assert bool(recalled_evidence(found).records["recalled_n"]) is (found.arm in ("topk", "stream"))
