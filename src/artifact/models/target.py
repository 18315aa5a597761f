"""Which server is asked for which model, and with what credentials.

Invariant: credentials leave this module as a request header alone. What is shown of a server (`Access.shown`) holds
none, and whatever a server says passes `Access.scrub` before it is quoted.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from artifact.errors import RequestError
from artifact.models.registry import ModelEntry, Regime, SchemaSupport

DEFAULT_KEY_ENV = "ARTIFACT_API_KEY"
"""The environment variable that holds the key of a server given by its URL."""

# Anything shorter stands in ordinary words, and is no secret.
_SHORTEST_SECRET = 4
# A reply is the agent's behaviour: nothing that it may say by itself is struck out of it.
_SHORTEST_IN_REPLY = 16


@dataclass(frozen=True)
class Target:
    """A model on a server.

    Parameters
    ----------
    url : str
        Base URL of the API, as in ``http://host:8000/v1``; user and password in it are sent as such.
    model : str or None
        The name under which the server serves it; None takes the only one it serves.
    name : str or None
        The name by which cells and logs call it; None takes the served one.
    key_env : str
        The environment variable that holds the key.
    regime : Regime
        The regime.
    regime_body : mapping
        What a request carries to select the regime.
    sampling_body : mapping
        What a request carries beside the temperature where that is above 0.
    schema_support : SchemaSupport
        How far the server enforces a JSON schema.
    """

    url: str = field(repr=False)
    model: str | None = None
    name: str | None = None
    key_env: str = DEFAULT_KEY_ENV
    regime: Regime = Regime.NO_THINK
    regime_body: Mapping[str, Any] = field(default_factory=dict)
    sampling_body: Mapping[str, Any] = field(default_factory=dict)
    schema_support: SchemaSupport = SchemaSupport.JSON_SCHEMA

    @classmethod
    def of_entry(cls, entry: ModelEntry, regime: Regime = Regime.NO_THINK) -> "Target":
        """A served model of the registry, at the URL that the environment tells.

        Raises
        ------
        RequestError
            The model isn't served, or has no such regime, or the environment tells no URL.
        """
        endpoint = entry.endpoint
        if endpoint is None:
            raise RequestError(f"The model {entry.name} is embedded, not served; to ask a server for it, give the "
                               "server's URL.")
        url = os.environ.get(endpoint.url_env, "").strip() or endpoint.url
        if not url:
            raise RequestError(f"The model {entry.name} is asked for on a server; set the environment variable "
                               f"{endpoint.url_env} to its URL, as in http://host:8000/v1.")
        return cls(url, endpoint.model, entry.name, endpoint.key_env, regime, entry.regime_body(regime),
                   entry.sampling.body(), endpoint.schema_support)

    def access(self) -> "Access":
        """Address and credentials, the key read from the environment.

        Raises
        ------
        RequestError
            The URL or the key can't be used.
        """
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 \
                and self.url.isprintable() and " " not in self.url and "@" not in parts.path
        except ValueError:
            usable = False
        if not usable:
            raise RequestError("The URL of the server can't be used; give its base URL, as in http://host:8000/v1.")
        userinfo, _, host = parts.netloc.rpartition("@")
        shown = f"{parts.scheme}://{host}{parts.path.rstrip('/') or '/v1'}"
        key = os.environ.get(self.key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise RequestError(f"The key in the environment variable {self.key_env} holds characters that no key has; "
                               "set it anew.")
        if userinfo:
            decoded = unquote(userinfo)
            token = base64.b64encode(decoded.encode()).decode()
            secrets = (token, userinfo, decoded, decoded.partition(":")[2], key)
            return Access(shown, parts.query, f"Basic {token}", "the user and password in its URL", secrets)
        return Access(shown, parts.query, f"Bearer {key}" if key else None,
                      f"the environment variable {self.key_env}", (key,))


@dataclass(frozen=True)
class Access:
    """How a server is reached.

    Parameters
    ----------
    shown : str
        The address without credentials and query.
    query : str
        What follows ``?`` in every request.
    authorization : str or None
        The header.
    source : str
        Where a person corrects the credentials.
    secrets : tuple of str
        What is never quoted.
    """

    shown: str
    query: str = field(repr=False)
    authorization: str | None = field(repr=False)
    source: str
    secrets: tuple[str, ...] = field(repr=False)

    def url(self, path: str) -> str:
        """A URL of the API."""
        return f"{self.shown}{path}" + (f"?{self.query}" if self.query else "")

    def url_beside(self, path: str) -> str:
        """A URL of the server that isn't part of the API."""
        return self.shown.removesuffix("/v1") + path

    def scrub(self, words: str) -> str:
        """The words without any secret in them."""
        return self._strike(words, _SHORTEST_SECRET)

    def scrub_reply(self, text: str) -> str:
        """A reply without any key in it, should the server quote one: replies are logged."""
        return self._strike(text, _SHORTEST_IN_REPLY)

    def _strike(self, words: str, shortest: int) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= shortest:
                words = words.replace(secret, "***")
        return words
