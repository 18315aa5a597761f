"""Recorded replies: the same answer again, and never a silent call."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import Message
from artifact.models.base import ChatModel, ContextOverflow, FinishReason, ModelTimeout, Reply
from artifact.models.replay import Recorder, Replay
from artifact.models.transcript import Transcript

ASKED = [Message("user", "Order the pump (#W1234).")]


class Live:
    """A model that never says the same twice, unless told what to say."""

    name = "live"

    def __init__(self, setting: int | None = 1, says: str | None = None) -> None:
        self.calls = 0
        self.setting = setting
        self.says = says
        self.fails: Exception | None = None

    def identity(self) -> dict[str, Any]:
        return {"name": "live", "setting": self.setting, "versions": ("1", "2"), "context": None}

    async def complete(self, messages: Any, **_: Any) -> Reply:
        self.calls += 1
        if self.fails:
            raise self.fails
        text = self.says or f"ref RC-2048/#W1234 — {self.calls}\u2028\x1b[31m"
        return Reply(text, "why", FinishReason.LENGTH, 10, 4, 7, 0.25 * self.calls, 2)

    async def close(self) -> None:
        pass


def ask(model: ChatModel, messages: Any = ASKED, **settings: Any) -> Reply:
    return asyncio.run(model.complete(messages, **{"max_tokens": 400, **settings}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "recording.jsonl"


def test_a_recorded_reply_comes_back_whole_without_the_model(path: Path) -> None:
    live = Live()
    said = ask(Recorder(live, path))
    replay = Replay(path)
    assert ask(replay) == said
    assert ask(replay, Transcript(ASKED)) == said
    assert (replay.name, live.calls) == ("live", 1)
    assert replay.identity()["setting"] == 1 and "recording_sha256" in replay.identity()


@pytest.mark.parametrize("change", [{"max_tokens": 800}, {"temperature": 0.7}, {"seed": 3},
                                    {"schema": {"type": "object"}},
                                    {"messages": [Message("user", "Order the pump (#W1235).")]},
                                    {"messages": [Message("system", ASKED[0].content)]}, {"messages": ASKED * 2}])
def test_a_prompt_that_was_never_recorded_is_an_error(path: Path, change: dict[str, Any]) -> None:
    ask(Recorder(Live(), path))
    with pytest.raises(RequestError, match="holds no reply"):
        ask(Replay(path), **change)


def test_the_order_of_a_schemas_keys_does_not_matter(path: Path) -> None:
    said = ask(Recorder(Live(), path), schema={"type": "object", "title": "a"})
    assert ask(Replay(path), schema={"title": "a", "type": "object"}) == said


def test_the_same_prompt_in_two_sessions_keeps_both_answers(path: Path) -> None:
    recorder = Recorder(Live(), path)
    first, second = ask(recorder, session="raw/100"), ask(recorder, session="checklist/100")
    replay = Replay(path)
    assert ask(replay, session="checklist/100") == second
    assert ask(replay, session="raw/100") == first
    assert ask(replay, session="another study") == second


def test_what_was_answered_last_counts(path: Path) -> None:
    recorder = Recorder(Live(), path)
    ask(recorder)
    last = ask(recorder)
    assert ask(Replay(path)) == last


def test_a_recording_is_added_to_by_the_same_model_alone(path: Path) -> None:
    for max_tokens in (400, 400, 800):
        ask(Recorder(Live(says="ref RC-2048/#W1234"), path), max_tokens=max_tokens)
    assert len(path.read_text().splitlines()) == 3  # the model and two replies
    with pytest.raises(RequestError, match="other settings"):
        Recorder(Live(setting=2), path)


def test_an_overflow_is_recorded_as_the_answer_that_it_is(path: Path) -> None:
    live = Live()
    live.fails = ContextOverflow("The prompt is too long for live.")
    with pytest.raises(ContextOverflow):
        ask(Recorder(live, path))
    with pytest.raises(ContextOverflow, match="too long for live"):
        ask(Replay(path))


def test_an_incident_is_no_answer(path: Path) -> None:
    live = Live()
    live.fails = ModelTimeout("too slow")
    recorder = Recorder(live, path)
    with pytest.raises(ModelTimeout):
        ask(recorder)
    with pytest.raises(RequestError, match="holds no reply"):
        ask(Replay(path))
    live.fails = None
    assert ask(recorder) == ask(Replay(path))


def test_a_torn_last_line_is_cut_off_and_recording_goes_on(path: Path) -> None:
    first = ask(Recorder(Live(), path))
    path.write_bytes(path.read_bytes() + b'{"record":"answer","requ')
    assert ask(Replay(path)) == first
    second = ask(Recorder(Live(), path), max_tokens=800)
    replay = Replay(path)
    assert (ask(replay), ask(replay, max_tokens=800)) == (first, second)


@pytest.mark.parametrize("content", [b"", b"not JSON\n", b"\xff\xfe\n",
                                     b'{"record":"recording","name":"live","identity":{}}\n{"request"\n',
                                     b'{"record":"recording","name":"live","identity":{}}\n' * 2,
                                     b'{"record":"answer","request":"a","session":null,"prompt":"","reply":null}\n'])
def test_a_file_that_is_no_sound_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(content)
    with pytest.raises(RequestError, match="record it again"):
        Replay(path)


def test_a_file_that_is_no_recording_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"first\nsecond without an end")
    with pytest.raises(RequestError, match=r"Line 1 of .*notes\.txt"):
        Recorder(Live(), path)
    assert path.read_bytes() == b"first\nsecond without an end"


def test_a_missing_recording_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="nowhere"):
        Replay(tmp_path / "nowhere.jsonl")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="can't be written"):
        Recorder(Live(), tmp_path / "file" / "recording.jsonl")
