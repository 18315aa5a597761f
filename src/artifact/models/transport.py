"""One server over HTTP: what is sent to it, and what its refusals and failures are to us.

Invariant: whatever happens on the way ends as an answer or as one of our errors, and no error holds a credential.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

import aiohttp

from artifact.errors import ArtifactError, RequestError
from artifact.log.faults import Fault
from artifact.models.base import ContextOverflow, ModelError, ModelTimeout
from artifact.models.refusals import Failure, Refusal, printable, read_refusal, retry_after
from artifact.models.target import Access

_CONNECT_S = 30.0
_LONGEST_BODY = 16 * 2**20
# vLLM and llama.cpp close a connection that was idle for five seconds; ours must not be on its way just then.
_KEEP_ALIVE_S = 4.0


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status says so."""
        return self.status // 100 == 2

    @property
    def refusal(self) -> Refusal:
        """What it means where it is no success."""
        return read_refusal(self.status, self.body)


class Unreachable(ModelError):
    """Nothing answers at the address; it may yet.

    Parameters
    ----------
    message : str
        One sentence.
    cause : str
        Why not, in a few words.
    """

    def __init__(self, message: str, cause: str) -> None:
        super().__init__(message, transient=True, fault=Fault.UNREACHABLE)
        self.cause = cause


class Transport:
    """Connections to one server, as many at once as are asked for.

    Parameters
    ----------
    access : Access
        How it is reached.

    Attributes
    ----------
    who : str
        What errors call the one who answers.
    """

    def __init__(self, access: Access) -> None:
        self.who = access.shown
        self.access = access
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Authorization": access.authorization} if access.authorization else None)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def get(self, url: str, *, timeout_s: float) -> Answer:
        """Fetch something."""
        return await self._exchange("GET", url, None, timeout_s)

    async def post(self, url: str, body: bytes, *, timeout_s: float) -> Answer:
        """Send JSON, and fetch the answer."""
        return await self._exchange("POST", url, body, timeout_s)

    async def _exchange(self, method: str, url: str, body: bytes | None, timeout_s: float) -> Answer:
        if self._session.closed:
            raise ModelError(f"The connection to {self.who} was closed; open the model again.")
        payload = None if body is None else aiohttp.BytesPayload(body, content_type="application/json")
        try:
            async with self._session.request(method, url, data=payload, timeout=_timeout(timeout_s),
                                             allow_redirects=False) as response:
                return Answer(response.status, response.headers, await self._read(response))
        except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
            cause = _cause(error)
            raise Unreachable(f"No server can be reached at {self.access.shown} ({cause}); start it, or "
                              "correct its URL.", cause) from None
        except TimeoutError:
            raise ModelTimeout(f"{self.who} gave no full answer within {timeout_s:g} s; allow more time or fewer "
                               "tokens.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ModelError(f"The connection to {self.who} broke ({_cause(error)}).", transient=True,
                             fault=Fault.CONNECTION) from None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _LONGEST_BODY:
                raise ModelError(f"{self.who} sent more than {_LONGEST_BODY // 2**20} MiB in one answer.",
                                 transient=True, fault=Fault.OVERSIZED)
        return bytes(body)

    def error(self, refusal: Refusal, headers: Mapping[str, str]) -> ArtifactError:
        """The error that a refusal is to us, with the server's words where they help."""
        shown, words = self.access.shown, self.quote(refusal.words)
        said = f" ({words})" if words else ""
        match refusal.failure:
            case Failure.OVERFLOW:
                return ContextOverflow(f"The prompt is too long for {self.who}{said}.")
            case Failure.BAD_KEY:
                if self.access.authorization is None:
                    return RequestError(f"{shown} asks for a key; set {self.access.source} to it.")
                # With status 401 a server may quote the key in part, which can't be scrubbed.
                why = said if refusal.status == 403 else ""
                return RequestError(f"{shown} refused the key{why}; correct {self.access.source}.")
            case Failure.NO_CREDIT:
                return RequestError(f"{shown} answers no more without payment{said}; top up the account.")
            case Failure.UNKNOWN_MODEL:
                return RequestError(f"{self.who} isn't served, or no longer{said}; ask for a model that is.")
            case Failure.REDIRECT:
                return RequestError(f"{shown} redirects{self._whither(headers)}, which isn't followed with a key; "
                                    "give the server's own URL.")
            case Failure.PASSING:
                return ModelError(f"{self.who} answered with status {refusal.status}{said}.", transient=True,
                                  retry_after_s=retry_after(headers), fault=_fault(refusal.status))
            case Failure.REFUSED:
                return ModelError(f"{self.who} refused a request with status {refusal.status}{said}.")

    def quote(self, words: str) -> str:
        """A server's words as they may stand in a sentence."""
        return printable(self.access.scrub(words))

    def _whither(self, headers: Mapping[str, str]) -> str:
        try:
            parts = urlsplit(self.access.scrub(headers.get("Location", "")))
        except ValueError:
            return ""
        host = parts.netloc.rpartition("@")[2]
        return f" to {printable(f'{parts.scheme}://{host}')}" if parts.scheme and host else ""


@cache
def _timeout(total_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, sock_connect=_CONNECT_S)


def _fault(status: int) -> Fault:
    if status == 429:
        return Fault.RATE_LIMIT
    return Fault.SERVER_ERROR if status in (500, 501) else Fault.UNAVAILABLE


def _cause(error: Exception) -> str:
    """Why a connection failed, in words that hold no URL."""
    if isinstance(error, aiohttp.ServerTimeoutError):
        return f"no connection within {_CONNECT_S:g} s"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate can't be verified"
    known = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(known, OSError) and known.errno and known.errno > 0:
        return os.strerror(known.errno)
    return printable(known.strerror) if isinstance(known, OSError) and known.strerror else type(error).__name__
