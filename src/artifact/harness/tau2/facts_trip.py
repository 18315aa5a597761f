"""Predicates on reservations, flights and passengers."""

from datetime import datetime, timedelta
from itertools import pairwise

from artifact.harness.tau2.question import Question, items, text
from artifact.harness.tau2.vocabulary import (
    Age,
    Answer,
    Arguments,
    Cabins,
    PassengerCount,
    Predicate,
    Statuses,
)


def _cancelled(question: Question, _: Arguments) -> Answer:
    return None if question.reservation is None else question.reservation.cancelled


def _insured(question: Question, _: Arguments) -> Answer:
    if question.reservation is not None:
        return question.reservation.insured
    chosen = text(question.call.arguments, "insurance")
    return None if chosen is None else chosen == "yes"


def _itinerary_changed(question: Question, _: Arguments) -> Answer:
    if question.reservation is None or question.flights is None:
        return None
    return question.flights != tuple((s.flight, s.date) for s in question.reservation.segments)


def _cabin_changed(question: Question, _: Arguments) -> Answer:
    cabin = text(question.call.arguments, "cabin")
    return None if question.reservation is None or cabin is None else cabin != question.reservation.cabin


def _cabin_in(question: Question, arguments: Cabins) -> Answer:
    if question.reservation is not None:
        return question.reservation.cabin in arguments.values
    cabin = text(question.call.arguments, "cabin")
    return None if cabin is None else cabin in arguments.values


def _route_preserved(question: Question, _: Arguments) -> Answer:
    reservation, flights = question.reservation, question.flights
    if reservation is None or flights is None:
        return None
    if not flights:  # the tool takes an empty list and leaves a reservation without flights
        return False
    legs = [question.state.route(flight) for flight, _ in flights]
    known = [leg for leg in legs if leg is not None]
    if len(known) != len(legs):
        return None
    if any(before[1] != after[0] for before, after in pairwise(known)):
        return False
    start, end = known[0][0], known[-1][1]
    if reservation.trip_type == "round_trip":
        return start == end == reservation.origin and reservation.destination in [leg[1] for leg in known]
    return start == reservation.origin and end == reservation.destination


def _flights_bookable(question: Question, _: Arguments) -> Answer:
    if question.flights is None:
        return None
    kept: set[tuple[str, str]] = set()
    if question.reservation is not None and not _cabin_changed(question, Arguments()):
        kept = {(s.flight, s.date) for s in question.reservation.segments}
    statuses = [question.state.flight_status(*flight) for flight in question.flights if flight not in kept]
    if any(status not in (None, "available") for status in statuses):
        return False
    return None if None in statuses else True


def _any_segment_status(question: Question, arguments: Statuses) -> Answer:
    if question.reservation is None:
        return None
    statuses = [question.state.flight_status(s.flight, s.date) for s in question.reservation.segments]
    if any(status in arguments.values for status in statuses):
        return True
    return None if None in statuses else False


def _created_within(question: Question, arguments: Age) -> Answer:
    if question.reservation is None:
        return None
    age = datetime.fromisoformat(arguments.now) - question.reservation.created
    return age <= timedelta(hours=arguments.hours)


def _passenger_count(question: Question, arguments: PassengerCount) -> Answer:
    bound: int | None
    if isinstance(arguments.value, int):
        bound = arguments.value
    else:
        bound = None if question.reservation is None else question.reservation.passengers
    if bound is None or question.passengers is None:
        return None
    return arguments.op.holds(question.passengers, bound)


def _passenger_fields(question: Question, _: Arguments) -> Answer:
    listed = items(question.call.arguments, "passengers")
    if listed is None:
        return None
    return all((text(one, field) or "").strip() for one in listed for field in ("first_name", "last_name", "dob"))


PREDICATES = (
    Predicate("reservation_cancelled", "the reservation has been cancelled as a whole", Arguments, _cancelled),
    Predicate("insured", "the reservation has travel insurance", Arguments, _insured),
    Predicate("itinerary_changed", "the call's flights differ from the reservation's, cabin aside", Arguments,
              _itinerary_changed),
    Predicate("cabin_changed", "the call's cabin differs from the reservation's", Arguments, _cabin_changed),
    Predicate("route_preserved", "the call's flights connect and keep origin, destination and trip type", Arguments,
              _route_preserved),
    Predicate("flights_bookable", "each flight that the call adds is available on its date", Arguments,
              _flights_bookable),
    Predicate("passenger_fields_complete", "each passenger in the call has first name, last name and birth date",
              Arguments, _passenger_fields),
    Predicate("cabin_in", "the reservation's cabin (the call's when booking) is one of values", Cabins, _cabin_in),
    Predicate("any_segment_status", "some flight of the reservation has one of these statuses", Statuses,
              _any_segment_status),
    Predicate("created_within_hours", "the reservation was made at most so many hours before now", Age,
              _created_within),
    Predicate("passenger_count", "the number of passengers compares so with a number or the reservation's",
              PassengerCount, _passenger_count),
)

