"""The ladder with real tools: its oracle suite, failing tools, resume, and workspace against call log."""

import asyncio
import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import pytest
from langgraph.errors import GraphRecursionError

from artifact.arms import ArmOptions, ArmSpec, parse_arms
from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.generator import domain_names, generate
from artifact.harness.batch import run_harness
from artifact.harness.reader import iter_harness_logs
from artifact.harness.tools import graph as graph_module
from artifact.harness.tools import harness as harness_module
from artifact.harness.tools.failures import Failing
from artifact.harness.tools.graph import TurnContext, take_turn, turn_graph
from artifact.harness.tools.harness import RealTools
from artifact.harness.tools.measures import judge, judged
from artifact.harness.tools.plan import LADDER, LADDER_TEXT, PAPER_SEEDS, ToolsPlan
from artifact.harness.tools.records import RECORD_TYPES, WorkspaceRecord
from artifact.harness.tools.scripted import ScriptedAgent
from artifact.harness.tools.table import ARMS, failing_tools_table, tools_numbers, tools_table
from artifact.harness.tools.tooling import with_tools
from artifact.harness.tools.workspace import Workspace
from artifact.models.base import ModelError
from artifact.report.reported import load_reported
from artifact.runner import StudyPlan
from artifact.taskstate import Channel

ORACLE = ArmOptions(state="oracle", matcher="oracle")


def run(folder, policy, arms=LADDER, seeds=range(300, 303), size=5, study="s", **options):
    plan = ToolsPlan(StudyPlan(study, f"scripted:{policy}", sizes=(size,), prompts="fewshot", arms=tuple(arms),
                               seeds=tuple(seeds)), **options)
    asyncio.run(run_harness(RealTools(plan), study, runs=folder, durable=False))
    return judged([folder / study])


def by_arm(verdicts, value):
    arms = dict.fromkeys(v.arm.text for v in verdicts)
    return {arm: sum(value(v) for v in verdicts if v.arm.text == arm) for arm in arms}


def test_every_step_of_every_domain_has_a_tool_of_its_own():
    for domain in domain_names():
        codes = [step.code for step in with_tools(generate(seed=0, size=18, domain=domain)).graph.steps]
        assert len({*codes}) == 18 and all(code.replace("_", "").isalnum() and len(code) <= 64 for code in codes)


@pytest.mark.parametrize("failures", [{}, {"failure_rate": 0.3}, {"failure_rate": 0.3, "idempotent": False}])
def test_a_perfect_agent_makes_no_error_on_any_arm(tmp_path, failures):
    verdicts = run(tmp_path, "perfect", size=10, **failures)
    assert by_arm(verdicts, lambda v: v.strict) == dict.fromkeys(ARMS, 3)
    assert all(not v.violations and not v.bad_input and v.outcomes.get("refused", 0) == 0 for v in verdicts)
    assert any(v.outcomes.get("failed") for v in verdicts) == bool(failures)


def test_a_corrupted_gate_degrades_the_perfect_agent(tmp_path):
    corrupted = replace(ORACLE, corruption=0.2)
    verdicts = run(tmp_path, "perfect", [ArmSpec("enforcement", corrupted)], range(300, 308), size=10)
    assert len(verdicts) == 8 and not any(v.strict for v in verdicts)


def test_enforcement_lets_no_tool_work_twice_or_for_a_cancelled_step(tmp_path):
    verdicts = run(tmp_path, "always-act")
    again = by_arm(verdicts, lambda v: v.count(Channel.RE_EXECUTION) + v.count(Channel.SUPERSEDED))
    assert again["raw"] > 0 and again["enforcement"] == again["enforcement:policy=request"] == 0
    assert by_arm(verdicts, lambda v: v.strict) == {"raw": 0, "checklist": 0, "directive": 0, "enforcement": 3,
                                                    "enforcement:policy=request": 3}


def test_an_eager_agent_gets_past_a_correct_state_and_is_stopped_by_the_bound_to_the_request(tmp_path):
    verdicts = run(tmp_path, "eager", seeds=range(300, 306))
    both = by_arm(verdicts, lambda v: v.count(Channel.PREMATURE) + v.count(Channel.UNREQUESTED))
    assert both["enforcement"] > 0 and both["enforcement:policy=request"] == 0


def test_a_turn_has_its_share_of_actions_and_the_agent_is_told(tmp_path):
    run(tmp_path, "stubborn", [ArmSpec("raw")], [300], rounds=2)
    log = next(iter_harness_logs([tmp_path], "tools", RECORD_TYPES))
    turns = [record for record in log.records if record.record == "tool_turn"]
    assert {len(turn.replies) for turn in turns} == {1, 3}
    told = [after for before, after in pairwise(turns) if len(before.replies) == 3]
    assert told and all("had all the actions" in after.notices[0] for after in told)
    assert judge(log).outcomes["over_limit"] == sum(len(turn.replies) == 3 for turn in turns)


def test_tools_that_time_out_are_stamped_again_without_a_gate_and_never_behind_one(tmp_path):
    verdicts = run(tmp_path, "retrying", seeds=range(300, 306), failure_rate=0.4, failing=(Failing.AFTER,),
                   idempotent=False)
    again = by_arm(verdicts, lambda v: v.re_stamped)
    assert again["raw"] > 0 and again["enforcement"] == 0 and again["enforcement:policy=request"] == 0
    known = run(tmp_path, "retrying", seeds=range(300, 306), study="known", failure_rate=0.4,
                failing=(Failing.AFTER,))
    assert by_arm(known, lambda v: v.re_stamped)["raw"] < again["raw"]
    assert all(v.outcomes.get("timed_out") for v in verdicts)
    assert all(v.tried_again > 0 for v in verdicts + known if v.arm.text == "raw")
    twice = by_arm(verdicts, lambda v: v.worked_twice)
    assert twice["raw"] > 0 and by_arm(known, lambda v: v.worked_twice)["raw"] == 0
    assert twice["enforcement"] == 0
    rows = {(row["arm"], row["failures"]): row for row in failing_tools_table(verdicts).records}
    assert rows["raw", True]["worked_twice"] == twice["raw"] and ("raw", False) not in rows


def test_a_step_that_its_tool_alone_left_undone_is_no_error_of_the_agent(tmp_path):
    verdicts = run(tmp_path, "perfect", [ArmSpec("raw")], [300], failure_rate=1.0, failing=(Failing.BEFORE,))
    assert verdicts[0].strict and verdicts[0].left_by_tools > 0 and verdicts[0].stamps == 0
    stops = run(tmp_path, "always-act", [ArmSpec("raw")], [300], study="stops", failure_rate=1.0,
                failing=(Failing.BEFORE,))
    assert not stops[0].strict and stops[0].left_by_tools == 0, "it had rounds left and didn't try again"
    never = run(tmp_path, "never-act", [ArmSpec("raw")], [300], study="never", failure_rate=1.0)
    assert not never[0].strict and never[0].left_by_tools == 0


class _Lying(Workspace):
    """Tools that say that they worked and leave nothing behind."""

    def stamp(self, tool, work_order):
        pass


def test_tools_that_lie_make_workspace_and_call_log_disagree(tmp_path, monkeypatch):
    monkeypatch.setattr("artifact.harness.tools.conversation.Workspace", _Lying)
    with pytest.raises(RequestError, match=r"workspace and call log of .* disagree"):
        run(tmp_path, "always-act", [ArmSpec("raw")], [300])


def test_no_receipt_without_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr("artifact.harness.tools.conversation.Workspace", _Lying)
    with pytest.raises(RequestError, match="disagree"):
        run(tmp_path, "always-act", [ArmSpec("checklist")], [300])
    log = next(iter_harness_logs([tmp_path], "tools", RECORD_TYPES))
    shown = [record.checklist for record in log.records if record.record == "tool_turn"]
    assert all("DONE" not in checklist for checklist in shown)


@pytest.mark.parametrize("change", ["missing", "made up", "elsewhere"])
def test_a_workspace_that_was_edited_is_not_scored(tmp_path, change):
    run(tmp_path, "perfect", [ArmSpec("raw")], [300])
    log = next(iter_harness_logs([tmp_path], "tools", RECORD_TYPES))
    assert judge(log).strict
    space = log.records[-1]
    assert isinstance(space, WorkspaceRecord)
    artifacts = dict(space.artifacts)
    tool = min(artifacts)
    if change == "missing":
        artifacts[tool] = artifacts[tool][:-1]
    elif change == "made up":
        artifacts[tool] = (*artifacts[tool], "#W0000")
    else:
        artifacts["elsewhere"] = artifacts.pop(tool)
    edited = replace(log, records=(*log.records[:-1], WorkspaceRecord(artifacts)))
    with pytest.raises(RequestError, match="disagree on"):
        judge(edited)


def test_a_log_without_workspace_is_not_scored(tmp_path):
    run(tmp_path, "perfect", [ArmSpec("raw")], [300])
    log = next(iter_harness_logs([tmp_path], "tools", RECORD_TYPES))
    with pytest.raises(RequestError, match="nothing of its workspace"):
        judge(replace(log, records=log.records[:-1]))


class _Counted(ScriptedAgent):
    """Counts the replies asked for over all its copies."""

    asked: ClassVar = Counter()

    def bind(self, episode):
        return _bound(super().bind(episode))

    async def complete(self, messages, **options):
        _Counted.asked["reply" if options.get("schema") is None else "helper"] += 1
        return await super().complete(messages, **options)


def _bound(agent):
    return _Counted(agent._policy, agent._bound)


@pytest.mark.parametrize("kept", [1, 2, 5, 20, 40])
def test_a_run_that_was_cut_off_goes_on_and_its_log_is_the_uninterrupted_one(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(harness_module, "ScriptedAgent", _Counted)
    arms, options = [ArmSpec("enforcement")], {"failure_rate": 0.4}
    run(tmp_path, "always-act", arms, [300], **options)
    path = next(tmp_path.rglob("*.harness.jsonl"))
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:kept]) + whole[kept][:20])
    shutil.rmtree(tmp_path / "s" / "compiled")
    _Counted.asked.clear()
    run(tmp_path, "always-act", arms, [300], **options)
    again = path.read_bytes().splitlines(keepends=True)

    def timeless(lines):
        return [{key: value for key, value in json.loads(line).items() if key not in ("seconds", "sum", "started")}
                for line in lines]

    assert timeless(again)[1:] == timeless(whole)[1:]
    answered = sum(len(json.loads(line).get("replies", ())) for line in whole[:kept])
    assert _Counted.asked["reply"] == sum(len(json.loads(line).get("replies", ())) for line in whole) - answered


class _Failing(ScriptedAgent):
    def bind(self, episode):
        return _Failing("perfect", super().bind(episode)._bound)

    async def complete(self, messages, **options):
        if len(messages) > 20:
            raise ModelError("the server went away")
        return await super().complete(messages, **options)


def test_infrastructure_is_not_behaviour(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(harness_module, "ScriptedAgent", _Failing)
        verdicts = run(tmp_path, "perfect", [ArmSpec("raw")], [300])
    assert [(v.reason, v.completed, v.strict, v.violations) for v in verdicts] == [("model_error", False, False, ())]
    assert run(tmp_path, "perfect", [ArmSpec("raw")], [300])[0].strict, "the same command goes on"


def test_the_graph_has_a_limit_of_its_own_and_keeps_texts_alone_in_its_state():
    from langgraph.checkpoint.memory import InMemorySaver

    replies = iter(["act", "act", "act", "act"])

    async def answer(said):
        return next(replies)

    context = TurnContext(answer, lambda reply: True, lambda reply: "done", rounds=2)
    said = asyncio.run(take_turn(context))
    assert said == [("assistant", "act"), ("user", "done")] * 2 + [("assistant", "act")]
    kept = turn_graph().copy()
    kept.checkpointer = InMemorySaver()
    replies = iter(["act", "act", "act"])
    where = {"configurable": {"thread_id": "t"}, "recursion_limit": 6}
    asyncio.run(kept.ainvoke({"said": [], "rounds": 0, "next": "agent"}, where, context=context))
    assert len(kept.get_state(where).values["said"]) == 5


def test_the_graph_fails_loudly_at_a_node_that_it_does_not_know_and_at_a_loop_without_end(monkeypatch):
    async def answer(said):
        return "act"

    async def elsewhere(state, runtime):
        return {"said": [], "next": "nowhere"}

    async def endless(state, runtime):
        return {"said": [], "next": "dispatch"}

    for agent, raised in ((elsewhere, KeyError), (endless, GraphRecursionError)):
        monkeypatch.setattr(graph_module, "_agent", agent)
        turn_graph.cache_clear()
        context = TurnContext(answer, lambda reply: True, lambda reply: "done", rounds=2)
        monkeypatch.setattr(graph_module, "_dispatch", endless)
        with pytest.raises(raised):
            asyncio.run(take_turn(context))
    turn_graph.cache_clear()


def test_a_server_on_another_port_is_no_other_run(tmp_path, monkeypatch):
    run(tmp_path, "perfect", [ArmSpec("raw")], [300], study="moved")
    path = next(tmp_path.rglob("*.harness.jsonl"))
    first = path.read_bytes().splitlines()[0]
    header = json.loads(first)
    for role in ("agent", "state"):
        header["models"][role]["endpoint"] = "http://127.0.0.1:1/v1"
    path.write_bytes(json.dumps(header).encode() + b"\n")
    told = ScriptedAgent.identity
    monkeypatch.setattr(ScriptedAgent, "identity", lambda self: told(self) | {"endpoint": "http://127.0.0.1:2/v1"})
    (verdict,) = run(tmp_path, "perfect", [ArmSpec("raw")], [300], study="moved")
    assert verdict.strict


@pytest.mark.parametrize(("arms", "options", "says"), [
    ("ledger", {}, "no arm 'ledger'"), ("enforcement:notice=same_turn", {}, "leave out the arm option notice"),
    ("raw", {"rounds": 0}, "--rounds 0"), ("raw", {"failure_rate": 1.5}, "is no rate")])
def test_a_plan_that_cannot_be_run_is_refused_in_a_sentence(arms, options, says):
    with pytest.raises(RequestError, match=says):
        ToolsPlan(StudyPlan("s", "scripted:perfect", arms=parse_arms(arms)), **options)


def test_the_command_runs_and_scores_and_names_what_it_does_not_know(tmp_path, capsys):
    command = ["run", "--harness", "tools", "--study", "t", "--model", "scripted:perfect", "--sizes", "5", "--seeds",
               "300", "--runs", str(tmp_path), "--no-fsync", "--failure-rate", "0.2"]
    assert main(command) == 0
    assert main(["score", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.count("strict 1/1") == 5 and "f0.2-before-after" in said
    assert main([*command[:6], "scripted:wizard", *command[7:]]) == 2
    assert "no scripted agent 'wizard'" in capsys.readouterr().err
    assert main([*command, "--samples", "3"]) == 2
    assert LADDER_TEXT.endswith("enforcement:policy=request") and len(PAPER_SEEDS) == 50


def test_the_table_stands_beside_the_reported_one_and_says_what_was_not_run(tmp_path):
    verdicts = (*run(tmp_path, "always-act", seeds=range(300, 308)), *run(
        tmp_path, "perfect", [ArmSpec("raw")], [300], study="f", failure_rate=0.2))
    table = tools_table(verdicts, load_reported())
    rows = {row["arm"]: row for row in table.records}
    assert rows["raw"]["strict"] == 0 and rows["enforcement"]["strict"] == 8 and rows["enforcement"]["p_holm"] < 0.05
    assert "Reported, Qwen3.6-35B" in table.tex and "0.96" in table.tex and table.tex.count("Reported") == 2
    failing = failing_tools_table(verdicts)
    assert failing.tex.count("not run") == 4 and failing.records[0]["strict"] == 1
    assert tools_table((), load_reported()).tex.count("not run") == 1
    names = [number.name for number in tools_numbers(verdicts)]
    assert sum(name.endswith("Strict") for name in names) == 6 and len(names) == 12 == len({*names})
