"""Memory arms: what they recall, what the window then shows, and that the log holds all of it (§3.3, Appendix F)."""

import asyncio
import re
import sys

import numpy as np
import pytest

from artifact.arms import ArmOptions, ArmSpec, parse_arm
from artifact.arms.memory.exchanges import RECALLED, Exchange, best, cosines
from artifact.errors import RequestError
from artifact.generator import TURNS
from artifact.log import read_episode
from artifact.log.records import Message
from artifact.models.embedder import EMBEDDER_ENV, SentenceEmbedder, open_embedder
from artifact.models.scripted import scripted_model
from artifact.runner import StudyPlan, run_study_async
from artifact.scorer import episode_frame
from bench import encode
from episode_logs import edit, timeless
from fixed_arms import Listened
from memory_kit import remember, words

__all__ = ["words"]
REPLACE = ArmOptions(mode="replace")
ARMS = ("topk", "stream")


def exchanges(log, before):
    return [Exchange(turn.turn, turn.text, turn.reply) for turn in log.turns[:before]]


def test_augment_is_the_papers_word_for_the_default_mode():
    assert parse_arm("topk:mode=augment") == ArmSpec("topk")
    assert str(parse_arm("topk:mode=replace")) == "topk:mode=replace"


def test_of_equal_scores_the_earlier_memory_comes_first():
    assert best([0.5, 0.9, 0.5, 0.9, 0.5, 0.5, 0.5]) == [1, 3, 0, 2, 4]


def test_cosines_are_those_worked_out_by_hand():
    memories = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    assert cosines(memories, np.array([0.8, 0.6], np.float32)) == [0.8, 0.96, 0.6]


@pytest.mark.parametrize("name", ARMS)
def test_in_replace_mode_the_window_is_brief_block_last_two_exchanges_and_request(tmp_path, words, name):
    model = Listened(scripted_model("reader?transcript=0.5"))
    log, = remember(tmp_path, model, ArmSpec(name, REPLACE))
    brief = log.turns[0].sent[0].content
    shown = [messages for messages in model.shown if messages[0].role == "system"]
    for turn, memory, messages in zip(log.turns, log.memories, shown, strict=True):
        last = [message for e in exchanges(log, turn.turn)[-2:]
                for message in (Message("user", e.request), Message("assistant", e.reply))]
        system = f"{brief}\n\n{memory.block}" if memory.block else brief
        assert messages == [Message("system", system), *last, Message("user", turn.text)]
        assert bool(memory.block) is (turn.turn > 0)


@pytest.mark.parametrize("name", ARMS)
def test_in_augment_mode_the_block_stands_before_the_request_in_that_call_alone(tmp_path, words, name):
    model = Listened(scripted_model("reader?transcript=0.5"))
    log, = remember(tmp_path, model, ArmSpec(name))
    shown = [messages for messages in model.shown if messages[0].role == "system"]
    for turn, memory, messages in zip(log.turns, log.memories, shown, strict=True):
        assert sum("[MEMORY" in message.content for message in messages) == (turn.turn > 0)
        assert messages[-1].content == f"{memory.block}\n\n{turn.text}".strip()
        assert len(messages) == 2 * turn.turn + 2


def test_top_k_recalls_the_five_exchanges_most_like_the_request(tmp_path, words):
    log, = remember(tmp_path, scripted_model("reader?transcript=0.5"), ArmSpec("topk"))
    for turn, memory in zip(log.turns, log.memories, strict=True):
        earlier = exchanges(log, turn.turn)
        vectors = words.vectors([*(e.text for e in earlier), turn.text])
        scores = [float(vector @ vectors[-1]) for vector in vectors[:-1]]
        least = min((recalled.score for recalled in memory.recalled), default=0)
        assert len(memory.recalled) == min(RECALLED, len(earlier))
        assert sum(score > least + 1e-6 for score in scores) < RECALLED
        assert all(earlier[at].text in memory.block for recalled in memory.recalled for at in recalled.turns)


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("options", [ArmOptions(), REPLACE])
@pytest.mark.parametrize("cut", [1, 3000, 30000])
def test_a_cut_log_is_resumed_to_the_same_end_and_recalls_nothing_anew(tmp_path, words, name, options, cut):
    model = scripted_model("reader?transcript=0.5")
    spec = ArmSpec(name, options)
    remember(tmp_path / "whole", model, spec)
    remember(tmp_path / "cut", model, spec)
    path = next((tmp_path / "cut").rglob("*.jsonl"))
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    kept = path.read_bytes().count(b'"record":"memory"')
    words.encoded.clear()
    remember(tmp_path / "cut", model, spec)
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")
    queries = [turn.text for turn in read_episode(path).turns[:kept - 1]]
    assert not set(queries) & set(words.encoded)


def test_helper_calls_of_a_memory_are_counted_with_the_others(tmp_path, words):
    log, = remember(tmp_path, scripted_model("reader?transcript=0.5"), ArmSpec("stream"))
    calls = sum(len(memory.calls) for memory in log.memories)
    assert calls >= len(log.turns) - 1  # a rating of every exchange but the last
    assert episode_frame([log])["helper_calls"].tolist() == [calls]


def test_what_a_memory_asks_is_asked_of_the_agents_own_model_and_never_of_the_state_model(tmp_path, words):
    agent, other = (Listened(scripted_model("always-book")) for _ in range(2))
    plan = StudyPlan("t", agent.name, sizes=(5,), seeds=(100,), arms=(ArmSpec("stream"),))
    asyncio.run(run_study_async(plan, runs=tmp_path, durable=False, model=agent, state_model=other))
    log = read_episode(next(tmp_path.rglob("*.jsonl")))
    assert len(agent.helped) == sum(len(memory.calls) for memory in log.memories) >= TURNS - 1
    assert (other.helped, other.shown) == ([], [])


def test_a_log_of_another_encoder_is_refused_with_the_difference(tmp_path, words):
    remember(tmp_path, scripted_model("always-book"), ArmSpec("topk"))
    edit(next(tmp_path.rglob("*.jsonl")), b'"weights_sha256":"words"', b'"weights_sha256":"other"', 1)
    with pytest.raises(RequestError, match=r"made by another run.*memory.weights_sha256: other in the log, words now"):
        remember(tmp_path, scripted_model("always-book"), ArmSpec("topk"))


def test_a_log_of_another_arm_says_nothing_of_memory(tmp_path, words):
    remember(tmp_path, scripted_model("always-book"), ArmSpec("raw"), ArmSpec("topk"))
    for path in tmp_path.rglob("*.jsonl"):
        assert (b'"memory"' in path.read_bytes()) is ("/topk" in str(path))


def test_a_memory_record_out_of_its_place_is_an_edited_log(tmp_path, words):
    remember(tmp_path, scripted_model("always-book"), ArmSpec("topk"))
    path = next(tmp_path.rglob("*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"turn":7,' in line and b'"record":"memory"' in line)
    without_seals = [re.sub(rb',"sum":"\w+"}', b"}", line) for line in lines]
    path.write_bytes(b"".join([*without_seals[:at], *without_seals[at + 1:]]))
    with pytest.raises(RequestError, match=r"a `memory` record for turn 8 stands where"):
        read_episode(path)


def test_an_encoder_of_another_dimension_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"hidden_size": 768}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(RequestError, match=rf"vectors of 768 numbers, not of 384; set {EMBEDDER_ENV}"):
        SentenceEmbedder(tmp_path)
    with pytest.raises(RequestError, match="holds no sentence encoder"):
        SentenceEmbedder(tmp_path / "nothing")


def test_the_real_encoder_puts_like_beside_like_and_encodes_a_text_once(monkeypatch):
    pytest.importorskip("sentence_transformers", reason="the real encoder needs the extra 'memory'")
    encoder = open_embedder()
    texts = ["Please order the desks (#W1234).", "Could you place the order for the desks?", "What lovely weather!"]
    near, far = cosines(encoder.vectors(texts[:2] + texts[2:])[1:], encoder.vectors(texts[:1])[0])
    assert near > far + 0.3
    monkeypatch.setattr(encoder, "_encode", None)
    assert np.array_equal(encoder.vectors(texts[::-1]), encoder.vectors(texts)[::-1])


def test_a_texts_vector_does_not_depend_on_what_it_is_encoded_with():
    pytest.importorskip("sentence_transformers", reason="the real encoder needs the extra 'memory'")
    texts = ["Thanks!", "Please order the desks (#W1234). " * 9, "Done.\nref RC-2048/#W1234", "Thanks!"]
    together, apart = open_embedder().vectors(texts), open_embedder()
    assert np.array_equal(together, np.concatenate([apart.vectors([text]) for text in texts[::-1]])[::-1])


def test_the_encoders_benchmark_tells_seconds_for_44_exchanges_of_a_released_episode(monkeypatch, capsys):
    pytest.importorskip("sentence_transformers", reason="the real encoder needs the extra 'memory'")
    monkeypatch.setattr(sys, "argv", ["encode.py", "--episodes", "1"])
    encode.main()
    told = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"44 exchanges of \S+ seed 100: [0-9.]+ s, [0-9.]+ s of CPU time", told)
