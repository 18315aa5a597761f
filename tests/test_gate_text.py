"""The gate in words, and from words: checklist, directive, and a plan that a model compiles from a text."""

import asyncio
import subprocess
import sys

import pytest

from artifact import Gate, gate_from_text
from artifact.arms import load_prompts
from artifact.errors import RequestError
from artifact.models import Reply
from artifact.models.scripted import scripted_model
from artifact.taskstate import Revision, Step, TaskGraph

TEXT = """The workshop gets seals.
- s1: order the seals [tool order]
- s2: pay the bill (requires: s1) [tool pay]
- s3: file the bill (requires: s1, s2) [tool file_bill]
Nothing is done twice."""
PLAN = TaskGraph((Step("s1", "order the seals", "order"), Step("s2", "pay the bill", "pay", ("s1",)),
                  Step("s3", "file the bill", "file_bill", ("s1", "s2"))))


class Answers:
    """A model that gives one answer to everything."""

    name = "answers"

    def __init__(self, text):
        self.text = text

    async def complete(self, messages, **options):
        return Reply(self.text)


@pytest.mark.parametrize("prompts", ["paper", "fewshot"])
def test_a_model_compiles_a_gate_from_a_text(prompts):
    gate = asyncio.run(gate_from_text(TEXT, scripted_model("never-book"), prompts=prompts))
    assert gate.state.graph == PLAN
    assert gate.check(gate.state.graph.step_with_code("pay")).reason == "step s2 is BLOCKED"


@pytest.mark.parametrize(("text", "step"), [
    ("First order, then pay.", "any step"), (TEXT.replace(" [tool pay]", ""), "s2"),
    (f"{TEXT}\n- s1: order the maps [tool maps]", "s1"), (TEXT.replace("- s3", " * s3"), "s3")])
def test_a_text_in_which_a_step_has_no_line_of_its_own_is_refused_before_anyone_is_asked(text, step):
    with pytest.raises(RequestError, match=f"no line of its own for {step}"):
        asyncio.run(gate_from_text(text, None))


@pytest.mark.parametrize(("answer", "why"), [
    ("I can't.", "it holds no JSON object"), ('{"deps": [], "code": "order"}', "share the completion code"),
    ('{"deps": [], "code": "#"}', "has no completion code")])
def test_no_gate_is_made_of_a_plan_that_was_compiled_wrong(answer, why):
    with pytest.raises(RequestError, match=rf"the plan that answers compiled can't be used \(.*{why}"):
        asyncio.run(gate_from_text(TEXT, Answers(answer)))


@pytest.mark.parametrize("prompts", ["paper", "fewshot"])
def test_a_gate_says_its_state_in_the_words_of_the_arms(prompts):
    gate, words = Gate(PLAN), load_prompts(prompts)
    said = [gate.directive_text("s1"), gate.directive_text("s3")]
    gate.receipt("s1", work_order="#W0001")
    said.append(gate.directive_text("s1"))
    gate.authorize("s1")
    said.append(gate.directive_text("s1"))
    gate.revise(Revision(cancel="s2"))
    said.append(gate.directive_text("s2"))
    assert said == [words.render("directive_eligible", step="s1"),
                    words.render("directive_blocked", step="s3", missing="s1, s2"),
                    words.render("directive_done", step="s1"), words.render("directive_redo", step="s1"),
                    words.render("directive_cancelled", step="s2")]
    assert gate.checklist() == words.checklist(gate.state) == (
        "[PROJECT CHECKLIST -- updated automatically from the booked work orders]\n"
        "- s1: DONE\n- s2: CANCELLED\n- s3: TODO (waiting on: s2)")


def test_the_gate_alone_imports_neither_arms_nor_models():
    program = "import sys, artifact; sys.exit(not {'artifact.arms', 'artifact.models'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
