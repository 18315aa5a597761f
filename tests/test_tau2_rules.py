"""The rules of the airline study, without the benchmark: what is refused, what isn't, and what can't be a rule."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

from artifact.errors import RequestError
from artifact.harness.tau2.agreement import prepared
from artifact.harness.tau2.facts_conversation import affirms
from artifact.harness.tau2.gate import PolicyGate, Rung
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.reach import distinct_rules, never_refuses
from artifact.harness.tau2.rules import InvalidRule, RuleSet, load_rules, read_rule, reference_rules
from artifact.harness.tau2.shown import state_block
from artifact.harness.tau2.state import Customer
from artifact.harness.tau2.trace import ToolCall, Trace
from artifact.harness.tau2.vocabulary import MOST_HOURS
from bench import gate_check
from tau2_world import BACK, OUT, ask, booking, flights, world

RULES = reference_rules()
PEOPLE = booking()["passengers"]
SAME = flights((OUT.flight, OUT.date), (BACK.flight, BACK.date))
LATER = flights((OUT.flight, OUT.date), ("T2", "2024-05-26"))


def refused(question):
    return [rule.id for rule in RULES.refusals(question)]


def change(state, listed=SAME, cabin="economy", payment="card"):
    return ask(state, WriteTool.FLIGHTS, reservation_id="R1", cabin=cabin, flights=listed, payment_id=payment)


def bags(state, total, paid, payment="card"):
    return ask(state, WriteTool.BAGS, reservation_id="R1", total_baggages=total, nonfree_baggages=paid,
               payment_id=payment)


def delayed(**changes):
    state = world(insured=True, **changes)
    state.statuses[OUT.flight, OUT.date] = "delayed"
    return state


def after(*calls, state=None, words=()):
    trace = Trace(user_messages=tuple(words))
    for call in calls:
        trace = trace.after(call, state.reservation("R1") if state else None)
    return trace


CANCEL = ToolCall(WriteTool.CANCEL, {"reservation_id": "R1"})


@pytest.mark.parametrize(("question", "rule"), [
    (ask(world(), WriteTool.BOOK, **booking(passengers=PEOPLE * 6, total_baggages=0)), "B1"),
    (ask(world(), WriteTool.BOOK, **booking(payment_methods=[{"payment_id": "voucher", "amount": 1},
                                                             {"payment_id": "voucher2", "amount": 1}])), "B2"),
    (ask(world(), WriteTool.BOOK, **booking(payment_methods=[{"payment_id": "card", "amount": 1},
                                                             {"payment_id": "card2", "amount": 1}])), "B3"),
    (ask(world(), WriteTool.BOOK, **booking(payment_methods=[{"payment_id": f"gift{n}", "amount": 1}
                                                             for n in range(4)])), "B4"),
    (ask(world(), WriteTool.BOOK, **booking(total_baggages=2)), "B5"),
    (ask(world(), WriteTool.BOOK, **booking(nonfree_baggages=1)), "B5"),
    (ask(world(), WriteTool.BOOK, **booking(flights=flights(("T1", "2024-05-15")))), "B6"),
    (change(world(cabin="basic_economy"), LATER, "basic_economy"), "F1"),
    (change(world(), flights(("T3", "2024-05-20"), ("T2", "2024-05-25"))), "F2"),
    (change(world(), flights(("T1", "2024-05-20"))), "F2"),
    (change(world(), []), "F2"),
    (change(world(cabin="basic_economy"), [], "basic_economy"), "F1"),
    (change(world(), payment="voucher"), "F4"),
    (bags(world(), 0, 0), "G1"),
    (bags(world(), 4, 1), "G2"),
    (bags(world(), "4.0", "+1"), "G2"),
    (bags(world(), 4, True), "G2"),
    (bags(world(), 2, 1), "G3"),
    (ask(world(), WriteTool.PASSENGERS, reservation_id="R1", passengers=PEOPLE), "P1"),
    (ask(world(), WriteTool.CANCEL, reservation_id="R1"), "C2"),
    (ask(world(), WriteTool.CERTIFICATE, user_id="kim", amount=100), "S1"),
    (ask(delayed(), WriteTool.CERTIFICATE, user_id="kim", amount=100), "S2"),
    (ask(delayed(), WriteTool.CERTIFICATE, user_id="kim", amount="1e9"), "S2"),
    (ask(delayed(), WriteTool.CERTIFICATE, user_id="kim", amount=True), "S2"),
    (bags(world(), 2, 0, "unknown"), "A1"),
    (ask(world(), WriteTool.PASSENGERS, reservation_id="R1", passengers=[*PEOPLE, {"first_name": "A", "dob": ""}]),
     "A2"),
    (bags(world(cancelled=True), 2, 0), "A3"),
    (ask(world(insured=True), WriteTool.CANCEL, after(ToolCall("get_user_details", {"user_id": "ann"})),
         reservation_id="R1"), "A4"),
])
def test_each_rule_refuses_its_own_kind(question, rule):
    assert rule in refused(question)


def test_a_flown_segment_ends_cancelling_and_cabin_changes():
    state = world(cabin="business")
    state.statuses[OUT.flight, OUT.date] = "landed"
    assert refused(ask(state, WriteTool.CANCEL, reservation_id="R1")) == ["C1"]
    assert refused(change(state, cabin="economy")) == ["F3"]


@pytest.mark.parametrize("question", [
    ask(world(), WriteTool.BOOK, **booking()),
    change(world(), LATER),
    change(world(cabin="basic_economy"), SAME, "business"),
    bags(world(), 2, 0),
    bags(world(), 3, 1),
    ask(world(), WriteTool.PASSENGERS, reservation_id="R1", passengers=PEOPLE * 2),
    ask(world(insured=True), WriteTool.CANCEL, reservation_id="R1"),
    ask(world(cabin="business"), WriteTool.CANCEL, reservation_id="R1"),
])
def test_what_the_policy_allows_is_not_refused(question):
    assert refused(question) == []


def test_a_delay_is_compensated_once_and_only_after_the_reservation_was_changed():
    state = delayed()
    asked = (WriteTool.CERTIFICATE, {"user_id": "kim", "amount": 100})
    assert refused(ask(state, asked[0], **asked[1])) == ["S2"]
    changed = after(CANCEL, state=state)
    assert refused(ask(state, asked[0], changed, **asked[1])) == []
    assert refused(ask(state, asked[0], changed.after(ToolCall(*asked), None), **asked[1])) == ["S3"]


def test_a_delay_counts_though_the_change_replaced_the_delayed_flight():
    before = delayed()
    trace = after(ToolCall(WriteTool.FLIGHTS, {"reservation_id": "R1"}), state=before)
    now = delayed(segments=(replace(OUT, date="2024-05-21"), BACK))
    now.statuses["T1", "2024-05-21"] = "available"
    assert refused(ask(now, WriteTool.CERTIFICATE, trace, user_id="kim", amount=100)) == []


@pytest.mark.parametrize("arguments", [
    {}, {"reservation_id": "no such"}, {"reservation_id": 7}, {"reservation_id": ["R1"]}, {"reservation_id": None},
])
def test_a_malformed_call_is_unknown_and_never_refused(arguments):
    for tool in WriteTool:
        extra = {"passengers": "Kim", "flights": {"T1": 1}, "payment_methods": [3], "total_baggages": "many",
                 "amount": "lots", "cabin": 4, "nonfree_baggages": None}
        assert refused(ask(world(), tool, **{**extra, **arguments})) == []


@pytest.mark.parametrize("total", [float("nan"), "nan", "", "3 bags", 10**400, None, [3]])
def test_what_no_tool_reads_as_a_number_is_unknown(total):
    assert refused(bags(world(), total, 0)) == []


@pytest.mark.parametrize(("rule", "trace", "refuses"), [
    ("T1", after(words=["Hello", "Yes, go ahead."]), False), ("T1", after(words=["Yes", "What does it cost?"]), True),
    ("T2", after(ToolCall("get_reservation_details", {"reservation_id": "R1"})), False), ("T2", after(), True),
    ("T3", after(ToolCall("get_user_details", {"user_id": "kim"})), False), ("T3", after(), True),
    ("T4", after(words=["my id is kim"]), False), ("T4", after(words=["guess"]), True),
    ("T5", replace(after(), calls_in_message=1), False), ("T5", replace(after(), calls_in_message=2), True),
])
def test_optional_rules_are_off_unless_asked_for(rule, trace, refuses):
    question = ask(world(insured=True), WriteTool.CANCEL, trace, reservation_id="R1")
    assert refused(question) == []
    with_it = [one.id for one in reference_rules((rule,)).refusals(question)]
    assert with_it == ([rule] if refuses else [])


@pytest.mark.parametrize("rule", ["T1", "T4"])
def test_what_the_user_said_is_unknown_before_the_user_said_anything(rule):
    question = ask(world(insured=True), WriteTool.CANCEL, Trace(), reservation_id="R1")
    assert reference_rules((rule,)).refusals(question) == ()


@pytest.mark.parametrize(("message", "affirmed"), [
    ("Yes, go ahead.", True), ("Yes!", True), ("ok", True), ("That\u2019s correct, please proceed", True),
    ("Yes, no changes needed", True), ("No problem, go ahead", True), ("I confirm.", True),
    ("No, that's not correct", False), ("I'm not sure", False), ("Don't proceed", False), ("I don\u2019t agree", False),
    ("No, go ahead with the other one", False), ("Is that correct?", False), ("Please confirm the price", False),
    ("Not ok", False), ("I can't agree to that", False), ("That is incorrect", False), ("", False),
])
def test_only_an_affirmation_affirms(message, affirmed):
    assert affirms(message) is affirmed


def test_a_call_is_compared_after_the_look_ups_and_the_yes_that_it_needs():
    question = ask(world(insured=True), WriteTool.CANCEL, reservation_id="R1")
    every = reference_rules(("T1", "T2", "T3", "T4", "T5"))
    assert every.refusals(prepared(question)) == ()
    assert [rule.id for rule in every.refusals(prepared(question, "Wait."))] == ["T1"]
    of_another = replace(question, trace=after(ToolCall("get_user_details", {"user_id": "ann"})))
    assert [rule.id for rule in RULES.refusals(prepared(of_another))] == ["A4"], "a wrong profile stays the only one"


def test_the_reference_marks_what_is_inferred():
    assert {rule.id for rule in RULES.rules if rule.inferred} == {"A3", "A4", "S3"}
    assert len(RULES.rules) == 23 and {tool for rule in RULES.rules for tool in rule.tools} == set(WriteTool)


def test_notice_bounces_once_and_judges_changed_arguments_afresh():
    gate = PolicyGate(RULES, Rung.NOTICE)
    first, same, other = bags(world(), 4, 1), bags(world(), 4, 1), bags(world(), 5, 1)
    ruling = gate.judge(first, 1)
    assert not ruling.admitted and ruling.rules == ("G2",) and "must be paid" in ruling.reason
    assert gate.judge(same, 2).admitted and gate.judge(same, 2).repeated and not gate.judge(other, 2).admitted


def test_a_notice_is_overridden_only_from_a_later_message():
    gate, twin = PolicyGate(RULES, Rung.NOTICE), bags(world(), 4, 1)
    assert [gate.judge(twin, 1).admitted for _ in range(2)] == [False, False]
    assert [gate.judge(twin, 2).admitted for _ in range(2)] == [True, True], "it was read by then"


def test_a_notice_is_overridden_only_for_the_rules_that_it_named():
    gate = PolicyGate(RULES, Rung.NOTICE)
    unpaid, unpaid_and_cancelled = bags(world(), 4, 1), bags(world(cancelled=True), 4, 1)
    assert not gate.judge(unpaid, 1).admitted
    ruling = gate.judge(unpaid_and_cancelled, 2)
    assert not ruling.admitted and ruling.rules == ("G2", "A3")
    assert gate.judge(unpaid, 3).admitted and gate.judge(unpaid_and_cancelled, 3).admitted


def test_enforcement_refuses_every_time_and_the_weaker_rungs_never():
    question = bags(world(), 4, 1)
    enforcing = PolicyGate(RULES, Rung.ENFORCEMENT)
    assert [enforcing.judge(question, message).admitted for message in range(3)] == [False] * 3
    for rung in (Rung.RAW, Rung.SHOWN):
        ruling = PolicyGate(RULES, rung).judge(question, 1)
        assert ruling.admitted and ruling.rules == ("G2",)


def test_the_state_block_holds_facts_of_what_was_looked_up_and_no_verdict():
    trace = after(ToolCall("get_user_details", {"user_id": "kim"}),
                  ToolCall("get_reservation_details", {"reservation_id": "R1"}))
    block = state_block(world(), trace, datetime(2024, 5, 15, 15))
    assert "regular member" in block and "economy" in block and "2 bags free" in block and "T1 2024-05-20" in block
    assert not any(word in block.lower() for word in ("refuse", "may not", "policy", "allowed"))
    assert state_block(world(), Trace(), datetime(2024, 5, 15, 15)) == ""


@pytest.mark.parametrize(("created", "age"), [
    (datetime(2024, 5, 14, 14, 35), "24 h 25 min ago"), (datetime(2024, 5, 14, 15), "24 h 0 min ago"),
    (datetime(2024, 5, 15, 14, 59, 30), "0 h 0 min ago"),
])
def test_the_age_of_a_reservation_is_not_rounded_to_the_limit_that_it_is_compared_with(created, age):
    trace = after(ToolCall("get_reservation_details", {"reservation_id": "R1"}))
    block = state_block(world(created=created), trace, datetime(2024, 5, 15, 15))
    assert f"made {created.isoformat()}, {age}" in block


RULE = {"id": "X", "tool": ["cancel_reservation"], "reason": "no",
        "refuse_when": [{"predicate": "insured", "args": {}, "is": False}]}


NOW = "2024-05-15T15:00:00"


def fact(name, **arguments):
    return {"refuse_when": [{"predicate": name, "args": arguments, "is": False}]}


@pytest.mark.parametrize(("change", "words"), [
    ({"refuse_when": [{"predicate": "is_friendly", "args": {}}]}, ["'X'", "is_friendly", "insured"]),
    ({"refuse_when": [{"predicate": "insured", "args": {"by": "us"}}]}, ["insured", "by"]),
    ({"refuse_when": [{"predicate": "cabin_in", "args": {"values": ["first"]}}]}, ["cabin_in", "values"]),
    ({"refuse_when": [{"predicate": "passenger_count", "args": {"op": "more", "value": 5}}]}, ["op"]),
    ({"refuse_when": [{"predicate": "passenger_count", "args": {"op": ">", "value": "five"}}]}, ["value"]),
    ({"refuse_when": [{"predicate": "insured", "args": {}, "is": "no"}]}, ["is"]),
    ({"refuse_when": []}, ["refuse_when"]),
    ({"tool": ["calculate"]}, ["tool"]),
    ({"reason": ""}, ["reason"]),
    ({"code": "import os"}, ["code"]),
    ({"optional": "yes"}, ["optional", "boolean"]),
    ({"inferred": 1}, ["inferred", "boolean"]),
    *[(fact("created_within_hours", hours=hours, now=NOW), ["created_within_hours", "hours"])
      for hours in ("24", True, 1e12, float("inf"), float("nan"), 0, None)],
    *[(fact("created_within_hours", hours=24, now=now), ["created_within_hours", "now"])
      for now in ("2024-13-15T00:00:00", "2024-02-30T00:00:00", "0000-01-01T00:00:00", "2024-05-15T25:00:00",
                  "2024-05-15", "2024-05-15T15:00:00Z", 1715785200)],
    *[(fact("compensation_eligible", levels=["gold"], cabins=[], insured=insured), ["insured"])
      for insured in ("no", 0, None)],
    *[(fact("compensation_supported", levels=[], cabins=[], insured=True, rates={"delayed": rate}), ["rates"])
      for rate in ("100", 100.0, True, 0)],
    (fact("cabin_in", values="economy"), ["values"]),
    (fact("bags_paid", op=">", value="owed", allowance={"gold": {"economy": "3"}}), ["allowance"]),
])
def test_what_is_no_rule_is_said_in_one_sentence(change, words):
    with pytest.raises(InvalidRule) as caught:
        read_rule({**RULE, **change})
    assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [None, 3, "cancel", [], {"rules": 1}])
def test_no_json_at_all_is_no_rule(data):
    with pytest.raises(InvalidRule):
        read_rule(data)


@pytest.mark.parametrize(("content", "words"), [
    ('{"rules": []}', ["no rule"]), ("[]", ["no file of rules"]), ("{", ["no file of rules"]),
    (json.dumps({"rules": [RULE, RULE]}), ["two rules of the same id"]),
    (json.dumps({"rules": [{**RULE, "refuse_when": [{"predicate": "mood", "args": {}}]}]}), ["mood", "unknown fact"]),
])
def test_a_rules_file_that_cannot_be_used_is_one_sentence(tmp_path, content, words):
    path = tmp_path / "rules.json"
    path.write_text(content)
    with pytest.raises(RequestError) as caught:
        load_rules(path)
    assert all(word in str(caught.value) for word in words)


def test_the_largest_age_and_any_time_that_is_read_can_be_computed_with():
    for now in ("0001-01-01T00:00:00", "9999-12-31T23:59:59"):
        rule = read_rule({**RULE, **fact("created_within_hours", hours=MOST_HOURS, now=now)})
        rule.refuses(ask(world(), WriteTool.CANCEL, reservation_id="R1"))


def test_a_rule_that_can_refuse_nothing_is_told_from_one_that_can():
    assert not any(never_refuses(rule) for rule in reference_rules(("T1", "T2", "T3", "T4", "T5")).rules)

    def never(tool, *conditions):
        return never_refuses(read_rule({**RULE, "tool": tool, "refuse_when": [
            {"predicate": name, "args": arguments, "is": expected} for name, arguments, expected in conditions]}))

    booking_, cancelling = ["book_reservation"], ["cancel_reservation"]
    both = booking_ + cancelling
    bookable, insured = ("flights_bookable", {}, False), ("insured", {}, True)
    assert never(cancelling, bookable) and not never(booking_, bookable) and not never(both, bookable)
    assert never(["send_certificate"], ("passenger_count", {"op": ">", "value": 9}, True))
    assert never(booking_, ("passenger_count", {"op": "!=", "value": "reservation"}, True))
    assert never(cancelling, insured, ("insured", {}, False)) and not never(cancelling, insured, insured)
    assert never(["update_reservation_baggages"], ("bags_paid", {"op": ">", "value": "owed", "allowance": {}}, True))


def test_rules_that_say_the_same_are_counted_once():
    again = {**RULE, "id": "Y", "reason": "no, again", "refuse_when": RULE["refuse_when"] * 2}
    other = {**RULE, "id": "Z", "refuse_when": [{**RULE["refuse_when"][0], "is": True}]}
    assert distinct_rules(RuleSet("x", tuple(map(read_rule, (RULE, again, other))))) == 2


def test_rules_survive_a_round_trip_and_their_hash_follows_their_words():
    again = RuleSet("again", tuple(read_rule(rule.as_data()) for rule in RULES.rules))
    assert again.sha256 == RULES.sha256
    other = RuleSet("other", (replace(RULES.rules[0], reason="another"), *RULES.rules[1:]))
    assert other.sha256 != RULES.sha256


def test_bags_follow_the_owner_s_level():
    state = world()
    state.customers["kim"] = Customer("kim", "gold", {"card": "credit_card"}, ("R1",))
    assert refused(bags(state, 6, 0)) == [] and refused(bags(state, 7, 0)) == ["G2"]


def test_the_benchmark_of_the_gate_has_a_line_for_each_tool(capsys):
    gate_check.main(["--calls", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(gate_check.CALLS) and set(gate_check.CALLS) == set(WriteTool)
    assert all(line.endswith("ms a call") for line in lines)
