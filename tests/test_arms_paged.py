"""Paged context: nothing said is lost, functions answer, the window keeps its size (Packer et al., 2023)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifact.arms import ArmOptions, ArmSpec, load_prompts
from artifact.arms.memory.functions import call_functions
from artifact.arms.memory.storage import PAGE, Storage, tokens
from artifact.arms.paged import FUNCTION_CALL, MOST_ROUNDS
from artifact.errors import RequestError
from artifact.log.memories import Fallback
from artifact.log.records import Message
from artifact.models.base import Reply
from artifact.models.scripted import scripted_model
from artifact.scorer import score_log
from episode_logs import timeless
from fixed_arms import Listened
from memory_kit import WordCounts, remember, words

__all__ = ["words"]
SMALL = ArmOptions(mode="replace", window=1600)
CAPACITY = 200


class Caller:
    """Books as asked; each first reply of a turn also calls what it is told to call."""

    name = "caller"

    def __init__(self, *lines: str, always: bool = False, helper: str | None = None) -> None:
        self._booking, self._lines, self._always, self._helper = scripted_model("always-book"), lines, always, helper

    def identity(self) -> dict[str, Any]:
        return {"engine": "scripted"}

    async def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, **settings: Any):
        if schema:
            return Reply(self._helper) if self._helper else await self._booking.complete(messages, schema=schema,
                                                                                       **settings)
        reply = await self._booking.complete(messages, **settings)
        if messages[-1].content.startswith("[MEMORY RESULT]") and not self._always:
            return Reply("Done as said.")
        return Reply("\n".join([reply.text, *self._lines]))

    async def close(self) -> None:
        pass


def conversations(model):
    return [messages for messages in model.shown if messages[0].role == "system"]


def test_eviction_loses_no_message_and_keeps_the_order(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("paged", SMALL))
    said: list[Message] = []
    for turn, record in zip(log.turns, log.memories, strict=True):
        assert said[record.evicted:] == list(record.history)
        said += [Message("user", turn.text), Message("assistant", turn.reply)]
    borders = [record.evicted for record in log.memories]
    assert borders == sorted(borders) and len(set(borders)) > 2


@pytest.mark.parametrize("size", [5, 10, 15])
def test_the_window_stays_within_its_size_whatever_the_model_writes_into_it(tmp_path, words, size):
    fill = 'MEMORY {"function": "working_append", "text": "%s"}' % ("x" * 60)
    model = Listened(Caller(fill, helper='{"summary": "%s"}' % ("y" * 700)))
    log, = remember(tmp_path, model, ArmSpec("paged", ArmOptions(mode="replace")), size=size)
    pressure = load_prompts("paper").adding(["paged"]).render("paged_pressure")
    openings = [messages for messages in conversations(model) if not messages[-1].content.startswith("[MEMORY RESULT]")]
    sizes = [sum(tokens(message.content) for message in messages) for messages in openings]
    window, told = ArmOptions().window, tokens(pressure)
    assert len(sizes) == len(log.turns)
    assert max(sizes) < window + told and max(sizes) > 0.9 * window
    assert "x" * 60 in log.memories[-1].block and "y" * 700 in log.memories[-1].block


def test_a_summary_that_is_too_long_is_asked_for_once_more_and_then_the_old_one_stays(tmp_path, words):
    log, = remember(tmp_path, Caller(helper='{"summary": "%s"}' % ("y" * 5000)), ArmSpec("paged", SMALL))
    flushed = [record for record in log.memories if record.stored]
    assert flushed and all(record.fallbacks == (Fallback.OLD_SUMMARY,) for record in flushed)
    assert "the summary has 5000 characters; it may have" in flushed[0].calls[1].messages[-1].content


def test_queue_and_recall_storage_are_together_everything_said_function_results_included(tmp_path, words):
    call = 'MEMORY {"function": "archival_insert", "text": "x"}'
    log, = remember(tmp_path, Caller(call, always=True), ArmSpec("paged", ArmOptions(mode="replace", window=2500)))
    said: list[str] = []
    for turn, record in zip(log.turns, log.memories, strict=True):
        assert [message.content for message in record.history] == said[record.evicted:]
        owed = record.notice.partition("\n\n[MEMORY PRESSURE]")[0] if "[MEMORY RESULT]" in record.notice else ""
        first = next(at for at, message in enumerate(turn.ephemeral) if message.role == "assistant")
        said += ["\n\n".join(filter(None, (turn.text, owed))),
                 *(message.content for message in turn.ephemeral[first:]), turn.reply]
    results = [text for text in said if "archival_insert: stored as text" in text]
    assert len(results) == MOST_ROUNDS * (len(log.turns) - 1) + MOST_ROUNDS - 1  # all but those after the last reply
    assert log.memories[-1].evicted > 0


def test_pressure_is_told_once_before_each_eviction(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("paged", SMALL))
    events = []
    for record in log.memories:
        events += ["told"] * ("[MEMORY PRESSURE]" in record.notice) + ["evicted"] * bool(record.stored)
    assert events[:4] == ["told", "evicted", "told", "evicted"]
    assert all(first != second for first, second in pairwise(events))


def test_what_left_the_window_is_folded_into_the_summary_with_the_one_before(tmp_path, words):
    log, = remember(tmp_path, scripted_model("always-book"), ArmSpec("paged", SMALL))
    flushed = [record for record in log.memories if record.stored]
    assert flushed[0].stored[0].text in flushed[0].block
    assert flushed[0].stored[0].text in flushed[1].calls[0].messages[0].content


def test_a_model_that_gives_no_summary_keeps_the_old_one_and_is_counted(tmp_path, words):
    log, = remember(tmp_path, Caller(helper="No."), ArmSpec("paged", SMALL))
    assert log.completed
    flushed = [record for record in log.memories if record.stored]
    assert flushed and all(record.fallbacks == (Fallback.OLD_SUMMARY,) for record in flushed)


def test_the_result_of_a_function_goes_back_within_the_turn_and_its_bookings_stand(tmp_path, words):
    model = Listened(Caller('MEMORY {"function": "working_append", "text": "keep this"}'))
    log, = remember(tmp_path, model, ArmSpec("paged"))
    for turn, record in zip(log.turns, log.memories, strict=True):
        first, = turn.superseded_replies
        assert first.purpose == FUNCTION_CALL
        assert "working_append: the working context is changed" in turn.ephemeral[-1].content
        assert len(turn.bookings) == (turn.work_order is not None)
        assert ("keep this" in record.block) is (turn.turn > 0)
    assert len(score_log(log).turns) == len(log.turns)


def test_a_model_that_only_calls_functions_is_heard_after_a_few_and_told_of_the_last_in_the_next_turn(tmp_path, words):
    log, = remember(tmp_path, Caller('MEMORY {"function": "archival_insert", "text": "x"}', always=True),
                    ArmSpec("paged", ArmOptions(window=100_000)))
    assert {len(turn.superseded_replies) for turn in log.turns} == {MOST_ROUNDS - 1}
    assert all("archival_insert: stored as text" in record.notice for record in log.memories[1:])


@pytest.mark.parametrize("cut", [1, 4000, 40000])
def test_a_cut_log_is_resumed_to_the_same_end(tmp_path, words, cut):
    model = Caller('MEMORY {"function": "working_append", "text": "a"}', 'MEMORY {"function": "recall_search", '
                   '"query": "ref"}', 'MEMORY {"function": "archival_insert", "text": "b"}')
    for name in ("whole", "cut"):
        remember(tmp_path / name, model, ArmSpec("paged", SMALL))
    path = next((tmp_path / "cut").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes()[:-cut])
    remember(tmp_path / "cut", model, ArmSpec("paged", SMALL))
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")


def test_a_window_smaller_than_the_brief_is_refused_in_one_sentence(tmp_path, words):
    with pytest.raises(RequestError, match=r"a window of 300 tokens has no room beside the brief .* paged:window=\d+"):
        remember(tmp_path, scripted_model("always-book"), ArmSpec("paged", ArmOptions(window=300)))


def results(*lines: str, storage: Storage | None = None) -> tuple[str, ...]:
    return call_functions("\n".join(lines), (storage or Storage(WordCounts(), CAPACITY)).functions)


@pytest.mark.parametrize(("call", "result"), [
    ('{"function": "recall_search", "query": "map"', ()),
    ('{"function": "recall_search", "query": }', "is not valid JSON"),
    ('{"query": "map"}', "there is no function None; the functions are working_append, working_replace"),
    ('{"function": "forget"}', "there is no function 'forget'"),
    ('{"function": ["a"]}', "there is no function ['a']"),
    ('{"function": "recall_search"}', "error: recall_search: the argument 'query' is missing; it takes query, page"),
    ('{"function": "recall_search", "query": 3}', "the argument 'query' must be a text"),
    ('{"function": "recall_search", "query": "x", "page": true}', "the argument 'page' must be a whole number"),
    ('{"function": "recall_search", "query": "x", "page": 2}', "there is no page 2; the last one is 1"),
    ('{"function": "recall_search", "query": "x", "path": "/"}', "there is no argument 'path'"),
    ('{"function": "working_replace", "old": "", "new": "x"}', "'' doesn't stand in the working context"),
    ('{"function": "archival_search", "query": "x"}', "archival storage is empty"),
    ('{"function": "working_append", "text": "\\ud800"}', "is not valid JSON"),
])
def test_whatever_a_call_says_its_result_is_one_sentence(call, result):
    found = results(f"MEMORY {call}")
    assert (found == result) if result == () else (len(found) == 1 and result in found[0])


def test_the_working_context_has_a_fixed_size():
    storage = Storage(WordCounts(), CAPACITY)
    call = 'MEMORY {"function": "working_append", "text": "%s"}'
    assert results(call % ("x" * CAPACITY), storage=storage) == ("working_append: the working context is "
                                                                          "changed",)
    assert "holds 200; shorten it" in results(call % "y", storage=storage)[0]
    assert storage.working == "x" * CAPACITY


def test_searches_come_in_pages_and_the_most_similar_text_first():
    storage = Storage(WordCounts(), CAPACITY)
    storage.said = [Message("user", f"the map {number}") for number in range(PAGE + 1)]
    storage.evicted = PAGE + 1
    first, second = results('MEMORY {"function": "recall_search", "query": "MAP"}',
                            'MEMORY {"function": "recall_search", "query": "MAP", "page": 2}', storage=storage)
    assert "4 messages" in first and "(page 1 of 2)" in first and first.count("the map") == PAGE
    assert second.count("the map") == 1
    storage.archive = ["frames and frames", "the map of the town", "nothing"]
    found, = results('MEMORY {"function": "archival_search", "query": "town map"}', storage=storage)
    assert found.splitlines()[1] == "the map of the town"


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=80)), min_size=1, max_size=30),
       st.integers(0, 30))
def test_eviction_takes_half_of_the_queue_and_leaves_the_users_side_first(said, evicted):
    storage = Storage(WordCounts(), CAPACITY)
    storage.said = [Message(role, text) for role, text in said]
    storage.evicted = min(evicted, len(said) - 1)
    border = storage.half()
    gone, left = storage.said[storage.evicted:border], storage.said[border:]
    assert 2 * sum(tokens(m.content) for m in gone) >= sum(tokens(m.content) for m in storage.queue)
    assert not left or left[0].role == "user"
