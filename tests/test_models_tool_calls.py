"""Tool calls that a model writes as plain JSON, and how vLLM is told to look for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from artifact.models import vllm_tool_parser
from artifact.models.registry import find_model, model_names
from artifact.models.vllm_server import VllmSettings, vllm_command
from artifact.models.vllm_tool_parser import WrittenCall, written_calls

CANCELS = WrittenCall("cancel_reservation", {"reservation_id": "EHGLP3"})
OBJECT = '{"name": "cancel_reservation", "arguments": {"reservation_id": "EHGLP3"}}'


@pytest.mark.parametrize(("reply", "words"), [
    (OBJECT, ""),
    ("{" + OBJECT + "}", ""),
    (f"```json\n{OBJECT}\n```", ""),
    (f"<tool_call>\n{OBJECT}\n</tool_call>", ""),
    (f"Sure, I cancel it.\n\n```\n{OBJECT}\n```\nDone.", "Sure, I cancel it."),
    (OBJECT.replace("arguments", "parameters"), ""),
    (f"[{OBJECT}]", ""),
])
def test_a_call_is_found_in_every_form_that_was_seen(reply, words):
    assert written_calls(reply) == ((CANCELS,), words)


def test_two_calls_keep_their_order():
    other = WrittenCall("get_user_details", {"user_id": "a {b} \"c\""})
    calls, _ = written_calls(OBJECT + '\n{"name": "get_user_details", "arguments": {"user_id": "a {b} \\"c\\""}}')
    assert calls == (CANCELS, other)


@pytest.mark.parametrize("reply", [
    "", "I can't do that.", "{", "{" * 3000, '{"a": ' * 3000, "{'name': 'x', 'arguments': {}}", '{"name": "x"}',
    '{"name": 3, "arguments": {}}', '{"name": "x", "arguments": [3]}', '{"name": "", "arguments": {}}',
    '{"name": "Ann", "age": 3}', OBJECT[:-1],
])
def test_what_is_no_call_stays_words(reply):
    assert written_calls(reply) == ((), reply)


def test_a_call_in_the_arguments_of_another_is_no_call():
    calls, _ = written_calls('{"name": "note", "arguments": {"text": {"name": "pay", "arguments": {}}}}')
    assert [call.name for call in calls] == ["note"]


def test_vllm_is_given_the_plugin_for_the_models_that_name_it_and_for_no_other():
    named = {name: find_model(name).tool_parser for name in model_names()}
    assert vllm_tool_parser.NAME in named.values() and "hermes" in named.values()
    for name, parser in named.items():
        command = vllm_command(find_model(name), VllmSettings(), Path("python"), "checkpoint")
        told = command[command.index("--tool-call-parser") + 1] if "--tool-call-parser" in command else None
        assert told == parser
        assert ("--tool-parser-plugin" in command) == (parser == vllm_tool_parser.NAME)


def test_the_plugin_needs_nothing_that_the_server_s_environment_lacks():
    ran = subprocess.run([sys.executable, "-I", vllm_tool_parser.__file__], capture_output=True, text=True,
                         check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
