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
_ENOUGH = 0.5  # share of an action's words that a menu entry must have, to be taken for it


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

    def of_day(self, day: int) -> list[Intended]:
        """The intentions of a day."""
        return [one for one in self._all.values() if one.day == day]

    def pending(self, day: int) -> list[Intended]:
        """The pending intentions of a day."""
        return [one for one in self.of_day(day) if one.standing is Standing.PENDING]

    def open_from(self, day: int) -> list[Intended]:
        """What a text of that day can still change: intentions of the day and of later ones that aren't cancelled."""
        return [one for one in self._all.values() if one.day >= day and one.standing is not Standing.CANCELLED]

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
        trigger, channel = _trigger(operation, _WHEN[when]), ""
        if when == "channel":
            channel = str(operation.get("channel"))
            if channel not in self._channels:
                raise Unusable("channel is none of the channels")
        name = operation.get("day")
        if name is not None and name not in self._days:
            raise Unusable("day is no day of the week")
        day = self._days.index(name) if name is not None else today
        if day < today:
            raise Unusable(f"{name} is over")
        return Intended(f"i{len(self._all) + 1}", action, _WHEN[when], trigger, channel, day)

    @staticmethod
    def _changed(known: Intended, kind: str, operation: dict[str, Any]) -> Intended:
        if kind == "cancel":
            return replace(known, standing=Standing.CANCELLED)
        new = CueKind.TIME if kind == "retime" else CueKind.EVENT
        return replace(known, kind=new, trigger=_trigger(operation, new), channel="")

    def resolve(self, entry: Entry, day: int) -> list[Intended]:
        """The intentions of a day that a menu entry may mean: those whose actions share the most words with it.

        A judgement about words, made without the benchmark's files.
        """
        said = _telling(entry.words)
        shares = [(len(said & own) / len(own), one) for one in self.of_day(day) if (own := _telling(one.action))]
        best = max((share for share, _ in shares), default=0.0)
        return [one for share, one in shares if share == best] if best >= _ENOUGH else []

    def receipts(self, executed: Iterable[Entry], menu: Iterable[Entry], day: int) -> None:
        """Book as done what was executed and is gone from the next menu of the same day."""
        listed = {entry.handle for entry in menu}
        for entry in executed:
            if entry.handle not in listed:
                for one in self.resolve(entry, day):
                    if one.standing is Standing.PENDING:
                        self._all[one.id] = replace(one, standing=Standing.DONE)


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
