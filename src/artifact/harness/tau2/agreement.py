"""How well compiled rules stand for the policy: their verdicts beside the reference's on the same calls.

The calls are the benchmark's gold writes, judged on the state that the gold calls before them leave, and the wrong
writes of every rule's kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.database import BenchmarkDatabase
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.rules import RuleSet, reference_rules
from artifact.harness.tau2.trace import ToolCall, Trace
from artifact.harness.tau2.wrong_writes import wrong_writes


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
    """

    probes: int
    agreed: int
    missed: int
    wrongly_refused: int
    verdicts: tuple[bool, ...]


@cache
def probes() -> tuple[Probe, ...]:
    """The gold writes and the wrong writes."""
    found: list[Probe] = []
    for task in benchmark.tasks().values():
        calls = [ToolCall(name, arguments) for name, arguments in benchmark.gold_calls(task)]
        found += [Probe(True, task.id, tuple(calls[:place]), call) for place, call in enumerate(calls)
                  if call.tool in set(WriteTool)]
    database = benchmark.environment().tools.db
    found += [Probe(False, f"{wrong.rule}.{number}", wrong.prior, wrong.call)
              for number, wrong in enumerate(wrong_writes(database), start=1)]
    return tuple(found)


def _questions(chosen: Sequence[Probe]) -> Iterator[Question]:
    from tau2.data_model.message import ToolCall as Wire
    for probe in chosen:
        environment = benchmark.environment()
        state, trace = BenchmarkDatabase(environment.tools.db), Trace()
        for call in probe.prior:
            before = Question(call, state, trace).reservation
            wire = Wire(id="probe", name=str(call.tool), arguments=dict(call.arguments))
            if not environment.get_response(wire).error:
                trace = trace.after(call, before)
        yield Question(probe.call, state, trace)


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
    for question in _questions(probes()):
        truth.append(bool(reference.refusals(question)))
        for rules, said in zip(compiled, verdicts, strict=True):
            said.append(bool(rules.refusals(question)))
    return tuple(Agreement(len(truth), sum(map(bool.__eq__, truth, said)),
                           sum(right and not ours for right, ours in zip(truth, said, strict=True)),
                           sum(ours and not right for right, ours in zip(truth, said, strict=True)), tuple(said))
                 for said in verdicts)
