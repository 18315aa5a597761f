"""One proposed call with all that a predicate may look at, and the small readings that predicates share.

Invariant: whatever the call says is data. An argument that is missing or of another shape reads as None, which makes
a predicate unknown, and an unknown predicate never refuses: the tool's own error is left to speak.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from artifact.harness.tau2.state import AirlineState, Customer, Reservation
from artifact.harness.tau2.trace import ToolCall, Trace


class WriteTool(StrEnum):
    """The six tools that change the database."""

    BOOK = "book_reservation"
    CANCEL = "cancel_reservation"
    CERTIFICATE = "send_certificate"
    BAGS = "update_reservation_baggages"
    FLIGHTS = "update_reservation_flights"
    PASSENGERS = "update_reservation_passengers"


class Comparison(StrEnum):
    """How a count is compared."""

    LESS = "<"
    AT_MOST = "<="
    EQUAL = "=="
    DIFFERENT = "!="
    AT_LEAST = ">="
    MORE = ">"

    def holds(self, left: float, right: float) -> bool:
        """Whether ``left OP right``."""
        outcomes: dict[Comparison, Callable[[], bool]] = {
            Comparison.LESS: lambda: left < right, Comparison.AT_MOST: lambda: left <= right,
            Comparison.EQUAL: lambda: left == right, Comparison.DIFFERENT: lambda: left != right,
            Comparison.AT_LEAST: lambda: left >= right, Comparison.MORE: lambda: left > right}
        return outcomes[self]()


@dataclass(frozen=True)
class Question:
    """What is asked of the rules: may this call run, on this state, after this trace?"""

    call: ToolCall
    state: AirlineState
    trace: Trace

    @cached_property
    def reservation(self) -> Reservation | None:
        """The reservation that the call names, None when it names none that exists."""
        named = text(self.call.arguments, "reservation_id")
        return self.state.reservation(named) if named is not None else None

    @cached_property
    def customer(self) -> Customer | None:
        """The customer whom the call concerns: named, or the owner of the reservation."""
        named = text(self.call.arguments, "user_id")
        if named is None and self.reservation is not None:
            named = self.reservation.customer
        return self.state.customer(named) if named is not None else None

    @property
    def flights(self) -> tuple[tuple[str, str], ...] | None:
        """Flight numbers and dates that the call lists."""
        listed = items(self.call.arguments, "flights")
        if listed is None:
            return None
        pairs = [(text(one, "flight_number"), text(one, "date")) for one in listed]
        whole = tuple((flight, date) for flight, date in pairs if flight is not None and date is not None)
        return whole if len(whole) == len(pairs) else None

    @property
    def passengers(self) -> int | None:
        """How many passengers the call is about."""
        listed = items(self.call.arguments, "passengers")
        if listed is not None:
            return len(listed)
        return self.reservation.passengers if self.reservation is not None else None

    @property
    def payments(self) -> tuple[str, ...] | None:
        """The distinct payment ids that the call uses."""
        if self.call.tool == WriteTool.BOOK:
            listed = items(self.call.arguments, "payment_methods")
            if listed is None:
                return None
            named = [text(one, "payment_id") for one in listed]
            whole = [name for name in named if name is not None]
            return tuple(dict.fromkeys(whole)) if len(whole) == len(named) else None
        single = text(self.call.arguments, "payment_id")
        return None if single is None else (single,)


def text(arguments: Mapping[str, Any], name: str) -> str | None:
    """An argument that is a text."""
    value = arguments.get(name)
    return value if isinstance(value, str) else None


def number(arguments: Mapping[str, Any], name: str) -> float | None:
    """An argument that is a number, or that the tools take for one: they read "125.0" as 125 and true as 1."""
    value = arguments.get(name)
    if not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(read) else read


def items(arguments: Mapping[str, Any], name: str) -> list[Mapping[str, Any]] | None:
    """An argument that is a list of objects."""
    value = arguments.get(name)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        return None
    return value
