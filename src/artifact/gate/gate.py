"""The gate: owned task state put in front of an agent's actions.

It owns a task state, says what the state implies, is asked before an action and told the evidence after it.
The gate arms and the harnesses use this same object, and so can any agent: `artifact.Gate`.

Invariants: a step becomes done only by a receipt; the state admits no second and no cancelled execution.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from artifact.gate.wording import Render, checklist_in_words, paper_words
from artifact.taskstate import Corruption, Decision, Receipt, Revision, Status, TaskGraph, TaskState


class DirectiveKind(StrEnum):
    """What the state implies for a requested step."""

    ELIGIBLE = "eligible"
    BLOCKED = "blocked"
    DONE = "done"
    REDO = "redo"
    CANCELLED = "cancelled"
    OPEN = "open"  # a kept gate's alone: a call was begun, and nothing is known of it since


@dataclass(frozen=True)
class Verdict:
    """The gate's answer for one action.

    Parameters
    ----------
    allowed : bool
        Whether the action may run.
    decision : Decision or None
        The state behind it; None when the gate knows no such step.
    reason : str
        Why not, in words; empty when allowed.
    """

    allowed: bool
    decision: Decision | None
    reason: str = ""


_REASONS = {
    Status.BLOCKED: "step {step} is BLOCKED",
    Status.DONE: "step {step} is already DONE",
    Status.CANCELLED: "step {step} was CANCELLED",
}


class Gate:
    """Owns a task state and couples it to an agent.

    Parameters
    ----------
    graph : TaskGraph
        The plan; check one that a person wrote with `TaskGraph.check` first.

    Examples
    --------
    >>> from artifact.taskstate import Step, TaskGraph
    >>> gate = Gate(TaskGraph((Step("s1", "order", "RC-1001"), Step("s2", "pay", "RC-1002", ("s1",)))).check())
    >>> gate.check("s2").reason
    'step s2 is BLOCKED'
    >>> gate.directive_text("s1")
    '[TASK-STATE] step s1 is ELIGIBLE. Carry it out now.'
    >>> gate.receipt("s1", work_order="#W0001")
    >>> gate.check("s2").allowed, gate.check("s1").reason
    (True, 'step s1 is already DONE')
    """

    def __init__(self, graph: TaskGraph) -> None:
        self._state = TaskState(graph)
        self._receipts: list[Receipt] = []

    @property
    def state(self) -> TaskState:
        """The state now."""
        return self._state

    def authorize(self, *steps: str) -> None:
        """Let the current request redo these done steps (and no others)."""
        self._state = self._state.authorize(steps)

    def check(self, step: str | None) -> Verdict:
        """Ask before an action: allow or refuse, with the reason in words."""
        if step is None or step not in self._state.graph:
            return Verdict(False, None, "no step of the plan has this completion code")
        decision = self._state.decide(step)
        return Verdict(decision.allowed, decision,
                       "" if decision.allowed else _REASONS[decision.status].format(step=step))

    def receipt(self, step: str, *, work_order: str, turn: int = 0) -> None:
        """Tell the evidence after an action: the step was executed for this work order."""
        state = self._state.execute(step, work_order, turn)
        self._state = state.authorize(state.authorized - {step})  # a redo that was ordered once is done once
        self._receipts.append(self._state.receipts[-1])

    def directive(self, step: str) -> DirectiveKind:
        """What the state implies for a request of this step."""
        decision = self._state.decide(step)
        if decision.allowed:
            return DirectiveKind.ELIGIBLE if decision.status is Status.TODO else DirectiveKind.REDO
        return DirectiveKind(decision.status.value)

    def directive_text(self, step: str, render: Render = paper_words, named: str = "") -> str:
        """The directive for a request of this step, in words.

        Parameters
        ----------
        step : str
            The step that is requested.
        render : Render
            Fills in the texts; those of the prompt set `paper` by default.
        named : str
            How the directive names the step; by its id where empty.
        """
        return render(f"directive_{self.directive(step)}", step=named or step,
                      missing=", ".join(self._state.decide(step).missing))

    def checklist(self, render: Render = paper_words) -> str:
        """The state in words, one line a step."""
        return checklist_in_words(self._state, render)

    def revise(self, revision: Revision) -> None:
        """Take a change of plan."""
        self._state = self._state.revise(revision)

    def disturb(self, corruption: Corruption, turn: int) -> None:
        """Corrupt the state on purpose, for the corrupted-state ablation."""
        self._state = corruption.apply(self._state, turn)

    def rebuild(self) -> None:
        """Rebuild the done bits from the receipts, so that none that was lost or made up lasts (Appendix D.4)."""
        self._state = replace(self._state, receipts=self.receipts)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """Every accepted booking so far: append-only, and out of reach of `disturb`."""
        return tuple(self._receipts)
