"""What the rules may know of the airline's database: plain values, whatever holds them.

The rules never see the benchmark's own objects, so they can be checked, and tested, without the benchmark.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Segment:
    """One flight of a reservation on its date."""

    flight: str
    date: str
    origin: str
    destination: str


@dataclass(frozen=True)
class Reservation:
    """One reservation.

    Parameters
    ----------
    id, customer : str
        Its own id and its owner's.
    origin, destination, trip_type, cabin : str
        As the database calls them.
    segments : tuple of Segment
        In the order flown.
    passengers : int
        How many fly.
    created : datetime
        When it was made; no time zone, the airline's own clock.
    bags, paid_bags : int
        Checked bags, and how many of them were paid.
    insured, cancelled : bool
        Whether it has travel insurance; whether it was cancelled.
    """

    id: str
    customer: str
    origin: str
    destination: str
    trip_type: str
    cabin: str
    segments: tuple[Segment, ...]
    passengers: int
    created: datetime
    bags: int
    paid_bags: int
    insured: bool
    cancelled: bool


@dataclass(frozen=True)
class Customer:
    """One customer.

    Parameters
    ----------
    id : str
        The customer's id.
    level : str
        Membership level.
    payments : dict of str to str
        Payment id -> kind (``credit_card``, ``gift_card``, ``certificate``).
    reservations : tuple of str
        Ids of the customer's reservations.
    """

    id: str
    level: str
    payments: dict[str, str]
    reservations: tuple[str, ...]


class AirlineState(Protocol):
    """The database as it is now; what isn't in it is None."""

    def reservation(self, reservation_id: str) -> Reservation | None:
        """A reservation."""
        ...

    def customer(self, customer_id: str) -> Customer | None:
        """A customer."""
        ...

    def route(self, flight: str) -> tuple[str, str] | None:
        """Origin and destination of a flight number."""
        ...

    def flight_status(self, flight: str, date: str) -> str | None:
        """Status of a flight on a date."""
        ...
