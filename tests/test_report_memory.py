"""What of a conversation reached the window: read off the log, to scale, and drawn."""

import pytest

from artifact.arms import parse_arms
from artifact.models.scripted import scripted_model
from artifact.report.figure_memory import memory_figure
from artifact.report.memory_window import Block, memory_windows
from artifact.report.style import save
from memory_kit import remember, words

__all__ = ["words"]


@pytest.fixture
def windows(tmp_path, words):
    arms = parse_arms("raw,topk,topk:mode=replace,stream:mode=replace,paged:mode=replace,window=1600")
    remember(tmp_path, scripted_model("always-book"), *arms)
    return {(window.arm, window.mode): window for window in memory_windows([tmp_path])}


def test_blocks_add_up_to_the_tokens_of_the_prompt_and_each_arm_shows_its_own(windows):
    assert list(windows) == [("raw", ""), ("topk", "replace"), ("topk", "augment"), ("stream", "replace"),
                             ("paged", "replace")]
    for window in windows.values():
        assert sum(window.blocks.values()) > 0
        assert bool(window.blocks[Block.MEMORY]) is (window.arm != "raw")
        assert len(window.past) == window.turn


def test_replaced_transcripts_show_the_last_exchanges_alone_and_a_queue_its_end(windows):
    shown = {key: [past.is_shown for past in window.past] for key, window in windows.items()}
    assert all(shown["raw", ""]) and all(shown["topk", "augment"])
    for arm in ("topk", "stream"):
        assert shown[arm, "replace"] == [False] * (len(shown[arm, "replace"]) - 2) + [True] * 2
    queue = shown["paged", "replace"]
    assert 2 < sum(queue) < len(queue) and queue == sorted(queue)


def test_what_was_recalled_is_marked_in_the_past(windows):
    assert sum(past.is_recalled for past in windows["topk", "replace"].past) == 5
    assert not any(past.is_recalled for past in windows["raw", ""].past)


def test_the_figure_is_the_same_bytes_on_every_run_and_says_so_where_there_is_nothing(windows, tmp_path):
    first, second = (save(memory_figure(list(windows.values())), name, tmp_path) for name in ("one", "two"))
    assert first.pdf.read_bytes() == second.pdf.read_bytes()
    empty = memory_figure(memory_windows([]))
    assert [text.get_text() for text in empty.axes[0].texts] == ["no memory arm was run"]
