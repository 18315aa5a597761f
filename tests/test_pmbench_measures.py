"""PM-Bench's measures on logs made by hand, and its table beside the reported values."""

import dataclasses

import pytest

from artifact.harness.pmbench.accuracy import meant_in, rightly_recorded
from artifact.harness.pmbench.measures import judge
from artifact.harness.pmbench.numbers import week_numbers
from artifact.harness.pmbench.records import CompileRecord, StepRecord
from artifact.harness.pmbench.rungs import Rung
from artifact.harness.pmbench.summary import summaries
from artifact.harness.pmbench.table import REPORTED_ARMS, week_table
from artifact.harness.pmbench.truth import intentions
from artifact.harness.reader import HarnessLog
from artifact.harness.records import SCHEMA, HarnessCell, HarnessRecord
from artifact.log.records import EndReason, EndRecord
from artifact.report.numbers import write_numbers
from artifact.report.reported import load_reported
from artifact.report.tables import NOT_RUN_TEXT
from test_pmbench_week import small_week

MOVED = {"type": "reschedule", "task_id": "time", "target_time": "12:00"}


def log(*rows, updates=(), rung=Rung.RAW, seed=0, week="1", reason=EndReason.COMPLETED):
    """A log of a five-step week; steps that no row is about select nothing."""
    known = small_week(updates=updates)
    subject = {"steps": [step.id for _, step in known.steps()],
               "days": {step.id: "Monday" for _, step in known.steps()}, "channels": ["mail", "sky"],
               "meant": [dataclasses.asdict(one) for one in meant_in(known)],
               "intentions": [dataclasses.asdict(one) for one in intentions(known)]}
    header = HarnessRecord(SCHEMA, "s", HarnessCell("pmbench", "m", {"temperature": "T0.7"}), rung.identity, week, seed,
                           subject, "", {}, {}, {}, "")
    named = {row.step: row for row in rows}
    steps = [named.get(step.id, StepRecord(step.id, "A")) for _, step in known.steps()]
    return HarnessLog(header, tuple(steps), EndRecord(reason, 5))


def chose(step, *selected, **others):
    return StepRecord(step, "A", selected, **others)


def test_what_is_due_counts_when_chosen_and_when_missed():
    verdict = judge(log(chose("s1", "cue", "l1")))
    assert (verdict.true_positives, verdict.false_positives, verdict.false_negatives) == (1, 1, 2)
    assert verdict.set_f1 == pytest.approx(2 / 5) and verdict.false_alarms == 1
    assert {kind: (one.hit, one.missed) for kind, one in verdict.outcomes.items()} == {
        "event": (1, 0), "channel": (0, 1), "time": (0, 1)}


def test_a_late_selection_is_false_for_set_f1_and_late_for_the_intention():
    verdict = judge(log(chose("s2", "cue", "time"), chose("s3", "cue")))
    assert (verdict.late_selections, verdict.false_positives, verdict.false_alarms) == (2, 3, 1)
    assert verdict.outcomes["event"].late == verdict.outcomes["time"].late == 1
    assert verdict.percent("missed") == pytest.approx(100 / 3)


def test_rows_are_aligned_by_the_id_of_their_step():
    whole = log(chose("s1", "cue"))
    mixed = HarnessLog(whole.header, whole.records[::-1], whole.end)
    assert judge(mixed) == judge(whole)


def test_an_update_is_violated_by_the_version_in_force_at_the_step():
    cancel = [{"type": "cancel", "task_id": "cue"}]
    assert judge(log(chose("s1", "cue"), updates=cancel)).update_violations == 0, "not called off yet"
    violated = judge(log(chose("s3", "cue"), updates=cancel))
    assert (violated.update_violations, violated.false_alarms) == (1, 1)
    assert violated.outcomes["event"].scored == 0
    assert judge(log(chose("s3", "time"), updates=[MOVED])).update_violations == 1
    assert judge(log(chose("s4", "time"), updates=[MOVED])).outcomes["time"].hit == 1


def test_a_late_selection_of_an_updated_task_violates_only_where_no_late_window_is_known():
    soon = [{"type": "reschedule", "task_id": "time", "target_time": "10:30"}]
    verdict = judge(log(chose("s3", "time"), updates=soon))
    assert (verdict.update_violations, verdict.update_violations_late, verdict.outcomes["time"].late) == (0, 1, 1)


def test_refused_selections_do_nothing_and_the_due_ones_are_counted():
    verdict = judge(log(chose("s1", "cue", "l1", refused=("cue", "l1"))))
    assert (verdict.refused, verdict.refused_due, verdict.true_positives, verdict.false_positives) == (2, 1, 0, 0)


def test_precision_and_recall_are_of_the_matchers_announcements():
    verdict = judge(log(chose("s0", announced=("cue",)), chose("s1", announced=("cue", "news"), carried=("time",)),
                        rung=Rung.DIRECTIVE))
    assert verdict.precision == pytest.approx(2 / 3) and verdict.recall() == pytest.approx(2 / 3)
    assert (verdict.recall("event"), verdict.recall("time")) == (1.0, 0.0)
    assert judge(log()).precision is None and judge(log()).recall() is None


def test_a_matcher_that_announces_nothing_recalls_nothing():
    blind = judge(log(rung=Rung.DIRECTIVE))
    assert (blind.precision, blind.recall(), blind.recall("time")) == (None, 0.0, 0.0)
    assert summaries([blind])[0].values["matcher_recall"].mean == 0.0


def test_a_false_selection_that_was_announced_is_told_apart():
    verdict = judge(log(chose("s0", "cue", "l1", announced=("cue",))))
    assert (verdict.false_positives, verdict.announced_false) == (2, 1)


def test_repeated_runs_give_mean_and_standard_deviation_and_infrastructure_stays_out():
    runs = [judge(log(chose("s1", "cue"), seed=1)), judge(log(chose("s1", "cue", "news", "time"), seed=2)),
            judge(log(seed=3, reason=EndReason.TIMEOUT))]
    one = summaries(runs)[0]
    assert (one.runs, one.excluded, one.weeks) == (2, 1, 1)
    f1 = one.values["set_f1"]
    assert (f1.mean, f1.sd) == (pytest.approx(0.75), pytest.approx(0.125 ** 0.5))
    assert "Set-F1 0.75 (SD 0.35) over 2 runs" in one.line() and "1 excluded" in one.line()


def test_the_table_shows_every_rung_and_says_what_was_not_run():
    table = week_table([judge(log(chose("s1", "cue")))], load_reported())
    rows = {record["rung"]: record for record in table.records}
    assert set(rows) == set(Rung) and rows["raw"]["n"] == 1 and rows["checklist"]["set_f1"] is None
    assert table.tex.count(NOT_RUN_TEXT) == len(Rung) - 1
    assert "Reported, Qwen3-235B, temperature 0.7" in table.tex and "0.77 {\\footnotesize (0.01)}" in table.tex


def test_without_logs_nothing_is_made_up():
    table = week_table([], ())
    assert table.records == () and table.tex.count(NOT_RUN_TEXT) == len(Rung)


def test_every_reported_arm_of_table_21_is_one_of_the_rungs():
    arms = {row.arm for row in load_reported() if row.table == "Table 21"}
    assert {REPORTED_ARMS.get(arm, arm) for arm in arms} == set(Rung)


def test_the_numbers_are_macros_and_change_with_no_value(tmp_path):
    numbers = week_numbers("rq4", [judge(log(chose("s1", "cue")))])
    named = {number.name: number.text for number in numbers}
    assert named["RqFourPmbenchSteps"] == "80" and named["RqFourPmbenchScored"] == "81"
    assert named["RqFourPmbenchRuns"] == "1"
    assert NOT_RUN_TEXT in named.values() and write_numbers(numbers, "rq4", tmp_path).is_file()
    assert {number.name for number in week_numbers("rq4", [judge(log())])} == set(named)


def add(action, when, trigger, **others):
    return {"op": "add", "action": action, "when": when, "trigger": trigger, **others}


@pytest.mark.parametrize(("operations", "right"), [
    ([], 0),
    ([add("time", "time", "10:00"), add("cue", "cue", "it comes"), add("news", "channel", "news", channel="mail")], 3),
    ([add("time", "time", "9:00"), add("cue", "time", "10:00"), add("news", "channel", "news", channel="sky")], 0),
    ([add("time", "time", "10:00"), add("time", "time", "10:00")], 0),
    ([add("cue", "cue", "it comes"), {"op": "cancel", "id": "i1"}], 0),
    ([add("cue", "cue", "it comes"), {"op": "recue", "id": "i1", "trigger": "it goes", "channel": "sky"}], 0),
])
def test_an_intention_is_rightly_recorded_when_it_stands_once_with_its_day_place_and_time(operations, right):
    compiles = [CompileRecord("s0", "plan", operations)]
    meant = meant_in(small_week())
    assert rightly_recorded(meant, compiles, {"s0": "Monday"}, ["mail", "sky"]) == right


def test_what_was_called_off_is_right_when_it_is_cancelled():
    meant = meant_in(small_week(updates=[{"type": "cancel", "task_id": "cue"}, MOVED]))
    operations = [add("time", "time", "10:00"), add("cue", "cue", "it comes"), {"op": "cancel", "id": "i2"},
                  {"op": "retime", "id": "i1", "trigger": "12:00"}]
    assert rightly_recorded(meant, [CompileRecord("s0", "plan", operations)], {"s0": "Monday"}, ["mail", "sky"]) == 2
