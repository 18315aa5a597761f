"""When each intention is due, late or called off: what the environment and the scorer go by.

Steps are counted over the whole week. A version of an intention is in force from the step whose text announces it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from artifact.errors import RequestError
from artifact.harness.pmbench.week import CueKind, Step, Trigger, Week, minutes

LATE_MINUTES = 60
"""A time task may be done up to so much later; an event task, one step later."""


@dataclass(frozen=True)
class Version:
    """One version of an intention.

    Parameters
    ----------
    since : int
        The step from which on it is in force.
    kind : str
        Its `CueKind`; that of the version before where it is called off.
    due, late : tuple of int
        The steps at which it is due, and those at which doing it is late.
    is_cancelled : bool
        Whether it is called off.
    """

    since: int
    kind: str
    due: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    is_cancelled: bool = False


@dataclass(frozen=True)
class Intention:
    """One intention through the week.

    Parameters
    ----------
    id : str
        The task's.
    active_from, active_until : int
        The first step at which the menu may list it, and the first at which it no longer does.
    versions : tuple of Version
        In the order in which they came into force.
    """

    id: str
    active_from: int
    active_until: int
    versions: tuple[Version, ...]

    def at(self, step: int) -> Version:
        """The version in force at a step."""
        return [version for version in self.versions if version.since <= step or version is self.versions[0]][-1]

    @property
    def is_scored(self) -> bool:
        """Whether it stands at the end."""
        return not self.versions[-1].is_cancelled

    @property
    def kind(self) -> str:
        """Where its last version's trigger can be seen."""
        return self.versions[-1].kind

    def is_due(self, step: int) -> bool:
        """Whether the version in force is due at a step."""
        return self.active_from <= step < self.active_until and step in self.at(step).due

    def is_late(self, step: int) -> bool:
        """Whether doing it at a step is late by the version in force."""
        return self.active_from <= step < self.active_until and step in self.at(step).late

    def is_updated(self, step: int) -> bool:
        """Whether an update of it is in force at a step."""
        return self.at(step) is not self.versions[0]


def intentions(week: Week) -> tuple[Intention, ...]:
    """All intentions of a week, in the order of their days."""
    steps = list(week.steps())
    place = {step.id: index for index, (_, step) in enumerate(steps)}
    updates = [(index, update) for index, (_, step) in enumerate(steps) for update in step.updates]
    found = []
    for day, task in week.tasks():
        indices = [index for index, (number, _) in enumerate(steps) if number == day]
        announced = place[task.announced_at] if task.announced_at is not None else indices[0]
        active_from = max(announced, indices[0])
        versions = [_version(task.trigger, 0, indices, [steps[index][1] for index in indices])]
        for since, update in updates:
            if update.task_id == task.id:
                versions.append(
                    Version(since, versions[-1].kind, is_cancelled=True) if update.trigger is None else
                    _version(update.trigger, since, indices, [steps[index][1] for index in indices]))
        found.append(Intention(task.id, active_from, indices[-1] + 1, tuple(versions)))
    return tuple(found)


def _version(trigger: Trigger, since: int, indices: Sequence[int], steps: Sequence[Step]) -> Version:
    if trigger.kind is CueKind.TIME:
        target = minutes(str(trigger.target_time))
        behind = [minutes(step.time) - target for step in steps]
        due = [index for index, past in zip(indices, behind, strict=True) if past == 0]
        late = [index for index, past in zip(indices, behind, strict=True) if 0 < past <= LATE_MINUTES]
        return Version(since, CueKind.TIME, tuple(due), tuple(late))
    due = [index for index, step in zip(indices, steps, strict=True) if step.shows(trigger)]
    late = [index + 1 for index in due if index + 1 in indices and index + 1 not in due]
    return Version(since, str(trigger.kind), tuple(due), tuple(late))


def check_ground_truth(week: Week) -> None:
    """Compare what a week file calls due with what follows from its triggers and updates.

    Raises
    ------
    RequestError
        Where they differ; the message names the first such step.
    """
    known = intentions(week)
    for index, (_, step) in enumerate(week.steps()):
        due = {one.id for one in known if one.is_due(index)}
        if step.said_due is not None and step.said_due != due:
            raise RequestError(f"the week file's own ground truth of step {step.id!r} is "
                               f"{', '.join(sorted(step.said_due)) or 'nothing'}, but by its triggers and updates "
                               f"{', '.join(sorted(due)) or 'nothing'} is due there; it can't be run as it is read")

