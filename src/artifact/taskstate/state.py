"""Task state: a graph plus receipts, from which every status is derived (§3.1).

Invariant: status is derived, never asserted. There is no way to set one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from artifact.taskstate.graph import Revision, TaskGraph
from artifact.taskstate.receipts import Receipt


class Status(StrEnum):
    """σ(v) of §3.1."""

    TODO = "todo"
    BLOCKED = "blocked"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Decision:
    """What the state says about executing one step now.

    Parameters
    ----------
    step : str
        The step in question.
    status : Status
        Its status.
    allowed : bool
        Whether executing it now is right by the state: todo, or done and authorized.
    missing : tuple of str
        Prerequisites that are not done, for a blocked step.
    """

    step: str
    status: Status
    allowed: bool
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskState:
    """The task-state machine G = (V, E, σ, α): graph, receipts, authorized redos.

    Parameters
    ----------
    graph : TaskGraph
        Steps and prerequisites, revisions applied.
    receipts : tuple of Receipt
        Accepted bookings so far, oldest first.
    authorized : frozenset of str
        α: done steps whose re-execution the current request orders.
    """

    graph: TaskGraph
    receipts: tuple[Receipt, ...] = ()
    authorized: frozenset[str] = frozenset()

    @cached_property
    def done(self) -> frozenset[str]:
        """Steps with a receipt, cancelled ones included."""
        return frozenset(receipt.step for receipt in self.receipts)

    def missing(self, step: str) -> tuple[str, ...]:
        """Prerequisites of a step that are not done, in the order of the plan."""
        return tuple(p for p in self.graph[step].prerequisites if p not in self.done)

    def status(self, step: str) -> Status:
        """σ(step)."""
        if step in self.graph.cancelled:
            return Status.CANCELLED
        if step in self.done:
            return Status.DONE
        return Status.BLOCKED if self.missing(step) else Status.TODO

    def decide(self, step: str) -> Decision:
        """Whether the state admits executing `step` now, and why."""
        status = self.status(step)
        allowed = status is Status.TODO or (status is Status.DONE and step in self.authorized)
        return Decision(step, status, allowed, self.missing(step) if status is Status.BLOCKED else ())

    def execute(self, step: str, work_order: str, turn: int) -> "TaskState":
        """The state after an accepted booking."""
        return replace(self, receipts=(*self.receipts, Receipt(self.graph[step].id, work_order, turn)))

    def authorize(self, steps: Iterable[str]) -> "TaskState":
        """The state in which the current request authorizes the redo of `steps` (those that are done)."""
        return replace(self, authorized=frozenset(steps) & self.done)

    def revise(self, revision: Revision) -> "TaskState":
        """The state after a change of plan; receipts stay."""
        return replace(self, graph=self.graph.revise(revision))
