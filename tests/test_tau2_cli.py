"""`run --harness tau2`: bad requests are one sentence, before anything is written."""

import sys

import pytest

from artifact.errors import RequestError
from artifact.harness.tau2 import benchmark
from test_cli import refused

RUN = ["run", "--study", "t", "--harness", "tau2", "--model", "scripted:gold"]


@pytest.mark.parametrize(("changes", "words"), [
    (["--harness", "chess"], ["chess", "tau2"]),
    (["--arms", "raw,directive"], ["directive", "raw, shown, notice, enforcement"]),
    (["--model", "scripted:always-book"], ["always-book", "scripted:gold"]),
    (["--user-model", "scripted:caller"], ["brings its own user", "--user-model"]),
    (["--model", "qwen2.5-coder-0.5b", "--user-model", "scripted:liar"], ["scripted:liar", "scripted:caller"]),
    (["--rules", "compiled"], ["scripted agent", "--rules reference"]),
    (["--model", "qwen2.5-coder-0.5b", "--rules", "compiled", "--optional-rules", "T1"],
     ["--optional-rules", "compiled"]),
    (["--compiles", "0"], ["--compiles"]),
    (["--sizes", "5"], ["--sizes", "lifecycle", "--harness tau2"]),
    (["--corruption", "0.1"], ["--corruption"]),
    (["--weeks", "1:4"], ["--weeks", "pmbench"]),
    (["--arms", "raw,raw"], ["twice"]),
    (["--tasks", "1,1"], ["twice"]),
    (["--seeds", "x"], ["seeds"]),
    (["--study", "../t"], ["../t"]),
])
def test_a_bad_request_is_one_sentence(capsys, tmp_path, changes, words):
    refused(capsys, [*RUN, "--runs", tmp_path, *changes], 2, *words)
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(("option", "harness"), [
    (["--failure-rate", "0.1"], "tools"), (["--tasks", "3"], "tau2"), (["--weeks", "1:4"], "pmbench")])
def test_an_option_of_a_harness_is_refused_without_it(capsys, tmp_path, option, harness):
    refused(capsys, ["run", "--study", "t", "--model", "scripted:perfect", "--runs", tmp_path, *option], 2, option[0],
            f"--harness {harness}")
    assert not list(tmp_path.rglob("*.jsonl"))


def test_without_the_benchmark_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tau2.registry", None)
    with pytest.raises(RequestError) as caught:
        benchmark.load()
    assert "pip install '.[tau2]'" in str(caught.value) and "\n" not in str(caught.value)
