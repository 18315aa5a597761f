"""A week from a seed, with the released week's counts: 80 steps, 83 tasks, eleven updates, eleven channels.

Invariant: the same seed gives the same week everywhere.
"""

import random
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from artifact.harness.pmbench.week import (
    DAY_NAMES,
    FROM_START,
    Channel,
    Day,
    Lure,
    Options,
    StateEvent,
    Step,
    Task,
    Trigger,
    Update,
    UpdateKind,
    Week,
)

STEPS = (13, 13, 10, 11, 12, 10, 11)
EVENTS = (6, 6, 6, 6, 6, 6, 6)
CHANNELS = (3, 2, 2, 2, 2, 2, 2)
TIMES = (4, 4, 4, 4, 4, 3, 3)
NOTES = (2, 2, 2, 2, 2, 2, 2)  # tasks that a step of their own day announces
LATER = (0, 1, 1, 1, 1, 1, 2)  # tasks that a step of an earlier day announces
RESCHEDULES = (1, 1, 1, 1, 1, 1, 0)
OVERRIDES = (1, 0, 1, 0, 1, 0, 0)
CANCELS = (0, 1, 0, 0, 0, 0, 1)
_LURES_A_DAY = 5
_GAPS = (45, 55, 65, 75)  # minutes between two steps; some leave a later step inside a time task's late window
_FIRST = 7 * 60 + 30


@cache
def _wording() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("wording.toml").read_text("utf-8"))


@dataclass
class _Slot:
    """A step under construction."""

    time: str
    sentences: list[str] = field(default_factory=list)
    cues: list[str] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    events: list[StateEvent] = field(default_factory=list)
    is_special: bool = False  # it announces or changes something


@dataclass
class _Cue:
    """A trigger, the words for it, and what shows it when it comes."""

    trigger: Trigger
    condition: str
    shown: str = ""
    event: StateEvent | None = None


class _Maker:
    """Draws the parts of one week; a cue, an object and a lure are drawn once."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"pm-week:{seed}")
        words = _wording()
        self._text: dict[str, str] = words["text"]
        self._meetings = self._shuffled((person, meeting) for person, meeting in zip(
            words["people"], self._repeated(words["meetings"], len(words["people"])), strict=True))
        self._actions = self._shuffled((verb, thing) for verb, things in words["actions"] for thing in things)
        self._news = self._shuffled((channel["id"], *event) for channel in words["channels"]
                                    for event in channel["events"])
        self._lures = self._shuffled(words["lures"])
        self._slots = [self._empty_slots(count) for count in STEPS]
        self._plans: list[list[str]] = [[] for _ in STEPS]
        self._tasks: list[list[Task]] = [[] for _ in STEPS]
        self._numbers: defaultdict[str, int] = defaultdict(int)

    def _shuffled(self, things: Iterable[Any]) -> list[Any]:
        drawn = list(things)
        self._random.shuffle(drawn)
        return drawn

    def _repeated(self, things: Sequence[Any], count: int) -> list[Any]:
        return self._shuffled(things[number % len(things)] for number in range(count))

    def _empty_slots(self, count: int) -> list[_Slot]:
        clock, slots = _FIRST, []
        for _ in range(count):
            slots.append(_Slot(f"{clock // 60:02d}:{clock % 60:02d}", [self._random.choice(_wording()["scenes"])]))
            clock += self._random.choice(_GAPS)
        return slots

    def _id(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind}{self._numbers[kind]}"

    def _special(self, day: int, before: int) -> int:
        """A step of a day that announces nothing yet."""
        free = [place for place in range(1, before) if not self._slots[day][place].is_special]
        place = self._random.choice(free)
        self._slots[day][place].is_special = True
        return place

    def _place(self, day: int, after: int, but: int = -1) -> int:
        return self._random.choice([p for p in range(after + 1, len(self._slots[day])) if p != but])

    def _event_cue(self) -> _Cue:
        person, (condition, shown) = self._meetings.pop()
        return _Cue(Trigger(cue_id=self._id("cue")), condition.format(person=person), shown.format(person=person))

    def _channel_cue(self) -> _Cue:
        channel, condition, text = self._news.pop()
        event = StateEvent(id=self._id("news"), channel=channel, text=text)
        return _Cue(Trigger(cue_id=event.id, cue_channel=channel), condition, event=event)

    def _time_cue(self, day: int, place: int) -> _Cue:
        time = self._slots[day][place].time
        return _Cue(Trigger(target_time=time), time)

    def _stage(self, day: int, place: int, cue: _Cue) -> None:
        """Let a cue come at a step; a time comes by itself."""
        slot = self._slots[day][place]
        if cue.event is not None:
            slot.events.append(cue.event)
        elif cue.shown:
            slot.cues.append(str(cue.trigger.cue_id))
            slot.sentences.append(cue.shown)

    def _when(self, cue: _Cue, capital: bool = True) -> str:
        text = self._text["at_time"].format(time=cue.condition) if cue.trigger.target_time is not None else \
            self._text["when"].format(cue=cue.condition)
        return text if capital else text[0].lower() + text[1:]

    def make(self) -> Week:
        """Draw the week."""
        for day in range(len(STEPS)):
            self._fill(day)
        return Week(days=tuple(self._day(day) for day in range(len(STEPS))),
                    channels=tuple(Channel(id=one["id"], kind=one["kind"], default=one["default"])
                                   for one in _wording()["channels"]))

    def _fill(self, day: int) -> None:
        """Draw the tasks of one day: where they are announced, what changes them, where their cues come."""
        kinds = ["event"] * EVENTS[day] + ["channel"] * CHANNELS[day] + ["time"] * TIMES[day]
        updates = [UpdateKind.RESCHEDULE] * RESCHEDULES[day] + [UpdateKind.OVERRIDE] * OVERRIDES[day] + \
            [UpdateKind.CANCEL] * CANCELS[day]
        announced = self._shuffled([*["own"] * NOTES[day], *["earlier"] * LATER[day],
                                    *["plan"] * (len(kinds) - NOTES[day] - LATER[day])])
        for kind, where in zip(kinds, announced, strict=True):
            update = None
            if where == "plan":
                wanted = {"event": (UpdateKind.OVERRIDE, UpdateKind.CANCEL), "time": (UpdateKind.RESCHEDULE,)}
                update = next((one for one in updates if one in wanted.get(kind, ())), None)
            if update is not None:
                updates.remove(update)
            self._add(day, kind, where, update)
        assert not updates, "a day has more updates than tasks of the kind that they change"

    def _add(self, day: int, kind: str, where: str, update: UpdateKind | None) -> None:
        late_enough = len(self._slots[day]) - 3
        at = self._special(day, late_enough) if where == "own" or update is not None else -1
        place = self._place(day, at)
        cue = {"event": self._event_cue, "channel": self._channel_cue}.get(kind, lambda: self._time_cue(day, place))()
        self._stage(day, place, cue)
        verb, thing = self._actions.pop()
        action, encoding = f"{verb} {thing}", FROM_START
        if where == "plan":
            self._plans[day].append(self._text["plan_line"].format(trigger=self._when(cue), action=action))
        elif where == "own":
            self._slots[day][at].sentences.append(
                self._text["note"].format(trigger=self._when(cue, False), action=action))
            encoding = f"step:{_step_id(day, at)}"
        else:
            earlier = self._random.choice([one for one in range(day) if self._has_room(one)])
            at = self._special(earlier, len(self._slots[earlier]))
            self._slots[earlier][at].sentences.append(self._text["later"].format(
                day=DAY_NAMES[day], trigger=self._when(cue, False), action=action))
            encoding = f"step:{_step_id(earlier, at)}"
        trigger = cue.trigger
        task = Task(id=self._id("t"), label=thing, type="time" if kind == "time" else "event", cue_id=trigger.cue_id,
                    cue_channel=trigger.cue_channel, target_time=trigger.target_time, encoding=encoding,
                    action_text=action[0].upper() + action[1:])
        self._tasks[day].append(task)
        if update is not None:
            self._change(day, at, place, task, cue, update)

    def _has_room(self, day: int) -> bool:
        return any(not slot.is_special for slot in self._slots[day][1:])

    def _change(self, day: int, at: int, place: int, task: Task, cue: _Cue, kind: UpdateKind) -> None:
        """Announce a change before the old trigger comes; the old cue comes all the same."""
        new = None
        if kind is UpdateKind.RESCHEDULE:
            new = self._time_cue(day, self._place(day, at, but=place))
        elif kind is UpdateKind.OVERRIDE:
            new = self._event_cue()
            self._stage(day, self._place(day, at, but=place), new)
        slot = self._slots[day][at]
        slot.sentences.append(self._text[str(kind)].format(
            action=task.words[0].lower() + task.words[1:], old=cue.condition, new=new.condition if new else ""))
        trigger = new.trigger if new is not None else Trigger()
        slot.updates.append(Update(type=kind, task_id=task.id, cue_id=trigger.cue_id,
                                   target_time=trigger.target_time))

    def _day(self, day: int) -> Day:
        plan = [self._text["plan"].format(day=DAY_NAMES[day]), *self._shuffled(self._plans[day])]
        lures = tuple(Lure(id=self._id("lure"), label=self._lures.pop()) for _ in range(_LURES_A_DAY))
        steps = tuple(
            Step(id=_step_id(day, place), time=slot.time, text=" ".join(slot.sentences),
                 options=Options(**dict(zip("ABC", self._random.choice(_wording()["options"]), strict=True))),
                 cues=tuple(slot.cues), updates=tuple(slot.updates), state_events=tuple(slot.events))
            for place, slot in enumerate(self._slots[day]))
        return Day(day=DAY_NAMES[day], start_instructions="\n".join(plan),
                   tasks=tuple(self._shuffled(self._tasks[day])), lures=lures, steps=steps)


def _step_id(day: int, place: int) -> str:
    return f"{DAY_NAMES[day][:3].lower()}-{place + 1}"


def generate_week(seed: int) -> Week:
    """Generate a week.

    Parameters
    ----------
    seed : int
        Which week.
    """
    return _Maker(seed).make()
