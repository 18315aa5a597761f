"""Compiling a policy: answers are checked like a person's rules, what can't be used is named, counted, left out."""

import asyncio
import json

import pytest

from artifact.errors import RequestError
from artifact.harness.tau2.agreement import Agreement
from artifact.harness.tau2.compile import compile_policy, keep_compiled, read_compiled, rules_schema
from artifact.harness.tau2.compile_table import compile_table, kept_compiles
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.rules import REFERENCE, read_rule
from artifact.harness.tau2.vocabulary import words
from artifact.models.base import Reply

TOOLS = {tool: {"name": str(tool), "description": "does it"} for tool in WriteTool}
GOOD = {"refuse_when": [{"predicate": "insured", "args": {}, "is": False}], "reason": "not insured"}
BAD = {"refuse_when": [{"predicate": "is_friendly", "args": {}, "is": False}], "reason": "unfriendly"}


def compiled(*answers):
    """A compile by a model that gives these answers in turn, the last one for ever, and what it was asked."""
    asked, waiting = [], list(answers)

    async def ask(messages, *, purpose, schema):
        asked.append(messages)
        return Reply(waiting.pop(0) if len(waiting) > 1 else waiting[0])

    return asyncio.run(compile_policy(ask, "m", "No {braces} harm.", TOOLS, temperature=0.0, seed=0)), asked


def rules(*listed):
    return json.dumps({"rules": listed})


def test_each_write_tool_is_asked_about_once_with_policy_and_vocabulary():
    policy, asked = compiled(rules(GOOD))
    assert len(asked) == 6 == len(policy.calls)
    for tool, messages in zip(WriteTool, asked, strict=True):
        assert tool in messages[0].content and "No {braces} harm." in messages[0].content
        assert all(name in messages[0].content for name in words())
    assert [rule.tools for rule in policy.rule_set().rules] == [(tool,) for tool in WriteTool]


def test_an_unknown_fact_is_named_to_the_model_once_then_left_out_and_counted():
    policy, asked = compiled(rules(GOOD, BAD))
    assert len(asked) == 12 and "is_friendly" in asked[1][-1].content
    assert len(policy.rules) == 6 and len(policy.rejected) == 6
    assert "unknown fact 'is_friendly'" in policy.rejected[0]


def test_a_corrected_answer_counts_and_nothing_is_left_out():
    policy, asked = compiled(rules(BAD), rules(GOOD))
    assert len(asked) == 7 and len(policy.rules) == 6 and policy.rejected == ()


@pytest.mark.parametrize("answer", ["I can't.", "[]", '{"rules": 4}', rules(), rules(BAD), rules(3), ""])
def test_a_policy_that_compiles_to_nothing_is_one_sentence(answer):
    policy, _ = compiled(answer)
    with pytest.raises(RequestError, match="came to no usable rule") as caught:
        policy.rule_set()
    assert "\n" not in str(caught.value)


def test_a_compiled_rule_switches_itself_neither_off_nor_onto_another_tool():
    policy, _ = compiled(rules({**GOOD, "optional": True, "tool": ["send_certificate"], "id": "mine"}))
    assert {rule.optional for rule in policy.rule_set().rules} == {False}
    assert {str(rule.tools[0]) for rule in policy.rule_set().rules} == set(WriteTool)


def test_the_schema_admits_every_condition_of_the_reference_and_has_no_reference_of_its_own():
    schema = rules_schema()
    assert "$ref" not in json.dumps(schema) and "propertyNames" not in json.dumps(schema)
    one_of = {one["properties"]["predicate"]["const"]: one["properties"]["args"] for one in
              schema["properties"]["rules"]["items"]["properties"]["refuse_when"]["items"]["anyOf"]}
    assert set(one_of) == set(words())
    for rule in json.loads(REFERENCE.read_text("utf-8"))["rules"]:
        for condition in rule["refuse_when"]:
            assert set(condition["args"]) <= set(one_of[condition["predicate"]].get("properties", {}))


def test_a_compile_is_kept_whole_and_read_again(tmp_path):
    policy, _ = compiled(rules(GOOD))
    path = tmp_path / "compiled" / "tau2.m.0.json"
    assert read_compiled(path) is None
    keep_compiled(policy, path)
    assert read_compiled(path) == policy and list(kept_compiles([tmp_path])) == [policy]
    path.write_text("{")
    with pytest.raises(RequestError, match="damaged"):
        read_compiled(path)


def test_the_table_shows_agreement_and_what_repeated_compiles_share():
    first, _ = compiled(rules(GOOD))
    verdicts = (True, False, False, True)
    measured = [type(first)(**{**vars(first), "seed": seed, "agreement": Agreement(4, agreed, 1, 0, said)})
                for seed, agreed, said in ((0, 3, verdicts), (1, 4, (True, True, False, True)))]
    table = compile_table(measured)
    assert "same verdict 0.75" in table.tex and "3/4" in table.tex and len(table.records) == 2
    assert "not run" in compile_table([]).tex and "not run" in compile_table([first]).tex


def test_the_reference_file_is_a_rules_file_of_the_same_form():
    for data in json.loads(REFERENCE.read_text("utf-8"))["rules"]:
        assert read_rule(data).as_data()["refuse_when"] == [
            {**one, "args": {**read_rule(data).as_data()["refuse_when"][number]["args"], **one["args"]}}
            for number, one in enumerate(data["refuse_when"])]
