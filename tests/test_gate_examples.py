"""The gate for anyone's tools: the examples, run as they are."""

import asyncio
import subprocess
import sys
import threading
import warnings
from typing import Annotated

import pytest

from artifact import KeptGate
from artifact.gate import Attempt
from artifact.paths import ROOT
from artifact.taskstate import Step, TaskGraph

PLAN = TaskGraph((Step("order", "order", "order"), Step("pay", "pay", "pay", ("order",)))).check()
EXAMPLES = ROOT / "examples"


def example(name):
    space = {}
    exec(compile((EXAMPLES / name).read_text("utf-8"), name, "exec"), space)
    return space


@pytest.fixture
def gate(tmp_path):
    with KeptGate(PLAN, tmp_path / "receipts.jsonl") as gate:
        yield gate


def test_the_gate_stands_before_two_plain_functions_in_under_twenty_lines(tmp_path):
    assert len((EXAMPLES / "plain_functions.py").read_text("utf-8").splitlines()) < 20
    space, done = example("plain_functions.py"), []
    with KeptGate(space["PLAN"], tmp_path / "receipts.jsonl") as gate:
        order = space["gated"](gate, "order", lambda work_order: done.append(work_order) or "ordered")
        pay = space["gated"](gate, "pay", lambda work_order: done.append(work_order) or "paid")
        assert pay("#W0001") == "refused: step pay is BLOCKED"
        assert order("#W0002") == "ordered" and pay("#W0003") == "paid"
        assert order("#W0004") == "refused: step order is already DONE" and done == ["#W0002", "#W0003"]


@pytest.mark.parametrize("did_its_work", [True, False])
def test_a_plain_function_that_raises_runs_again_only_where_the_evidence_says_that_it_must(tmp_path, did_its_work):
    space, done = example("plain_functions.py"), []

    def order(work_order):
        if did_its_work or work_order != "#W0001":
            done.append(work_order)
        if work_order == "#W0001":
            raise TimeoutError("no answer")
        return "ordered"

    with KeptGate(space["PLAN"], tmp_path / "receipts.jsonl") as gate:
        call = space["gated"](gate, "order", order)
        with pytest.raises(TimeoutError):
            call("#W0001")
        assert "evidence" in call("#W0002")
        gate.settle(lambda attempt: attempt.work_order in done)
        assert call("#W0003") == ("refused: step order is already DONE" if did_its_work else "ordered")
        assert done == (["#W0001"] if did_its_work else ["#W0003"])


def test_a_gate_is_built_from_a_text_in_under_twenty_five_lines():
    assert len((EXAMPLES / "plan_from_text.py").read_text("utf-8").splitlines()) < 25
    said = subprocess.run([sys.executable, str(EXAMPLES / "plan_from_text.py"), "scripted:never-book"],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith("[TASK-STATE] step s2 is BLOCKED -- prerequisites still missing: s1")
    assert said[2:] == ["- s1: DONE", "- s2: TODO (ready)", "[TASK-STATE] step s2 is ELIGIBLE. Carry it out now."]


def react_agent(gate, replies, tools):
    """The prebuilt ReAct agent with a scripted chat model that makes native tool calls."""
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


ASKED = {"messages": [("user", "Order the seals and pay for them.")]}


def results(state):
    return {message.tool_call_id: message.content for message in state["messages"] if message.type == "tool"}


def refused_as_done_or_open(said):
    return said.startswith("REFUSED: ") and ("already DONE" in said or "evidence" in said)


def test_the_tool_node_of_a_prebuilt_react_agent_is_gated(gate):
    done = []

    def order(what: str) -> str:
        """Order something."""
        done.append("order")
        return f"ordered {what}"

    def pay(what: str) -> str:
        """Pay for something."""
        done.append("pay")
        return f"paid {what}"

    agent = react_agent(gate, [[("pay", "c1")], [("order", "c2"), ("order", "c3")], [("pay", "c4")], []], [order, pay])
    said = results(agent.invoke(ASKED))
    assert said["c1"] == "REFUSED: step pay is BLOCKED" and said["c4"] == "paid seals"
    ordered, refused = sorted([said["c2"], said["c3"]], key=lambda text: text.startswith("REFUSED"))
    assert ordered == "ordered seals" and refused_as_done_or_open(refused)
    assert done == ["order", "pay"] and [receipt.step for receipt in gate.receipts] == ["order", "pay"]


def test_async_tools_are_gated_too(gate):
    done = []

    async def order(what: str) -> str:
        """Order something."""
        done.append("order")
        await asyncio.sleep(0.01)
        return f"ordered {what}"

    agent = react_agent(gate, [[("order", "c1"), ("order", "c2")], [("order", "c3")], []], [order])
    said = results(asyncio.run(agent.ainvoke(ASKED)))
    assert said["c1"] == "ordered seals" and refused_as_done_or_open(said["c2"]) and done == ["order"]
    assert said["c3"] == "REFUSED: step order is already DONE"


def test_a_tool_that_answers_with_a_command_earns_its_receipt(gate):
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import InjectedToolCallId
    from langgraph.types import Command

    def order(what: str, call: Annotated[str, InjectedToolCallId]) -> Command:
        """Order something."""
        return Command(update={"messages": [ToolMessage(f"ordered {what}", tool_call_id=call)]})

    said = results(react_agent(gate, [[("order", "c1")], [("order", "c2")], []], [order]).invoke(ASKED))
    assert said == {"c1": "ordered seals", "c2": "REFUSED: step order is already DONE"}
    assert [receipt.work_order for receipt in gate.receipts] == ["c1"]


def test_a_tool_that_raises_after_its_work_is_not_run_again_before_the_evidence(gate):
    done = []

    def order(what: str) -> str:
        """Order something."""
        done.append(what)
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        react_agent(gate, [[("order", "c1")], []], [order]).invoke(ASKED)
    assert gate.open_attempts == (Attempt("order", "c1"),)
    said = results(react_agent(gate, [[("order", "c2")], []], [order]).invoke(ASKED))
    assert "evidence" in said["c2"] and done == ["seals"]
    gate.settle(lambda attempt: bool(done))
    assert gate.check("order").reason == "step order is already DONE"


def test_an_error_in_the_place_of_a_result_is_no_evidence_either(gate):
    from langchain_core.tools import StructuredTool, ToolException

    def order(what: str) -> str:
        """Order something."""
        raise ToolException("the shop hung up")

    tool = StructuredTool.from_function(order, handle_tool_error=True)
    said = results(react_agent(gate, [[("order", "c1")], [("order", "c2")], []], [tool]).invoke(ASKED))
    assert said["c1"] == "the shop hung up" and "evidence" in said["c2"]
    gate.settle(lambda attempt: False)
    assert gate.check("order").allowed and gate.receipts == ()


def test_tools_of_one_message_run_side_by_side(tmp_path):
    meeting = threading.Barrier(2)

    def order(what: str) -> str:
        """Order something."""
        meeting.wait(10)
        return "ordered"

    def pack(what: str) -> str:
        """Pack something."""
        meeting.wait(10)
        return "packed"

    plan = TaskGraph((Step("order", "order", "order"), Step("pack", "pack", "pack"))).check()
    with KeptGate(plan, tmp_path / "receipts.jsonl") as gate:
        agent = react_agent(gate, [[("order", "c1"), ("pack", "c2")], []], [order, pack])
        assert results(agent.invoke(ASKED)) == {"c1": "ordered", "c2": "packed"}
