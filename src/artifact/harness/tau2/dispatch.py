"""The gate in front of the benchmark's tools.

The live environment's `get_response` is wrapped, on this one instance: the orchestrator calls it once a tool call.
What the evaluator calls later is not wrapped; it replays the trajectory ungated, and `without_refused` removes what
the gate kept from running.
"""

from collections.abc import Callable, Sequence
from typing import Any

from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.database import BenchmarkDatabase
from artifact.harness.tau2.gate import PolicyGate, Ruling, Rung
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.records import DispatchRecord
from artifact.harness.tau2.rules import RuleSet
from artifact.harness.tau2.texts import render
from artifact.harness.tau2.trace import ToolCall, Trace

_WRITES = frozenset(str(tool) for tool in WriteTool)


class GatedDispatch:
    """Dispatches an episode's tool calls through a gate, with the reference rules looking on.

    Parameters
    ----------
    environment : Environment
        The live environment; its `get_response` is replaced.
    rules, reference : RuleSet
        The rules in force, and the ones that people wrote.
    rung : Rung
        How strongly the rules in force act.
    write : callable
        Takes the record of each call.
    conversation : callable
        Gives the messages so far, the one being dispatched last.
    """

    def __init__(self, environment: Any, rules: RuleSet, reference: RuleSet, rung: Rung,
                 write: Callable[[DispatchRecord], None], conversation: Callable[[], Sequence[Any]]) -> None:
        self._gate, self._reference, self._rung = PolicyGate(rules, rung), reference, rung
        self._write, self._conversation = write, conversation
        self._environment, self._original = environment, environment.get_response
        self._hash = benchmark.database_sha256(environment)
        self._ordinal = 0
        self.state = BenchmarkDatabase(environment.tools.db)
        self.trace = Trace()
        self.refused: set[int] = set()
        environment.get_response = self._respond

    @property
    def database_sha256(self) -> str:
        """Hash of the live database."""
        return self._hash

    def _respond(self, message: Any) -> Any:
        ordinal, self._ordinal = self._ordinal, self._ordinal + 1
        call = ToolCall(message.name, message.arguments)
        question = Question(call, self.state, self._trace_now())
        before = question.reservation
        is_write = call.tool in _WRITES and message.requestor == "assistant"
        ruling = self._gate.judge(question, len(self._conversation())) if is_write else Ruling(True)
        against = tuple(rule.id for rule in self._reference.refusals(question)) if is_write else ()
        if ruling.admitted:
            answer = self._original(message)
        else:
            self.refused.add(ordinal)
            answer = self._refusal(message, ruling)
        changed = False
        if ruling.admitted and not answer.error:
            self.trace = self.trace.after(call, before)
        if ruling.admitted and is_write:  # a tool that fails half way may have changed the database all the same
            now = benchmark.database_sha256(self._environment)
            changed, self._hash = now != self._hash, now
        self._write(DispatchRecord(ordinal, call.tool, dict(call.arguments), is_write, ruling.admitted, ruling.rules,
                                   against, ruling.repeated, bool(answer.error), changed, str(answer.content)))
        return answer

    def _refusal(self, message: Any, ruling: Ruling) -> Any:
        from tau2.data_model.message import ToolMessage
        text = render("notice" if self._rung is Rung.NOTICE else "refusal", reason=ruling.reason)
        # No error: the benchmark ends an episode after ten of them, and a model sees the words alone.
        return ToolMessage(id=message.id, role="tool", content=text, requestor=message.requestor, error=False)

    def _trace_now(self) -> Trace:
        messages = self._conversation()
        words = tuple(str(m.content) for m in messages if m.role == "user" and m.content)
        current = messages[-1] if messages else None
        calls = len(getattr(current, "tool_calls", None) or ()) or 1
        return Trace(self.trace.events, words, calls)


def without_refused(messages: Sequence[Any], refused: set[int]) -> list[Any]:
    """A trajectory without the calls that the gate kept from running, nor their results.

    Calls are told apart by their number, never by their id, which served models may repeat. Messages are copied;
    one that is left without any call goes.

    Parameters
    ----------
    messages : sequence of Message
        The trajectory: each message with calls is followed by as many results, in the same order.
    refused : set of int
        Numbers of the refused calls.
    """
    kept: list[Any] = []
    ordinal = 0
    results: list[bool] = []  # for the results still to come: whether the call ran
    for message in messages:
        if message.role == "tool":
            if results.pop(0):
                kept.append(message)
            continue
        calls = getattr(message, "tool_calls", None)
        if not calls:
            kept.append(message)
            continue
        ran = [number not in refused for number in range(ordinal, ordinal + len(calls))]
        ordinal += len(calls)
        results += ran
        if all(ran):
            kept.append(message)
        elif any(ran):
            remaining = [one for one, has_run in zip(calls, ran, strict=True) if has_run]
            kept.append(message.model_copy(update={"tool_calls": remaining}))
        elif message.content:
            kept.append(message.model_copy(update={"tool_calls": None}))
    return kept
