"""How well compiled rules stand for the policy: their verdicts beside the reference's on the same calls.

The calls are the benchmark's gold writes, judged on the state that the gold calls before them leave, and the wrong
writes of every rule's kind. Each is asked as the call of an agent that prepared it: the user gave an id and agreed, and
what the call is about was looked up. Otherwise a rule that rightly waits for a yes would seem to refuse everything.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.database import BenchmarkDatabase
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.rules import RuleSet, reference_rules
from artifact.harness.tau2.trace import Event, ToolCall, Trace
from artifact.harness.tau2.wrong_writes import wrong_writes

AGREES = "Yes, please go ahead."


@dataclass(frozen=True)
class Probe:
    """A call on which rules are compared: after these calls, this write."""

    is_gold: bool
    name: str
    prior: tuple[ToolCall, ...]
    call: ToolCall


@dataclass(frozen=True)
class Agreement:
    """What rules say of the probes.

    Parameters
    ----------
    probes, agreed : int
        Calls, and how many of them get the reference's verdict.
    missed : int
        Calls that the reference refuses and these rules admit.
    wrongly_refused : int
        Calls that the reference admits and these rules refuse.
    verdicts : tuple of bool
        Whether each call is refused, in the order of the probes: compiles are compared by it.
    asked_sha256 : str
        Hash over calls, conversations and the reference: verdicts under two hashes can't be compared.
    """

    probes: int
    agreed: int
    missed: int
    wrongly_refused: int
    verdicts: tuple[bool, ...]
    asked_sha256: str = ""

    @property
    def refused_by_reference(self) -> int:
        """Calls that the reference refuses."""
        return self.missed + sum(self.verdicts) - self.wrongly_refused


@cache
def probes() -> tuple[Probe, ...]:
    """The gold writes and the wrong writes."""
    found: list[Probe] = []
    for task in benchmark.tasks().values():
        calls = [ToolCall(name, arguments) for name, arguments in benchmark.gold_calls(task)]
        found += [Probe(True, task.id, tuple(calls[:place]), call) for place, call in enumerate(calls)
                  if call.tool in set(WriteTool)]
    database = _untouched().tools.db
    found += [Probe(False, f"{wrong.rule}.{number}", wrong.prior, wrong.call)
              for number, wrong in enumerate(wrong_writes(database), start=1)]
    return tuple(found)


@cache
def asked_sha256() -> str:
    """Hash over all that is asked, and of whom it is the truth."""
    calls = [[one.canonical for one in (*probe.prior, probe.call)] for probe in probes()]
    return hashlib.sha256(json.dumps([reference_rules().sha256, AGREES, calls]).encode()).hexdigest()


@cache
def _untouched() -> Any:
    return benchmark.environment()


def asked(probe: Probe) -> Question:
    """A probe's call on the state that the calls before it leave, in a conversation that holds nothing but them."""
    from tau2.data_model.message import ToolCall as Wire
    writes = any(call.tool in set(WriteTool) for call in probe.prior)
    environment = benchmark.environment() if writes else _untouched()
    state, trace = BenchmarkDatabase(environment.tools.db), Trace()
    for call in probe.prior:
        before = Question(call, state, trace).reservation
        wire = Wire(id="probe", name=str(call.tool), arguments=dict(call.arguments))
        if not environment.get_response(wire).error:
            trace = trace.after(call, before)
    return Question(probe.call, state, trace)


def prepared(question: Question, says: str = AGREES) -> Question:
    """The same call in the conversation of an agent that prepared it.

    Parameters
    ----------
    question : Question
        The call, and the calls before it. A profile that was looked up there stays the only one: whether it is the
        right one is what a rule may be about.
    says : str
        The user's last message.
    """
    trace = question.trace
    identified = [str(call.arguments["user_id"]) for call in trace.of("get_user_details")]
    looked_up: list[ToolCall] = []
    if not identified and question.customer is not None:
        identified = [question.customer.id]
        looked_up.append(ToolCall("get_user_details", {"user_id": question.customer.id}))
    if question.reservation is not None:
        looked_up.append(ToolCall("get_reservation_details", {"reservation_id": question.reservation.id}))
    words = (*(f"My user id is {name}." for name in identified[:1]), says)
    return replace(question, trace=replace(trace, events=(*map(Event, looked_up), *trace.events), user_messages=words))


def agreements(compiled: Sequence[RuleSet]) -> tuple[Agreement, ...]:
    """Compare rule sets with the reference.

    Parameters
    ----------
    compiled : sequence of RuleSet
        Repeated compiles of one policy; each is compared on the same calls.
    """
    reference = reference_rules()
    truth: list[bool] = []
    verdicts: list[list[bool]] = [[] for _ in compiled]
    for question in map(prepared, map(asked, probes())):
        truth.append(bool(reference.refusals(question)))
        for rules, said in zip(compiled, verdicts, strict=True):
            said.append(bool(rules.refusals(question)))
    return tuple(Agreement(len(truth), sum(map(bool.__eq__, truth, said)),
                           sum(right and not ours for right, ours in zip(truth, said, strict=True)),
                           sum(ours and not right for right, ours in zip(truth, said, strict=True)), tuple(said),
                           asked_sha256())
                 for said in verdicts)
