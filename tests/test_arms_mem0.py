"""The real Mem0 with its store on disk: what it stores, finds and falls back to; skipped where the extra is missing."""

import asyncio
import importlib.util
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from artifact.arms import ArmOptions, ArmSpec
from artifact.arms.memory.exchanges import RECALLED, Exchange
from artifact.arms.memory.library import Library, memory_identity
from artifact.errors import RequestError
from artifact.log import iter_logs
from artifact.log.memories import Fallback, MemoryKind
from artifact.log.records import EndReason, Message
from artifact.models.base import ContextOverflow, ModelError, Reply
from artifact.models.scripted import scripted_model
from artifact.runner import StudyPlan, run_study_async
from episode_logs import timeless
from memory_kit import WordCounts, remember, words

__all__ = ["words"]
# Looked for and not imported: it is to be imported with its telemetry off.
pytestmark = [pytest.mark.integration, pytest.mark.skipif(importlib.util.find_spec("mem0") is None,
                                                          reason="the arm mem0 needs the extra 'memory'")]
SPEC = ArmSpec("mem0", ArmOptions(mode="replace"))


class Extractor:
    """Books as asked; reads one fact out of each exchange, or says or raises what it is told to."""

    name = "extractor"

    def __init__(self, helper: str | Exception | None = None) -> None:
        self._booking, self._helper, self.asked = scripted_model("always-book"), helper, 0

    def identity(self) -> dict[str, Any]:
        return {"engine": "scripted"}

    async def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, **settings: Any):
        if not schema:
            return await self._booking.complete(messages, **settings)
        self.asked += 1
        if isinstance(self._helper, Exception):
            raise self._helper
        said = messages[-1].content.split("New Messages")[-1]
        order = next((word for word in said.replace(")", " ").replace("/", " ").split() if "#W" in word), "nothing")
        return Reply(self._helper or f'{{"memory": [{{"id": "0", "text": "Work was ordered under {order[-6:]}."}}]}}')

    async def close(self) -> None:
        pass


def test_telemetry_is_off_and_the_library_keeps_its_files_beside_the_store(tmp_path, words):
    log, = remember(tmp_path, Extractor(), SPEC)
    assert log.completed
    assert os.environ["MEM0_TELEMETRY"] == "False"
    from mem0.memory.telemetry import MEM0_TELEMETRY

    assert not MEM0_TELEMETRY
    assert list((tmp_path / "t" / "memory").rglob("storage.sqlite"))


def test_facts_come_from_the_model_and_are_recalled_with_the_exchange_that_they_rest_on(tmp_path, words):
    log, = remember(tmp_path, Extractor(), SPEC)
    facts = {fact.id: fact for record in log.memories for fact in record.stored}
    assert len(facts) > 5 and {fact.kind for fact in facts.values()} == {MemoryKind.FACT}
    for record in log.memories:
        assert len(record.recalled) <= RECALLED
        assert [found.score for found in record.recalled] == sorted((f.score for f in record.recalled), reverse=True)
        for found in record.recalled:
            assert facts[found.id].text in record.block
            assert found.turns == (facts[found.id].turn,)
        assert not record.fallbacks
        assert len(record.calls) == (record.turn > 0)


def test_a_prompt_that_does_not_fit_is_tried_once_and_exchanges_are_then_stored_as_they_are(tmp_path, words):
    model = Extractor(ContextOverflow("too long"))
    log, = remember(tmp_path, model, SPEC)
    assert log.completed and model.asked == 1
    for record, turn in zip(log.memories[1:], log.turns, strict=False):
        assert record.fallbacks == (Fallback.VERBATIM,)
        assert [fact.text for fact in record.stored] == [turn.text, turn.reply]


def test_an_answer_that_is_no_json_stores_nothing_and_is_counted(tmp_path, words):
    log, = remember(tmp_path, Extractor("I remember it well."), SPEC)
    assert log.completed
    assert all(record.fallbacks == (Fallback.NO_FACTS,) and not record.stored for record in log.memories[1:])


@pytest.mark.parametrize("memory", ['["a fact"]', '"a fact"', '{"text": "a fact"}', "3", "null", '[{"fact": "a fact"}]',
                                    '[{"text": 3}]', '[{"text": ""}]', "[[]]"])
def test_an_answer_of_another_shape_stores_nothing_and_is_counted(tmp_path, words, memory):
    log, = remember(tmp_path, Extractor(f'{{"memory": {memory}}}'), SPEC)
    assert log.completed
    assert all(record.fallbacks == (Fallback.NO_FACTS,) and not record.stored for record in log.memories[1:])


def test_of_facts_of_several_shapes_those_with_a_text_are_stored(tmp_path, words):
    facts = '{"memory": ["x", {"text": "The map is drawn.", "id": "0"}, {"text": 3}]}'
    log, = remember(tmp_path, Extractor(facts), SPEC)
    assert [fact.text for record in log.memories for fact in record.stored] == ["The map is drawn."]
    assert not any(record.fallbacks for record in log.memories)


def test_the_library_asks_the_same_on_every_day(tmp_path, words, monkeypatch):
    """Its prompts carry a date; models repeat it as a fact."""
    from mem0.configs import prompts

    monkeypatch.setattr(prompts, "_resolve_dates", lambda current=None, observed=None: ("2031-05-06", "2031-05-06"))
    model = Extractor()
    log, = remember(tmp_path, model, SPEC)
    asked = [call.messages[-1].content for record in log.memories for call in record.calls]
    assert len(asked) == model.asked > 40
    assert all("2031-05-06" not in text and text.count("2026-11-30") == 2 for text in asked)


@pytest.mark.parametrize("name", ["spacy", "fastembed"])
def test_what_changes_the_librarys_search_unseen_is_refused(monkeypatch, name):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda asked, *rest: asked == name or find(asked, *rest))
    with pytest.raises(RequestError, match=f"with {name} installed the library of the arm mem0 searches otherwise"):
        memory_identity("mem0", WordCounts())


def test_its_files_are_let_go_of_when_the_episode_is_over(tmp_path, words):
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("this system doesn't list the files of a process")
    remember(tmp_path, Extractor(), SPEC)
    assert not [path for path in map(os.path.realpath, descriptors.iterdir()) if path.startswith(str(tmp_path))]


def test_with_the_real_encoder_facts_are_found_and_nothing_leaves_the_machine(tmp_path, monkeypatch):
    connected = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: connected.append(address))
    plan = StudyPlan("t", "extractor", sizes=(5,), seeds=(100,), arms=(SPEC,))
    asyncio.run(run_study_async(plan, runs=tmp_path, durable=False, model=Extractor()))
    log, = iter_logs([tmp_path])
    assert log.completed and not connected
    facts = {fact.id: fact.text for record in log.memories for fact in record.stored}
    asked = next(turn for turn in reversed(log.turns) if turn.work_order)
    best = log.memories[asked.turn].recalled[0]
    assert len(facts) > 5 and facts[best.id].startswith("Work was ordered") and best.score > 0.1


def test_an_answer_without_facts_is_usable(tmp_path, words):
    log, = remember(tmp_path, Extractor('{"memory": []}'), SPEC)
    assert not any(record.fallbacks or record.stored for record in log.memories)


def test_a_model_that_gives_no_answer_ends_the_episode_with_a_reason(tmp_path, words):
    log, = remember(tmp_path, Extractor(ModelError("gone")), SPEC)
    assert (log.end.reason, log.end.detail) == (EndReason.MODEL_ERROR, "gone")


@pytest.mark.parametrize("helper", [None, ContextOverflow("too long")])
@pytest.mark.parametrize("cut", [1, 5000, 60000])
def test_a_cut_log_is_resumed_to_the_same_end(tmp_path, words, cut, helper):
    for name in ("whole", "cut"):
        remember(tmp_path / name, Extractor(helper), SPEC)
    path = next((tmp_path / "cut").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes()[:-cut])
    remember(tmp_path / "cut", Extractor(helper), SPEC)
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")


def test_a_store_of_another_episode_is_refused_in_one_sentence(tmp_path):
    library = Library(tmp_path, "one brief", WordCounts(), lambda messages: "")
    library.add(Exchange(0, "the map", "OK"), infer=False)
    with pytest.raises(RequestError, match=r"holds the memory of another episode; move it away"):
        Library(tmp_path, "another brief", WordCounts(), lambda messages: "")


def test_a_search_finds_by_likeness(tmp_path):
    library = Library(tmp_path, "a brief", WordCounts(), lambda messages: "")
    for turn, text in enumerate(["order the frames", "draw the map of the town", "small talk"]):
        library.add(Exchange(turn, text, "OK"), infer=False)
    assert library.search("the map of the town")[0].text == "draw the map of the town"
