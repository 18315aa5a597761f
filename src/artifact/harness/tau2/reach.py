"""What a rule set holds beside its number of rules: how many are distinct, and how many can never refuse anything."""

from datetime import datetime
from itertools import combinations, product
from typing import Any, get_args

from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.rules import Condition, Rule, RuleSet
from artifact.harness.tau2.state import Customer, Reservation, Segment
from artifact.harness.tau2.trace import ToolCall, Trace
from artifact.harness.tau2.vocabulary import Cabin, Level

_PERSON = {"first_name": "Kim", "last_name": "Lee", "dob": "1990-01-01"}
_FLIGHTS = [{"flight_number": "T1", "date": "2024-05-20"}]
_BAGS = {"total_baggages": 1, "nonfree_baggages": 0}
_BOOKING: dict[str, Any] = {"cabin": "economy", "flights": _FLIGHTS, "passengers": [_PERSON], "insurance": "no",
                            "payment_methods": [{"payment_id": "card", "amount": 1}], **_BAGS}
_WELL_FORMED: dict[WriteTool, dict[str, Any]] = {
    WriteTool.BOOK: {"user_id": "kim", **_BOOKING}, WriteTool.CANCEL: {"reservation_id": "R1"},
    WriteTool.CERTIFICATE: {"user_id": "kim", "amount": 100},
    WriteTool.BAGS: {"reservation_id": "R1", "payment_id": "card", **_BAGS},
    WriteTool.FLIGHTS: {"reservation_id": "R1", "cabin": "economy", "flights": _FLIGHTS, "payment_id": "card"},
    WriteTool.PASSENGERS: {"reservation_id": "R1", "passengers": [_PERSON]},
}


class _OneCustomer:
    """An airline in which whatever a call names is there."""

    def __init__(self, level: str, cabin: str) -> None:
        self._level, self._cabin = level, cabin

    def reservation(self, reservation_id: str) -> Reservation:
        return Reservation(reservation_id, "kim", "AAA", "BBB", "one_way", self._cabin,
                           (Segment("T1", "2024-05-20", "AAA", "BBB"),), 1, datetime(2024, 5, 1), bags=0, paid_bags=0,
                           insured=False, cancelled=False)

    def customer(self, customer_id: str) -> Customer:
        return Customer(customer_id, self._level, {"card": "credit_card"}, ("R1",))

    def route(self, flight: str) -> tuple[str, str]:
        return "AAA", "BBB"

    def flight_status(self, flight: str, date: str) -> str:
        return "available"


def distinct_rules(rules: RuleSet) -> int:
    """How many rules are left when those with the same tools and conditions count once."""
    return len({(rule.tools, frozenset(map(_text, rule.conditions))) for rule in rules.rules})


def never_refuses(rule: Rule) -> bool:
    """Whether a rule can't refuse any call.

    A condition of it is unknown on every call of its tools, because they don't say what it asks for, or two of its
    conditions want opposite answers to one question.
    """
    opposed = any(one.expected is not other.expected and _asked(one) == _asked(other)
                  for one, other in combinations(rule.conditions, 2))
    return opposed or not any(all(_decidable(condition, tool) for condition in rule.conditions) for tool in rule.tools)


def _decidable(condition: Condition, tool: WriteTool) -> bool:
    trace = Trace(user_messages=("I am kim.",)).after(ToolCall("get_user_details", {"user_id": "kim"}), None)
    call = ToolCall(tool, _WELL_FORMED[tool])
    return any(condition.answer(Question(call, _OneCustomer(level, cabin), trace)) is not None
               for level, cabin in product(get_args(Level), get_args(Cabin)))


def _asked(condition: Condition) -> str:
    return f"{condition.predicate} {condition.arguments.model_dump_json()}"


def _text(condition: Condition) -> str:
    return f"{_asked(condition)} {condition.expected}"
