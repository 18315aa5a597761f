"""The words in which rules are written: predicates with typed arguments that answer true, false or unknown.

Numbers and tables of the policy are arguments, so who writes rules, person or model, must read them from the policy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from artifact.harness.tau2.question import Comparison, Question

Cabin = Literal["basic_economy", "economy", "business"]
Level = Literal["regular", "silver", "gold"]
FlightStatus = Literal["available", "on time", "delayed", "flying", "landed", "cancelled"]
PaymentKind = Literal["credit_card", "gift_card", "certificate"]
Count = Annotated[int, Field(ge=0, strict=True)]

Rate = Annotated[int, Field(gt=0, strict=True)]
MOST_HOURS = 24 * 366 * 10
"""Ages beyond it mean nothing to an airline, and could not be computed with."""

Answer = bool | None
"""What a predicate answers; None is unknown."""


class Arguments(BaseModel):
    """Arguments of a predicate; the base takes none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Cabins(Arguments):
    """A choice of cabins."""

    values: Annotated[list[Cabin], Field(min_length=1)]


class Statuses(Arguments):
    """A choice of flight statuses."""

    values: Annotated[list[FlightStatus], Field(min_length=1)]


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"there is no such time as {text}") from None
    return text


class Age(Arguments):
    """An age in hours, and the time now."""

    hours: Annotated[float, Field(gt=0, le=MOST_HOURS, strict=True)]
    now: Annotated[str, Field(pattern="^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])"
                                      ":[0-5][0-9]:[0-5][0-9]$"), AfterValidator(_moment)]


class PassengerCount(Arguments):
    """A number of passengers, or the reservation's."""

    op: Comparison
    value: Count | Literal["reservation"]


class PaymentCount(Arguments):
    """A number of payment methods of a kind."""

    kind: PaymentKind
    op: Comparison
    value: Count


class BagsTotal(Arguments):
    """A number of bags, or the reservation's."""

    op: Comparison
    value: Count | Literal["current"]


class BagsPaid(Arguments):
    """Bags to be paid by the allowance: free bags a passenger, by level and cabin."""

    op: Comparison
    value: Literal["owed", "owed_or_current"]
    allowance: dict[Level, dict[Cabin, Count]]


class Eligible(Arguments):
    """Who is compensated: members of a level, travellers of a cabin, the insured."""

    levels: list[Level]
    cabins: list[Cabin]
    insured: StrictBool


class Supported(Eligible):
    """What is compensated: an amount a passenger by flight status, some only after a change or cancellation."""

    rates: Annotated[dict[FlightStatus, Rate], Field(min_length=1)]
    after_change: list[FlightStatus] = []


class CountOf(Arguments):
    """A comparison with a number."""

    op: Comparison
    value: Count


class Record(Arguments):
    """A kind of record."""

    kind: Literal["reservation", "profile"]


@dataclass(frozen=True)
class Predicate:
    """A word of the vocabulary.

    Parameters
    ----------
    name : str
        The word.
    meaning : str
        When it is true, in words for whoever writes rules.
    arguments : type of Arguments
        Its arguments.
    answer : callable
        Answers it; called with the question and the checked arguments.
    """

    name: str
    meaning: str
    arguments: type[Arguments]
    answer: Callable[[Question, Any], Answer]


def words() -> dict[str, Predicate]:
    """The whole vocabulary, by name."""
    from artifact.harness.tau2 import facts_conversation, facts_money, facts_trip

    found = (*facts_trip.PREDICATES, *facts_money.PREDICATES, *facts_conversation.PREDICATES)
    return {predicate.name: predicate for predicate in found}
