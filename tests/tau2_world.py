"""A tiny airline for the rules' tests, and the real one where the benchmark is installed."""

import os
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import pytest

from artifact.harness.tau2.benchmark import CHECKOUT
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.state import Customer, Reservation, Segment
from artifact.harness.tau2.trace import ToolCall, Trace

needs_benchmark = pytest.mark.skipif(
    find_spec("tau2") is None and not os.environ.get(CHECKOUT),
    reason="the benchmark isn't installed; install it with pip install '.[tau2]' to run the offline proof")

OUT = Segment("T1", "2024-05-20", "AAA", "BBB")
BACK = Segment("T2", "2024-05-25", "BBB", "AAA")


@dataclass
class World:
    """An `AirlineState` of one's own making."""

    reservations: dict[str, Reservation] = field(default_factory=dict)
    customers: dict[str, Customer] = field(default_factory=dict)
    routes: dict[str, tuple[str, str]] = field(default_factory=dict)
    statuses: dict[tuple[str, str], str] = field(default_factory=dict)

    def reservation(self, reservation_id: str) -> Reservation | None:
        return self.reservations.get(reservation_id)

    def customer(self, customer_id: str) -> Customer | None:
        return self.customers.get(customer_id)

    def route(self, flight: str) -> tuple[str, str] | None:
        return self.routes.get(flight)

    def flight_status(self, flight: str, date: str) -> str | None:
        return self.statuses.get((flight, date))


def world(**changes: Any) -> World:
    """One regular customer with one round trip in economy, uninsured, made two weeks ago, nothing flown."""
    trip = Reservation("R1", "kim", "AAA", "BBB", "round_trip", "economy", (OUT, BACK), 2,
                       datetime(2024, 5, 1), bags=1, paid_bags=0, insured=False, cancelled=False)
    payments = {"card": "credit_card", "card2": "credit_card", "voucher": "certificate", "voucher2": "certificate",
                **{f"gift{number}": "gift_card" for number in range(4)}}
    statuses = {(s.flight, s.date): "available" for s in (OUT, BACK)}
    statuses |= {("T2", "2024-05-26"): "available", ("T3", "2024-05-20"): "available", ("T1", "2024-05-15"): "on time"}
    return World({"R1": replace(trip, **changes)}, {"kim": Customer("kim", "regular", payments, ("R1",))},
                 {"T1": ("AAA", "BBB"), "T2": ("BBB", "AAA"), "T3": ("AAA", "CCC")}, statuses)


def flights(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"flight_number": number, "date": date} for number, date in pairs]


def ask(state: World, tool: WriteTool, trace: Trace | None = None, /, **arguments: Any) -> Question:
    return Question(ToolCall(tool, arguments), state, trace or Trace())


def booking(**changes: Any) -> dict[str, Any]:
    """A booking that no rule is against."""
    person = {"first_name": "Kim", "last_name": "Lee", "dob": "1990-01-01"}
    return {"user_id": "kim", "origin": "AAA", "destination": "BBB", "flight_type": "one_way", "cabin": "economy",
            "flights": flights(("T1", "2024-05-20")), "passengers": [person],
            "payment_methods": [{"payment_id": "card", "amount": 100}], "total_baggages": 1, "nonfree_baggages": 0,
            "insurance": "no", **changes}
