"""The task graph: steps, prerequisites, completion codes, and the revision operations (§3.1).

Invariant: a graph is a value. A revision gives a new graph and leaves the old one as it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from artifact.errors import RequestError


class BadGraph(RequestError):
    """A task graph that breaks a rule which every owned state must keep."""


@dataclass(frozen=True)
class Step:
    """One step of a plan.

    Parameters
    ----------
    id : str
        Name used in briefs and directives, e.g. ``"s3"``.
    text : str
        What the step does, in words.
    code : str
        Completion code, e.g. ``"RC-4808"``; empty when a compile left it out.
    prerequisites : tuple of str
        Ids of the steps that must be done before, in the order of the plan.
    """

    id: str
    text: str
    code: str
    prerequisites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Revision:
    """A mid-project change of plan (§3.1): one cancellation with its rewiring, one relaxed prerequisite.

    Parameters
    ----------
    cancel : str or None
        The step that is cancelled.
    rewires : tuple of (str, tuple of str)
        For each step whose prerequisites change because of it: the step and its full remaining prerequisites.
    relax : (str, str) or None
        A step and the one prerequisite that it drops.
    """

    cancel: str | None = None
    rewires: tuple[tuple[str, tuple[str, ...]], ...] = ()
    relax: tuple[str, str] | None = None


@dataclass(frozen=True)
class TaskGraph:
    """Steps, their prerequisites and the cancelled set: the (V, E) of §3.1.

    Building one checks nothing, because a graph compiled by a model may be wrong and must still be
    representable; `check` raises for owned states that a person or the generator supplies, and
    `artifact.taskstate.validate` lists what is wrong with a compiled one.

    Parameters
    ----------
    steps : tuple of Step
        In the order of the brief.
    cancelled : tuple of str
        Ids of the cancelled steps, sorted.
    """

    steps: tuple[Step, ...]
    cancelled: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Step]:
        """The steps by id."""
        return {step.id: step for step in self.steps}

    @cached_property
    def _by_code(self) -> Mapping[str, str | None]:
        owners: dict[str, str | None] = {}
        for step in self.steps:
            if step.code:
                owners[step.code] = None if step.code in owners else step.id
        return owners

    def __contains__(self, step: object) -> bool:
        return step in self.by_id

    def __getitem__(self, step: str) -> Step:
        try:
            return self.by_id[step]
        except KeyError:
            raise BadGraph(f"there is no step {step!r} in this plan; its steps are {', '.join(self.by_id)}") from None

    def step_with_code(self, code: str) -> str | None:
        """Id of the step that owns `code`, or None when no step or more than one does."""
        return self._by_code.get(code)

    def check(self) -> "TaskGraph":
        """Return this graph, or raise `BadGraph` with the first rule that it breaks."""
        seen: dict[str, str] = {}
        if len(self.by_id) != len(self.steps):
            ids = [step.id for step in self.steps]
            twice = next(i for i in ids if ids.count(i) > 1)
            raise BadGraph(f"step {twice!r} is listed twice; give each step an id of its own")
        for step in self.steps:
            if not step.code:
                raise BadGraph(f"step {step.id!r} has no completion code; give it one")
            if step.code in seen:
                raise BadGraph(f"steps {seen[step.code]!r} and {step.id!r} share the completion code {step.code}; "
                               "codes must differ")
            seen[step.code] = step.id
            for prerequisite in step.prerequisites:
                if prerequisite == step.id:
                    raise BadGraph(f"step {step.id!r} requires itself; remove the self-edge")
                if prerequisite not in self:
                    raise BadGraph(f"step {step.id!r} requires {prerequisite!r}, which is not in the plan; "
                                   "name a step of the plan")
        for step_id in self.cancelled:
            if step_id not in self:
                raise BadGraph(f"the cancelled step {step_id!r} is not in the plan; name a step of the plan")
        cycle = self.cycle()
        if cycle:
            raise BadGraph(f"the prerequisites run in a circle ({' -> '.join(cycle)}); remove one of them")
        return self

    def cycle(self) -> tuple[str, ...]:
        """A cycle of prerequisites, first and last element equal, or an empty tuple."""
        sorter = TopologicalSorter({step.id: step.prerequisites for step in self.steps})
        try:
            sorter.prepare()
        except CycleError as error:
            return tuple(error.args[1])
        return ()

    def dependents(self, step: str) -> tuple[str, ...]:
        """Ids of the steps that require `step`, in the order of the brief."""
        return tuple(other.id for other in self.steps if step in other.prerequisites)

    def cancel(self, step: str) -> "TaskGraph":
        """cancel(v): the step is owed no more."""
        return replace(self, cancelled=tuple(sorted({*self.cancelled, self[step].id})))

    def rewire(self, step: str, prerequisites: Iterable[str]) -> "TaskGraph":
        """rewire(w, P): replace the prerequisites of a step."""
        wanted = tuple(prerequisites)
        for prerequisite in wanted:
            self[prerequisite]
        return self._with(replace(self[step], prerequisites=wanted))

    def relax(self, step: str, prerequisite: str) -> "TaskGraph":
        """relax(w, u): drop one prerequisite of a step; dropping one that isn't there changes nothing."""
        kept = tuple(p for p in self[step].prerequisites if p != prerequisite)
        return self._with(replace(self[step], prerequisites=kept))

    def revise(self, revision: Revision) -> "TaskGraph":
        """Apply a whole revision: rewires and relaxation, then the cancellation."""
        graph = self
        for step, prerequisites in revision.rewires:
            graph = graph.rewire(step, prerequisites)
        if revision.relax is not None:
            graph = graph.relax(*revision.relax)
        if revision.cancel is not None:
            graph = graph.cancel(revision.cancel)
        return graph

    def _with(self, changed: Step) -> "TaskGraph":
        return replace(self, steps=tuple(changed if step.id == changed.id else step for step in self.steps))
