"""The intention record: what is intended, when, for which day, and whether it is pending, done or cancelled.

Invariant: it is made of compiled operations and receipts alone. An intention is done when a handle that was executed
is gone from the next menu, and in no other way.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from artifact.arms.structured import Unusable
from artifact.harness.pmbench.environment import Entry
from artifact.harness.pmbench.week import CueKind, minutes

_WHEN = {"cue": CueKind.EVENT, "time": CueKind.TIME, "channel": CueKind.CHANNEL}
_LONGEST = 200
# Words that stand in many actions and tell none of them apart.
_COMMON = frozenset(("a", "an", "and", "at", "for", "from", "in", "into", "of", "off", "on", "out", "that", "the",
                     "this", "to", "up", "with", "your"))
_MOST = 0.5  # a menu entry may mean an action when it has more than this share of the action's words


class Standing(StrEnum):
    """The status of an intention in the record."""

    PENDING = "pending"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Intended:
    """One intention as it was compiled.

    Parameters
    ----------
    id : str
        Its name in the record.
    action : str
        What to do.
    kind : CueKind
        Where its trigger can be seen.
    trigger : str
        The words of the cue, the time, or what the channel has to show.
    channel : str
        The channel it waits for, empty for none.
    day : int
        The number of its day.
    standing : Standing
        Its status.
    """

    id: str
    action: str
    kind: CueKind
    trigger: str
    channel: str
    day: int
    standing: Standing = Standing.PENDING

    @property
    def condition(self) -> str:
        """Its trigger in words."""
        if self.kind is CueKind.TIME:
            return f"at {self.trigger}"
        return f"when {self.channel} shows {self.trigger}" if self.kind is CueKind.CHANNEL else f"when {self.trigger}"


class Record:
    """The record of one run of a week.

    Parameters
    ----------
    days : sequence of str
        The names of the week's days.
    channels : sequence of str
        The channels that there are.
    """

    def __init__(self, days: Sequence[str], channels: Sequence[str]) -> None:
        self._days, self._channels = list(days), frozenset(channels)
        self._all: dict[str, Intended] = {}

    def __len__(self) -> int:
        return len(self._all)

    def day_name(self, day: int) -> str:
        """What a day is called."""
        return self._days[day]

    def of_day(self, day: int) -> list[Intended]:
        """The intentions of a day."""
        return [one for one in self._all.values() if one.day == day]

    def pending(self, day: int) -> list[Intended]:
        """The pending intentions of a day."""
        return [one for one in self.of_day(day) if one.standing is Standing.PENDING]

    def open_from(self, day: int) -> list[Intended]:
        """What a text of that day can still change: intentions of the day and of later ones that aren't cancelled."""
        return [one for one in self._all.values() if one.day >= day and one.standing is not Standing.CANCELLED]

    def get(self, name: str) -> Intended | None:
        """The intention of a name in the record."""
        return self._all.get(name)

    def apply(self, operation: dict[str, Any], today: int) -> None:
        """Carry out one compiled operation.

        Raises
        ------
        Unusable
            When it can't be carried out; nothing is changed then.
        """
        kind = operation.get("op")
        if kind == "add":
            one = self._added(operation, today)
        elif kind in ("cancel", "retime", "recue"):
            known = self._all.get(str(operation.get("id")))
            if known is None:
                raise Unusable(f"{kind} names no intention of the record")
            one = self._changed(known, str(kind), operation)
        else:
            raise Unusable("op is none of add, cancel, retime, recue")
        self._all[one.id] = one

    def _added(self, operation: dict[str, Any], today: int) -> Intended:
        action, when = _words(operation, "action"), operation.get("when")
        if when not in _WHEN:
            raise Unusable("when is none of cue, time, channel")
        trigger = _trigger(operation, _WHEN[when])
        channel = self._channel(operation) if when == "channel" else ""
        name = operation.get("day")
        if name is not None and name not in self._days:
            raise Unusable("day is no day of the week")
        day = self._days.index(name) if name is not None else today
        if day < today:
            raise Unusable(f"{name} is over")
        return Intended(f"i{len(self._all) + 1}", action, _WHEN[when], trigger, channel, day)

    def _changed(self, known: Intended, kind: str, operation: dict[str, Any]) -> Intended:
        if kind == "cancel":
            return replace(known, standing=Standing.CANCELLED)
        channel = self._channel(operation) if kind == "recue" and operation.get("channel") is not None else ""
        new = CueKind.TIME if kind == "retime" else CueKind.CHANNEL if channel else CueKind.EVENT
        return replace(known, kind=new, trigger=_trigger(operation, new), channel=channel)

    def _channel(self, operation: dict[str, Any]) -> str:
        channel = str(operation.get("channel"))
        if channel not in self._channels:
            raise Unusable("channel is none of the channels")
        return channel

    def resolve(self, entry: Entry, day: int) -> list[Intended]:
        """The intentions of a day that a menu entry may mean: those whose actions share the most words with it.

        A judgement about words, made without the benchmark's files.
        """
        shares = [(shared_words(one.action, entry.words), one) for one in self.of_day(day)]
        best = max((share for share, _ in shares), default=0.0)
        return [one for share, one in shares if share == best] if best > _MOST else []

    def receipts(self, executed: Iterable[Entry], menu: Iterable[Entry], day: int) -> None:
        """Book as done what was executed and is gone from the next menu of the same day.

        One entry books one intention: of several that its words may mean, none.
        """
        listed = {entry.handle for entry in menu}
        for entry in executed:
            meant = [one for one in self.resolve(entry, day) if one.standing is Standing.PENDING]
            if entry.handle not in listed and len(meant) == 1:
                self._all[meant[0].id] = replace(meant[0], standing=Standing.DONE)


def shared_words(part: str, text: str) -> float:
    """Share of the words of one text that tell it apart and stand in another, 0 where it has none."""
    own = _telling(part)
    return len(own & _telling(text)) / len(own) if own else 0.0


def says_most_of(text: str, part: str) -> bool:
    """Whether a text has most of the words of another, or that one has none to go by."""
    return not _telling(part) or shared_words(part, text) > _MOST


def _words(operation: dict[str, Any], name: str) -> str:
    value = operation.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unusable(f"{operation.get('op')} has no {name}")
    return " ".join(value.split())[:_LONGEST]


def _trigger(operation: dict[str, Any], kind: CueKind) -> str:
    trigger = _words(operation, "trigger")
    if kind is CueKind.TIME:
        try:
            minutes(trigger)
        except ValueError as error:
            raise Unusable(str(error)) from None
    return trigger


def _telling(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower())) - _COMMON
