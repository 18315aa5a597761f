"""The gate in front of two plain functions: nothing is paid before it is ordered, and nothing is done twice."""
from artifact import KeptGate
from artifact.taskstate import Step, TaskGraph

PLAN = TaskGraph((Step("order", "order seals", "order"), Step("pay", "pay the bill", "pay", ("order",)))).check()


def gated(gate: KeptGate, step, function):
    def call(work_order):
        verdict = gate.begin(step, work_order=work_order)
        if not verdict.allowed:
            return f"refused: {verdict.reason}"
        # Where it raises, its work may be done all the same: the call stays open until `gate.settle` gets the evidence.
        result = function(work_order)
        gate.receipt(step, work_order=work_order)
        return result
    return call
