"""The gate around the tool node of an ordinary LangGraph agent with native tool calls, sync or async.

A tool's name is its step, the id of the call its work order. A call that raises or answers with an error may have done
its work all the same: it stays open, and its step refused, until `gate.settle` gets the evidence. Settle after a crash,
and after a run in which a call failed.
"""
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from artifact import KeptGate


def gated_tools(gate: KeptGate, tools: Sequence[BaseTool | Callable[..., Any]]) -> ToolNode:
    """A tool node whose calls the gate lets run or refuses."""
    def refusal(request: ToolCallRequest) -> ToolMessage | None:
        step, call = request.tool_call["name"], request.tool_call["id"]
        verdict = gate.begin(step, work_order=call)
        return None if verdict.allowed else ToolMessage(f"REFUSED: {verdict.reason}", name=step, tool_call_id=call,
                                                        status="error")

    def told(request: ToolCallRequest, result: Any) -> Any:
        if getattr(result, "status", "success") != "error":  # a tool may return a `Command`, which has no status
            gate.receipt(request.tool_call["name"], work_order=request.tool_call["id"])
        return result

    def ask_first(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        return refusal(request) or told(request, execute(request))

    async def ask_first_async(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        return refusal(request) or told(request, await execute(request))

    return ToolNode(tools, wrap_tool_call=ask_first, awrap_tool_call=ask_first_async)
