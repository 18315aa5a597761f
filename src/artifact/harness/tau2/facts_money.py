"""Predicates on payments, bags and compensation."""

from artifact.harness.tau2.question import Comparison, Question, number, text
from artifact.harness.tau2.state import Reservation
from artifact.harness.tau2.vocabulary import (
    Answer,
    Arguments,
    BagsPaid,
    BagsTotal,
    Eligible,
    PaymentCount,
    Predicate,
    Supported,
)


def _payment_in_profile(question: Question, _: Arguments) -> Answer:
    if question.payments is None or question.customer is None:
        return None
    return all(payment in question.customer.payments for payment in question.payments)


def _payment_kind_count(question: Question, arguments: PaymentCount) -> Answer:
    if question.payments is None or question.customer is None:
        return None
    kinds = [question.customer.payments.get(payment) for payment in question.payments]
    holds = arguments.op.holds(kinds.count(arguments.kind), arguments.value)
    # A method that the profile lacks is of no known kind; more of them can't make "more than" false.
    if None in kinds and not (holds and arguments.op in (Comparison.MORE, Comparison.AT_LEAST)):
        return None
    return holds


def _bags_total(question: Question, arguments: BagsTotal) -> Answer:
    asked = number(question.call.arguments, "total_baggages")
    bound: int | None
    if isinstance(arguments.value, int):
        bound = arguments.value
    else:
        bound = None if question.reservation is None else question.reservation.bags
    return None if asked is None or bound is None else arguments.op.holds(asked, bound)


def _bags_paid(question: Question, arguments: BagsPaid) -> Answer:
    total, paid = (number(question.call.arguments, name) for name in ("total_baggages", "nonfree_baggages"))
    reservation, customer, passengers = question.reservation, question.customer, question.passengers
    cabin = reservation.cabin if reservation is not None else text(question.call.arguments, "cabin")
    if total is None or paid is None or customer is None or passengers is None:
        return None
    by_level = {str(level): cabins for level, cabins in arguments.allowance.items()}
    free = {str(name): count for name, count in by_level.get(customer.level, {}).items()}.get(cabin or "")
    if free is None:
        return None
    owed = max(0.0, total - free * passengers)
    if arguments.value == "owed_or_current":
        if reservation is None:
            return None
        owed = max(owed, reservation.paid_bags)
    return arguments.op.holds(paid, owed)


def _eligible(reservation: Reservation, arguments: Eligible) -> bool:
    return reservation.cabin in arguments.cabins or (arguments.insured and reservation.insured)


def _compensation_eligible(question: Question, arguments: Eligible) -> Answer:
    customer = question.customer
    if customer is None:
        return None
    if customer.level in arguments.levels:
        return True
    owned = [question.state.reservation(name) for name in customer.reservations]
    return any(_eligible(one, arguments) for one in owned if one is not None)


def _compensation_supported(question: Question, arguments: Supported) -> Answer:
    amount, customer = number(question.call.arguments, "amount"), question.customer
    if amount is None or customer is None:
        return None
    for name in customer.reservations:
        now = question.state.reservation(name)
        if now is None:
            continue
        # A change replaces flights: what was delayed then still counts.
        before = question.trace.changed_here(name)
        if not (customer.level in arguments.levels or _eligible(now, arguments)
                or (before is not None and _eligible(before, arguments))):
            continue
        statuses = {question.state.flight_status(s.flight, s.date)
                    for version in (now, before) if version is not None for s in version.segments}
        for status, rate in arguments.rates.items():
            if status in statuses and amount == rate * now.passengers and (
                    status not in arguments.after_change or before is not None):
                return True
    return False


PREDICATES = (
    Predicate("payment_in_profile", "each payment method of the call is stored in the customer's profile", Arguments,
              _payment_in_profile),
    Predicate("payment_kind_count", "the number of payment methods of a kind in the call compares so", PaymentCount,
              _payment_kind_count),
    Predicate("bags_total", "the call's total of bags compares so with a number or the reservation's current total",
              BagsTotal, _bags_total),
    Predicate("bags_paid", "the call's paid bags compare so with those beyond the allowance (owed), or with the "
              "larger of those and the already paid ones (owed_or_current)", BagsPaid, _bags_paid),
    Predicate("compensation_eligible", "the customer has one of the levels, or a reservation in one of the cabins, "
              "or, with insured, an insured one", Eligible, _compensation_eligible),
    Predicate("compensation_supported", "the amount is rate times passengers of an eligible reservation with a "
              "flight of that status; a status in after_change needs a change or cancellation first", Supported,
              _compensation_supported),
)
