"""What a memory recalled against what the right answer needs (Appendix F)."""

from dataclasses import replace

import pytest

from artifact.arms import ArmOptions, ArmSpec
from artifact.log.memories import Memory, MemoryKind, MemoryRecord, Recalled
from artifact.log.records import Message
from artifact.models.scripted import scripted_model
from artifact.report.samples import samples
from artifact.report.scored import load_scored
from artifact.report.variant_measures import helper_calls, recalled_evidence
from artifact.report.variant_studies import MEMORY, MEMORY_LOWER
from artifact.scorer import score_log, turn_frame
from artifact.scorer.recall import RecallTurn, _held, _Needs, _needs, recall_turns
from artifact.taskstate import RequestKind, Status, TaskState
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
    freed = {step for step, _ in revision.rewires} | {(revision.relax or ("",))[0]}
    for turn, recall in judged(log):
        if turn.step is None or turn.authorized or turn.status is Status.BLOCKED:
            assert recall.needed == 0
        elif turn.status is Status.DONE or turn.status is Status.CANCELLED:
            assert recall.needed == 1
        elif turn.step not in freed:
            assert recall.needed == len(graph[turn.step].prerequisites)
    assert {turn.status for turn, recall in judged(log) if recall.needed} >= {Status.DONE, Status.CANCELLED}


def test_the_revision_is_needed_for_a_step_only_where_the_first_plan_would_have_had_it_otherwise(log):
    """Worked out from the episode: the freed step asked for while what it required is open, and once that is done."""
    episode = log.header.episode
    step, waits_for = episode.revision.relax
    after = TaskState(episode.graph.revise(episode.revision))
    turn = next(turn for turn in score_log(log).turns if turn.kind is RequestKind.ASK)
    asked = replace(turn, step=step, status=Status.TODO, authorized=False)
    left = after.graph[step].prerequisites
    for other in left:
        after = after.execute(other, "#W1000", 0)
    done = after.execute(waits_for, "#W1001", 1)
    open_needs, done_needs = (_needs(asked, state, TaskState(episode.graph, state.receipts)) for state in (after, done))
    assert (open_needs.receipts, open_needs.revision) == (left, True)
    assert (done_needs.receipts, done_needs.revision) == (left, False)


def test_an_empty_block_holds_nothing_and_everything_said_holds_all(log):
    bare = replace(recalling(log), memories=tuple(MemoryRecord(turn.turn, history=()) for turn in log.turns))
    assert not any(recall.held or recall.shown for _, recall in judged(bare))
    everything = "\n".join(f"{turn.text}\n{turn.reply}" for turn in log.turns)
    for turn, recall in judged(recalling(log, everything)):
        assert recall == RecallTurn(recall.needed, recall.needed, recall.needed), turn


def test_what_stood_in_the_window_as_it_was_is_shown_and_not_recalled(log):
    """In mode augment the whole conversation stands there; in mode replace what the record says."""
    augment = judged(recalling(log))
    assert all((recall.held, recall.shown) == (0, recall.needed) for _, recall in augment)
    said = tuple(Message("assistant", turn.reply) for turn in log.turns)
    replaced = recalling(log)
    replaced = replace(replaced, memories=tuple(replace(m, history=said[:m.turn]) for m in replaced.memories))
    for turn, recall in judged(replaced):
        assert recall.held == 0
        assert recall.shown == recall.needed - (turn.status is Status.CANCELLED) or turn.status is Status.TODO


@pytest.mark.parametrize(("says", "holds"), [
    ("{step} was cancelled by the client.", True), ("The client wants {step} no longer.", True),
    ("{step} is important to the client.", False), ("Something was cancelled.", False)])
def test_other_words_hold_the_revision_where_they_name_the_step_and_tell_of_a_change(log, says, holds):
    graph, revision = log.header.episode.graph, log.header.episode.revision
    text = says.format(step=graph[revision.cancel].text.capitalize())
    at = next(turn.turn for turn in log.turns if turn.kind is RequestKind.REVISION)
    fact = Memory("f0", MemoryKind.FACT, at, text)
    records = tuple(MemoryRecord(m.turn, text if m.turn > at else "", history=(),
                                 stored=(fact,) if m.turn == at + 1 else ()) for m in recalling(log).memories)
    cancelled = [recall for turn, recall in judged(replace(recalling(log), memories=records))
                 if turn.status is Status.CANCELLED]
    assert cancelled and all(recall == RecallTurn(1, holds, holds) for recall in cancelled)


@pytest.mark.parametrize(("line", "held"), [
    ("ref {code}/#W1000", 1), ("ref {code}/#W2000", 1), ("**Ref: {code} / w1000**", 1), ("{code}/#W1000", 0),
    ("ref {code}/#W3000", 0)])
def test_any_receipt_of_a_step_says_that_it_is_done_and_a_line_that_booked_nothing_does_not(log, line, held):
    step, other = log.header.episode.graph.steps[:2]
    truth = TaskState(log.header.episode.graph).execute(step.id, "#W1000", 0).execute(step.id, "#W2000", 5)
    truth = truth.execute(other.id, "#W3000", 6)
    assert _held(line.format(code=step.code), _Needs(step.id, (step.id,)), truth, "", ()) == held


def test_an_arm_without_memory_needs_nothing(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("raw"))
    assert turn_frame([log])[["recall_needed", "recall_held", "recall_shown"]].sum().sum() == 0


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
