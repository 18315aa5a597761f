"""One week as a file describes it: days with plans, tasks, lures and steps, and the channels that hide events.

The shape is the released file's as far as it is published; what is not published of it (the fields of an update and
of a state event, how channels are declared, the shape of the ground truth) is this project's own. A file that means
something else by its fields is found out where it names what doesn't exist, or where its own ground truth differs.
"""

import hashlib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from artifact.errors import RequestError

FROM_START = "start"
_STEP = "step:"
_NAME = Annotated[str, Field(min_length=1, max_length=200)]


class CueKind(StrEnum):
    """Where an intention's trigger can be seen: in the narrative, in a hidden channel, on the hidden clock."""

    EVENT = "event"
    CHANNEL = "channel"
    TIME = "time"


class UpdateKind(StrEnum):
    """What an update does: give another time or cue, put another trigger in the place of the first, call it off."""

    RESCHEDULE = "reschedule"
    OVERRIDE = "override"
    CANCEL = "cancel"


class ChannelKind(StrEnum):
    """What a channel answers: its value, or what happened since it was last asked."""

    SNAPSHOT = "snapshot"
    DELTA = "delta"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def minutes(clock: str) -> int:
    """Minutes since midnight of ``HH:MM``.

    Raises
    ------
    ValueError
        When it is no time of day.
    """
    hours, colon, rest = clock.partition(":")
    if not (colon and hours.isdecimal() and rest.isdecimal() and len(rest) == 2 and int(hours) < 24 and int(rest) < 60):
        raise ValueError(f"{clock[:20]!r} is no time of day such as 09:30")
    return int(hours) * 60 + int(rest)


def _checked_time(clock: str | None) -> str | None:
    if clock is not None:
        minutes(clock)
    return clock


class Trigger(_Part):
    """When something is due: at a cue of the narrative, at an event of a channel, or at a time."""

    cue_id: _NAME | None = None
    cue_channel: _NAME | None = None
    target_time: str | None = None

    _is_a_time = field_validator("target_time")(_checked_time)

    @property
    def words(self) -> str:
        """It in words, for messages."""
        return self.target_time or f"{self.cue_id} in {self.cue_channel or 'the narrative'}"

    @property
    def kind(self) -> CueKind:
        """Where it can be seen."""
        if self.target_time is not None:
            return CueKind.TIME
        return CueKind.EVENT if self.cue_channel is None else CueKind.CHANNEL


class Task(Trigger):
    """An intention as the environment knows it."""

    id: _NAME
    label: _NAME
    type: Literal["event", "time"]
    regular: bool = False
    encoding: _NAME = FROM_START
    action_text: str = ""

    @model_validator(mode="after")
    def _has_the_trigger_of_its_type(self) -> Self:
        if (self.target_time is None) != (self.type == "event") or (self.cue_id is None) != (self.type == "time"):
            raise ValueError("a task of type event has a cue_id, one of type time a target_time, and none has both")
        return self

    @property
    def trigger(self) -> Trigger:
        """Its trigger before any update."""
        return Trigger(cue_id=self.cue_id, cue_channel=self.cue_channel, target_time=self.target_time)

    @property
    def words(self) -> str:
        """What the menu calls it."""
        return self.action_text or self.label

    @property
    def announced_at(self) -> str | None:
        """Id of the step whose text announces it; None for the morning plan."""
        return self.encoding.removeprefix(_STEP) if self.encoding.startswith(_STEP) else None


class Lure(_Part):
    """A menu entry that is never an intention."""

    id: _NAME
    label: _NAME


class Update(Trigger):
    """A change that a step's text announces."""

    type: UpdateKind
    task_id: _NAME

    @model_validator(mode="after")
    def _says_what_is_new(self) -> Self:
        new = (self.cue_id is not None) + (self.target_time is not None)
        if new != (self.type is not UpdateKind.CANCEL):
            raise ValueError("an update has a new cue_id or a new target_time, and a cancel has neither")
        return self

    @property
    def trigger(self) -> Trigger | None:
        """The new trigger, None for a cancel."""
        if self.type is UpdateKind.CANCEL:
            return None
        return Trigger(cue_id=self.cue_id, cue_channel=self.cue_channel, target_time=self.target_time)


class StateEvent(_Part):
    """Something that happens in a channel: what it says, and the id by which a task may wait for it."""

    id: _NAME
    channel: _NAME
    text: _NAME


class Channel(_Part):
    """A state channel."""

    id: _NAME
    kind: ChannelKind = ChannelKind.DELTA
    default: str = ""


class Options(_Part):
    """The everyday choices of a step; never scored."""

    A: str
    B: str
    C: str


class Step(_Part):
    """One moment of a day."""

    id: _NAME
    time: str
    text: str
    options: Options
    cues: tuple[_NAME, ...] = ()
    updates: tuple[Update, ...] = ()
    state_events: tuple[StateEvent, ...] = ()
    groundtruth: object = Field(default=None, exclude=True)

    _is_a_time = field_validator("time")(_checked_time)

    def shows(self, trigger: Trigger) -> bool:
        """Whether a trigger comes at this step."""
        if trigger.target_time is not None:
            return minutes(self.time) == minutes(trigger.target_time)
        if trigger.cue_channel is None:
            return trigger.cue_id in self.cues
        return any((event.id, event.channel) == (trigger.cue_id, trigger.cue_channel) for event in self.state_events)

    @property
    def said_due(self) -> frozenset[str] | None:
        """The tasks that the file itself calls due, where it lists ids, or an object whose `due` does."""
        said = self.groundtruth.get("due") if isinstance(self.groundtruth, dict) else self.groundtruth
        ids = said if isinstance(said, (list, tuple)) else None
        return frozenset(ids) if ids is not None and all(isinstance(one, str) for one in ids) else None


class Day(_Part):
    """A day: what is planned in the morning, and what happens."""

    day: str = Field(default="", max_length=40)
    start_instructions: str
    tasks: tuple[Task, ...]
    lures: tuple[Lure, ...] = ()
    steps: tuple[Step, ...] = Field(min_length=1)


DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Week(_Part):
    """A whole week; what its parts name exists, and every id is the id of one thing."""

    days: tuple[Day, ...] = Field(min_length=1)
    channels: tuple[Channel, ...] = ()

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        tasks, steps = [task.id for _, task in self.tasks()], [step.id for _, step in self.steps()]
        lures = [lure.id for day in self.days for lure in day.lures]
        for what, ids in (("tasks and lures", tasks + lures), ("steps", steps),
                          ("channels", [one.id for one in self.channels])):
            if len(set(ids)) != len(ids):
                raise ValueError(f"two {what} have the same id")
        for _, task in self.tasks():
            if task.encoding != FROM_START and (task.announced_at is None or task.announced_at not in steps):
                raise ValueError(f"the encoding of task {task.id!r} is neither start nor the step of this week")
        for _, step in self.steps():
            if any(update.task_id not in tasks for update in step.updates):
                raise ValueError(f"an update of step {step.id!r} names no task of the week")
        days = {task.id: day for day, task in self.tasks()}
        triggers = [(task.id, task.trigger) for _, task in self.tasks()]
        triggers += [(update.task_id, update.trigger) for _, step in self.steps() for update in step.updates
                     if update.trigger is not None]
        for name, trigger in triggers:
            if not any(step.shows(trigger) for step in self.days[days[name]].steps):
                raise ValueError(f"the trigger of task {name!r} ({trigger.words}) comes in no step of its day")
        for day in self.days:
            times = [minutes(step.time) for step in day.steps]
            if times != sorted(times):
                raise ValueError(f"the steps of {day.day or 'a day'} are not in the order of their times")
        return self

    def tasks(self) -> Iterator[tuple[int, Task]]:
        """All tasks, each with the number of its day."""
        return ((number, task) for number, day in enumerate(self.days) for task in day.tasks)

    def steps(self) -> Iterator[tuple[int, Step]]:
        """All steps in order, each with the number of its day."""
        return ((number, step) for number, day in enumerate(self.days) for step in day.steps)

    def day_name(self, number: int) -> str:
        """What a day is called."""
        return self.days[number].day or DAY_NAMES[number % len(DAY_NAMES)]

    def all_channels(self) -> tuple[Channel, ...]:
        """The declared channels and, in the order of their ids, those that only events or tasks name."""
        declared = {channel.id for channel in self.channels}
        named = {event.channel for _, step in self.steps() for event in step.state_events}
        named |= {task.cue_channel for _, task in self.tasks() if task.cue_channel is not None}
        return (*self.channels, *(Channel(id=one) for one in sorted(named - declared)))

    @property
    def sha256(self) -> str:
        """Hash of the week's content."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def load_week(path: Path) -> Week:
    """Read a week file.

    Raises
    ------
    RequestError
        When the file is missing or has another shape; one sentence that names the first thing wrong.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RequestError(f"the week file {path} can't be read ({error.strerror}); name the released week's JSON file"
                           ) from None
    try:
        return Week.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        held = first["input"] if first["type"] == "missing" else None
        has = f"; it has {', '.join(sorted(map(str, held)))[:200]}" if isinstance(held, dict) and held else ""
        raise RequestError(f"{path} is no week file ({where}: {' '.join(str(first['msg']).split())}{has}); see "
                           "artifact.harness.pmbench.week for its shape") from None
