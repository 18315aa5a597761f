"""vLLM's plugin for models that write tool calls as plain JSON: bare, fenced or between tags.

Qwen2.5-Coder does so whatever its template asks for, and vLLM's own parsers read one form each. The server loads this
file by its path, in an environment that doesn't have the package, so it imports nothing of it.
"""

import json
import re
import sys
from typing import Any, NamedTuple

NAME = "plain_json"
"""What ``tool_parser`` of the registry calls it."""

_MARKUP = re.compile(r"```(?:json)?|</?tool_calls?>|</?tools>|[{\[\s]+$")


class WrittenCall(NamedTuple):
    """A call as the model wrote it."""

    name: str
    arguments: dict[str, Any]


def written_calls(text: str) -> tuple[tuple[WrittenCall, ...], str]:
    """The tool calls in a reply, and the words before the first of them.

    Parameters
    ----------
    text : str
        The reply. A call is a JSON object with a ``name`` and an object of ``arguments`` or ``parameters``, wherever
        it stands; doubled braces around it are taken as one.

    Returns
    -------
    calls : tuple of WrittenCall
        In their order.
    words : str
        The whole text where there is no call.
    """
    decoder, calls, at, first = json.JSONDecoder(), [], 0, len(text)
    while (start := text.find("{", at)) >= 0:
        at = start + 1
        try:
            told, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        call = _call(told)
        if call is not None:
            calls.append(call)
            first, at = min(first, start), end
    return tuple(calls), _MARKUP.sub("", text[:first]).strip() if calls else text


def _call(told: dict[str, Any]) -> WrittenCall | None:
    name, arguments = told.get("name"), told.get("arguments", told.get("parameters"))
    return WrittenCall(name, arguments) if isinstance(name, str) and name and isinstance(arguments, dict) else None


if "vllm.tool_parsers.abstract_tool_parser" in sys.modules:  # loaded by the server
    from vllm.entrypoints.generate.base.protocol import ExtractedToolCallInformation, FunctionCall, ToolCall
    from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager

    class PlainJsonToolParser(ToolParser):  # type: ignore[misc, unused-ignore]
        """Hands vLLM what `written_calls` finds; whole replies alone, streamed ones have no calls."""

        def extract_tool_calls(self, model_output: str, request: Any) -> Any:
            """Called once a reply."""
            calls, words = written_calls(model_output)
            made = [ToolCall(type="function", function=FunctionCall(
                name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False))) for call in calls]
            return ExtractedToolCallInformation(tools_called=bool(made), tool_calls=made, content=words or None)

    ToolParserManager.register_module(NAME, module=PlainJsonToolParser)
