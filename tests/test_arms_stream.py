"""The memory stream: its score, its reflections and what they cite (Park et al., 2023, as in §4.1 and §4.2 there)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from artifact.arms import ArmOptions, ArmSpec, load_prompts
from artifact.arms.memory.reflection import MIDDLE, QUESTIONS, Reflecting
from artifact.arms.memory.scoring import scaled, stream_scores
from artifact.log.memories import Fallback, MemoryKind
from artifact.log.records import Message
from artifact.models.base import Reply
from artifact.models.scripted import scripted_model
from memory_kit import remember, words

__all__ = ["words"]
OFTEN = ArmOptions(reflect_at=30)


class Mumbling:
    """Books as asked, and never answers a helper call with what it was asked for."""

    name = "mumbling"

    def __init__(self, helper: str) -> None:
        self._booking, self._helper = scripted_model("always-book"), helper

    def identity(self) -> dict[str, Any]:
        return {"engine": "scripted"}

    async def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, **settings: Any):
        return Reply(self._helper) if schema else await self._booking.complete(messages, **settings)

    async def close(self) -> None:
        pass


def test_terms_are_scaled_to_the_range_they_span():
    assert scaled([2, 4, 3]) == [0, 1, 0.5]
    assert scaled([7, 7]) == [0, 0]


def test_the_score_is_the_one_worked_out_by_hand():
    # Recency 0.995^0 = 1, 0.995^1 = 0.995 and 0.995^2 = 0.990025; over their span: 1, 0.498747 and 0.
    # Importance 2, 8 and 5; over their span: 0, 1 and 0.5. Relevance 0.1, 0.3 and 0.5; over their span: 0, 0.5 and 1.
    assert stream_scores([0, 1, 2], [2, 8, 5], [0.1, 0.3, 0.5]) == pytest.approx([1, 1.998747, 1.5], abs=1e-6)


@pytest.mark.parametrize("unit", [1, 40])
def test_what_was_recalled_is_as_fresh_as_its_last_recall(tmp_path, words, unit):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("stream", ArmOptions(unit=unit)))
    importance, seen = [], {}
    for record in log.memories:
        importance += [memory.importance for memory in record.stored]
        seen |= {memory.id: memory.turn for memory in record.stored}
        if record.turn:
            texts = [f"Client: {turn.text}\nYou: {turn.reply}" for turn in log.turns[:record.turn]]
            vectors = words.vectors([*texts, log.turns[record.turn].text])
            scores = stream_scores([unit * (record.turn - seen[f"e{at}"]) for at in range(record.turn)], importance,
                                   [float(row @ vectors[-1]) for row in vectors[:-1]])
            for found in record.recalled:
                assert found.score == pytest.approx(scores[found.turns[0]], abs=1e-5)
        seen |= {found.id: record.turn for found in record.recalled}
    assert len({found.id for record in log.memories[-5:] for found in record.recalled}) > 1


def test_every_exchange_but_the_last_is_rated_once(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("stream"))
    rated = [memory for record in log.memories for memory in record.stored]
    assert [memory.id for memory in rated if memory.kind is MemoryKind.EXCHANGE] == [
        f"e{turn.turn}" for turn in log.turns[:-1]]
    assert [memory.importance for memory in rated if memory.kind is MemoryKind.EXCHANGE] == [
        8 if turn.work_order else 2 for turn in log.turns[:-1]]


def test_it_reflects_when_what_it_saw_since_the_last_time_passes_the_threshold(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("stream", OFTEN))
    gathered = 0
    for record in log.memories:
        gathered += sum(m.importance for m in record.stored if m.kind is MemoryKind.EXCHANGE)
        reflected = any(m.kind is MemoryKind.REFLECTION for m in record.stored)
        assert reflected is (gathered > OFTEN.reflect_at)
        gathered = 0 if reflected else gathered


def test_a_reflection_cites_memories_that_were_there_before_it_and_is_recalled_like_any(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("stream", OFTEN))
    known, recalled = set(), set()
    for record in log.memories:
        before = set(known) | {memory.id for memory in record.stored if memory.kind is MemoryKind.EXCHANGE}
        for memory in record.stored:
            assert memory.id not in known
            assert set(memory.cites) <= before
            assert bool(memory.cites) is (memory.kind is MemoryKind.REFLECTION)
            known.add(memory.id)
        assert {found.id for found in record.recalled} <= known
        assert all(found.turns and max(found.turns) < record.turn for found in record.recalled)
        recalled |= {found.id for found in record.recalled}
    assert any(memory.startswith("r") for memory in recalled)


@pytest.mark.parametrize(("helper", "fallbacks"), [
    ("Well, that depends.", {Fallback.UNRATED, Fallback.NO_REFLECTION}),
    ('{"importance": 11}', {Fallback.UNRATED, Fallback.NO_REFLECTION}),
    ('{"importance": 9, "questions": []}', {Fallback.NO_REFLECTION}),
    ('{"importance": 9, "questions": ["Why?", "How?"]}', {Fallback.NO_REFLECTION}),
    ('{"importance": 9, "questions": ["Why?", "How?", "When?"], "insights": [{"insight": "So.", "because": [99]}]}',
     {Fallback.NO_REFLECTION}),
])
def test_a_model_that_never_answers_in_kind_ends_nothing_and_is_counted(tmp_path, words, helper, fallbacks):
    log, = remember(tmp_path, Mumbling(helper), ArmSpec("stream", OFTEN))
    assert log.completed
    assert {fallback for record in log.memories for fallback in record.fallbacks} == fallbacks
    assert {m.importance for record in log.memories for m in record.stored} <= {MIDDLE, 9}
    tries = sum(record.fallbacks.count(Fallback.NO_REFLECTION) for record in log.memories)
    # It is asked again after the next threshold, not each turn; each of its questions may fail.
    assert tries <= QUESTIONS * (len(log.turns) * 9 // OFTEN.reflect_at)


def test_an_unusable_answer_is_asked_for_once_more_with_the_problem_named():
    said = iter(['{"importance": "high"}', '{"importance": 7}'])
    asked = []

    async def ask(messages, *, purpose, schema):
        asked.append((purpose, schema["title"], messages[-1].content))
        return Reply(next(said))

    prompts = load_prompts("paper").adding(["stream"])
    model = Reflecting(ask, prompts)
    assert asyncio.run(model.importance("Client: hello\nYou: OK")) == 7
    assert [title for _, title, _ in asked] == ["importance", "importance"]
    assert "whole number from 1 to 10" in asked[1][2]
    assert len(model.calls) == 2 and not model.fallbacks
