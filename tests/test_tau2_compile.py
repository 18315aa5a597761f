"""Compiling a policy: answers are checked like a person's rules, what can't be used is named, counted, left out."""

import asyncio
import json
from dataclasses import replace

import pytest

from artifact import paths
from artifact.errors import RequestError
from artifact.harness.tau2 import benchmark, harness
from artifact.harness.tau2 import compile as compile_module
from artifact.harness.tau2.agreement import Agreement
from artifact.harness.tau2.compile import compile_policy, keep_compiled, read_compiled, rules_schema
from artifact.harness.tau2.compile_table import KeptCompile, compile_table, kept_compiles
from artifact.harness.tau2.plan import AirlinePlan
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.rules import REFERENCE, read_rule
from artifact.harness.tau2.vocabulary import words
from artifact.models.base import Reply

WHO = {"name": "m", "weights": "abc", "endpoint": "http://127.0.0.1:1/v1"}
TOOLS = {tool: {"name": str(tool), "description": "does it"} for tool in WriteTool}
GOOD = {"refuse_when": [{"predicate": "insured", "args": {}, "is": False}], "reason": "not insured"}
BAD = {"refuse_when": [{"predicate": "is_friendly", "args": {}, "is": False}], "reason": "unfriendly"}


def compiled(*answers):
    """A compile by a model that gives these answers in turn, the last one for ever, and what it was asked."""
    asked, waiting = [], list(answers)

    async def ask(messages, *, purpose, schema):
        asked.append(messages)
        return Reply(waiting.pop(0) if len(waiting) > 1 else waiting[0])

    return asyncio.run(compile_policy(ask, "m", "No {braces} harm.", TOOLS, temperature=0.0, seed=0,
                                      identity=WHO)), asked


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
    assert read_compiled(path) == policy and [one.policy for one in kept_compiles([tmp_path])] == [policy]
    path.write_text("{")
    with pytest.raises(RequestError, match="damaged"):
        read_compiled(path)


def test_a_kept_rule_that_is_none_any_more_is_one_sentence(tmp_path):
    policy, _ = compiled(rules(GOOD))
    policy.rules[0]["refuse_when"][0]["predicate"] = "is_friendly"
    keep_compiled(policy, tmp_path / "kept.json")
    with pytest.raises(RequestError, match=r"is_friendly.*delete it to compile anew"):
        read_compiled(tmp_path / "kept.json")


def test_a_compile_is_of_its_weights_policy_prompts_and_vocabulary(monkeypatch):
    policy, _ = compiled(rules(GOOD))
    of = ("No {braces} harm.", TOOLS)
    assert policy.is_of(WHO, *of) and policy.is_of({**WHO, "endpoint": "http://127.0.0.1:2/v1"}, *of)
    assert not policy.is_of({**WHO, "weights": "another"}, *of)
    assert not policy.is_of(WHO, "Another policy.", TOOLS)
    assert not policy.is_of(WHO, of[0], {**TOOLS, WriteTool.BOOK: {"name": "books otherwise"}})
    older = replace(policy, identity=None, vocabulary_sha256="")
    assert older.is_of({**WHO, "weights": "another"}, *of), "what an older file doesn't say isn't compared"
    with monkeypatch.context() as patched:
        patched.setattr(compile_module, "prompts_sha256", lambda: "other prompts")
        assert not policy.is_of(WHO, *of)
    fewer = dict(list(words().items())[1:])
    monkeypatch.setattr(compile_module, "words", lambda: fewer)
    assert not policy.is_of(WHO, *of)


class Model:
    """A model that answers every compile call alike, and counts them."""

    name, weights, calls = "m", "abc", 0

    def identity(self):
        return {"name": self.name, "weights": self.weights}

    async def complete(self, messages, **_):
        self.calls += 1
        return Reply(rules(GOOD))


def test_a_run_keeps_its_compile_and_compares_it_anew_when_other_calls_are_asked(tmp_path, monkeypatch):
    model, asked = Model(), {"now": "some calls"}
    monkeypatch.setattr(benchmark, "policy", lambda: "A policy.")
    monkeypatch.setattr(benchmark, "described_tools", lambda: TOOLS)
    monkeypatch.setattr(harness, "asked_sha256", lambda: asked["now"])
    monkeypatch.setattr(harness, "agreements", lambda compiled: [Agreement(1, 1, 0, 0, (True,), asked["now"])])

    def compile_now():
        airline = harness.Airline(AirlinePlan("s", "m", rules="compiled"))
        return asyncio.run(airline._compiled(model, 0, tmp_path)).agreement.asked_sha256

    assert (compile_now(), compile_now(), model.calls) == ("some calls", "some calls", 6)
    asked["now"] = "other calls"
    assert (compile_now(), model.calls) == ("other calls", 6), "compared anew, not compiled anew"
    assert read_compiled(tmp_path / "compiled" / "tau2.m.0.json").agreement.asked_sha256 == "other calls"
    model.weights = "another model under the same name"
    assert (compile_now(), model.calls) == ("other calls", 12)


def measured(*compiles):
    """Compiles with temperature, agreement counts and verdicts; the first is greedy where it says so."""
    policy, _ = compiled(rules(GOOD))
    return [KeptCompile("s", replace(policy, seed=seed, temperature=temperature, agreement=Agreement(
        4, agreed, missed, wrongly, said, "asked"))) for seed, (temperature, agreed, missed, wrongly, said)
        in enumerate(compiles)]


T, F = True, False  # the reference refuses the first two of four calls


def test_the_table_has_the_verdicts_of_no_rule_and_what_compiles_at_one_temperature_share():
    table = compile_table(measured((0.0, 2, 0, 2, (T, T, T, T)), (0.7, 4, 0, 0, (T, T, F, F)),
                                   (0.7, 3, 1, 0, (T, F, F, F)), (0.7, 2, 2, 0, (F, F, F, F))))
    baseline, greedy, *_, mean, deviation = table.records
    assert (baseline["compile"], baseline["agreed"], baseline["missed"]) == ("admit all", 2, 2)
    assert (greedy["rules"], greedy["distinct"], greedy["idle"]) == (6, 6, 1), "no certificate is insured"
    assert (mean["compiles"], mean["agreed"], mean["missed"], mean["wrongly_refused"]) == (3, 3.0, 1.0, 0.0)
    assert (deviation["compile"], deviation["agreed"]) == ("SD", 1.0)
    assert mean["same_verdict"] == pytest.approx((0.75 + 0.5 + 0.75) / 3), "pairs of the sampled compiles alone"
    assert "same verdict 0.67" in table.tex and "3/4" in table.tex and len(table.records) == 7


def test_a_greedy_and_one_sampled_compile_have_no_variance_to_show():
    table = compile_table(measured((0.0, 2, 0, 2, (T, T, T, T)), (0.7, 4, 0, 0, (T, T, F, F))))
    assert [row["compile"] for row in table.records] == ["admit all", 0, 1] and "same verdict 0" not in table.tex


def test_compiles_of_two_studies_or_compared_on_other_calls_are_not_averaged():
    one, other = measured((0.7, 4, 0, 0, (T, T, F, F)), (0.7, 3, 1, 0, (T, F, F, F)))
    assert "mean" not in {row["compile"] for row in compile_table([one, replace(other, study="t")]).records}
    asked = replace(other.policy, agreement=replace(other.policy.agreement, asked_sha256="older"))
    rows = [row["compile"] for row in compile_table([one, replace(other, policy=asked)]).records]
    assert rows == ["admit all", "admit all", 0, 1]


def test_the_table_without_compiles_or_agreement_says_so():
    policy, _ = compiled(rules(GOOD))
    assert "not run" in compile_table([]).tex and "not run" in compile_table([KeptCompile("s", policy)]).tex


def test_admitting_everything_agrees_on_the_calls_that_the_reference_admits():
    for one in kept_compiles([paths.RELEASED_LOGS]):
        found = one.policy.agreement
        assert (found.probes - found.refused_by_reference, found.probes) == (47, 85)


def test_the_reference_file_is_a_rules_file_of_the_same_form():
    for data in json.loads(REFERENCE.read_text("utf-8"))["rules"]:
        assert read_rule(data).as_data()["refuse_when"] == [
            {**one, "args": {**read_rule(data).as_data()["refuse_when"][number]["args"], **one["args"]}}
            for number, one in enumerate(data["refuse_when"])]
