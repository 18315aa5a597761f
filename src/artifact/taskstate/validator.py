"""What can be seen to be wrong with a compiled graph without any ground truth (Appendix D.3)."""

from dataclasses import dataclass
from enum import StrEnum

from artifact.taskstate.graph import TaskGraph


class Defect(StrEnum):
    """Kinds of defect that the validator flags."""

    EMPTY_CODE = "empty_code"
    DUPLICATE_CODE = "duplicate_code"
    CANCELLED_PREREQUISITE = "cancelled_prerequisite"
    CYCLE = "cycle"


@dataclass(frozen=True)
class Finding:
    """One defect and the steps that it concerns."""

    defect: Defect
    steps: tuple[str, ...]


def validate(graph: TaskGraph) -> list[Finding]:
    """Defects of a graph, seen from the graph alone.

    Parameters
    ----------
    graph : TaskGraph
        Usually compiled by a model, with the revision applied where there was one.

    Returns
    -------
    list of Finding
        Empty when nothing is wrong. A step whose code is empty or shared can never be booked; a
        cancelled prerequisite or a cycle keeps every step behind it blocked.
    """
    findings = []
    for step in graph.steps:
        if not step.code:
            findings.append(Finding(Defect.EMPTY_CODE, (step.id,)))
        elif graph.step_with_code(step.code) is None:
            findings.append(Finding(Defect.DUPLICATE_CODE, (step.id,)))
        if step.id not in graph.cancelled:
            findings += [Finding(Defect.CANCELLED_PREREQUISITE, (step.id, p))
                         for p in step.prerequisites if p in graph.cancelled]
    cycle = graph.cycle()
    if cycle:
        findings.append(Finding(Defect.CYCLE, cycle))
    return findings
