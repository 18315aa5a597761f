"""What an agent's reply asks for: a channel, the clock, or a choice that ends the step.

A reply that can't be read asks for nothing. It is never replaced by anything else.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from artifact.arms.structured import Unusable, json_object

MOST_HANDLES = 8
MOST_LEDGER_ITEMS = 5


@dataclass(frozen=True)
class Query:
    """A channel to read; None for the clock."""

    channel: str | None


@dataclass(frozen=True)
class Choice:
    """What ends a step: an option, handles without repetition, and the ledger where the agent writes one."""

    option: str
    handles: tuple[str, ...]
    ledger: tuple[str, ...] | None = None


def _handle(value: object) -> object:
    """A handle as the menu lists it, also where the agent copied the whole line."""
    return value.partition(":")[0].strip() if isinstance(value, str) else value


def _option(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [] if value is None else value


def _first_items(value: object) -> object:
    return value[:MOST_LEDGER_ITEMS] if isinstance(value, list) else value


_Item = Annotated[str, Field(max_length=300)]
_Handle = Annotated[str, BeforeValidator(_handle)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    action: Literal["query_state", "check_time", "choose"]
    channel: str | None = None
    choice: Annotated[Literal["A", "B", "C"] | None, BeforeValidator(_option)] = None
    tasks: Annotated[list[_Handle], BeforeValidator(_listed)] = Field(default_factory=list, max_length=MOST_HANDLES)
    ledger: Annotated[list[_Item] | None, BeforeValidator(_first_items)] = None


def read_reply(text: str) -> Query | Choice:
    """Read a reply.

    Raises
    ------
    Unusable
        When it is none of the three answers; the message says why.
    """
    try:
        reply = _Reply.model_validate(json_object(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Unusable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if reply.action == "check_time":
        return Query(None)
    if reply.action == "query_state":
        if not reply.channel:
            raise Unusable("query_state names no channel")
        return Query(reply.channel)
    if reply.choice is None:
        raise Unusable("choose names no choice of A, B or C")
    ledger = tuple(reply.ledger) if reply.ledger is not None else None
    return Choice(reply.choice, tuple(dict.fromkeys(reply.tasks)), ledger)
