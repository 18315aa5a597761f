"""What a refusal of an OpenAI-compatible server means, whatever its shape and wording."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

import orjson


class Failure(StrEnum):
    """What a refusal means to the one who asked."""

    OVERFLOW = "overflow"
    BAD_KEY = "bad_key"
    NO_CREDIT = "no_credit"
    UNKNOWN_MODEL = "unknown_model"
    REDIRECT = "redirect"
    PASSING = "passing"
    REFUSED = "refused"


@dataclass(frozen=True)
class Refusal:
    """A refusal: what it means, its HTTP status, and the server's own words, which are data (see `printable`)."""

    failure: Failure
    status: int
    words: str


_OVERFLOW_CODES = frozenset({"context_length_exceeded",    # OpenAI
                             "exceed_context_size_error"})  # llama.cpp
_OVERFLOW_WORDS = re.compile(
    r"maximum context length"                 # OpenAI, DeepSeek, vLLM, SGLang
    r"|model's context length"                # vLLM, SGLang
    r"|maximum model length"                  # vLLM
    r"|max_tokens must be at least 1, got [-0]"  # vLLM: what is left for the reply
    r"|exceeds the available context size"    # llama.cpp
    r"|exceed(s|ed) (the |max )?context (length|window)"  # Ollama, OpenAI
    r"|when (the )?context (the )?overflows"  # LM Studio
    r"|n_keep \([0-9]+\) >= n_ctx",           # LM Studio
    re.IGNORECASE)
_UNKNOWN_MODEL_WORDS = re.compile(r"model_not_found|model not exist", re.IGNORECASE)
_NO_CREDIT_CODE = "insufficient_quota"
_PASSING_STATUSES = frozenset({408, 409, 425, 429})


def read_refusal(status: int, body: bytes) -> Refusal:
    """What an answer with this status means; a body that reports an error counts whatever its status."""
    words, codes = _read_error(body)
    return Refusal(_classify(status, words, codes), status, words)


def reported_error(body: bytes) -> Refusal | None:
    """The error that an answer reports in spite of a status of success, as proxies do."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    error = told.get("error") if isinstance(told, dict) else None
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return read_refusal(status, body)


def _classify(status: int, words: str, codes: frozenset[str]) -> Failure:
    if 300 <= status < 400:
        return Failure.REDIRECT
    if status in (401, 403):
        return Failure.BAD_KEY
    if status == 402 or _NO_CREDIT_CODE in codes:
        return Failure.NO_CREDIT
    if codes & _OVERFLOW_CODES or _OVERFLOW_WORDS.search(words):
        return Failure.OVERFLOW
    if status == 404 or any(map(_UNKNOWN_MODEL_WORDS.search, (words, *codes))):
        return Failure.UNKNOWN_MODEL
    if status in _PASSING_STATUSES or status >= 500:
        return Failure.PASSING
    return Failure.REFUSED


def _read_error(body: bytes) -> tuple[str, frozenset[str]]:
    """Words and codes of an error: ``{"error": {…}}``, ``{"error": "…"}``, ``{"message": …}``, ``{"detail": …}``."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return re.sub(r"<[^>]*>", " ", body[:10_000].decode(errors="replace")), frozenset()
    if not isinstance(told, dict):
        return "", frozenset()
    error = told.get("error") or told.get("detail") or told
    if not isinstance(error, dict):
        return error if isinstance(error, str) else orjson.dumps(error).decode(), frozenset()
    codes = frozenset(value for key in ("code", "type") if isinstance(value := error.get(key), str))
    words = error.get("message") or error.get("error") or ""
    return words if isinstance(words, str) else orjson.dumps(words).decode(), codes


def printable(words: str, longest: int = 300) -> str:
    """A server's words as they may stand in a sentence: one line, no control characters, not too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in words).split()).rstrip(". ")
    return line if len(line) <= longest else line[:longest].rstrip() + " …"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long a server asks to wait, in seconds: a number of them, of milliseconds, or a date."""
    for name, unit in (("Retry-After-Ms", 1000.0), ("Retry-After", 1.0)):
        asked = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d+)?", asked):
            return float(asked) / unit
    try:
        date = parsedate_to_datetime(headers.get("Retry-After", ""))
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
