"""The airline study's measures and its table, from logs alone: no benchmark, no model."""

from dataclasses import replace

import pytest

from artifact.harness.reader import HarnessLog
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.harness.tau2.dispatch import without_refused
from artifact.harness.tau2.intervals import discordant, paired_difference, pass1, share
from artifact.harness.tau2.measures import judge
from artifact.harness.tau2.numbers import airline_numbers
from artifact.harness.tau2.records import DispatchRecord, MessageRecord, ResultRecord
from artifact.harness.tau2.rules_table import rules_table
from artifact.harness.tau2.table import airline_table, floor
from artifact.log.records import ArmIdentity, EndReason, EndRecord
from artifact.report.reported import load_reported

CELL = HarnessCell("tau2", "an_agent", {"user": "a_user", "rules": "reference"})
COMPILED = HarnessCell("tau2", "an_agent", {"user": "a_user", "rules": "compiled"})
GOLD = {"tool": "cancel_reservation", "arguments": {"reservation_id": "R1"}}


def write(reservation="R1", **changes):
    call = DispatchRecord(0, "cancel_reservation", {"reservation_id": reservation}, True, True, (), (), False, False,
                          True, "done")
    return replace(call, **changes)


def verdict(*calls, rung="raw", task="7", seed=0, reward=1.0, matches=True, reason=EndReason.COMPLETED, gold=(GOLD,),
            idle=False, unaffected=True, cell=CELL, study="s", max_steps=30, termination="user_stop", spoke=True):
    subject = {"gold_writes": list(gold), "idle_passes": idle, "unaffected": unaffected}
    header = HarnessRecord(SCHEMA, study, cell, ArmIdentity(rung), task, seed, subject, "", {}, {},
                           {"max_steps": max_steps}, "now")
    said = (MessageRecord("user", "Hello"), *[MessageRecord("agent", "Hello")] * spoke)
    result = (ResultRecord(termination, reward, {}, matches, "hash"),) if reason is EndReason.COMPLETED else ()
    return judge(HarnessLog(header, (*said, *calls, *result), EndRecord(reason, 3)))


def test_a_write_is_wrongful_when_it_is_no_gold_write_and_the_end_is_wrong():
    assert not verdict(write(), matches=True).wrongful
    assert verdict(write("R2"), matches=False, reward=0.0).wrongful
    assert not verdict(matches=False, reward=0.0).wrongful, "an omission is no write"
    assert not verdict(write(), matches=False, reward=0.0).wrongful, "the gold write alone isn't wrongful"
    assert not verdict(write("R2"), matches=True).wrongful, "the end is right"


def test_each_gold_write_is_matched_once():
    assert verdict(write(), write(), matches=False, reward=0.0).wrongful
    assert not verdict(write(), write(), gold=(GOLD, GOLD), matches=False, reward=0.0).wrongful


@pytest.mark.parametrize("change", [{"error": True}, {"admitted": False}, {"changed": False}])
def test_what_changed_nothing_is_no_wrongful_write(change):
    assert not verdict(write("R2", **change), matches=False, reward=0.0).wrongful


def test_violating_writes_are_executed_ones_that_the_reference_refuses():
    scored = verdict(write(reference=("C2",)), write(reference=("C1",), error=True), write(),
                     write(reference=("C2",), admitted=False, rules=("C2",)))
    assert (scored.writes, scored.violating_writes, scored.catchable) == (2, 1, True)
    assert scored.refusals == (("C2",),) and scored.refused_gold == 1
    assert not verdict(write()).catchable


def test_bounces_are_repeated_or_withdrawn():
    bounced = write(admitted=False, rules=("C2",), reference=("C2",))
    scored = [verdict(bounced, write(rules=("C2",), reference=("C2",), repeated=True), rung="notice"),
              verdict(bounced, rung="notice", task="8")]
    row = next(r for r in airline_table(scored, ()).records if (r["tasks"], r["rung"]) == ("all", "notice"))
    assert (row["refused"], row["repeats"], row["withdrawals"], row["violating_writes"]) == (2, 1, 1, 1)


def test_withdrawals_are_distinct_calls_that_were_not_made_again():
    bounced = write(admitted=False, rules=("C2",), reference=("C2",))
    again = write(rules=("C2",), reference=("C2",), repeated=True)
    elsewhere = write("R2", admitted=False, rules=("C2",), reference=("C2",))

    def counted(*calls):
        scored = verdict(*calls, rung="notice")
        return scored.repeats, scored.withdrawals

    assert counted(bounced, again, again) == (2, 0), "twice overridden, never withdrawn"
    assert counted(bounced, bounced) == (0, 1), "one call, bounced twice"
    assert counted(bounced, replace(again, error=True)) == (0, 0), "what fails was not withdrawn"
    assert counted(bounced, bounced, again) == (1, 0) and counted(bounced, elsewhere, again) == (1, 1)
    assert verdict(bounced, rung="enforcement").withdrawals == 0


def row(table, rung, tasks="all", **cell):
    (found,) = (r for r in table.records if (r["rung"], r["tasks"]) == (rung, tasks)
                and all(r[name] == value for name, value in cell.items()))
    return found


def test_compiled_enforcement_is_paired_with_raw_and_with_reference_enforcement_of_the_same_study():
    tasks = [str(number) for number in range(8)]
    raw = [verdict(task=task, reward=0.0) for task in tasks]
    reference = [verdict(task=task, rung="enforcement", reward=float(task < "6")) for task in tasks]
    compiled = [verdict(task=task, rung="enforcement", reward=float(task < "2"), cell=COMPILED) for task in tasks]
    strangers = [verdict(task=task, cell=COMPILED, study="t") for task in tasks]
    table = airline_table([*raw, *reference, *compiled, *strangers], ())
    found = row(table, "enforcement", study="s", rules="compiled")
    assert (found["difference"], found["pairs"], found["only_raw"], found["only_rung"]) == (0.25, 8, 0, 2)
    assert found["difference_low"] < 0.25 < found["difference_high"]
    assert (found["reference_difference"], found["reference_pairs"]) == (-0.5, 8)
    assert (found["reference_only_reference"], found["reference_only_rung"]) == (4, 0)
    table = airline_table([*raw, *reference, *compiled], ())
    assert table.tex.count("to reference &  &  & $-0.50$") == 2 and "4, 0" in table.tex
    assert row(table, "enforcement", rules="reference")["reference_difference"] == ""
    numbers = {n.name: n.text for n in airline_numbers([*raw, *reference, *compiled])}
    stem = "RqFourSAnAgentAUserCompiledEnforcement"
    assert (numbers[f"{stem}Difference"], numbers[f"{stem}Pairs"], numbers[f"{stem}OnlyRung"]) == ("+0.25", "8", "2")


def test_a_cell_s_own_raw_comes_first_and_runs_under_another_limit_are_no_pair():
    mine, others = verdict(cell=COMPILED, reward=0.0), verdict(reward=1.0)
    ran = verdict(cell=COMPILED, rung="enforcement")
    assert row(airline_table([others, mine, ran], ()), "enforcement", rules="compiled")["difference"] == 1.0
    longer = verdict(max_steps=200)
    assert row(airline_table([longer, ran], ()), "enforcement", rules="compiled")["pairs"] == ""


def test_equal_pairs_print_their_discordant_pairs_and_no_interval():
    scored = [verdict(task=str(task), rung=rung) for task in range(5) for rung in ("raw", "enforcement")]
    table = airline_table(scored, ())
    assert "$+0.00$ & 0, 0" in table.tex and "[+0.00" not in table.tex and "[1.00" not in table.tex
    assert row(table, "enforcement")["difference_low"] == 0.0, "the CSV has what was computed"


def test_silent_and_cut_episodes_and_the_limit_are_in_the_table():
    scored = [verdict(spoke=False), verdict(task="8", termination="max_steps"), verdict(task="9")]
    table = airline_table(scored, ())
    found = row(table, "raw")
    assert (found["silent"], found["cut"], found["max_steps"]) == (1, 1, "30") and "at most 30 messages" in table.tex
    numbers = {n.name: n.text for n in airline_numbers(scored)}
    stem = "RqFourSAnAgentAUserReferenceRaw"
    assert [numbers[stem + name] for name in ("Silent", "Cut", "MaxSteps")] == ["1/3", "1/3", "30"]


def test_refusals_are_counted_by_rule_and_catchable_episodes_are_in_the_table():
    both = write(admitted=False, rules=("C2", "A3"), reference=("C2",))
    other = write("R2", admitted=False, rules=("C2",), reference=("C2",))
    scored = [verdict(both, other, rung="enforcement"), verdict(write("R2", reference=("C2",))), verdict(task="8")]
    rows = [(r["rung"], r["rule"], r["refused"], r["of_gold"]) for r in rules_table(scored).records]
    assert rows == [("enforcement", "A3", 1, 1), ("enforcement", "C2", 2, 1)]
    assert row(airline_table(scored, ()), "raw")["catchable"] == 1 and "C2 & 2 & 1" in rules_table(scored).tex
    assert "not run" in rules_table([]).tex and "no refusals" in rules_table([verdict()]).tex


def test_what_infrastructure_ended_is_neither_passed_nor_failed():
    done, lost = verdict(task="1"), verdict(task="2", reason=EndReason.TIMEOUT)
    assert not lost.completed and not lost.passed
    assert (pass1([done, lost]).value, pass1([done, lost]).episodes) == (1.0, 1)
    row = next(r for r in airline_table([done, lost], ()).records if r["rung"] == "raw")
    assert (row["n"], row["excluded"]) == (1, 1)
    assert paired_difference([done, lost], [verdict(task="2", rung="notice")]).value is None


def test_an_unfinished_log_counts_for_nothing():
    log = HarnessLog(HarnessRecord(SCHEMA, "s", CELL, ArmIdentity("raw"), "1", 0,
                                   {"gold_writes": [], "idle_passes": True, "unaffected": True}, "", {}, {}, {}, ""),
                     (ResultRecord("user_stop", 1.0, {}, True, ""),), None)
    assert judge(log).reason == "unfinished" and not judge(log).completed and not judge(log).passed


def test_differences_are_paired_by_task_and_seed_and_drawn_over_tasks():
    raw = [verdict(task=str(task), reward=float(task % 2)) for task in range(10)]
    better = [verdict(task=str(task), rung="enforcement") for task in range(10)]
    found = paired_difference(raw, better)
    assert found.value == 0.5 and 0 < found.low < 0.5 < found.high < 1 and found.tasks == 10
    assert paired_difference(raw, raw) == replace(found, value=0.0, low=0.0, high=0.0)
    assert paired_difference(raw, better) == found, "the interval is seeded"
    assert discordant(raw, better) == (0, 5) and discordant(better, raw) == (5, 0)


def test_runs_of_one_task_do_not_narrow_the_interval():
    few = [verdict(task=str(task), reward=float(task % 2)) for task in range(6)]
    many = [replace(one, seed=seed) for one in few for seed in range(10)]
    assert (pass1(few).low, pass1(few).high) == (pass1(many).low, pass1(many).high)
    assert pass1(many).episodes == 60 and share([], lambda v: True).value is None


def test_the_table_has_both_task_sets_their_floors_and_the_reported_values():
    scored = [verdict(task="1", idle=True), verdict(task="2", unaffected=False)]
    table = airline_table(scored, load_reported())
    assert floor(scored) == (1, 2) and floor([v for v in scored if v.unaffected]) == (1, 1)
    assert "2 tasks, floor 1" in table.tex and "1 unaffected task, floor 1" in table.tex
    assert "Reported, Qwen3-235B" in table.tex and "0.39" in table.tex and "[+0.04, +0.26]" in table.tex
    assert "an\\_agent" in table.tex and len(table.records) == 8


def test_a_rung_that_infrastructure_ended_throughout_says_none_completed():
    table = airline_table([verdict(reason=EndReason.TIMEOUT)], ())
    assert "none completed" in table.tex and table.tex.count("shown, notice, enforcement: not run") == 2


def test_the_text_has_a_number_for_every_run_of_the_proof_and_for_what_has_logs():
    empty, some = airline_numbers([]), airline_numbers([verdict(), verdict(task="8", reward=0.0)])
    assert {n.text for n in empty if "Proof" in n.name} == {"not run"}
    stem = "RqFourTauTwoProofScriptedGoldScriptedReference"
    assert {f"{stem}RawPassed", f"{stem}EnforcementRefusedGold"} <= {n.name for n in empty} <= {n.name for n in some}
    assert {n.name: n.text for n in some}["RqFourSAnAgentAUserReferenceRawPassed"] == "1/2"


def test_a_rung_without_logs_says_not_run():
    table = airline_table([verdict()], ())
    rows = table.csv().splitlines()
    assert "not run" in table.tex and sum("not run" in row for row in rows if ",enforcement," in row) == 2
    assert "not run" in airline_table([], ()).tex


class Said:
    """As much of a benchmark's message as the trajectory needs."""

    def __init__(self, role, content=None, tool_calls=None):
        self.role, self.content, self.tool_calls = role, content, tool_calls

    def model_copy(self, update):
        return Said(self.role, **{"content": self.content, "tool_calls": self.tool_calls, **update})


def shape(messages):
    return [(m.role, m.content, m.tool_calls) for m in messages]


def test_refused_calls_leave_the_trajectory_by_their_number_not_their_id():
    messages = [Said("assistant", tool_calls=["x", "x", "x"]), Said("tool", "r0"), Said("tool", "r1"),
                Said("tool", "r2"), Said("assistant", tool_calls=["x"]), Said("tool", "r3"), Said("user", "bye")]
    assert shape(without_refused(messages, {1, 3})) == [
        ("assistant", None, ["x", "x"]), ("tool", "r0", None), ("tool", "r2", None), ("user", "bye", None)]
    assert messages[0].tool_calls == ["x", "x", "x"], "what was received stays as it is"
    assert shape(without_refused(messages, set())) == shape(messages)


def test_words_beside_a_refused_call_stay():
    messages = [Said("assistant", "one moment", ["x"]), Said("tool", "r0")]
    assert shape(without_refused(messages, {0})) == [("assistant", "one moment", None)]
