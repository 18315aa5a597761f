"""Model and user over HTTP, answered by a server of the tests: what each receives, whose failure is whose, resume."""

import asyncio
import functools
import json

import pytest

from artifact.harness.batch import run_harness
from artifact.harness.reader import iter_harness_logs, record_types
from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.harness import Airline
from artifact.harness.tau2.measures import judge
from artifact.harness.tau2.plan import CALLER, AirlinePlan
from artifact.harness.tau2.players import CALLER_AGREES, CALLER_LISTENS
from artifact.harness.tau2.records import RECORD_TYPES, MessageRecord
from artifact.harness.tau2.wrong_writes import wrong_writes
from artifact.log.writer import LogWriter
from chat_server import ChatServer, completion, error
from tau2_world import needs_benchmark

pytestmark = needs_benchmark
TASK = "26"  # doing nothing passes
said = functools.partial(completion, model="qwen")
WANTS, LEAVES, DECLINES = said("Please cancel it."), said("###STOP###"), said("I can't do that.")


def calls(*made):
    """A reply that makes tool calls; arguments given as text go out as they are."""
    listed = [{"id": "same", "type": "function", "function": {
        "name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}} for name, given in made]
    return said(None, finish="tool_calls", message={"tool_calls": listed})


@functools.cache
def groundless():
    """A reservation that there is no ground for cancelling."""
    found = wrong_writes(benchmark.environment().tools.db)
    return dict(next(wrong.call.arguments for wrong in found if wrong.rule == "C2"))


def looks():
    return calls(("get_reservation_details", groundless()))


def cancels():
    return calls(("cancel_reservation", groundless()))


def conversation(folder, agent_says, user_says=(WANTS, LEAVES), rung=Rung.ENFORCEMENT, user_model=None):
    """Run the task once; the log, and what agent and user were asked."""
    async def talk():
        async with ChatServer(*agent_says) as agent, ChatServer(*user_says) as user:
            plan = AirlinePlan("s", agent.url, user_model or user.url, rungs=(rung,), tasks=(TASK,))
            await run_harness(Airline(plan), "s", runs=folder, durable=False)
            return [one.json["messages"] for one in agent.calls], [one.json["messages"] for one in user.calls], agent

    agent, user, server = asyncio.run(talk())
    (log,) = iter_harness_logs([folder], "tau2", RECORD_TYPES)
    return log, agent, user, server


def result(log):
    return next(record for record in log.records if record.record == "result")


def test_a_refusal_reaches_the_agent_and_the_evaluator_passes_the_unchanged_database(tmp_path):
    log, agent, _, _ = conversation(tmp_path, (cancels(), DECLINES))
    assert agent[1][-1]["role"] == "tool" and agent[1][-1]["content"].startswith("[CALL REFUSED]")
    assert (judge(log).passed, judge(log).refusals, judge(log).violating_writes) == (True, (("C2",),), 0)


def test_a_call_held_back_runs_when_it_is_made_again(tmp_path):
    log, agent, _, _ = conversation(tmp_path, (cancels(), cancels(), DECLINES), rung=Rung.NOTICE)
    assert agent[1][-1]["content"].startswith("[CALL HELD BACK]")
    scored = judge(log)
    assert (scored.passed, scored.wrongful, scored.repeats, scored.violating_writes) == (False, True, 1, 1)


def test_a_twin_in_the_same_message_overrides_nothing(tmp_path):
    twins = calls(("cancel_reservation", groundless()), ("cancel_reservation", groundless()))
    log, agent, _, _ = conversation(tmp_path, (twins, DECLINES), rung=Rung.NOTICE)
    assert [m["content"].startswith("[CALL HELD BACK]") for m in agent[1][-2:]] == [True, True]
    assert (judge(log).passed, judge(log).repeats, judge(log).withdrawals) == (True, 0, 1)


def test_of_two_calls_in_a_message_with_one_id_only_the_refused_one_is_left_out(tmp_path):
    both = calls(("get_reservation_details", groundless()),
                 ("cancel_reservation", groundless()))
    log, agent, _, _ = conversation(tmp_path, (both, DECLINES))
    assert [m["content"].startswith("[CALL REFUSED]") for m in agent[1][-2:]] == [False, True]
    assert judge(log).passed


def test_the_state_block_reaches_the_agent_only_and_only_on_its_rung(tmp_path):
    for rung in Rung:
        log, agent, user, _ = conversation(tmp_path / rung, (looks(), DECLINES), rung=rung)
        assert ("[STATE]" in agent[1][-1]["content"]) == (rung is Rung.SHOWN)
        assert "[STATE]" not in json.dumps(user) and "[STATE]" not in json.dumps(agent[0])
        assert judge(log).passed, "the evaluator replays what the tools said, not what was shown"


@pytest.mark.parametrize("answer", [calls(("cancel_reservation", "{not json")), calls(("cancel_reservation", "[3]"))])
def test_arguments_that_are_no_object_are_the_agent_s_failure_and_nothing_is_executed(tmp_path, answer):
    log, _, _, _ = conversation(tmp_path, (answer,))
    assert (log.end.reason, result(log).termination, result(log).reward) == ("completed", "agent_error", 0.0)
    assert result(log).detail and not [r for r in log.records if r.record == "dispatch"]


def test_an_unknown_tool_is_an_error_result_and_the_episode_goes_on(tmp_path):
    log, agent, _, _ = conversation(tmp_path, (calls(("fly_away", {"to": "../../x"})), DECLINES))
    assert "Error" in agent[1][-1]["content"] and judge(log).passed


def test_a_user_who_answers_nothing_is_no_failure_of_the_agent(tmp_path):
    log, _, _, _ = conversation(tmp_path, (DECLINES,), user_says=(said(""),))
    assert log.end.reason == "model_error" and "simulated user" in log.end.detail and not judge(log).completed
    again, agent, _, _ = conversation(tmp_path, (DECLINES,), user_says=(WANTS, LEAVES))
    assert again.end.reason == "completed" and judge(again).passed and len(agent) == 1


def test_a_user_s_failure_in_an_older_log_is_passed_over_and_the_user_asked_again(tmp_path):
    log, _, _, _ = conversation(tmp_path, (DECLINES,), user_says=(WANTS, said("")))
    (path,) = tmp_path.rglob("*.harness.jsonl")
    path.unlink()
    older = LogWriter(path, record_types(RECORD_TYPES), durable=False)
    failed = MessageRecord("user", "", failure="it answered neither words nor a call")
    for record in (log.header, *log.records, failed, log.end):
        older.write(record)
    older.close()
    log, _, user, _ = conversation(tmp_path, (DECLINES,), user_says=(LEAVES,))
    assert log.end.reason == "completed" and judge(log).passed and len(user) == 1


def test_a_server_that_fails_ends_the_episode_apart_and_the_same_command_goes_on_where_it_stopped(tmp_path):
    log, _, _, _ = conversation(tmp_path, (looks(), error(500, "out of memory")))
    assert log.end.reason == "model_error" and not judge(log).completed
    again, agent, user, _ = conversation(tmp_path, (cancels(), DECLINES), user_says=(LEAVES,))
    assert [m["role"] for m in agent[0]] == ["system", "assistant", "user", "assistant", "tool"]
    assert len(agent) == 2 and len(user) == 1, "what the log holds was not asked for again"
    assert judge(again).passed and again.records[:len(log.records)] == log.records


def test_the_scripted_caller_reads_out_its_note_agrees_to_everything_and_leaves(tmp_path):
    log, _, user, _ = conversation(tmp_path, (cancels(), *(DECLINES,) * CALLER_LISTENS), user_model=CALLER)
    note = benchmark.tasks()[TASK].user_scenario.instructions
    said_by_user = [r.text for r in log.records if r.record == "message" and r.speaker == "user"]
    opening, *agreed, left = said_by_user
    assert " ".join(note.reason_for_call.split()) in opening and " ".join(note.known_info.split()) in opening
    assert agreed == [CALLER_AGREES] * (CALLER_LISTENS - 1) and left == "###STOP###"
    assert not user, "no model was asked"
    assert log.header.cell.settings["user"] == "caller" and log.header.models["user"] == {"name": CALLER}
    assert judge(log).passed and judge(log).refusals == (("C2",),)


def test_a_killed_call_of_the_scripted_caller_goes_on_where_it_stopped(tmp_path):
    conversation(tmp_path, (DECLINES, error(500, "out of memory")), user_model=CALLER)
    log, agent, _, _ = conversation(tmp_path, (DECLINES,) * (CALLER_LISTENS - 1), user_model=CALLER)
    assert len(agent) == CALLER_LISTENS - 1 and judge(log).passed


def test_the_key_is_sent_and_never_logged(tmp_path, monkeypatch):
    monkeypatch.setenv("ARTIFACT_API_KEY", "sk-secret-of-the-test")
    _, _, _, server = conversation(tmp_path, (DECLINES,))
    assert server.calls[0].headers["Authorization"] == "Bearer sk-secret-of-the-test"
    assert all("sk-secret" not in path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file())
