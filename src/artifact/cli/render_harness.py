"""A harness log as a person reads it, on a terminal: what was said, what became of it, how it ended."""

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from artifact.cli.render import compile_text, indented
from artifact.cli.words import printable
from artifact.harness.pmbench import records as pmbench
from artifact.harness.reader import HarnessLog
from artifact.harness.tau2 import records as tau2
from artifact.harness.tools import records as tools
from artifact.log.records import CompileRecord


def harness_log_text(log: HarnessLog) -> Iterator[str]:
    """The log's parts, one after another; control characters are made visible."""
    header = log.header
    on = ", ".join(f"{role} on {told.get('engine') or told.get('name', 'an unknown engine')}"
                   for role, told in header.models.items() if isinstance(told, dict))
    yield printable(f"{header.study}: {header.cell.slug}, arm {header.arm.text}, {header.item}, seed {header.seed}"
                    f"{f', {on}' if on else ''}")
    for record in log.records:
        text = TEXTS.get(type(record), _nothing)(record)
        if text:
            yield printable(text)
    yield printable(f"ended: {log.end.reason}" if log.end else "not finished")


def _nothing(record: Any) -> str:
    """Of a record that another one tells of: a match, of which the directive speaks."""
    return ""


def _turn(turn: tools.ToolTurnRecord) -> str:
    lines = [f"--- turn {turn.turn}: {turn.kind}{f', {turn.step}' if turn.step else ''}"]
    lines += [indented(notice, "!") for notice in turn.notices]
    lines.append(indented(turn.text, ">"))
    directive = turn.directive.text if turn.directive else ""
    lines += [indented(shown, "|") for shown in (turn.checklist, directive) if shown]
    told = [message.content for message in turn.sent if message.role == "user"][1:]  # the first is the request
    for reply, result in zip_longest(turn.replies, told):
        lines += [indented(reply.reply, "<")] if reply else []
        lines += [indented(result, ">")] if result else []
    lines += [f"  {call.tool} {call.work_order}: {call.outcome}{f', {call.reason}' if call.reason else ''}"
              for call in turn.calls]
    return "\n".join(lines)


def _workspace(space: tools.WorkspaceRecord) -> str:
    return "\n".join(["left behind:", *(f"  {tool}: {', '.join(stamps)}" for tool, stamps in space.artifacts.items())])


def _answer(answer: pmbench.AnswerRecord) -> str:
    if answer.purpose == "match":
        return indented(answer.reply, "matcher")
    return f"{indented(answer.sent, '>')}\n{indented(answer.reply, '<')}"


def _operations(compiled: pmbench.CompileRecord) -> str:
    lines = [f"  the {compiled.source} of {compiled.step} changes the record:"] if compiled.operations else []
    lines += [f"    {json.dumps(operation, ensure_ascii=False)}" for operation in compiled.operations]
    lines += [f"  the {compiled.source} of {compiled.step}, unusable: {why}" for why in compiled.rejected]
    return "\n".join(lines)


def _step(step: pmbench.StepRecord) -> str:
    told = {"selected": step.selected, "refused": step.refused, "announced": step.announced,
            "still due": step.carried, "read": step.queries}
    parts = [f"chose {step.choice or 'nothing'}", *(f"{name} {', '.join(ids)}" for name, ids in told.items() if ids)]
    parts += [f"{step.invalid} unreadable"] if step.invalid else []
    return f"--- {step.step}: {'; '.join(parts)}"


def _message(message: tau2.MessageRecord) -> str:
    lines = [indented(message.text, "<" if message.speaker == "agent" else ">")] if message.text else []
    lines += [f"  {message.speaker} calls {call.tool} {json.dumps(call.arguments, ensure_ascii=False)}"
              for call in message.calls]
    lines += [f"  {message.speaker}, unusable: {message.failure}"] if message.failure else []
    return "\n".join(lines)


def _dispatch(call: tau2.DispatchRecord) -> str:
    became = "refused" if not call.admitted else "failed" if call.error else "executed"
    against = f", against {', '.join(call.rules)}" if call.rules else ""
    return f"  {call.tool}: {became}{against}\n{indented(call.content, '|')}"


def _result(result: tau2.ResultRecord) -> str:
    return f"reward {result.reward:g} ({result.termination}){f': {result.detail}' if result.detail else ''}"


TEXTS: dict[type, Callable[[Any], str]] = {
    CompileRecord: compile_text, tools.ToolTurnRecord: _turn, tools.WorkspaceRecord: _workspace,
    pmbench.AnswerRecord: _answer, pmbench.CompileRecord: _operations, pmbench.StepRecord: _step,
    tau2.MessageRecord: _message, tau2.DispatchRecord: _dispatch, tau2.ResultRecord: _result,
}
"""How a record of each type reads."""
