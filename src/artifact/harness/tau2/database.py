"""The benchmark's own airline database, read as an `AirlineState`."""

from datetime import datetime
from typing import Any

from artifact.harness.tau2.state import Customer, Reservation, Segment


class BenchmarkDatabase:
    """A view of the live database: it is read anew at every question, never copied and never written.

    Parameters
    ----------
    database : FlightDB
        The benchmark's database object.
    """

    def __init__(self, database: Any) -> None:
        self._database = database

    def reservation(self, reservation_id: str) -> Reservation | None:
        """A reservation, None when there is no such id."""
        found = self._database.reservations.get(reservation_id)
        if found is None:
            return None
        segments = tuple(Segment(f.flight_number, f.date, f.origin, f.destination) for f in found.flights)
        return Reservation(
            id=reservation_id, customer=found.user_id, origin=found.origin, destination=found.destination,
            trip_type=found.flight_type, cabin=found.cabin, segments=segments, passengers=len(found.passengers),
            created=datetime.fromisoformat(found.created_at), bags=found.total_baggages,
            paid_bags=found.nonfree_baggages, insured=found.insurance == "yes",
            cancelled=found.status == "cancelled")

    def customer(self, customer_id: str) -> Customer | None:
        """A customer, None when there is no such id."""
        found = self._database.users.get(customer_id)
        if found is None:
            return None
        payments = {name: method.source for name, method in found.payment_methods.items()}
        return Customer(customer_id, found.membership, payments, tuple(found.reservations))

    def route(self, flight: str) -> tuple[str, str] | None:
        """Origin and destination of a flight number."""
        found = self._database.flights.get(flight)
        return None if found is None else (found.origin, found.destination)

    def flight_status(self, flight: str, date: str) -> str | None:
        """Status of a flight on a date."""
        found = self._database.flights.get(flight)
        day = None if found is None else found.dates.get(date)
        return None if day is None else day.status
