"""What has happened in an episode so far, as far as rules may ask for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from artifact.harness.tau2.state import Reservation


@dataclass(frozen=True)
class ToolCall:
    """A call that the agent proposes or made: tool and arguments are the agent's words, so data."""

    tool: str
    arguments: Mapping[str, Any]

    @property
    def canonical(self) -> str:
        """Tool and arguments as JSON with sorted keys: equal calls, equal text."""
        return json.dumps([self.tool, self.arguments], sort_keys=True, separators=(",", ":"), default=str)


@dataclass(frozen=True)
class Event:
    """An executed call. One that erred executed nothing and is no event.

    Parameters
    ----------
    call : ToolCall
        What was executed.
    before : Reservation or None
        The reservation that the call is about, as it was just before.
    """

    call: ToolCall
    before: Reservation | None = None


@dataclass(frozen=True)
class Trace:
    """The episode so far.

    Parameters
    ----------
    events : tuple of Event
        Executed calls, in order.
    user_messages : tuple of str
        What the user wrote.
    calls_in_message : int
        How many calls the agent's current message makes.
    """

    events: tuple[Event, ...] = ()
    user_messages: tuple[str, ...] = ()
    calls_in_message: int = field(default=1)

    def after(self, call: ToolCall, before: Reservation | None) -> "Trace":
        """The trace with one more executed call."""
        return replace(self, events=(*self.events, Event(call, before)))

    def of(self, tool: str) -> tuple[ToolCall, ...]:
        """The executed calls of a tool."""
        return tuple(event.call for event in self.events if event.call.tool == tool)

    def changed_here(self, reservation: str) -> Reservation | None:
        """A reservation as it was before this episode first changed its flights or cancelled it; None if neither."""
        for event in self.events:
            if (event.call.tool in ("update_reservation_flights", "cancel_reservation") and event.before is not None
                    and event.before.id == reservation):
                return event.before
        return None
