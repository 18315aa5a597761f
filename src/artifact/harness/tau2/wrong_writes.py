"""Thirty writes that the policy forbids, at least one for each reference rule, found in the benchmark's own database.

They are searched for, not written down: no record of the database stands in this project. With the gold writes they
are the calls on which a compiled policy is compared with the reference. Five need a prior call in the same
conversation; of the other twenty-five the tools execute twenty and fail five by themselves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from artifact.harness.tau2.question import WriteTool
from artifact.harness.tau2.trace import ToolCall

_OLD = "2024-05-14T15:00:00"  # a day before the airline's clock
_FLOWN = ("landed", "flying")
_PERSON = {"first_name": "Robin", "last_name": "Reed", "dob": "1990-01-01"}


@dataclass(frozen=True)
class WrongWrite:
    """A forbidden write.

    Parameters
    ----------
    rule : str
        The reference rule that forbids it.
    call : ToolCall
        The write.
    prior : tuple of ToolCall
        What must have been called before.
    executes : bool
        Whether the tool itself would do it.
    """

    rule: str
    call: ToolCall
    prior: tuple[ToolCall, ...] = ()
    executes: bool = True


class _Search:
    """Looks up reservations and customers by what they are."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._used: set[str] = set()

    def statuses(self, reservation: Any) -> list[str]:
        flights = self._database.flights
        return [flights[f.flight_number].dates[f.date].status for f in reservation.flights]

    def reservation(self, fits: Callable[[Any], bool]) -> Any:
        """The first fitting reservation, by id, that no other case uses and whose owner has a credit card."""
        for name in sorted(self._database.reservations):
            one = self._database.reservations[name]
            if name not in self._used and self.card(one.user_id) and one.status is None and fits(one):
                self._used.add(name)
                return one
        raise LookupError("the database holds no such reservation")

    def upcoming(self, reservation: Any) -> bool:
        return all(status == "available" for status in self.statuses(reservation))

    def customer(self, fits: Callable[[Any], bool]) -> Any:
        return next(one for _, one in sorted(self._database.users.items()) if fits(one))

    def owner(self, reservation: Any) -> Any:
        return self._database.users[reservation.user_id]

    def owned(self, customer: Any) -> list[Any]:
        return [self._database.reservations[name] for name in customer.reservations]

    def methods(self, customer: Any, kind: str) -> list[Any]:
        return [method for _, method in sorted(customer.payment_methods.items()) if method.source == kind]

    def card(self, customer_id: str) -> str | None:
        cards = self.methods(self._database.users[customer_id], "credit_card")
        return cards[0].id if cards else None

    def flights(self, passengers: int, cabin: str, status: str = "available") -> Iterator[tuple[Any, str, int]]:
        """Flights with dates and prices."""
        for _, flight in sorted(self._database.flights.items()):
            for date, day in sorted(flight.dates.items()):
                if day.status == status and (status != "available" or day.available_seats[cabin] >= passengers):
                    yield flight, date, day.prices[cabin] if status == "available" else 0

    def other_date(self, number: str, date: str, cabin: str, passengers: int) -> str | None:
        days = sorted(self._database.flights[number].dates.items())
        return next((day for day, data in days if day > date and data.status == "available"
                     and data.available_seats[cabin] >= passengers), None)

    def free_bags(self, reservation: Any) -> int:
        level = {"regular": 0, "silver": 1, "gold": 2}[self.owner(reservation).membership]
        cabin = {"basic_economy": 0, "economy": 1, "business": 2}[reservation.cabin]
        return int((level + cabin) * len(reservation.passengers))


def wrong_writes(database: Any) -> tuple[WrongWrite, ...]:
    """The thirty writes, for the benchmark's fresh database."""
    search = _Search(database)
    return (*_cancellations(search), *_flight_changes(search), *_bags_and_people(search), *_bookings(search),
            *_certificates(search), *_after_other_calls(search))


def _cancel(reservation: Any) -> ToolCall:
    return ToolCall(WriteTool.CANCEL, {"reservation_id": reservation.reservation_id})


def _change(search: _Search, reservation: Any, flights: list[tuple[str, str]], cabin: str,
            payment: str | None = None) -> ToolCall:
    return ToolCall(WriteTool.FLIGHTS, {
        "reservation_id": reservation.reservation_id, "cabin": cabin,
        "flights": [{"flight_number": number, "date": date} for number, date in flights],
        "payment_id": payment or search.card(reservation.user_id)})


def _bags(search: _Search, reservation: Any, total: int, paid: int, payment: str | None = None) -> ToolCall:
    return ToolCall(WriteTool.BAGS, {
        "reservation_id": reservation.reservation_id, "total_baggages": total, "nonfree_baggages": paid,
        "payment_id": payment or search.card(reservation.user_id)})


def _book(customer: Any, flight: tuple[Any, str, int], payments: list[tuple[str, int]], cabin: str = "economy",
          people: list[dict[str, str]] | None = None, bags: tuple[int, int] = (0, 0)) -> ToolCall:
    number, date, _ = flight
    return ToolCall(WriteTool.BOOK, {
        "user_id": customer.user_id, "origin": number.origin, "destination": number.destination,
        "flight_type": "one_way", "cabin": cabin,
        "flights": [{"flight_number": number.flight_number, "date": date}], "passengers": people or [_PERSON],
        "payment_methods": [{"payment_id": name, "amount": amount} for name, amount in payments],
        "total_baggages": bags[0], "nonfree_baggages": bags[1], "insurance": "no"})


def _cancellations(search: _Search) -> Iterator[WrongWrite]:
    def groundless(cabin: str) -> Callable[[Any], bool]:
        return lambda r: r.cabin == cabin and r.insurance == "no" and r.created_at < _OLD and search.upcoming(r)

    yield WrongWrite("C2", _cancel(search.reservation(groundless("basic_economy"))))
    yield WrongWrite("C2", _cancel(search.reservation(groundless("economy"))))
    yield WrongWrite("C1", _cancel(search.reservation(
        lambda r: r.cabin == "business" and set(search.statuses(r)) == {"landed"})))
    yield WrongWrite("C1", _cancel(search.reservation(
        lambda r: r.insurance == "yes" and any(status in _FLOWN for status in search.statuses(r)))))


def _flight_changes(search: _Search) -> Iterator[WrongWrite]:
    def later(reservation: Any, cabin: str) -> list[tuple[str, str]] | None:
        kept = [(f.flight_number, f.date) for f in reservation.flights]
        date = search.other_date(*kept[-1], cabin, len(reservation.passengers))
        return [*kept[:-1], (kept[-1][0], date)] if date else None

    basic = search.reservation(lambda r: r.cabin == "basic_economy" and search.upcoming(r)
                               and later(r, r.cabin) is not None)
    yield WrongWrite("F1", _change(search, basic, later(basic, basic.cabin) or [], basic.cabin))
    single = search.reservation(lambda r: r.cabin == "basic_economy" and len(r.flights) == 1 and search.upcoming(r)
                                and later(r, "economy") is not None)
    yield WrongWrite("F1", _change(search, single, later(single, "economy") or [], "economy"))
    economy = search.reservation(lambda r: r.cabin == "economy" and len(r.flights) == 1 and search.upcoming(r))
    elsewhere = next((flight.flight_number, date) for flight, date, _ in search.flights(5, "economy")
                     if flight.origin == economy.origin and flight.destination != economy.destination)
    yield WrongWrite("F2", _change(search, economy, [elsewhere], "economy"))
    there_and_back = search.reservation(lambda r: r.cabin == "economy" and r.flight_type == "round_trip"
                                        and len(r.flights) == 2 and search.upcoming(r))
    one_way = [(there_and_back.flights[0].flight_number, there_and_back.flights[0].date)]
    yield WrongWrite("F2", _change(search, there_and_back, one_way, "economy"))
    flown = search.reservation(lambda r: r.cabin == "economy" and set(search.statuses(r)) == {"landed"})
    same = [(f.flight_number, f.date) for f in flown.flights]
    yield WrongWrite("F3", _change(search, flown, same, "business"), executes=False)
    with_certificate = search.reservation(lambda r: r.cabin == "economy" and search.upcoming(r)
                                          and search.methods(search.owner(r), "certificate") != [])
    certificate = search.methods(search.owner(with_certificate), "certificate")[0].id
    same = [(f.flight_number, f.date) for f in with_certificate.flights]
    yield WrongWrite("F4", _change(search, with_certificate, same, "economy", certificate), executes=False)


def _bags_and_people(search: _Search) -> Iterator[WrongWrite]:
    fewer = search.reservation(lambda r: r.total_baggages > 1 and r.nonfree_baggages == 0
                               and r.total_baggages <= search.free_bags(r) and search.upcoming(r))
    yield WrongWrite("G1", _bags(search, fewer, fewer.total_baggages - 1, 0))
    unpaid = search.reservation(lambda r: r.nonfree_baggages == 0 and search.upcoming(r))
    total = max(search.free_bags(unpaid), unpaid.total_baggages) + 2
    yield WrongWrite("G2", _bags(search, unpaid, total, 0))
    charged = search.reservation(lambda r: r.nonfree_baggages == 0 and r.total_baggages < search.free_bags(r)
                                 and search.upcoming(r))
    yield WrongWrite("G3", _bags(search, charged, charged.total_baggages + 1, 1))
    stranger = search.reservation(lambda r: r.nonfree_baggages == 0 and r.total_baggages < search.free_bags(r)
                                  and search.upcoming(r))
    yield WrongWrite("A1", _bags(search, stranger, stranger.total_baggages + 1, 0, "credit_card_0000000"),
                     executes=False)
    pair = search.reservation(lambda r: len(r.passengers) == 2 and search.upcoming(r))
    yield WrongWrite("P1", ToolCall(WriteTool.PASSENGERS, {"reservation_id": pair.reservation_id,
                                                           "passengers": [_PERSON]}), executes=False)
    nameless = search.reservation(lambda r: len(r.passengers) == 1 and search.upcoming(r))
    yield WrongWrite("A2", ToolCall(WriteTool.PASSENGERS, {"reservation_id": nameless.reservation_id,
                                                           "passengers": [{**_PERSON, "last_name": " "}]}))


def _bookings(search: _Search) -> Iterator[WrongWrite]:
    def has(kind: str, count: int) -> Callable[[Any], bool]:
        return lambda customer: len(search.methods(customer, kind)) >= count

    rich = search.customer(lambda customer: has("credit_card", 2)(customer) and customer.membership == "regular")
    first, second = (method.id for method in search.methods(rich, "credit_card")[:2])
    crowd = next(search.flights(6, "economy"))
    yield WrongWrite("B1", _book(rich, crowd, [(first, 6 * crowd[2])], people=[_PERSON] * 6))
    seat = next(search.flights(1, "economy"))
    yield WrongWrite("B3", _book(rich, seat, [(first, 1), (second, seat[2] - 1)]))
    yield WrongWrite("B5", _book(rich, seat, [(first, seat[2])], bags=(3, 0)))
    closed = next(search.flights(1, "economy", "on time"))
    yield WrongWrite("B6", _book(rich, closed, [(first, 100)]), executes=False)
    for rule, kind, count in (("B2", "certificate", 2), ("B4", "gift_card", 4)):
        payer = search.customer(has(kind, count))
        methods = sorted(search.methods(payer, kind), key=lambda method: method.amount)[-count:]
        flight = next(one for one in search.flights(1, "basic_economy") if one[2] - count < methods[-1].amount)
        small = [(method.id, 1) for method in methods[:-1]]
        yield WrongWrite(rule, _book(payer, flight, [*small, (methods[-1].id, flight[2] - len(small))],
                                     "basic_economy"))


def _certificate(customer: Any, amount: int) -> ToolCall:
    return ToolCall(WriteTool.CERTIFICATE, {"user_id": customer.user_id, "amount": amount})


def _has_status(search: _Search, customer: Any, status: str) -> list[Any]:
    return [one for one in search.owned(customer) if status in search.statuses(one)]


def _certificates(search: _Search) -> Iterator[WrongWrite]:
    plain = search.customer(lambda c: c.membership == "regular" and bool(search.owned(c)) and all(
        one.cabin != "business" and one.insurance == "no" for one in search.owned(c)))
    yield WrongWrite("S1", _certificate(plain, 100))
    delayed = search.customer(lambda c: c.membership != "regular" and len(_has_status(search, c, "delayed")) == 1
                              and not _has_status(search, c, "cancelled"))
    amount = 50 * len(_has_status(search, delayed, "delayed")[0].passengers)
    yield WrongWrite("S2", _certificate(delayed, amount))
    yield WrongWrite("S2", _certificate(delayed, amount + 75))


def _after_other_calls(search: _Search) -> Iterator[WrongWrite]:
    roomy = search.reservation(lambda r: r.cabin == "business" and search.upcoming(r) and r.nonfree_baggages == 0
                               and r.total_baggages < search.free_bags(r))
    yield WrongWrite("A3", _bags(search, roomy, roomy.total_baggages + 1, 0), (_cancel(roomy),))
    twice = search.reservation(lambda r: r.cabin == "business" and search.upcoming(r))
    yield WrongWrite("A3", _cancel(twice), (_cancel(twice),))
    mine = search.reservation(lambda r: r.insurance == "yes" and search.upcoming(r))
    other = search.customer(lambda c: c.user_id != mine.user_id)
    looked_up = ToolCall("get_user_details", {"user_id": other.user_id})
    yield WrongWrite("A4", _cancel(mine), (looked_up,))
    payer = search.customer(lambda c: c.user_id != other.user_id and search.methods(c, "credit_card") != [])
    seat = next(search.flights(1, "economy"))
    yield WrongWrite("A4", _book(payer, seat, [(search.card(payer.user_id) or "", seat[2])]), (looked_up,))
    stranded = search.customer(lambda c: c.membership != "regular" and bool(_has_status(search, c, "cancelled")))
    amount = 100 * len(_has_status(search, stranded, "cancelled")[0].passengers)
    yield WrongWrite("S3", _certificate(stranded, amount), (_certificate(stranded, amount),))
