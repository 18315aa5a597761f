"""The simulated week: menus under shuffled handles, channels and clock that answer when asked, and what a choice does.

Invariant: what isn't asked for isn't told, and a task leaves the menu only by being done while it is due or late.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from artifact.harness.pmbench.truth import Intention, intentions
from artifact.harness.pmbench.week import ChannelKind, StateEvent, Step, Week, minutes

LURES = 3
CLOCK = "clock"


@dataclass(frozen=True)
class Entry:
    """One line of a menu: its handle, the task or lure behind it, and its words."""

    handle: str
    target: str
    words: str


@dataclass(frozen=True)
class Moment:
    """A step as the agent meets it.

    Parameters
    ----------
    index : int
        Its number in the week.
    day : int
        The number of its day.
    is_morning : bool
        Whether it opens its day.
    step : Step
        The step.
    menu : tuple of Entry
        What can be chosen.
    """

    index: int
    day: int
    is_morning: bool
    step: Step
    menu: tuple[Entry, ...]

    def target(self, handle: str) -> str | None:
        """The task or lure behind a handle, None when the menu doesn't list it."""
        return next((entry.target for entry in self.menu if entry.handle == handle), None)


class World:
    """A week as it goes by.

    Parameters
    ----------
    week : Week
        What happens.
    """

    def __init__(self, week: Week) -> None:
        self._week = week
        self._tasks = {task.id: task for _, task in week.tasks()}
        self._steps = list(week.steps())
        self._channels = {channel.id: channel for channel in week.all_channels()}
        self.intentions: dict[str, Intention] = {one.id: one for one in intentions(week)}
        self.done: set[str] = set()
        self.now = 0
        self.read: list[str] = []  # what was read at this step
        self._handles: dict[str, str] = {}
        self._handles_of_day = -1
        self._asked: dict[str, int] = {}  # per delta channel, up to which step it was told
        self._seen: dict[str, str] = {}  # per snapshot channel, the value told last

    def __len__(self) -> int:
        return len(self._steps)

    def moment(self, index: int) -> Moment:
        """The step of a number, with the menu as it is now."""
        day, step = self._steps[index]
        if index != self.now:
            self.now, self.read = index, []
        return Moment(index, day, index == 0 or self._steps[index - 1][0] != day, step, self._menu(index, day, step))

    def due(self, index: int) -> tuple[str, ...]:
        """The tasks that are due at a step and not done, sorted."""
        return tuple(sorted(name for name, one in self.intentions.items()
                            if name not in self.done and one.is_due(index)))

    def _menu(self, index: int, day: int, step: Step) -> tuple[Entry, ...]:
        name, lures = self._week.day_name(day), self._week.days[day].lures
        if self._handles_of_day != day:
            targets = [*(task.id for task in self._week.days[day].tasks), *(lure.id for lure in lures)]
            random.Random(f"{name}:handles").shuffle(targets)
            self._handles = {target: f"task_{number}" for number, target in enumerate(targets, start=1)}
            self._handles_of_day = day
        active = [task.id for task in self._week.days[day].tasks
                  if task.id not in self.done and self.intentions[task.id].active_from <= index]
        shown = random.Random(f"{name}:{step.id}:lures").sample(lures, min(LURES, len(lures)))
        words = {lure.id: lure.label for lure in shown} | {task: self._tasks[task].words for task in active}
        targets = [*active, *(lure.id for lure in shown)]
        random.Random(f"{name}:{step.id}:menu").shuffle(targets)
        return tuple(Entry(self._handles[target], target, words[target]) for target in targets)

    def clock(self, index: int) -> str:
        """Time of day, and the minutes since the day's first step."""
        self.read.append(CLOCK)
        day, step = self._steps[index]
        first = self._week.days[day].steps[0]
        return f"{step.time}, stopwatch {minutes(step.time) - minutes(first.time)} min"

    def query(self, channel: str, index: int) -> str | None:
        """What a channel says at a step; None when there is no such channel."""
        known = self._channels.get(channel)
        if known is None:
            return None
        self.read.append(channel)
        if known.kind is ChannelKind.DELTA:
            news = [event for at in range(self._asked.get(channel, 0), index + 1)
                    for event in self._events(channel, at)]
            self._asked[channel] = index + 1
            return "; ".join(event.text for event in news) or known.default or "nothing new"
        current = self._events(channel, index)
        value = "; ".join(event.text for event in current) or self._seen.get(channel, known.default)
        value = value or "nothing to report"
        self._seen[channel] = value
        return value

    def _events(self, channel: str, index: int) -> list[StateEvent]:
        return [event for event in self._steps[index][1].state_events if event.channel == channel]

    def execute(self, targets: Iterable[str], index: int) -> None:
        """Carry out what was chosen: what is due or late is done, everything else has no effect."""
        for target in targets:
            one = self.intentions.get(target)
            if one is not None and (one.is_due(index) or one.is_late(index)):
                self.done.add(target)
