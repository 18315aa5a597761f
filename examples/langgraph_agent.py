"""The gate around the tool node of an ordinary LangGraph agent with native tool calls.

A tool's name is its step, the id of the call its work order. Calls of one message run in threads side by side, so the
gate is asked, and told, under a lock.
"""
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.prebuilt import ToolNode

from artifact import Gate


def gated_tools(gate: Gate, tools: Sequence[Callable[..., Any]]) -> ToolNode:
    """A tool node whose calls the gate lets run or refuses."""
    lock = Lock()

    def ask_first(request: Any, execute: Callable[[Any], Any]) -> Any:
        step, call = request.tool_call["name"], request.tool_call["id"]
        with lock:
            verdict = gate.check(step)
            if not verdict.allowed:
                return ToolMessage(f"REFUSED: {verdict.reason}", name=step, tool_call_id=call, status="error")
            result = execute(request)
            if result.status != "error":
                gate.receipt(step, work_order=call)
            return result

    return ToolNode(tools, wrap_tool_call=ask_first)
