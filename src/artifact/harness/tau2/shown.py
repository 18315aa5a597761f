"""The shown rung: what the rules would read is rendered for the agent. Facts alone, no verdicts."""

from collections.abc import Iterator
from datetime import datetime

from artifact.harness.tau2.question import WriteTool, text
from artifact.harness.tau2.state import AirlineState, Customer, Reservation
from artifact.harness.tau2.texts import render
from artifact.harness.tau2.trace import Trace

# Policy, checked bag allowance: free bags a passenger.
_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_FREE_BAGS_BY_CABIN = {"basic_economy": 0, "economy": 1, "business": 2}


def state_block(state: AirlineState, trace: Trace, now: datetime) -> str:
    """The records that were looked up and the writes that were executed; empty before the first of them.

    Parameters
    ----------
    state : AirlineState
        The database.
    trace : Trace
        What was looked up and done.
    now : datetime
        The airline's clock.
    """
    lines = list(_lines(state, trace, now))
    return render("state", lines="\n".join(f"- {line}" for line in lines)) if lines else ""


def _lines(state: AirlineState, trace: Trace, now: datetime) -> Iterator[str]:
    for named in dict.fromkeys(text(call.arguments, "user_id") for call in trace.of("get_user_details")):
        customer = state.customer(named) if named is not None else None
        if customer is not None:
            yield _customer(customer)
    looked_up = [event.call for event in trace.events if "reservation_id" in event.call.arguments]
    for named in dict.fromkeys(text(call.arguments, "reservation_id") for call in looked_up):
        reservation = state.reservation(named) if named is not None else None
        if reservation is not None:
            yield _reservation(reservation, state, now)
    done = [event.call for event in trace.events if event.call.tool in set(WriteTool)]
    if done:
        yield "done in this conversation: " + "; ".join(
            f"{call.tool} {text(call.arguments, 'reservation_id') or text(call.arguments, 'user_id') or ''}".strip()
            for call in done)


def _customer(customer: Customer) -> str:
    methods = ", ".join(f"{name} ({kind})" for name, kind in customer.payments.items()) or "none"
    return f"customer {customer.id}: {customer.level} member; payment methods: {methods}"


def _reservation(reservation: Reservation, state: AirlineState, now: datetime) -> str:
    owner = state.customer(reservation.customer)
    hours, minutes = divmod(int((now - reservation.created).total_seconds()) // 60, 60)
    flights = ", ".join(f"{s.flight} {s.date} {s.origin}-{s.destination} "
                        f"{state.flight_status(s.flight, s.date) or 'status unknown'}" for s in reservation.segments)
    facts = [f"reservation {reservation.id} of {reservation.customer}: {reservation.cabin}",
             f"made {reservation.created.isoformat()}, {hours} h {minutes} min ago",
             "insured" if reservation.insured else "not insured",
             f"{reservation.passengers} passengers", f"{reservation.bags} bags, {reservation.paid_bags} of them paid"]
    if owner is not None and owner.level in _FREE_BAGS and reservation.cabin in _FREE_BAGS_BY_CABIN:
        free = (_FREE_BAGS[owner.level] + _FREE_BAGS_BY_CABIN[reservation.cabin]) * reservation.passengers
        facts.append(f"{free} bags free")
    if reservation.cancelled:
        facts.append("cancelled")
    return "; ".join([*facts, f"flights: {flights}"])
