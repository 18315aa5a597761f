"""Predicates on what has happened in the conversation so far."""

import re

from artifact.harness.tau2.question import Question, WriteTool, text
from artifact.harness.tau2.vocabulary import Answer, Arguments, CountOf, Predicate, Record

_AFFIRMATION = re.compile(r"\b(yes|yeah|yep|yup|sure|ok|okay|(?<!please )(?<!you )(?<!to )confirm(ed)?|go ahead|"
                          r"proceed|please do|sounds good|that works|correct|agreed?)\b")
_NEGATION = re.compile(r"\b(no|not|never|cannot|without|wrong)\b|n't\b")
_REFUSAL = re.compile(r"\W*(no(?! problem| worries)|nope|nah)\b")
_CLAUSE = re.compile(r"[^.!?;,:\n]+\??")


def affirms(message: str) -> bool:
    """Whether a message holds an affirmation, read clause by clause.

    A clause with a negation affirms nothing ("I'm not sure"), nor does a question ("Is that correct?"), and a message
    that begins with a no affirms nothing whatever follows.
    """
    words = message.lower().replace("\u2019", "'")
    if _REFUSAL.match(words):
        return False
    return any(_AFFIRMATION.search(clause) and not _NEGATION.search(clause) and not clause.endswith("?")
               for clause in _CLAUSE.findall(words))


def _customer_id(question: Question) -> str | None:
    named = text(question.call.arguments, "user_id")
    if named is not None:
        return named
    return question.reservation.customer if question.reservation is not None else None


def _certificates_issued(question: Question, arguments: CountOf) -> Answer:
    customer = _customer_id(question)
    if customer is None:
        return None
    issued = sum(text(call.arguments, "user_id") == customer for call in question.trace.of(WriteTool.CERTIFICATE))
    return arguments.op.holds(issued, arguments.value)


def _other_customer(question: Question, _: Arguments) -> Answer:
    customer = _customer_id(question)
    looked_up = {text(call.arguments, "user_id") for call in question.trace.of("get_user_details")}
    return None if customer is None or not looked_up else customer not in looked_up


def _fetched(question: Question, arguments: Record) -> Answer:
    if arguments.kind == "profile":
        customer = _customer_id(question)
        fetched = {text(call.arguments, "user_id") for call in question.trace.of("get_user_details")}
        return None if customer is None else customer in fetched
    if question.reservation is None:
        return None
    reservations = {text(call.arguments, "reservation_id") for call in question.trace.of("get_reservation_details")}
    return question.reservation.id in reservations


def _user_confirmed(question: Question, _: Arguments) -> Answer:
    messages = question.trace.user_messages
    return affirms(messages[-1]) if messages else None


def _user_id_stated(question: Question, _: Arguments) -> Answer:
    customer = _customer_id(question)
    messages = question.trace.user_messages
    return any(customer in message for message in messages) if customer is not None and messages else None


def _calls_in_message(question: Question, arguments: CountOf) -> Answer:
    return arguments.op.holds(question.trace.calls_in_message, arguments.value)


PREDICATES = (
    Predicate("certificates_issued", "the number of certificates already sent to this customer in this conversation "
              "compares so", CountOf, _certificates_issued),
    Predicate("other_customer_identified", "profiles were looked up in this conversation, but not this customer's",
              Arguments, _other_customer),
    Predicate("fetched", "this reservation, or this customer's profile, was looked up in this conversation", Record,
              _fetched),
    Predicate("user_confirmed", "the user's last message holds an affirmation", Arguments, _user_confirmed),
    Predicate("user_id_stated", "the user wrote this customer's id", Arguments, _user_id_stated),
    Predicate("calls_in_message", "the number of calls in the agent's current message compares so", CountOf,
              _calls_in_message),
)
