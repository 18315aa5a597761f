"""What a server says of itself before anything is asked of it: engine, version, model, context, settings.

Invariant: an acquaintance is made whole or not at all; a server that fails halfway leaves what was known as it was.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from artifact.errors import InfrastructureError, RequestError
from artifact.models.base import ModelError, ModelTimeout
from artifact.models.checkpoint import weights_of_checkpoint
from artifact.models.dialects import (
    UNKNOWN_DIALECT,
    Dialect,
    ServedModel,
    find_dialect,
    read_models,
    read_properties,
)
from artifact.models.refusals import Failure, printable
from artifact.models.retry import RetryPolicy
from artifact.models.target import Target
from artifact.models.transport import Answer, Transport, Unreachable

_LOOK_UP_S = 30.0


@dataclass(frozen=True)
class Acquaintance:
    """What a server told.

    Parameters
    ----------
    served : ServedModel
        The model, as the server's list has it.
    dialect : Dialect
        What kind of server it is.
    version : str or None
        The engine's version.
    context : int or None
        Tokens of the context.
    settings : mapping
        What it told of weights and settings; empty where it told nothing, so that no log changes.
    """

    served: ServedModel
    dialect: Dialect = UNKNOWN_DIALECT
    version: str | None = None
    context: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


async def get_acquainted(target: Target, transport: Transport, retry: RetryPolicy) -> Acquaintance:
    """Ask a server what it is. From then on the transport speaks of it by the name of the model.

    Raises
    ------
    InfrastructureError
        Nothing answers at the address, or nothing sound.
    RequestError
        The server refuses the key, redirects, isn't OpenAI-compatible, or doesn't serve the model.
    """
    access = transport.access
    listing = await _look_up(access.url("/models"), transport, retry)
    if not listing.is_success and listing.refusal.failure not in (Failure.UNKNOWN_MODEL, Failure.REFUSED):
        raise transport.error(listing.refusal, listing.headers)
    try:
        models = read_models(listing.body)
    except ValueError:
        raise RequestError(f"{access.shown}/models gives no list of models (status {listing.status}); give the "
                           "base URL of an OpenAI-compatible server, which mostly ends in /v1.") from None
    served = _choose(target.model, models, transport)
    transport.who = f"{transport.quote(target.name or served.name)} at {access.shown}"
    dialect = find_dialect(served.owner)
    if dialect.version_path is None:
        return Acquaintance(served, dialect, context=served.context)
    try:
        properties = await _look_up(access.url_beside(dialect.version_path), transport, retry)
    except ModelError:  # a gateway may pass on nothing but the API
        return Acquaintance(served, dialect, context=served.context)
    if properties.status == 401 and dialect.lists_openly:
        raise transport.error(properties.refusal, properties.headers)
    version, context = read_properties(properties.body, dialect) if properties.is_success else (None, None)
    return Acquaintance(served, dialect, printable(version, 100) if version else None, served.context or context,
                        await _look_up_settings(served, dialect, transport, retry))


async def _look_up_settings(served: ServedModel, dialect: Dialect, transport: Transport,
                            retry: RetryPolicy) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if served.root is not None and dialect.settings:
        told["checkpoint"] = transport.quote(_checkpoint_name(served.root))
        if weights := weights_of_checkpoint(told["checkpoint"]):
            told["weights_sha256"] = weights
    for path, read in dialect.settings:
        try:
            answer = await _look_up(transport.access.url_beside(path), transport, retry)
        except (ModelError, InfrastructureError):
            continue
        if answer.is_success:
            told |= read(answer.body)
    return told


def _choose(wanted: str | None, models: Sequence[ServedModel], transport: Transport) -> ServedModel:
    served, shown = {model.name: model for model in models}, transport.access.shown
    if wanted in served:
        return served[wanted]
    if wanted is None and len(models) == 1:
        return models[0]
    near = difflib.get_close_matches(wanted, served, n=3) if wanted else []
    names = [*near, *(name for name in sorted(served) if name not in near)]
    rest = f" and {len(names) - 10} more" if len(names) > 10 else ""
    serves = ", ".join(transport.quote(name) for name in names[:10]) + rest if names else "none"
    if wanted is None:
        raise RequestError(f"It isn't clear which model at {shown} is meant: it serves {serves}; name one "
                           "behind the URL, as in http://host:8000/v1#model.")
    raise RequestError(f"There is no model {wanted!r} at {shown}; it serves {serves}.")


async def _look_up(url: str, transport: Transport, retry: RetryPolicy) -> Answer:
    """What the server answers to a question about itself; what fails in passing is tried again."""
    async def attempt() -> Answer:
        try:
            answer = await transport.get(url, timeout_s=_LOOK_UP_S)
        except Unreachable as error:  # said at once, not after six tries: mostly the URL is wrong
            raise InfrastructureError(str(error)) from None
        except ModelTimeout:
            raise InfrastructureError(f"{transport.access.shown} gave no answer within {_LOOK_UP_S:g} s; wait until "
                                      "it is ready, or correct its URL.") from None
        if answer.refusal.failure is Failure.PASSING:
            raise transport.error(answer.refusal, answer.headers)
        return answer

    answer, _ = await retry.persist(attempt)
    return answer


def _checkpoint_name(root: str) -> str:
    """A checkpoint as its hub names it, or the last part of its folder: where it lies on a server concerns no log."""
    return root.rstrip("/").rpartition("/")[2] if root.startswith(("/", ".", "~")) else root
