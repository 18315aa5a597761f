"""Where the benchmark's model library finds a model: the server of a URL or of the registry, or the embedded engine.

Credentials go into request headers alone; what a log holds of a model is its identity, which has none.
"""

from typing import Any

from artifact.errors import RequestError
from artifact.models import ChatModel
from artifact.models.llamacpp import LlamaCpp
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.registry import find_model
from artifact.models.target import Target

TEMPERATURE = 0.0
MOST_TOKENS = 2048
"""Of one answer; a small model that repeats itself would go on to the end of its context."""
TIMEOUT_S = 900
RETRIES = 2


def endpoint(name: str, model: ChatModel) -> tuple[str, dict[str, Any]]:
    """Model name and arguments for the benchmark's model library.

    Parameters
    ----------
    name : str
        What a person calls the model.
    model : ChatModel
        The same, opened.

    Raises
    ------
    RequestError
        When it isn't served over HTTP.
    """
    arguments: dict[str, Any] = {"api_key": "none", "temperature": TEMPERATURE, "max_tokens": MOST_TOKENS,
                                 "timeout": TIMEOUT_S, "num_retries": RETRIES}
    if isinstance(model, LlamaCpp):
        return f"openai/{model.name}", {**arguments, "api_base": model.url}
    if not isinstance(model, OpenAICompatible):
        raise RequestError(f"{name} can't play in the harness tau2, which needs tool calls over HTTP; name a server's "
                           "URL or a model of the registry")
    if name.startswith(("http:", "https:")):
        url, _, served = name.partition("#")
        target = Target(url, served or None)
    else:
        target = Target.of_entry(find_model(name))
    access = target.access()
    if access.authorization is not None:
        arguments["extra_headers"] = {"Authorization": access.authorization}
    if target.regime_body:
        arguments["extra_body"] = dict(target.regime_body)
    return f"openai/{model.identity()['model']}", {**arguments, "api_base": access.shown}
