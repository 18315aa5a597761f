"""The offline proof with the real benchmark and no model: gold replay, the gate, wrong writes, logs and resume.

A sample runs with all other tests where the benchmark is installed. The whole of it takes some six minutes:

    python -m pytest -m proof tests/test_tau2_benchmark.py

What it found lies among the released logs, which test_tau2_released.py reads without the benchmark.
Samples of wrong writes from elsewhere are tested too when ``ARTIFACT_TAU2_WRONG_WRITES`` names a JSON file of them,
a list of objects with ``tool``, ``arguments``, ``prior_calls``, ``rules_that_refuse``, ``tool_executes_it_ungated``.
"""

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from artifact import paths
from artifact.cli.main import main
from artifact.harness.batch import run_harness
from artifact.harness.reader import iter_harness_logs
from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.affected import affected, contradicted
from artifact.harness.tau2.agreement import agreements, asked, prepared, probes
from artifact.harness.tau2.dispatch import GatedDispatch
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.harness import Airline
from artifact.harness.tau2.measures import judged
from artifact.harness.tau2.numbers import PROOF
from artifact.harness.tau2.plan import AirlinePlan
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.records import RECORD_TYPES, ResultRecord
from artifact.harness.tau2.rules import RuleSet, reference_rules
from artifact.harness.tau2.scripted import scripted_agent, scripted_user
from artifact.harness.tau2.simulate import MAX_ERRORS, Setting, simulate
from artifact.harness.tau2.trace import ToolCall
from artifact.harness.tau2.wrong_writes import WrongWrite, wrong_writes
from tau2_world import needs_benchmark

pytestmark = needs_benchmark
RULES = reference_rules()
RELEASED = paths.RELEASED_LOGS / PROOF
CONTRADICTING = {("2", "send_certificate", "S2"), ("27", "send_certificate", "S2"), ("38", "send_certificate", "S2"),
                 ("7", "cancel_reservation", "C2"), ("9", "cancel_reservation", "C1"),
                 ("37", "cancel_reservation", "C1"), ("29", "update_reservation_flights", "F2"),
                 ("33", "update_reservation_baggages", "G3")}


def run(tmp_path, policy, rungs, tasks=()):
    plan = AirlinePlan("proof", f"scripted:{policy}", rungs=rungs, tasks=tasks)
    asyncio.run(run_harness(Airline(plan), "proof", runs=tmp_path, durable=False))
    return judged([tmp_path])


@pytest.fixture(scope="session")
def replays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gold")
    return folder, run(folder, "gold", (Rung.RAW, Rung.ENFORCEMENT))


def passed(verdicts, rung, unaffected=False):
    chosen = [v for v in verdicts if v.rung == rung and (v.unaffected or not unaffected)]
    return sum(v.passed for v in chosen), len(chosen)


def said(folder, tasks=None):
    """What logs say, circumstances aside."""
    return [(log.header.item, log.header.cell.model, log.header.arm.name, log.header.subject, log.records,
             log.end.reason) for log in iter_harness_logs([folder], "tau2", RECORD_TYPES)
            if tasks is None or log.header.item in tasks]


@pytest.mark.slow
def test_a_sample_of_the_proof_says_what_the_released_logs_say(tmp_path):
    sample = ("2", "7", "29", "33")
    run(tmp_path, "gold", (Rung.RAW, Rung.ENFORCEMENT), sample)
    run(tmp_path, "nothing", (Rung.RAW,), sample)
    fresh = said(tmp_path)
    assert len(fresh) == 12 and in_order(fresh) == in_order(said(RELEASED, sample))


@pytest.mark.slow
@pytest.mark.proof
def test_the_whole_proof_says_what_the_released_logs_say(replays, idle):
    fresh = [*said(replays[0]), *said(idle[0])]
    assert len(fresh) == 150 and in_order(fresh) == in_order(said(RELEASED))


def in_order(logs):
    return sorted(logs, key=lambda log: log[:3])


@pytest.mark.slow
@pytest.mark.proof
def test_gold_replay_passes_every_task_without_a_gate(replays):
    assert passed(replays[1], Rung.RAW) == (50, 50)


@pytest.mark.slow
@pytest.mark.proof
def test_enforcement_refuses_exactly_the_eight_gold_writes_that_contradict_the_policy(replays):
    folder, verdicts = replays
    assert passed(verdicts, Rung.ENFORCEMENT) == (42, 50)
    assert passed(verdicts, Rung.ENFORCEMENT, unaffected=True) == (38, 38)
    logs = iter_harness_logs([folder], "tau2", RECORD_TYPES)
    found = [(log.header.item, call.tool, *call.rules) for log in logs if log.header.arm.name == Rung.ENFORCEMENT
             for call in log.records if call.record == "dispatch" and not call.admitted]
    assert set(found) == CONTRADICTING and len(found) == 8
    assert sum(v.refused_gold for v in verdicts) == 8
    assert sum(v.violating_writes for v in verdicts if v.rung == Rung.ENFORCEMENT) == 0
    assert sum(v.violating_writes for v in verdicts if v.rung == Rung.RAW) == 8


@pytest.fixture(scope="session")
def idle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nothing")
    return folder, run(folder, "nothing", (Rung.RAW,))


@pytest.mark.slow
@pytest.mark.proof
def test_doing_nothing_passes_nineteen_tasks_and_the_logs_know_which(idle):
    verdicts = idle[1]
    assert passed(verdicts, Rung.RAW) == (19, 50) and passed(verdicts, Rung.RAW, unaffected=True) == (19, 38)
    assert all(v.passed == v.idle_passes for v in verdicts)


def test_the_six_gated_tools_are_the_benchmark_s_writes():
    from tau2.environment.toolkit import ToolType
    tools = benchmark.environment().tools
    assert {name for name in tools.get_tools() if tools.tool_type(name) is ToolType.WRITE} == set(WriteTool)


def test_a_fresh_environment_has_the_benchmark_s_own_database():
    from tau2.domains.airline.environment import get_environment
    own = get_environment()
    assert benchmark.environment().tools.db == own.tools.db
    assert benchmark.environment().get_db_hash() == own.get_db_hash()


@functools.cache
def cases():
    return wrong_writes(benchmark.environment().tools.db)


def samples():
    named = os.environ.get("ARTIFACT_TAU2_WRONG_WRITES")
    if not named:
        pytest.skip("no samples from elsewhere; name a file of them in ARTIFACT_TAU2_WRONG_WRITES")
    return [(WrongWrite(one["expected_rule"], ToolCall(one["tool"], one["arguments"]),
                        tuple(ToolCall(p["tool"], p["arguments"]) for p in one["prior_calls"]),
                        one["tool_executes_it_ungated"]), tuple(one["rules_that_refuse"]))
            for one in json.loads(Path(named).read_text("utf-8"))]


def dispatched(wrong, rung):
    """The last record, and whether the write left the database as it was."""
    from tau2.data_model.message import ToolCall as Wire
    environment, records = benchmark.environment(), []
    dispatch = GatedDispatch(environment, RULES, RULES, rung, records.append, lambda: ())
    for call in wrong.prior:
        answer = environment.get_response(Wire(id="same", name=str(call.tool), arguments=dict(call.arguments)))
        assert not answer.error and dispatch.refused == set(), "what comes before is admitted"
    before = environment.get_db_hash()
    environment.get_response(Wire(id="same", name=str(wrong.call.tool), arguments=dict(wrong.call.arguments)))
    return records[-1], environment.get_db_hash() == before


def test_wrong_writes_cover_every_rule():
    found = cases()
    assert {wrong.rule for wrong in found} == {rule.id for rule in RULES.rules} and len(found) == 30
    assert sum(not wrong.prior for wrong in found) == 25 and sum(wrong.executes for wrong in found) == 25


def test_a_wrong_write_by_each_tool_is_refused_with_the_database_unchanged():
    first = {wrong.call.tool: wrong for wrong in reversed(cases())}
    assert set(first) == set(WriteTool)
    for wrong in first.values():
        refused, unchanged = dispatched(wrong, Rung.ENFORCEMENT)
        assert wrong.rule in refused.rules and not refused.admitted and unchanged


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("number", range(30))
def test_a_wrong_write_executes_ungated_and_is_refused_with_the_database_unchanged(number):
    wrong = cases()[number]
    raw, _ = dispatched(wrong, Rung.RAW)
    assert (raw.executed, raw.changed) == (wrong.executes, wrong.executes)
    refused, unchanged = dispatched(wrong, Rung.ENFORCEMENT)
    assert wrong.rule in refused.rules == refused.reference
    assert not refused.admitted and unchanged and not refused.error


@pytest.mark.slow
@pytest.mark.proof
def test_wrong_writes_from_elsewhere_are_refused_by_the_rules_that_they_name():
    for wrong, rules in samples():
        raw, _ = dispatched(wrong, Rung.RAW)
        refused, unchanged = dispatched(wrong, Rung.ENFORCEMENT)
        assert raw.executed == wrong.executes and refused.rules == rules and unchanged and not refused.admitted


def accepted(rung):
    """Rewards, wrongful episodes and executed violations of the twenty-five wrong writes, tried on task 0."""
    task, passed_, wrongful, violating = benchmark.tasks()["0"], 0, 0, 0
    for wrong in (one for one in cases() if not one.prior):
        records = []

        def players(environment, shown, call=wrong.call, write=records.append):
            return (scripted_agent(environment, [(str(call.tool), dict(call.arguments))], "Done.", write),
                    scripted_user(write))

        simulate(task, Setting(rung, RULES, RULES), players, records.append)
        result = next(r for r in records if isinstance(r, ResultRecord))
        calls = [r for r in records if r.record == "dispatch"]
        passed_ += result.reward == 1.0
        wrongful += not result.matches_gold and any(call.executed and call.changed for call in calls)
        violating += sum(call.executed and bool(call.reference) for call in calls)
    return passed_, wrongful, violating


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize(("rung", "expected"), [
    (Rung.RAW, (5, 20, 20)), (Rung.NOTICE, (5, 20, 20)), (Rung.ENFORCEMENT, (25, 0, 0)),
])
def test_scripted_acceptance(rung, expected):
    assert accepted(rung) == expected


def test_a_tool_that_fails_half_way_is_an_error_result_and_the_replay_finds_the_same_database():
    booking = dict(next(wrong.call.arguments for wrong in cases() if wrong.rule == "B2"))
    amounts = [one["amount"] for one in booking["payment_methods"]]
    certificate = booking["payment_methods"][-1]["payment_id"]  # named twice; the tool takes it, then misses it
    booking["payment_methods"] = [{"payment_id": certificate, "amount": amount} for amount in amounts]
    records = []
    simulate(benchmark.tasks()["0"], Setting(Rung.ENFORCEMENT, RULES, RULES), lambda environment, shown: (
        scripted_agent(environment, [(str(WriteTool.BOOK), booking)], "Done.", records.append),
        scripted_user(records.append)), records.append)
    (call,) = (r for r in records if r.record == "dispatch")
    assert (call.error, call.executed, call.changed) == (True, False, True)
    assert not next(r for r in records if isinstance(r, ResultRecord)).matches_gold


def test_compiled_rules_are_compared_on_the_gold_and_the_wrong_writes():
    found = probes()
    assert (sum(one.is_gold for one in found), sum(not one.is_gold for one in found)) == (55, 30)


@pytest.mark.slow
@pytest.mark.proof
def test_agreement_tells_missed_from_wrongly_refused_calls():
    some = RuleSet("some", tuple(rule for rule in RULES.rules if rule.id != "S2"))
    whole, part = agreements([RULES, some])
    assert (whole.agreed, whole.missed, whole.wrongly_refused) == (85, 0, 0) and sum(whole.verdicts) == 38
    assert part.missed == 85 - part.agreed == 5 and part.wrongly_refused == 0


@pytest.mark.slow
@pytest.mark.proof
def test_optional_rules_refuse_no_prepared_gold_write_and_what_the_specification_says_of_verbatim_ones():
    optional = {rule.id: rule for rule in reference_rules(("T1", "T2", "T3", "T4", "T5")).rules if rule.optional}
    every = [asked(probe) for probe in probes()]
    gold = [question for question, probe in zip(every, probes(), strict=True) if probe.is_gold]

    def refuses(name, questions):
        return sum(optional[name].refuses(question) for question in questions)

    assert all(refuses(name, map(prepared, gold)) == 0 for name in optional)
    assert refuses("T1", (prepared(question, "What would that cost?") for question in gold)) == len(gold) == 55
    assert (refuses("T2", gold), refuses("T3", gold)) == (21, 40)
    assert [RULES.refusals(question) for question in every] == [RULES.refusals(prepared(q)) for q in every]


def test_twelve_refusals_do_not_end_an_episode():
    wrong = next(one.call for one in cases() if one.rule == "C2")
    records = []
    simulate(benchmark.tasks()["0"], Setting(Rung.ENFORCEMENT, RULES, RULES), lambda environment, shown: (
        scripted_agent(environment, [(str(wrong.tool), dict(wrong.arguments))] * 12, "Done.", records.append),
        scripted_user(records.append)), records.append)
    calls = [r for r in records if r.record == "dispatch"]
    result = next(r for r in records if isinstance(r, ResultRecord))
    assert len(calls) == 12 > MAX_ERRORS and not any(call.error or call.admitted for call in calls)
    assert (result.termination, result.reward) == ("user_stop", 1.0)


def test_a_gold_call_that_errs_in_any_way_is_passed_over_as_by_the_evaluator():
    task = benchmark.tasks()["7"].model_copy(deep=True)
    before = benchmark.gold_hash(task)
    actions = task.evaluation_criteria.actions
    misnamed = {"name": "cancel_reservation", "arguments": {"x": 1}}  # a TypeError, not the tools' ValueError
    actions.append(actions[0].model_copy(update=misnamed))
    assert benchmark.gold_hash(task) == before


def test_corrected_tasks_are_affected_and_others_are_not():
    assert all(affected(task) for task in ("7", "9", "14", "23", "35", "44"))
    assert not any(affected(task) for task in ("0", "1", "26"))


@pytest.mark.slow
@pytest.mark.proof
def test_the_affected_tasks_are_the_twelve_of_the_specification():
    assert {task for task in benchmark.tasks() if contradicted(task)} == {task for task, *_ in CONTRADICTING}
    assert {task for task in benchmark.tasks() if affected(task)} == {
        *(task for task, *_ in CONTRADICTING), "14", "23", "35", "44"}


@pytest.mark.slow
def test_a_checkout_is_named_by_its_commit_and_its_own_tasks_decide_what_is_affected(tmp_path):
    import tau2
    package = Path(tau2.__file__).parent
    domain = "data/tau2/domains/airline"
    for path in (p for p in package.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        linked = tmp_path / "src" / "tau2" / path.relative_to(package)
        linked.parent.mkdir(parents=True, exist_ok=True)
        linked.symlink_to(path)
    listed = tmp_path / "src" / "tau2" / domain / "tasks.json"
    tasks = json.loads(listed.read_text("utf-8"))
    for task in tasks:
        if task["id"] in ("7", "14"):
            task["evaluation_criteria"]["actions"] = []
    listed.unlink()
    listed.write_text(json.dumps(tasks), "utf-8")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "src/tau2/" + domain], ["commit", "-qm", "tasks"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("*\n", "utf-8")
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    asked_ = """
from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.affected import affected
print(benchmark.benchmark_version(), [affected(task) for task in ("7", "14", "9", "0")])
import tau2; print(tau2.__file__)
"""
    told = subprocess.run([sys.executable, "-c", asked_], check=True, capture_output=True, text=True,
                          env={**os.environ, benchmark.CHECKOUT: str(tmp_path)}).stdout.splitlines()
    assert told == [f"checkout {commit} [False, False, True, False]",
                    str(tmp_path / "src" / "tau2" / "__init__.py")]


def test_an_unknown_task_is_one_sentence(capsys, tmp_path):
    assert main(["run", "--study", "t", "--harness", "tau2", "--model", "scripted:gold", "--tasks", "99",
                 "--runs", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "'99'" in error and error.count("\n") == 1


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.proof
def test_a_killed_run_goes_on_and_its_logs_say_what_an_uninterrupted_run_says(tmp_path):
    def command(folder):
        return [sys.executable, "-m", "artifact.cli", "run", "--study", "t", "--harness", "tau2", "--model",
                "scripted:gold", "--arms", "raw,enforcement", "--tasks", "2,7,12,44", "--runs", str(folder)]

    killed = subprocess.Popen(command(tmp_path / "killed"), stderr=subprocess.PIPE, text=True)
    assert killed.stderr is not None
    for line in killed.stderr:
        if line.startswith("[3/8]"):
            killed.send_signal(signal.SIGKILL)
            break
    killed.wait()
    killed.stderr.close()
    for folder in ("killed", "whole"):
        subprocess.run(command(tmp_path / folder), check=True, capture_output=True)

    killed_log, whole = said(tmp_path / "killed"), said(tmp_path / "whole")
    assert killed_log == whole and len(whole) == 8
