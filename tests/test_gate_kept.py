"""The gate for anyone's tools: examples that run, receipts that survive a crash."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from artifact import Gate, KeptGate
from artifact.errors import InfrastructureError, RequestError
from artifact.gate import Attempt
from artifact.paths import ROOT
from artifact.taskstate import BadGraph, Revision, Step, TaskGraph

PLAN = TaskGraph((Step("order", "order", "order"), Step("pay", "pay", "pay", ("order",)))).check()
EXAMPLES = ROOT / "examples"


def example(name):
    space = {}
    exec(compile((EXAMPLES / name).read_text("utf-8"), name, "exec"), space)
    return space


def test_the_gate_stands_before_two_plain_functions_in_under_twenty_lines():
    assert len((EXAMPLES / "plain_functions.py").read_text("utf-8").splitlines()) < 20
    gated, done = example("plain_functions.py")["gated"], []
    order = gated("order", lambda work_order: done.append(work_order) or "ordered")
    pay = gated("pay", lambda work_order: done.append(work_order) or "paid")
    assert pay("#W0001") == "refused: step pay is BLOCKED"
    assert order("#W0002") == "ordered" and pay("#W0003") == "paid"
    assert order("#W0004") == "refused: step order is already DONE" and done == ["#W0002", "#W0003"]


def test_an_ordered_redo_is_done_once():
    gate = Gate(PLAN)
    gate.receipt("order", work_order="#W0001")
    gate.authorize("order")
    assert gate.check("order").allowed
    gate.receipt("order", work_order="#W0002")
    assert not gate.check("order").allowed


def test_a_kept_gate_rebuilds_itself_with_revisions_and_receipts(tmp_path):
    gate = KeptGate(PLAN, tmp_path / "r.jsonl")
    gate.begin("order", work_order="#W0001")
    gate.receipt("order", work_order="#W0001", turn=3)
    gate.revise(Revision(cancel="pay"))
    again = KeptGate(PLAN, tmp_path / "r.jsonl")
    assert again.receipts == gate.receipts and again.state == gate.state and again.open_attempts == ()
    assert again.check("pay").reason == "step pay was CANCELLED"


@pytest.mark.integration
@pytest.mark.parametrize("did_its_work", [True, False])
def test_after_a_crash_between_work_and_receipt_the_gate_asks_for_evidence(tmp_path, did_its_work):
    log, work = tmp_path / "receipts.jsonl", tmp_path / "work.txt"
    program = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from artifact import KeptGate
        from artifact.taskstate import Step, TaskGraph
        plan = TaskGraph((Step("order", "order", "order"), Step("pay", "pay", "pay", ("order",)))).check()
        gate = KeptGate(plan, Path({str(log)!r}))
        assert gate.begin("order", work_order="#W0001").allowed
        if {did_its_work}:
            Path({str(work)!r}).write_text("#W0001")
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    killed = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False)
    assert killed.returncode == -9
    gate = KeptGate(PLAN, log)
    assert gate.open_attempts == (Attempt("order", "#W0001"),)
    refused = gate.begin("order", work_order="#W0002")
    assert not refused.allowed and "evidence" in refused.reason
    gate.settle(lambda attempt: work.exists() and attempt.work_order in work.read_text())
    assert gate.check("order").allowed is not did_its_work and gate.check("pay").allowed is did_its_work
    assert KeptGate(PLAN, log).receipts == gate.receipts and len(gate.receipts) == did_its_work


def test_a_torn_last_line_is_cut_off_and_a_damaged_one_refused(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    gate.receipt("order", work_order="#W0001")
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"event":"rec')
    assert KeptGate(PLAN, log).receipts == gate.receipts and log.read_bytes() == whole
    log.write_bytes(whole.replace(b"receipt", b"recipes"))
    with pytest.raises(RequestError, match=r"line 2 of .* is damaged"):
        KeptGate(PLAN, log)


def test_on_a_full_disk_nothing_begins_and_the_log_stays_whole(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    whole = log.read_bytes()
    limit, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limit[1]))  # room for a part of the next line
    try:
        with pytest.raises(InfrastructureError, match="make room"):
            gate.begin("order", work_order="#W0001")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert log.read_bytes() == whole and gate.open_attempts == ()
    assert gate.begin("order", work_order="#W0002").allowed
    assert KeptGate(PLAN, log).open_attempts == (Attempt("order", "#W0002"),)


@pytest.mark.parametrize("line", [
    '{"event":"revision","revision":{"cancel":"sing","rewires":[],"relax":null}}',
    '{"event":"receipt","attempt":{"step":"sing","work_order":"#W0001"}}',
    '{"event":"begun","attempt":{"step":"sing","work_order":"#W0001"}}', '{"event":"plan"}'])
def test_a_line_that_the_plan_does_not_know_is_named(tmp_path, line):
    log = tmp_path / "r.jsonl"
    KeptGate(PLAN, log)
    log.write_text(f"{log.read_text('utf-8')}{line}\n", "utf-8")
    with pytest.raises(RequestError, match=r"line 2 of .* is damaged"):
        KeptGate(PLAN, log)


def test_receipts_without_their_plan_are_refused(tmp_path):
    log = tmp_path / "r.jsonl"
    KeptGate(PLAN, log).receipt("order", work_order="#W0001")
    log.write_bytes(log.read_bytes().partition(b"\n")[2])
    with pytest.raises(RequestError, match=r"line 1 of .* is damaged"):
        KeptGate(PLAN, log)


def test_receipts_of_another_plan_are_refused_in_a_sentence(tmp_path):
    KeptGate(PLAN, tmp_path / "r.jsonl")
    with pytest.raises(RequestError, match="another plan"):
        KeptGate(TaskGraph((Step("order", "order", "order"),)).check(), tmp_path / "r.jsonl")
    with pytest.raises(InfrastructureError, match="can't be used"):
        KeptGate(PLAN, tmp_path)


def test_what_cannot_be_applied_is_not_written_down(tmp_path):
    log = tmp_path / "r.jsonl"
    gate = KeptGate(PLAN, log)
    before = log.read_bytes()
    with pytest.raises(BadGraph):
        gate.revise(Revision(cancel="sing"))
    with pytest.raises(BadGraph):
        gate.receipt("sing", work_order="#W0001")
    assert not gate.begin("pay", work_order="#W0001").allowed and log.read_bytes() == before
    assert Path(log).is_file()


def react_agent(gate, replies, tools):
    """The prebuilt ReAct agent with a scripted chat model that makes native tool calls."""
    import warnings

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.prebuilt import create_react_agent

    class Scripted(BaseChatModel):
        said: list[AIMessage]

        @property
        def _llm_type(self):
            return "scripted"

        def bind_tools(self, tools, **options):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **options):
            return ChatResult(generations=[ChatGeneration(message=self.said.pop(0))])

    def message(reply):
        calls = [{"name": name, "args": {"what": "seals"}, "id": call} for name, call in reply]
        return AIMessage("" if calls else "That is all.", tool_calls=calls)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = example("langgraph_agent.py")["gated_tools"](gate, tools)
        return create_react_agent(Scripted(said=[message(reply) for reply in replies]), nodes)


def test_the_tool_node_of_a_prebuilt_react_agent_is_gated():
    pytest.importorskip("langgraph")
    done = []

    def order(what: str) -> str:
        """Order something."""
        done.append("order")
        return f"ordered {what}"

    def pay(what: str) -> str:
        """Pay for something."""
        done.append("pay")
        return f"paid {what}"

    gate = Gate(PLAN)
    agent = react_agent(gate, [[("pay", "c1")], [("order", "c2"), ("order", "c3")], [("pay", "c4")], []], [order, pay])
    said = agent.invoke({"messages": [("user", "Order the seals and pay for them.")]})["messages"]
    results = {message.tool_call_id: message.content for message in said if message.type == "tool"}
    assert results["c1"] == "REFUSED: step pay is BLOCKED" and results["c4"] == "paid seals"
    assert sorted([results["c2"], results["c3"]]) == ["REFUSED: step order is already DONE", "ordered seals"]
    assert done == ["order", "pay"] and [receipt.step for receipt in gate.receipts] == ["order", "pay"]


def test_a_tool_that_raises_leaves_its_step_owed():
    pytest.importorskip("langgraph")

    def order(what: str) -> str:
        """Order something."""
        raise OSError("the shop is closed")

    gate = Gate(PLAN)
    agent = react_agent(gate, [[("order", "c1")], []], [order])
    with pytest.raises(OSError, match="closed"):
        agent.invoke({"messages": [("user", "Order the seals.")]})
    assert gate.receipts == () and gate.check("order").allowed
