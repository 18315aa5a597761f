"""How right a compiled record is: its intentions against the week's own, from the log alone.

It bounds every rung that owns the record. The words of a cue can be put in many ways, so that of a trigger the place
where it can be seen and the time are compared, not the words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from artifact.harness.pmbench.record import Intended, Record, Standing, shared_words
from artifact.harness.pmbench.records import CompileRecord
from artifact.harness.pmbench.week import CueKind, Week


@dataclass(frozen=True)
class Meant:
    """What the record should say of one intention when the week is over.

    Parameters
    ----------
    action : str
        What to do.
    day : int
        The number of its day.
    kind : str
        Its `CueKind`.
    channel, time : str
        Where and at what time it comes due, each empty for none.
    is_cancelled : bool
        Whether it was called off.
    """

    action: str
    day: int
    kind: str
    channel: str = ""
    time: str = ""
    is_cancelled: bool = False


def meant_in(week: Week) -> tuple[Meant, ...]:
    """What the texts of a week mean, updates carried out."""
    updates = {update.task_id: update for _, step in week.steps() for update in step.updates}
    found = []
    for day, task in week.tasks():
        update = updates.get(task.id)
        trigger = (update.trigger if update is not None else None) or task.trigger
        found.append(Meant(task.words, day, str(trigger.kind), trigger.cue_channel or "", trigger.target_time or "",
                           update is not None and update.trigger is None))
    return tuple(found)


def rightly_recorded(meant: Sequence[Meant], compiles: Iterable[CompileRecord], days: Mapping[str, str],
                     channels: Sequence[str]) -> int:
    """How many intentions the compiled record has once and right.

    Parameters
    ----------
    meant : sequence of Meant
        The week's own.
    compiles : iterable of CompileRecord
        The operations, in order.
    days : mapping of str to str
        The day of each step, by its name, in the order of the week.
    channels : sequence of str
        The channels that there are.
    """
    names = list(dict.fromkeys(days.values()))
    record = Record(names, channels)
    for compiled in compiles:
        for operation in compiled.operations:
            record.apply(operation, names.index(days[compiled.step]))
    recorded = [one for day in range(len(names)) for one in record.of_day(day)]
    return sum(_is_right(one, [other for other in recorded if shared_words(one.action, other.action) == 1])
               for one in meant)


def _is_right(meant: Meant, recorded: Sequence[Intended]) -> bool:
    if len(recorded) != 1:
        return False
    one = recorded[0]
    if meant.is_cancelled:
        return one.standing is Standing.CANCELLED
    at = one.trigger if one.kind is CueKind.TIME else ""
    return (one.day, one.kind, one.channel, at.zfill(len("00:00")) if at else "", one.standing) == (
        meant.day, meant.kind, meant.channel, meant.time, Standing.PENDING)
