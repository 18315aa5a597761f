"""The gate in front of two plain functions: nothing is paid before it is ordered, and nothing is done twice."""
from artifact import Gate
from artifact.taskstate import Step, TaskGraph

gate = Gate(TaskGraph((Step("order", "order seals", "order"), Step("pay", "pay the bill", "pay", ("order",)))).check())


def gated(step, function):
    def call(work_order):
        verdict = gate.check(step)
        if not verdict.allowed:
            return f"refused: {verdict.reason}"
        result = function(work_order)
        gate.receipt(step, work_order=work_order)
        return result
    return call
